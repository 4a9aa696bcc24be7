"""The optimizers by name, behind one seam: a criterion and its penalties in, weights out.

    gradient · conjugate-gradient     any criterion
    newton · gis · iis                criteria of independent decisions (objective.Decisions)
    sgd · averaged-sgd                criteria that learn sentence by sentence

"auto" and "lbfgs" are in ``fit``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from loglin.errors import LoglinError
from loglin.optimize.ascent import Steepest
from loglin.optimize.conjugate import Conjugate
from loglin.optimize.descent import Descent
from loglin.optimize.newton import minimize_newton
from loglin.optimize.objective import HasLearner, Learner
from loglin.optimize.penalties import Penalized
from loglin.optimize.record import Callback, Iteration, Result, StopTraining
from loglin.optimize.scaling import scale_generalized, scale_improved
from loglin.optimize.stochastic import descend_stochastically

DIRECTIONS = {"gradient": Steepest, "conjugate-gradient": Conjugate}
SCALING = {"gis": scale_generalized, "iis": scale_improved}
STOCHASTIC = ("sgd", "averaged-sgd")
DOUBLE = ("gis", "iis", "newton")  # need float64


def solve_by(
    name: str,
    criterion: Any,
    start: np.ndarray | None,
    *,
    l1: np.ndarray,
    l2: np.ndarray,
    max_iter: int = 1000,
    tol: float = 1e-4,
    seed: int = 0,
    callback: Callback | None = None,
    stop: Callable[[], str | None] = lambda: None,
) -> Result:
    """Minimize criterion(w) + Σ l1·|w| + ½ Σ l2·w² by one optimizer; ``stop`` may give a reason to end."""
    if np.any(l1) and name != "sgd":
        raise LoglinError(f"optimizer {name} has no l1 penalty; set l1 to 0, or optimizer to auto, lbfgs or sgd")
    w = np.zeros(criterion.n_features) if start is None else np.asarray(start, np.float64)
    function = Penalized(criterion, l2)
    if name in STOCHASTIC:
        learner = _one_by_one(name, criterion, seed)
        averaged = name == "averaged-sgd"
        return descend_stochastically(
            function, learner, w, l1=l1, l2=l2, averaged=averaged, max_iter=max_iter, tol=tol, callback=callback,
            stop=stop,
        )  # fmt: skip

    def report(iteration: Iteration, weights: np.ndarray) -> None:
        if callback is not None:
            callback(iteration, weights)
        if reason := stop():
            raise StopTraining(reason)

    if name in DIRECTIONS:
        return Descent(w, DIRECTIONS[name](), tol=tol, callback=report).run(function, max_iter)
    if name in SCALING:
        return SCALING[name](
            function, decisions_of(name, criterion), w, l2=l2, max_iter=max_iter, tol=tol, callback=report
        )
    product = getattr(criterion, "hessian_product", None) or decisions_of(name, criterion).hessian_product
    return minimize_newton(
        function,
        lambda w, v: product(w, v) + l2 * v,
        w,
        scale=1 / (criterion.curvature(w).astype(np.float64) + l2 + 1e-12),
        max_iter=max_iter,
        tol=tol,
        callback=report,
    )


def decisions_of(name: str, criterion: Any) -> Any:
    decisions = getattr(criterion, "decisions", None)
    if decisions is None:
        raise LoglinError(
            f"optimizer {name} is for independent decisions with one certain class each, and here labels depend on "
            "their neighbors, are known in part or several at once; use optimizer auto, or on chains criterion memm"
        )
    return decisions


def _one_by_one(name: str, criterion: Any, seed: int) -> Learner:
    learner = criterion.learner(seed) if isinstance(criterion, HasLearner) else None
    if learner is None or learner.order == 2:
        raise LoglinError(
            f"optimizer {name} takes one sentence at a time, which this criterion (or order 2) does not allow; use "
            "optimizer auto"
        )
    return learner
