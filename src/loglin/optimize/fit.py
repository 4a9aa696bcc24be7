"""The default way to the optimum: a stochastic warm start, then L-BFGS in scaled variables.

Without a warm start, the Hessian's diagonal after the first iterations is a better guess of the optimum's than that at
the start, so L-BFGS begins anew with it (documents in 52 classes: 100 iterations in place of 150). L-BFGS decides
convergence, so the answer does not depend on the warm start. Float32 carries the objective to about 1e-5 of itself; a
smaller ``tol`` is finished in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from loglin.optimize.lbfgs import minimize
from loglin.optimize.objective import HasLearner, HasParts, Learner
from loglin.optimize.penalties import Penalized, Penalties, shortest
from loglin.optimize.record import LIMIT, Result, Stop, StopTraining, limit
from loglin.optimize.reporter import Reporter
from loglin.optimize.run import SINGLE_PRECISION_TOL, Make, Run
from loglin.optimize.together import minimize_together

NEAR_POWER, FAR_POWER = 0.9, 0.5  # of the Hessian's diagonal, near the optimum and far from it
FIRST_LOOK = 10  # iterations from far away, after which the Hessian's diagonal is guessed again
FAR_TOL = 0.2  # far from the optimum gains fall more slowly than a geometric series: ask for more


def fit_weights(make: Make, penalties: Penalties, run: Run, start: np.ndarray | None = None) -> Result:
    """Minimize make(dtype)(w) + Σ l1·|w| + ½ Σ l2·w² from ``start``, or from a warm start.

    A request to stop, which the reporter passes on, ends training with the weights reached by then.
    """
    (l1, l2), reporter = penalties, run.reporter
    looks = run.scaled and not run.warm_start and run.max_iter > 5 * FIRST_LOOK  # a short run has no time for it
    phases = [(precision, run.max_iter) for precision in _precisions(run)]
    if looks:
        phases.insert(0, (phases[0][0], FIRST_LOOK))
    weights, near, objective, first, before = start, False, None, len(reporter.iterations), reporter.evaluations
    for number, (precision, most) in enumerate(phases):
        if objective is None or precision is not phases[number - 1][0]:
            objective = make(precision)
        if weights is None and run.warm_start and isinstance(objective, HasLearner):
            learner = objective.learner(run.seed)
            if learner is not None:
                weights, near, asked = _warm_start(learner, penalties, reporter)
                if asked:
                    return Result(weights, _value(objective, weights, penalties), asked, False, [], 1)
        weights = np.zeros(objective.n_features) if weights is None else weights
        last = number == len(phases) - 1
        how: dict[str, Any] = {
            "l1": l1,
            "scale": _scale(objective, weights, l2, NEAR_POWER if near else FAR_POWER) if run.scaled else None,
            "memory": run.memory,
            "max_iter": min(most, run.max_iter) - (len(reporter.iterations) - first),
            "tol": (run.tol if last else max(run.tol, SINGLE_PRECISION_TOL)) * (1.0 if near else FAR_TOL),
            "reporter": reporter,
        }
        if isinstance(objective, HasParts) and objective.is_full:
            result = minimize_together(objective, weights, l2=l2, **how)
        else:
            result = minimize(Penalized(objective, shortest(l2)), weights, **how)
        weights, looked = result.weights, looks and number == 0 and len(result.iterations) >= FIRST_LOOK
        reporter.evaluations += result.evaluations
        result.iterations = reporter.since(first)
        result.evaluations = max(reporter.evaluations - before, getattr(objective, "evaluations", 0))
        if not result.converged and not looked:
            break
    if result.stop.kind == LIMIT and len(result.iterations) >= run.max_iter:
        result.stop = limit(run.max_iter)
    return result


def _precisions(run: Run) -> list[type]:
    if run.dtype != "auto":
        return [np.dtype(run.dtype).type]
    return [np.float32] if run.single else [np.float32, np.float64]


def _warm_start(learner: Learner, penalties: Penalties, reporter: Reporter) -> tuple[np.ndarray, bool, Stop | None]:
    """The weights after the stochastic epochs, whether they are near the optimum, and the Stop if one was asked for."""
    try:
        return learner.warm_start(*penalties, lambda epoch, loss: reporter.check()), learner.near, None
    except StopTraining as request:
        return learner.get(), False, request.stop


def _value(objective: Any, weights: np.ndarray, penalties: Penalties) -> float:
    value, _ = Penalized(objective, shortest(penalties.l2))(weights)
    return value + float(penalties.l1 @ np.abs(weights))


def _scale(objective: Any, weights: np.ndarray, l2: np.ndarray, power: float) -> np.ndarray:
    """A guess of the inverse Hessian's diagonal: (l2 + Σ p(1 − p))^−power."""
    diagonal = objective.curvature(weights).astype(np.float64) + l2
    floor = 1e-6 * float(diagonal.mean()) + 1e-12
    return np.maximum(diagonal, floor) ** -power
