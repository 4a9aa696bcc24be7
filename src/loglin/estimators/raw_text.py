"""Estimators whose sentences may be raw text, which a tokenizer splits; a model file keeps the tokenizer's name."""

from __future__ import annotations

from typing import Any

from loglin.corpus.tokenizing import NAMES, Tokenizer, tokenizer
from loglin.errors import LoglinError

LOST = "tokenizer_function"  # in a record: the name of a function, which files do not keep


class ReadsText:
    """An estimator with the parameter ``tokenizer``."""

    tokenizer: Any

    @property
    def splits(self) -> Tokenizer | None:
        """The tokenizer of raw text, if there is one."""
        return None if self.tokenizer is None else tokenizer(self.tokenizer)

    def refuse_text(self, sentences: Any) -> None:
        """Refuse raw text where the tokenizer that the model was trained with is not at hand."""
        lost = hasattr(self, "model_") and self.model_.record.get(LOST)
        if not lost or self.tokenizer is not None or not isinstance(sentences, list | tuple):
            return
        if any(isinstance(sentence, str) for sentence in sentences):
            raise LoglinError(
                f"the model was trained with the tokenizer {lost}, which files do not keep; open it with "
                f"{type(self).__name__}.load(path, tokenizer={lost}), or set .tokenizer to it"
            )

    def with_tokenizer(self, record: dict[str, Any]) -> dict[str, Any]:
        """The record of a model, with the name of the tokenizer for whoever opens its file."""
        if self.tokenizer is None and "options" not in record:
            return record
        named = self.splits.name if self.splits else None
        kept = named if named in NAMES else None
        options = record.get("options", {}) | {"tokenizer": kept}
        others = {k: v for k, v in record.items() if k != LOST or named is None}
        return others | ({} if named == kept else {LOST: named}) | {"options": options}
