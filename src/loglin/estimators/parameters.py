"""What all trained estimators share: a criterion whose settings are parameters too, and parameters that files keep."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np

from loglin.errors import LoglinError
from loglin.estimators.pickled import Pickled

if TYPE_CHECKING:
    from loglin.criteria.criterion import Criterion
    from loglin.drawing.records import TrainingRecord
    from loglin.optimize.checkpoint import Checkpoint
    from loglin.optimize.record import Iteration
    from loglin.optimize.run import Run

PREFIX = "criterion__"  # of a setting, as scikit-learn writes nested parameters
LONGEST = 80  # characters of a parameter
CHECKPOINT = ("checkpoint", "checkpoint_every")
UNSAVED = (
    "callbacks",
    "dev",
    "embeddings",
    "features",
    "threads",
    "verbose",
    *CHECKPOINT,
)  # functions, data, and what is of the machine


class Estimator(Pickled):
    """What scikit-learn asks of an estimator: parameters, tags, a short form; it is imported when it asks.

    ``loglin train`` goes through estimators too, and importing scikit-learn would take it a second.
    """

    _metadata_request: Any  # of scikit-learn, once something is asked for

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._get_param_names()}

    def __sklearn_tags__(self) -> Any:
        from sklearn.base import BaseEstimator

        return BaseEstimator.__sklearn_tags__(self)  # type: ignore[arg-type]

    def get_metadata_routing(self) -> Any:
        """Which data scikit-learn hands on to ``fit``: sample_weight, if ``set_fit_request`` has asked for it."""
        return getattr(self, "_metadata_request", None) or self._fit_request(None)

    def set_fit_request(self, *, sample_weight: bool | str | None = None) -> Self:
        """Ask for sample_weight where scikit-learn routes metadata: True, False, or the name it has there."""
        self._metadata_request = self._fit_request(sample_weight)  # which clone copies
        return self

    def _fit_request(self, sample_weight: bool | str | None) -> Any:
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        if "sample_weight" in inspect.signature(self.fit).parameters:  # type: ignore[attr-defined]
            request.fit.add_request(param="sample_weight", alias=sample_weight)
        return request

    @property
    def training_(self) -> TrainingRecord:
        """How the model was trained: numbers, why training stopped, and the history of iterations."""
        require_fitted(self)
        return training_record(self._whole_model)

    def plot_training(self, ax: Any = None) -> Any:
        """The objective and, where there is one, the score on held-out data over iterations; matplotlib's axes."""
        from loglin.drawing.plots import plot_training

        return plot_training(self.training_, ax)

    def _repr_html_(self) -> str:
        return page_of_estimator(self, self._whole_model if hasattr(self, "model_") else None)

    def __repr__(self) -> str:
        """The parameters that are not as they are by default."""
        usual = inspect.signature(type(self).__init__).parameters
        given = {k: v for k, v in Estimator.get_params(self).items() if repr(v) != repr(usual[k].default)}
        return f"{type(self).__name__}({', '.join(f'{k}={_short(v)}' for k, v in given.items())})"


def _short(value: Any) -> str:
    """A parameter in few characters: data held out, or a template's text, may be long."""
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def training_record(model: Any) -> TrainingRecord:
    """What a model knows of its training."""
    from loglin.drawing.records import TrainingRecord

    return TrainingRecord(model.record)


def page_of_estimator(estimator: Any, model: Any) -> str:
    """What a notebook shows: the parameters of an estimator, and its model if it has one."""
    from loglin.drawing.html import element, frame
    from loglin.drawing.pages import page_of

    named = frame(element("code", repr(estimator)))
    return named if model is None else named + page_of(model)


_SIMPLE = frozenset({"bool", "int", "float", "str", "None"})  # words of annotations
_OTHERS: dict[str, tuple[Callable[[Any], bool], str]] = {  # further ones: what fits, and what to call it
    "Callable": (callable, "a function"),
    "Sequence": (lambda value: isinstance(value, list | tuple | np.ndarray), "a list"),
}


@cache
def _words(estimator: Callable) -> dict[str, frozenset[str]]:
    """The words of the annotation of every parameter of an estimator whose kind can be checked."""
    given = inspect.signature(estimator).parameters.items()
    plain = {name: re.sub(r"\[.*\]", "", str(parameter.annotation)) for name, parameter in given}
    words = {name: frozenset(word.strip() for word in text.split("|")) for name, text in plain.items()}
    return {name: found for name, found in words.items() if found <= _SIMPLE | _OTHERS.keys()}


def check_kinds(estimator: Any) -> None:
    """Refuse an object of another kind than a parameter takes, before anything compares or calls it."""
    for name, words in _words(type(estimator)).items():  # type: ignore[arg-type]
        value, others = getattr(estimator, name), words - _SIMPLE
        if words == {"bool"} and not isinstance(value, int | np.bool_ | np.integer):
            raise LoglinError(f"{name} is {value!r}; give True or False")
        if (value is None and "None" in words) or any(_OTHERS[word][0](value) for word in others):
            continue
        if not isinstance(value, str | int | float | np.generic | None) or (
            others and type(value).__name__ not in words
        ):
            kinds = [_OTHERS[word][1] for word in sorted(others)] or ["a word or a number"]
            raise LoglinError(f"{name} is {value!r:.60}; give {' or '.join(kinds)}, as its documentation says")


def require_fitted(estimator: Any) -> None:
    """Refuse an estimator that has no model yet."""
    if not hasattr(estimator, "model_"):
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(
            f"This {type(estimator).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
            "using this estimator."
        )


def opened(estimator: Any) -> Checkpoint | None:
    """The checkpoint that an estimator names; None: it has none."""
    from loglin.optimize.checkpoint import Checkpoint

    given = estimator.checkpoint
    return given if given is None or isinstance(given, Checkpoint) else Checkpoint(given, estimator.checkpoint_every)


Fit = TypeVar("Fit", bound=Callable)


def keeping_state(fit: Fit) -> Fit:
    """A method that trains: all that is trained in it shares the checkpoint, which is removed when it has returned.

    A ``Checkpoint`` that was given in the place of a file's name is its owner's to remove.
    """

    @wraps(fit)
    def kept(self: Any, *given: Any, **more: Any) -> Any:
        name, checkpoint = self.checkpoint, opened(self)
        self.checkpoint = checkpoint
        try:
            found = fit(self, *given, **more)
            if checkpoint is not None and checkpoint is not name:
                checkpoint.remove()
            return found
        finally:
            self.checkpoint = name

    return kept  # type: ignore[return-value]


class _WithCriteria:
    """A docstring that lists the criteria when it is read: all of them are imported for that."""

    def __init__(self, text: str):
        self.text = text

    def __get__(self, instance: Any, owner: Any) -> str:
        return self.text.replace("CRITERIA", _listed(owner.structure))


class WithCriterion:
    """An estimator with a ``criterion``, a word or an object, and ``settings`` for it.

    In the docstring of a subclass, CRITERIA stands for the criteria of its structure with their settings.
    """

    structure: ClassVar[str]

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        if cls.__doc__ and "CRITERIA" in cls.__doc__:
            cls.__doc__ = _WithCriteria(cls.__doc__)  # type: ignore[assignment]

    criterion: Any
    settings: Mapping | None
    optimizer: str
    callbacks: Sequence[Callable] | None
    threads: int | None
    verbose: bool
    _progress: list[Callable]

    def chosen_criterion(self) -> Criterion:
        """The criterion as an object, with all settings."""
        check_kinds(self)
        from loglin.criteria.registry import criterion

        found = criterion(self.criterion, self.structure, self.settings)
        around = getattr(self, "neighborhood", None)
        if around is None:
            return found
        if "neighborhood" not in {f.name for f in found.settings()}:
            raise LoglinError(
                f"criterion {found.name} compares with no neighborhood; leave it out, or take criterion contrastive"
            )
        return replace(found, neighborhood=around)  # type: ignore[call-arg]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; ``deep``, also the settings of the criterion, as criterion__name."""
        params = super().get_params(deep=False)  # type: ignore[misc]
        if deep:
            try:
                chosen = self.chosen_criterion()
            except LoglinError:  # wrong parameters are reported by fit
                return params
            params |= {PREFIX + f.name: getattr(chosen, f.name) for f in chosen.settings()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, and settings of the criterion as criterion__name."""
        inside = {k.removeprefix(PREFIX): v for k, v in params.items() if k.startswith(PREFIX)}
        known = self._get_param_names()  # type: ignore[attr-defined]
        for name, value in params.items():
            if name.startswith(PREFIX):
                continue
            if name not in known:
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}")
            setattr(self, name, value)
        if inside:
            from loglin.criteria.registry import criterion

            self.criterion = criterion(self.criterion, self.structure, self.settings).with_settings(inside)
            self.settings = None
        return self

    # ------------------------------------------------------------------ training

    def new_run(self, chosen: Criterion, l1: float, max_iter: int | None, **given: Any) -> Run:
        """How to search for weights, checked before any data are read."""
        from loglin.criteria.registry import check_optimizer
        from loglin.optimize.reporter import Reporter
        from loglin.optimize.run import Run
        from loglin.threads import check_threads

        check_optimizer(self.optimizer, chosen, l1)
        check_threads(self.threads)
        most = chosen.defaults.max_iter if max_iter is None else max_iter
        self._progress = self._new_progress(given.get("tol", 0.0))
        return Run(self.optimizer, most, reporter=Reporter(self._call, checkpoint=opened(self)), **given)

    def _call(self, iteration: Iteration, learned: Any) -> None:
        from loglin.estimators.warn import log_iteration

        log_iteration(iteration)
        for callback in (*(self.callbacks or ()), *self._progress):
            callback(iteration)

    def _new_progress(self, tol: float) -> list[Callable]:
        """What ``verbose`` asks for: a bar in a terminal or a notebook, else a line a second."""
        if not self.verbose:
            return []
        from loglin.drawing.progress import Progress

        return [Progress(tol)]

    # ------------------------------------------------------------------ files

    def saved_parameters(self, chosen: Criterion) -> dict[str, Any]:
        """The parameters as a model file keeps them, but for those that it cannot keep."""
        given = {k: v for k, v in self.get_params(deep=False).items() if k not in UNSAVED}
        given["criterion"] = chosen.name
        defaults = type(chosen)()
        given["settings"] = {
            k: v
            for k, v in chosen.plain_settings().items()
            if v != defaults.plain_settings()[k] and k != "neighborhood"
        } or None
        if "neighborhood" in given:
            given["neighborhood"] = getattr(getattr(chosen, "neighborhood", None), "name", None)
        return {k: plain(v) for k, v in given.items()}

    @classmethod
    def restored(cls, record: dict, **more: Any) -> Self:
        """An estimator with the parameters that a record keeps."""
        options = record.get("options")
        known = set(cls._get_param_names()) - set(UNSAVED)  # type: ignore[attr-defined]
        given = {k: v for k, v in options.items() if k in known} if isinstance(options, dict) else {}
        return cls(**given | more)


def _listed(structure: str) -> str:
    """The criteria of a structure, a line each, with the names of their settings."""
    from loglin.criteria.registry import criteria

    lines = []
    for name, kind in criteria(structure).items():
        names = ", ".join(f.name for f in kind.settings())
        lines.append(f'"{name}": {kind.line}' + (f" [{names}]" if names else ""))
    return "\n        ".join(lines)


def plain(value: Any) -> Any:
    """A parameter as JSON can hold it; what it cannot, by the name of its type."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    value = value.item() if isinstance(value, np.generic) else value
    return value if value is None or isinstance(value, str | int | float | bool) else type(value).__name__


def by_label(given: Any, labels: Sequence) -> dict | str | None:
    """A mapping from labels that a file has kept under their text; a word as it is."""
    if isinstance(given, str):
        return given
    if not isinstance(given, Mapping):
        return None
    return {label: given[str(label)] for label in labels if str(label) in given}
