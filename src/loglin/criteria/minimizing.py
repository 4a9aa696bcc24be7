"""What most criteria on chains share: an objective that an optimizer minimizes, and weights to begin with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from loglin.criteria.criterion import Criterion, Way
from loglin.criteria.settings import anything
from loglin.errors import LoglinError

if TYPE_CHECKING:
    import numpy as np

    from loglin.optimize.run import Run
    from loglin.problems.chains import ChainProblem

INITIAL = "the criterion, or the model, whose weights to start from"
ROUGH_ITERATIONS, ROUGH_TOL = 100, 1e-3  # of the criterion that gives weights to start from


def minimizing(
    problem: ChainProblem,
    make: Callable[[ChainProblem, type], Any],
    start: np.ndarray | None = None,
    decoding: dict | None = None,
    base: Any = None,
) -> Way:
    """The way of an objective with the problem's features and penalties, from ``start`` where nothing else is given.

    ``make`` makes the objective of a problem, or of a part of it: what is minimized is the sum over the parts.
    """
    from loglin.optimize.minimize import minimize

    objective = problem.objective(make)

    def solve(first: np.ndarray | None, run: Run) -> Any:
        first = start if first is None else first
        return minimize(objective, problem.penalties, run, first, problem.feature_name)

    return Way(solve, lambda weights: problem.model(weights, base, decoding), objective=objective)


@dataclass(frozen=True)
class Initialized(Criterion):
    """A criterion that can start from the weights of another one on the same problem."""

    init: Any = anything(None, "a criterion or a model", INITIAL)

    def initial(self, problem: ChainProblem, run: Run) -> np.ndarray | None:
        if self.init is None or self.init == "":
            return None
        if not isinstance(self.init, str):  # a model, or the estimator that holds one
            return problem.transferred(getattr(self.init, "model_", self.init))
        from loglin.criteria.registry import criterion

        other = criterion(self.init, problem.structure)
        if other.name == self.name or other.counts or other.needs == other.needs.HIDDEN:
            raise LoglinError(
                f"init is {self.init!r}, which gives no weights to start {self.name} from; choose another"
            )
        if other.needs == other.needs.CERTAIN:
            problem.require_labels(other.name)
        other.check_vectors(problem)
        if "init" in {f.name for f in other.settings()}:
            other = other.with_settings({"init": None})
        share = other.defaults.usual_l2 / self.defaults.usual_l2  # each criterion's strength is on a scale of its own
        theirs = problem if share == 1 else problem.with_l2(problem.options.l2 * share)
        return self.rough_weights(other, theirs, run)

    def rough_weights(self, other: Criterion, problem: ChainProblem, run: Run) -> np.ndarray:
        """Weights near the optimum of another criterion on this problem."""
        import numpy as np

        most = ROUGH_ITERATIONS if run.max_iter == self.defaults.max_iter else min(run.max_iter, ROUGH_ITERATIONS)
        rough = replace(run, optimizer="auto", max_iter=most, tol=ROUGH_TOL, reporter=run.reporter.quietly())
        way = other.way(problem, rough)
        return np.asarray(way.model(way.solve(None, rough).weights).weights, np.float64)


def likelihood(problem: ChainProblem, dtype: type, costs: np.ndarray | None = None) -> Any:
    """Conditional likelihood of the problem's labels."""
    from loglin.objectives.sparse import likelihood_of

    p = problem
    return likelihood_of(p.design, p.gold, p.index, p.weight, dtype, p.threads, costs)


def whole_sentences(problem: ChainProblem, dtype: type, kind: str, costs: np.ndarray | None = None) -> Any:
    """An objective that looks at whole sentences at once."""
    from loglin.objectives.sentences import WholeSentences

    p = problem
    return WholeSentences(kind, p.design, p.gold, p.index, p.weight, dtype, p.threads, costs)
