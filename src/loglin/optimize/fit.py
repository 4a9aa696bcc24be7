"""The default way to the optimum: a stochastic warm start, then L-BFGS in scaled variables.

Without a warm start, the first iterations only look around: the Hessian's diagonal at their end is a better guess of
the optimum's than that at the start, and L-BFGS begins anew with it (documents in 52 classes: 100 iterations in
place of 150). The finisher decides convergence, so the answer does not depend on the warm start. Float32 carries the
objective to about 1e-5 of itself; a smaller ``tol`` is finished in float64.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from loglin.optimize.lbfgs import minimize
from loglin.optimize.objective import HasLearner, HasParts, Learner
from loglin.optimize.penalties import Penalized, shortest
from loglin.optimize.record import Callback, Iteration, Result, StopTraining
from loglin.optimize.together import minimize_together

SINGLE_PRECISION_TOL = 1e-5
NEAR_POWER, FAR_POWER = 0.9, 0.5  # of the Hessian's diagonal, near the optimum and far from it
FIRST_LOOK = 10  # iterations from far away, after which the Hessian's diagonal is guessed again
FAR_TOL = 0.2  # far from the optimum gains fall more slowly than a geometric series: ask for more


def fit_weights(
    make_criterion: Callable,
    *,
    l1: np.ndarray,
    l2: np.ndarray,
    start: np.ndarray | None = None,
    warm_start: bool = True,
    scaled: bool = True,
    dtype: str = "auto",
    max_iter: int = 1000,
    tol: float = 5e-4,
    memory: int = 8,
    seed: int = 0,
    callback: Callback | None = None,
    stop: Callable[[], str | None] = lambda: None,
) -> Result:
    """Minimize make_criterion(dtype)(w) + Σ l1·|w| + ½ Σ l2·w².

    ``stop`` is asked before every evaluation and epoch; a reason ends training with what there is.
    """
    looks = scaled and not warm_start and max_iter > 5 * FIRST_LOOK  # a short run has no time for it
    phases = [(precision, max_iter) for precision in _precisions(dtype, tol)]
    if looks:
        phases.insert(0, (phases[0][0], FIRST_LOOK))
    course = _Course(callback, stop)
    weights, near, criterion = start, False, None
    for number, (precision, limit) in enumerate(phases):
        if criterion is None or precision is not phases[number - 1][0]:
            criterion = make_criterion(precision)
        learner = (
            criterion.learner(seed) if weights is None and warm_start and isinstance(criterion, HasLearner) else None
        )
        if learner is not None:
            weights, near, reason = _warm_start(learner, l1, l2, stop)
            if reason:
                value = _objective(criterion, weights, l1, l2)
                return Result(weights, value, reason, False, [], 1)
        weights = np.zeros(criterion.n_features) if weights is None else weights
        last = number == len(phases) - 1
        how: dict[str, Any] = {
            "l1": l1,
            "scale": _scale(criterion, weights, l2, NEAR_POWER if near else FAR_POWER) if scaled else None,
            "memory": memory,
            "max_iter": min(limit, max_iter) - len(course.history),
            "tol": (tol if last else max(tol, SINGLE_PRECISION_TOL)) * (1.0 if near else FAR_TOL),
            "callback": course,
        }
        if isinstance(criterion, HasParts) and criterion.is_full:
            result = minimize_together(criterion, weights, l2=l2, **how)
        else:
            result = minimize(Penalized(criterion, shortest(l2)), weights, **how)
        weights, looked = result.weights, looks and number == 0 and len(result.iterations) >= FIRST_LOOK
        course.end(result, criterion)
        if not result.converged and not looked:
            break
    if not result.converged and len(course.history) >= max_iter:
        result.stopped = f"max_iter = {max_iter} iterations were reached before convergence"
    return result


def _precisions(dtype: str, tol: float) -> list[type]:
    if dtype != "auto":
        return [np.dtype(dtype).type]
    return [np.float32] if tol >= SINGLE_PRECISION_TOL else [np.float32, np.float64]


class _Course:
    """The iterations of all phases as one course."""

    def __init__(self, callback: Callback | None, stop: Callable[[], str | None]):
        self.callback, self.stop, self.began = callback, stop, time.perf_counter()
        self.history: list[Iteration] = []
        self.evaluations = 0  # of the phases that have ended

    def __call__(self, iteration: Iteration, w: np.ndarray) -> None:
        counts = {"number": len(self.history) + 1, "evaluations": iteration.evaluations + self.evaluations}
        self.history.append(replace(iteration, **counts, seconds=time.perf_counter() - self.began))
        if self.callback is not None:
            self.callback(self.history[-1], w)
        if reason := self.stop():
            raise StopTraining(reason)

    def end(self, result: Result, criterion: Any) -> None:
        """The result of a phase is told as that of the course."""
        self.evaluations += result.evaluations
        result.iterations, result.evaluations = self.history, criterion_passes(criterion, self.evaluations)


def criterion_passes(criterion, evaluations: int) -> int:
    return max(evaluations, getattr(criterion, "evaluations", 0))


def _warm_start(learner: Learner, l1, l2, stop) -> tuple[np.ndarray, bool, str | None]:
    def ask(epoch: int, loss: float) -> None:
        reason = stop()
        if reason:
            raise StopTraining(reason)

    try:
        return learner.warm_start(l1, l2, ask), learner.near, None
    except StopTraining as request:
        return learner.get(), False, str(request)


def _objective(criterion, weights, l1, l2) -> float:
    value, _ = Penalized(criterion, shortest(l2))(weights)
    return value + float(l1 @ np.abs(weights))


def _scale(criterion, weights: np.ndarray, l2: np.ndarray, power: float) -> np.ndarray:
    """A guess of the inverse Hessian's diagonal: (l2 + Σ p(1 − p))^−power."""
    diagonal = criterion.curvature(weights).astype(np.float64) + l2
    floor = 1e-6 * float(diagonal.mean()) + 1e-12
    return np.maximum(diagonal, floor) ** -power
