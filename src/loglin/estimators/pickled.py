"""Pickles of estimators, whose models are kept as the bytes of a model file and checked as one when they are opened."""

from __future__ import annotations

from typing import Any

DERIVED = ("_decoder", "_bias", "decoder_", "_progress")  # what follows from the model, made anew


class Pickled:
    """An estimator with a ``_whole_model``, which ``_adopt`` takes."""

    @property
    def _whole_model(self) -> Any:
        """The model with the record of its training."""
        return self.model_  # type: ignore[attr-defined]

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name not in DERIVED}
        if "model_" in state:
            from loglin.models.kinds import dumped

            state["model_"] = dumped(self._whole_model.to_section())
            state.pop("record_", None)  # of a language model, which is in it
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        from loglin.models.kinds import loads

        model = state.get("model_")
        self.__dict__.update({name: value for name, value in state.items() if name != "model_"})
        if model is not None:
            given = dict(self.__dict__)
            self._adopt(loads(model) if isinstance(model, bytes) else model)  # type: ignore[attr-defined]
            self.__dict__.update(given)  # what was set by hand
