"""Conditional likelihood of single decisions, and of the next word given a history: maximum entropy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from loglin.criteria.criterion import Criterion, Defaults, Way
from loglin.criteria.decisions import decision_way
from loglin.criteria.minimizing import Initialized, likelihood
from loglin.errors import LoglinError
from loglin.problems.request import Annotation

if TYPE_CHECKING:
    import numpy as np

    from loglin.objectives.next_word import NextWordLikelihood
    from loglin.optimize.run import Run
    from loglin.problems.chains import ChainProblem
    from loglin.problems.histories import Histories, HistoryProblem

SCALE_POWER = 0.8  # of count + 1 / variance, a guess of the curvature: lowest objective after 60 iterations on Brown


@dataclass(frozen=True)
class Likelihood(Initialized):
    """Σ log p(y | x), the right class against all classes, or of label sets each label against its absence."""

    name = "likelihood"
    line = "conditional likelihood of classes: maximum entropy, logistic regression"
    structures = ("local",)
    by_parts = True
    needs = Annotation.PARTIAL
    takes_label_sets: ClassVar[bool] = True
    takes_candidates: ClassVar[bool] = True
    link: ClassVar[str] = "logistic"
    threshold: ClassVar[float] = 0.5

    def way(self, problem: ChainProblem, run: Run) -> Way:
        start = problem.class_shares() if run.optimizer == "auto" else None
        return decision_way(self, problem, likelihood, start)


@dataclass(frozen=True)
class LikelihoodOfWords(Criterion):
    """Σ log p(w | h), each word of a text against the whole vocabulary, given the words before it."""

    name = "likelihood"
    line = "conditional likelihood of every word given its history: a log-linear language model"
    structures = ("history",)
    by_parts = True
    defaults = Defaults(max_iter=100)

    def way(self, problem: HistoryProblem, run: Run) -> Way:
        import math

        import numpy as np

        from loglin.optimize.optimizers import optimizer

        by = optimizer(run.optimizer)
        if not by.takes_any_curvature:
            raise LoglinError(
                f"optimizer {by.name} needs more than value and gradient, which are all that a language model gives; "
                "use auto, lbfgs, gradient or conjugate-gradient"
            )

        make = problem.objective(next_word_likelihood)

        def solve(first: np.ndarray | None, run: Run) -> Any:
            objective: Any = make(np.float64)
            start = problem.word_shares() if first is None else first
            search = _minimize_scaled if by.is_default else _minimize
            result = search(objective, problem, run, start)
            if not math.isfinite(result.value):
                raise LoglinError("the objective is no finite number; give smaller variances")
            result.more = {"touches": getattr(objective, "touches", None)}  # a sum over parts does not count them
            return result

        return Way(solve, problem.model, objective=make)


def next_word_likelihood(histories: Histories, dtype: type = float) -> NextWordLikelihood:
    """The likelihood of the words behind histories, in double precision."""
    from loglin.objectives.next_word import NextWordLikelihood

    h = histories
    return NextWordLikelihood(h.tree, h.ptr, h.targets, h.observed, h.threads)


def _minimize_scaled(objective: Any, problem: HistoryProblem, run: Run, start: np.ndarray) -> Any:
    """L-BFGS in variables scaled by the counts of the features."""
    from loglin.optimize.bounds import LowerBound
    from loglin.optimize.descent import Goal
    from loglin.optimize.lbfgs import minimize
    from loglin.optimize.penalties import Penalized

    l2 = problem.penalties.l2
    diagonal, penalized = problem.observed + l2, Penalized(objective, l2)
    goal = Goal(run.tol, LowerBound.of(objective, problem.penalties), diagonal, run.certify)
    scale = diagonal**-SCALE_POWER
    return minimize(penalized, start, scale=scale, max_iter=run.max_iter, goal=goal, reporter=run.reporter)


def _minimize(objective: Any, problem: HistoryProblem, run: Run, start: np.ndarray) -> Any:
    from loglin.optimize.minimize import minimize

    return minimize(lambda dtype: objective, problem.penalties, run, start, problem.feature_name)
