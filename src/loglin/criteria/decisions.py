"""What criteria of single decisions share: one class of all, sets of labels, candidates that examples bring."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from loglin.criteria.criterion import Criterion, Way
from loglin.criteria.minimizing import minimizing
from loglin.errors import LoglinError

if TYPE_CHECKING:
    import numpy as np

    from loglin.problems.chains import ChainProblem


def require_decisions(criterion: Criterion, problem: ChainProblem) -> None:
    """Refuse label sets and candidates that the criterion does not learn from."""
    from loglin.corpus.labels import Choices, LabelSets
    from loglin.criteria.registry import criteria

    if isinstance(problem.gold, LabelSets) and not getattr(criterion, "takes_label_sets", False):
        others = ", ".join(name for name, c in criteria("local").items() if getattr(c, "takes_label_sets", False))
        raise LoglinError(f"criterion {criterion.name} is for one label an example; for label sets take {others}")
    if isinstance(problem.gold, Choices) and not getattr(criterion, "takes_candidates", False):
        raise LoglinError(f"criterion {criterion.name} does not choose among candidates; take likelihood")


def decision_way(
    criterion: Any,
    problem: ChainProblem,
    one_class: Callable[[ChainProblem, type], Any] | None,
    start: np.ndarray | None = None,
) -> Way:
    """The way of a criterion whose label sets are yes-or-no models; ``one_class`` makes the objective of one class.

    Without ``one_class``, each class is learnt against all others.
    """
    from loglin.corpus.labels import Choices, LabelSets

    require_decisions(criterion, problem)
    p, sets, decoding = problem, problem.gold, {}
    if isinstance(sets, Choices):
        return minimizing(p, _among_candidates, start)
    if isinstance(sets, LabelSets):
        decoding = {"steps": "independent", "link": criterion.link, "threshold": criterion.threshold}
    elif one_class is not None:
        return minimizing(p, one_class, start)
    else:
        problem.require_labels(criterion.name)
    return minimizing(p, partial(_label_by_label, loss=criterion.name), start, decoding)


def _among_candidates(p: ChainProblem, dtype: type) -> Any:
    from loglin.objectives.candidates import CandidateLikelihood

    return CandidateLikelihood(p.design, p.gold, p.index, p.weight, dtype)


def _label_by_label(p: ChainProblem, dtype: type, loss: str) -> Any:
    from loglin.corpus.labels import LabelSets
    from loglin.objectives.independent import IndependentLosses

    sets = p.gold if isinstance(p.gold, LabelSets) else LabelSets(p.gold.allowed())
    return IndependentLosses(loss, p.design, sets, p.index, p.weight, dtype, p.threads)
