"""What a criterion is: a name, settings that are checked when it is made, and a way to weights on one problem.

A criterion is a frozen dataclass whose fields are its settings. ``Tagger(criterion=Piecewise(nota="selected"))``,
``Tagger(criterion="piecewise", settings={"nota": "selected"})`` and ``--criterion piecewise --set nota=selected`` mean
the same. Modules of criteria import compiled code only when they are asked for their way, so that ``--help`` is quick.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from loglin.criteria.settings import checked_value, described
from loglin.errors import LoglinError
from loglin.problems.request import OBSERVED, Annotation, FeatureRequest

if TYPE_CHECKING:
    import numpy as np

    from loglin.optimize.record import Result
    from loglin.optimize.run import Make, Run

REGISTRY: dict[tuple[str, str], type[Criterion]] = {}  # (structure, name) → criterion


USUAL_AUTO_L2 = 0.1


@dataclass(frozen=True)
class Defaults:
    """What a criterion takes where the user says nothing."""

    order: int = 1
    template: str | None = None  # of an estimator; None: the estimator's own
    l2: float | str = 1.0  # "auto": chosen on held-out sentences
    max_iter: int = 1000
    tol: float = 8e-4  # of a tagger: within 0.06 % of the optimum on eight corpora, l2 from 0.1 to 10

    @property
    def usual_l2(self) -> float:
        """The l2 of most data, which is where a choice on held-out sentences begins."""
        return USUAL_AUTO_L2 if isinstance(self.l2, str) else self.l2


@dataclass(eq=False)
class Way:
    """How a criterion finds weights on one problem, and the model that they make."""

    solve: Callable[[np.ndarray | None, Run], Result]  # from these weights, or from where it likes
    model: Callable[[Any], Any]  # weights, or a generative model → a model
    finished: Callable[[Any], Any] | None = None  # the same for the weights to keep, where more is done for them
    objective: Make | None = None  # what is minimized, of a precision; None: the criterion has another way

    def keep(self, learned: Any) -> Any:
        """The trained model."""
        return (self.finished or self.model)(learned)


@dataclass(frozen=True)
class Criterion(ABC):
    """A way to estimate on one structure; the fields of a subclass are its settings, checked when it is made."""

    name: ClassVar[str]
    line: ClassVar[str]  # what it maximizes and where it comes from, for --help and docs
    structures: ClassVar[tuple[str, ...]]  # of "chain", "local" and "joint" (classifiers), "forest", "history"
    needs: ClassVar[Annotation] = Annotation.CERTAIN  # the least it needs to know
    defaults: ClassVar[Defaults] = Defaults()
    optimizes: ClassVar[bool] = True  # False: it has its own way to weights, and takes no optimizer
    concave: ClassVar[bool] = True  # False: it has local optima, and takes optimizers that bear them
    counts: ClassVar[bool] = False  # it estimates a generative model, not weights, and continues no other model
    takes_vectors: ClassVar[bool] = True  # False: tokens of chains may carry no vectors
    gives_probabilities: ClassVar[bool] = True  # of single decisions
    by_parts: ClassVar[bool] = False  # what it minimizes is a sum over sentences, made by ``problem.objective``
    label_by_label: ClassVar[bool] = False  # of single decisions: the objective falls apart by label

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        if "name" in cls.__dict__:
            for structure in cls.structures:
                REGISTRY[structure, cls.name] = cls

    def __post_init__(self) -> None:
        for f in fields(self):
            value = checked_value(f"{self.name}'s setting {f.name}", getattr(self, f.name), f.metadata["allowed"])
            object.__setattr__(self, f.name, value)
        self.check()

    def check(self) -> None:
        """Refuse settings that do not go together."""
        return None

    def check_vectors(self, problem: Any) -> None:
        """Refuse a problem whose tokens carry vectors, where the criterion counts, or lists, what it looks at."""
        if not self.takes_vectors and getattr(problem, "vectors", None) is not None:
            raise LoglinError(
                f"criterion {self.name} does not learn from vectors; leave them out, or take criterion crf, memm, "
                "pseudolikelihood, piecewise, margin or perceptron"
            )

    def features(self) -> FeatureRequest:
        """Which features get a weight though the data do not show them."""
        return OBSERVED

    @abstractmethod
    def way(self, problem: Any, run: Run) -> Way:
        """How to find weights on this problem."""

    def initial(self, problem: Any, run: Run) -> np.ndarray | None:
        """Weights to begin with where no model is given; None: the optimizer's own start."""
        return None

    def path(self, problem: Any, run: Run) -> Callable[[float], Any]:
        """The models of a problem by their l2."""

        def at(l2: float) -> Any:
            one = problem.with_l2(l2)
            way = self.way(one, run)
            return way.keep(way.solve(self.initial(one, run), run).learned)

        return at

    def l2_of(self, l2: float, share: float) -> float:
        """The l2 for all sentences where ``l2`` is right for this share of them."""
        return l2

    def report(self, problem: Any, model: Any) -> None:
        """Add to a trained model's record what only this criterion knows."""
        return None

    # ------------------------------------------------------------------ settings

    @classmethod
    def settings(cls) -> tuple[Field, ...]:
        """The fields: each has a name, a default, and in its metadata what is allowed and what it means."""
        return fields(cls)

    def with_settings(self, given: Mapping | None) -> Self:
        """The same criterion with other settings, which may be written as text."""
        if not isinstance(given, Mapping | None):
            raise LoglinError(f"settings are {given!r}; give a dict from names to values")
        known = [f.name for f in fields(self)]
        for name in given or {}:
            if name not in known:
                raise LoglinError(
                    f"criterion {self.name} has no setting {name!r}; it has {', '.join(known) if known else 'none'}"
                )
        return replace(self, **given) if given else self

    def plain_settings(self) -> dict[str, Any]:
        """The settings as a model file can hold them: numbers, words and lists; others by the name of their type."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}

    @classmethod
    def help(cls) -> str:
        """The settings of this criterion, a line each."""
        return "\n".join(
            f"{f.name} = {f.default if f.default is not None else 'none'}: {f.metadata['help']} "
            f"({described(f.metadata['allowed'])})"
            for f in fields(cls)
        )


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    item = getattr(value, "item", None)  # of NumPy's numbers
    value = item() if callable(item) and getattr(value, "ndim", None) == 0 else value
    return value if value is None or isinstance(value, str | int | float | bool) else type(value).__name__
