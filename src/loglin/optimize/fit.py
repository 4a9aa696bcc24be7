"""The default way to the optimum: a warm start sentence by sentence, then L-BFGS in scaled variables.

Without a warm start, the Hessian's diagonal after the first iterations is a better guess of the optimum's than that at
the start, so L-BFGS begins anew with it (documents in 52 classes: 100 iterations in place of 150). L-BFGS decides
convergence, so the answer does not depend on the warm start. Float32 carries the objective to about 1e-6 of itself;
what it cannot finish is finished in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from loglin.errors import LoglinError
from loglin.optimize.bounds import LowerBound
from loglin.optimize.descent import Goal
from loglin.optimize.lbfgs import minimize
from loglin.optimize.objective import HasCurvature, HasLearner, HasParts
from loglin.optimize.penalties import Penalized, Penalties, absolute, shortest, single_threaded
from loglin.optimize.record import LIMIT, Result, Stop, StopTraining, limit
from loglin.optimize.rescaling import Rescaled, units
from loglin.optimize.run import SINGLE_PRECISION_TOL, Make, Run
from loglin.optimize.together import minimize_together

NEAR_POWER, FAR_POWER = 0.7, 0.5  # of the Hessian's diagonal, after a warm start and elsewhere: features share tokens
# Share of weights without a prior from which on steps are not scaled: many weights fit the data, and scaled steps find
# those in which rare features weigh most (attachments 71 % right, unscaled 83; parts of speech 93.5 % and 94.9 %).
FREE = 0.5
FIRST_LOOK = 10  # iterations from far away, after which the Hessian's diagonal is guessed again
SMALL = 10_000  # weights: where there are fewer, passes take no time, and tol is smaller in proportion
FAR_TOL = 0.2  # where no bound is known, gains far from the optimum fall more slowly than a geometric series


def fit_weights(make: Make, penalties: Penalties, run: Run, start: np.ndarray | None = None) -> Result:
    """Minimize make(dtype)(w) + Σ l1·|w| + ½ Σ l2·w² from ``start``, or from a warm start.

    A request to stop, which the reporter passes on, ends training with the weights reached by then.
    """
    reporter, phases = run.reporter, _phases(run)
    weights, objective, first, before = start, None, len(reporter.iterations), reporter.evaluations
    power, known = FAR_POWER, None
    for number, (precision, most) in enumerate(phases):
        if objective is None or precision is not phases[number - 1][0]:
            objective = make(precision)
            scales = units(objective, penalties.l2) if run.scaled else None
        cold = weights is not None or scales is not None or getattr(objective, "starts_cold", False)
        if run.warm_start and not cold and isinstance(objective, HasLearner):
            learned, near, asked = _warm_start(objective, penalties, run)
            if learned is not None:
                if asked:
                    return Result(learned, _value(objective, learned, penalties), asked, False, [], 1)
                weights, known = _no_worse_than_zero(objective, learned, penalties)
                power = NEAR_POWER if near else FAR_POWER
        weights = np.zeros(objective.n_features) if weights is None else weights
        most = min(most, run.max_iter) - (len(reporter.iterations) - first)
        last = number == len(phases) - 1
        tol = run.tol * min(1.0, objective.n_features / SMALL)
        result = _minimize(objective, scales, penalties, run, tol, power, weights, known, most, last)
        known = None
        weights, looked = result.weights, number == 0 and most == FIRST_LOOK and len(result.iterations) >= FIRST_LOOK
        reporter.evaluations += result.evaluations
        result.iterations = reporter.since(first)
        result.evaluations = max(reporter.evaluations - before, getattr(objective, "evaluations", 0))
        exact = precision is np.float64 or tol >= SINGLE_PRECISION_TOL
        spent = len(result.iterations) >= run.max_iter or reporter.asked or result.stop.kind not in ("converged", LIMIT)
        if not looked and ((result.converged and exact) or spent):
            break
    if result.stop.kind == LIMIT and len(result.iterations) >= run.max_iter:
        result.stop = limit(run.max_iter)
        if result.certificate is not None:
            result.stop = result.stop.also(str(result.certificate))
    return result


def _phases(run: Run) -> list[tuple[type, int]]:
    """Precision and iterations of each phase; the last is only reached if those before it do not converge."""
    precisions = [np.float32, np.float64] if run.dtype == "auto" else [np.dtype(run.dtype).type]
    phases = [(precision, run.max_iter) for precision in precisions]
    if run.scaled and not run.warm_start and run.max_iter > 5 * FIRST_LOOK:  # a short run has no time for it
        phases.insert(0, (precisions[0], FIRST_LOOK))
    return phases


def _minimize(
    objective: Any,
    scales: np.ndarray | None,
    penalties: Penalties,
    run: Run,
    tol: float,
    power: float,
    weights: np.ndarray,
    known: tuple[float, np.ndarray] | None,
    most: int,
    last: bool,
) -> Result:
    """L-BFGS from ``weights``, where value and gradient may be ``known``, in variables rescaled by ``scales``."""
    reporter, inside = run.reporter, objective
    if scales is not None:
        inside, weights = Rescaled(objective, scales), weights * scales
        penalties = Penalties(penalties.l1 / scales, penalties.l2 / scales**2)
        reporter.view = lambda u: u / scales
    try:
        diagonal = hessian_diagonal(inside, weights, penalties.l2)
        room = getattr(objective, "room", None)
        bound = LowerBound.of(objective, penalties, room)
        if run.certify and bound is None:
            raise LoglinError(
                "certify needs a convex criterion, every label certain, and l2 above 0 for every weight: elsewhere no "
                "lower bound of the optimum is known; leave it out"
            )
        if bound is None:
            tol = FAR_TOL * (tol if last else max(tol, SINGLE_PRECISION_TOL))
        scale = None
        if run.scaled and diagonal is not None and np.mean(penalties.free) < FREE:
            scale = (diagonal**-power).astype(getattr(objective, "dtype", np.float64))
        how: dict[str, Any] = {
            "l1": penalties.l1,
            "scale": scale,
            "memory": max(run.memory, getattr(objective, "memory", 0)),
            "max_iter": most,
            "reporter": reporter,
        }
        if isinstance(inside, HasParts) and inside.is_full:
            return minimize_together(inside, weights, l2=penalties.l2, tol=tol, diagonal=diagonal, **how)
        goal = Goal(tol, bound, diagonal, run.certify, run.tol, more_precise=not last)
        result = minimize(Penalized(inside, shortest(penalties.l2)), weights, goal=goal, first=known, room=room, **how)
    finally:
        reporter.view = None
    if scales is not None:
        result.weights = result.weights / scales
    return result


def _warm_start(objective: Any, penalties: Penalties, run: Run) -> tuple[np.ndarray | None, bool, Stop | None]:
    """The weights after the stochastic epochs, None if there are none; whether they are near; a Stop asked for.

    What learns is gone on return: passes over all of the data have room of their own.
    """
    learner = objective.learner(run.seed)
    if learner is None:
        return None, False, None
    reporter, stage, near = run.reporter, run.reporter.stage(), learner.comes_near(penalties.l1, penalties.l2)
    try:
        weights = stage.outcome
        if not stage.ended:
            weights = learner.warm_start(*penalties, lambda epoch, loss: reporter.check(), run.tol, stage)
            stage.end(weights)
    except StopTraining as request:
        return learner.get(), near, request.stop
    return weights, near, None


def _no_worse_than_zero(
    objective: Any, weights: np.ndarray, penalties: Penalties
) -> tuple[np.ndarray, tuple[float, np.ndarray] | None]:
    """The weights with value and gradient, or zero if those are no worse."""
    value, gradient = Penalized(objective, shortest(penalties.l2))(weights)
    # a convex function is above its tangent, and the penalty above its own by ½ Σ l2·w²: that may prove f(0) > f(w)
    drop = float(single_threaded("i,i", penalties.l2, 0.5 * weights**2) - single_threaded("i,i", gradient, weights))
    sure = getattr(objective, "convex", False) and not np.any(penalties.l1) and drop > 0
    zero = np.zeros_like(weights)
    if not sure and not value + absolute(penalties.l1, weights) < _value(objective, zero, penalties):
        return zero, None
    return weights, (value, gradient)


def _value(objective: Any, weights: np.ndarray, penalties: Penalties) -> float:
    value, _ = Penalized(objective, shortest(penalties.l2))(weights)
    return value + absolute(penalties.l1, weights)


def hessian_diagonal(objective: Any, weights: np.ndarray, l2: np.ndarray) -> np.ndarray | None:
    """A guess of the Hessian's diagonal, l2 + Σ p(1 − p), nowhere zero; None for an objective without one."""
    if not isinstance(objective, HasCurvature):
        return None
    diagonal = objective.curvature(weights).astype(np.float64) + l2
    return np.maximum(diagonal, 1e-6 * float(diagonal.mean()) + 1e-12)
