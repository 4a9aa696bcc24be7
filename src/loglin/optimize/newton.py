"""Newton's method with conjugate gradients: few iterations where Hessian products are cheap.

Each step minimizes the quadratic model g·d + ½ d·H·d by conjugate gradients, preconditioned by a diagonal and
stopped early far from the optimum (Dembo & Steihaug 1983), then walks back along d until the value falls.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from loglin.kernels import vectors as kernels
from loglin.optimize.descent import Function
from loglin.optimize.record import Result, Stop, StopTraining, converged, limit
from loglin.optimize.reporter import Reporter

MOST_PRODUCTS = 200  # Hessian products of one step


def minimize_newton(
    function: Function,
    hessian_product: Callable[[np.ndarray, np.ndarray], np.ndarray],
    start: np.ndarray,
    *,
    scale: np.ndarray | None = None,  # a guess of the inverse Hessian's diagonal
    max_iter: int = 100,
    tol: float = 1e-8,
    reporter: Reporter | None = None,
) -> Result:
    """Minimize a convex function; stops when the decrease that a step promises is below tol of the value."""
    reporter, w = reporter or Reporter(), np.array(start, np.float64)
    first = len(reporter.iterations)
    stage = reporter.stage(function)
    if stage.ended:
        return stage.outcome
    scale = np.ones_like(w) if scale is None else scale
    if stage.state is None:
        (value, gradient), evaluations, done = function(w), 1, 0
    else:
        w, value, gradient, evaluations, done = (
            stage.state[k] for k in ("w", "value", "gradient", "evaluations", "done")
        )

    def ended(stop: Stop, settled: bool) -> Result:
        return stage.end(Result(w, value, stop, settled, reporter.since(first), evaluations))

    for number in range(done, max_iter):
        stage.save({"w": w, "value": value, "gradient": gradient, "evaluations": evaluations, "done": number})
        direction, products = _quadratic_step(partial(hessian_product, w), gradient.astype(np.float64), scale)
        evaluations += products
        promise = -kernels.dot(gradient, direction)
        if promise <= tol * max(abs(value), 1e-300):
            return ended(converged(f"a Newton step promises less than tol = {tol:g}"), True)
        step = 1.0
        while step > 1e-10:
            trial, slope = function(w + step * direction)
            evaluations += 1
            if np.isfinite(trial) and trial < value and trial <= value - 1e-4 * step * promise:
                break
            step *= 0.5
        else:
            return ended(converged("no step lowers the objective any more: rounding is reached"), True)
        w, value, gradient = w + step * direction, trial, slope
        try:
            reporter.note(value, kernels.norm(gradient), w, evaluations)
        except StopTraining as request:
            return ended(request.stop, False)
    return ended(limit(max_iter), False)


def _quadratic_step(product, gradient: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, int]:
    """A direction d with H·d ≈ −g, and the number of Hessian products that it took."""
    d, r = np.zeros_like(gradient), -gradient
    z = scale * r
    p, rz = z.copy(), kernels.dot(r, z)
    first = rz
    enough = min(0.25, np.sqrt(first)) ** 2 * first
    for products in range(1, MOST_PRODUCTS + 1):
        hp = product(p)
        curved = kernels.dot(p, hp)
        if curved <= 0:
            return (d if products > 1 else z), products
        alpha = rz / curved
        d += alpha * p
        r -= alpha * hp
        z = scale * r
        rz, before = kernels.dot(r, z), rz
        if rz <= enough:
            break
        p = z + rz / before * p
    return d, products
