"""L-BFGS, and OWL-QN where there is an L1 penalty.

It sees a function of the weights that returns value and gradient, and nothing else. ``scale`` is a
diagonal guess of the inverse Hessian (any positive numbers; only their ratios matter), so the
direction is −H·g with H₀ = γ·diag(scale).

OWL-QN (Andrew & Gao 2007): minimize f(w) + Σ l1·|w|. The pseudo-gradient replaces the gradient, a step
never crosses from one orthant to another, and L-BFGS' history holds gradients of f alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from loglin.kernels import vectors as kernels
from loglin.optimize.record import Callback, Iteration, Result, StopTraining

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]
WINDOW = 4  # iterations over which a gain is measured
SLOWEST = 0.5  # share of a window's gain that the next is expected to bring at least, however fast it began


def minimize(
    function: Function,
    start: np.ndarray,
    *,
    l1: np.ndarray | float = 0.0,
    scale: np.ndarray | None = None,
    memory: int = 8,
    max_iter: int = 1000,
    tol: float = 1e-4,
    gradient_tol: float = 1e-7,
    callback: Callback | None = None,
) -> Result:
    """Minimize ``function`` (+ Σ l1·|w|) from ``start``.

    Stops when the improvement still to come, extrapolated from the last eight iterations, is less than
    ``tol`` times the value, or the gradient's norm is below ``gradient_tol`` times the weights' (at least 1).
    """
    return _Run(function, start, l1, scale, memory, tol, gradient_tol, callback).run(max_iter)


def improvement_left(values: list[float]) -> float | None:
    """How much lower the value would still get, if gains over windows went on as a geometric series.

    None while there are too few values, or gains do not fall.
    """
    if len(values) < 2 * WINDOW + 1:
        return None
    now, before = values[-1 - WINDOW] - values[-1], values[-1 - 2 * WINDOW] - values[-1 - WINDOW]
    if now <= 0:
        return 0.0
    if now >= before:
        return None
    ratio = max(now / before, SLOWEST)
    return now * ratio / (1 - ratio)


class _Run:
    def __init__(self, function, start, l1, scale, memory, tol, gradient_tol, callback):
        self.function, self.callback = function, callback
        self.l1 = None if np.all(np.asarray(l1) == 0) else np.broadcast_to(l1, start.shape)
        self.tol, self.gradient_tol, self.memory = tol, gradient_tol, memory
        self.scale = scale
        self.known = 0  # steps in the history, a ring of which ``newest`` is the last written
        self.newest = -1
        self.gamma = 1.0
        self.evaluations = 0
        self.began = time.perf_counter()
        self.w = np.array(start, np.float64)
        self.iterations: list[Iteration] = []

    def run(self, max_iter: int) -> Result:
        self.value, self.gradient = self.evaluate(self.w)
        dtype, shape = self.gradient.dtype, (self.memory, len(self.w))
        self.S, self.Y, self.rho = np.zeros(shape, dtype), np.zeros(shape, dtype), np.zeros(self.memory)
        self.scale = np.asarray([] if self.scale is None else self.scale, dtype)
        if not np.isfinite(self.value):
            return self._result("the objective is not a number at the start", False)
        values = [self.value]
        try:
            for number in range(1, max_iter + 1):
                slope = self.pseudo_gradient()
                norm = kernels.norm(slope)
                if norm <= self.gradient_tol * max(1.0, kernels.norm(self.w)):
                    return self._result(f"the gradient's norm, {norm:.3g}, is practically zero", True)
                if not self.advance(slope):
                    return self._result("no step lowers the objective any more: rounding is reached", True)
                values.append(self.value)
                self._report(number, norm)
                left = improvement_left(values)
                if left is not None and left < self.tol * abs(self.value):
                    return self._result(
                        f"the objective would improve by about {left / max(abs(self.value), 1e-300):.1g} of itself "
                        f"if it went on, less than tol = {self.tol:g}",
                        True,
                    )
        except StopTraining as stop:
            return self._result(str(stop), False)
        return self._result(f"max_iter = {max_iter} iterations were reached before convergence", False)

    def evaluate(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        self.evaluations += 1
        value, gradient = self.function(w)
        if self.l1 is not None:
            value += float(self.l1 @ np.abs(w))
        return value, gradient

    def pseudo_gradient(self) -> np.ndarray:
        """The steepest one-sided slope: at w = 0, g ± l1 where that is a descent, else 0."""
        g = self.gradient
        if self.l1 is None:
            return g
        right, left = g + self.l1, g - self.l1
        at_zero = np.where(right < 0, right, np.where(left > 0, left, 0.0))
        return np.where(self.w > 0, right, np.where(self.w < 0, left, at_zero))

    def direction(self, slope: np.ndarray) -> np.ndarray:
        """−H·slope, from the history and the scaled identity."""
        q = -slope
        kernels.two_loops(self.S, self.Y, self.rho, self.newest, self.known, self.gamma, self.scale, q)
        if self.l1 is not None:
            q[q * slope >= 0] = 0.0
        return q

    def advance(self, slope: np.ndarray) -> bool:
        """One iteration: direction, line search, history. False if no step lowers the value."""
        while True:
            d = self.direction(slope)
            descent = kernels.dot(slope, d)
            if descent < 0:
                first = 1.0
                if not self.known:  # no curvature known yet: a step of a modest length
                    first = min(1.0, 0.1 * max(1.0, kernels.norm(self.w)) / kernels.norm(d))
                found = self.line_search(d, descent, first, slope)
                if found is not None:
                    self.remember(*found)
                    return True
            if not self.known:
                return False
            self.known = 0  # the history misleads: start again from the scaled gradient
            self.gamma = 1.0

    def line_search(self, d, descent, step, slope):
        """Backtrack to a sufficient decrease, lengthen while the slope stays steep (weak Wolfe conditions)."""
        low, high, best = 0.0, np.inf, None
        slack = 0.1 * float(np.finfo(self.gradient.dtype).eps) * abs(self.value)  # rounding is no rise
        for _ in range(30):
            w = np.empty_like(self.w)
            kernels.move(self.w, step, d, w)
            if self.l1 is not None:  # stay in the orthant: of w, or of the descent where w = 0
                orthant = np.where(self.w != 0, np.sign(self.w), -np.sign(slope))
                w[w * orthant < 0] = 0.0
            value, gradient = self.evaluate(w)
            gain = descent * step if self.l1 is None else float(slope @ (w - self.w))
            if not np.isfinite(value) or value > self.value + 1e-4 * gain + slack:
                high = step
                if not np.isfinite(value):
                    step = 0.1 * step if low == 0 else 0.5 * (low + high)
                elif low == 0:  # the parabola through value, slope and new value
                    guess = -descent * step * step / (2 * (value - self.value - step * descent))
                    step = float(np.clip(guess, 0.1 * step, 0.5 * step))
                else:
                    step = 0.5 * (low + high)
                continue
            best = (w, value, gradient)
            if abs(value - self.value) < 0.01 * slack:
                return best  # nothing changes but roundings, and slopes are no guide
            if self.l1 is not None or kernels.dot(gradient, d) >= 0.9 * descent:
                return best
            low = step
            step = 0.5 * (low + high) if np.isfinite(high) else step * (2.0 if self.known else 4.0)
        return best

    def remember(self, w: np.ndarray, value: float, gradient: np.ndarray) -> None:
        k = (self.newest + 1) % self.memory
        kernels.difference(w, self.w, self.S[k])
        kernels.difference(gradient, self.gradient, self.Y[k])
        product = kernels.dot(self.S[k], self.Y[k])
        if product > 0:
            self.rho[k] = 1 / product
            self.newest, self.known = k, min(self.known + 1, self.memory)
            y = self.Y[k]
            self.gamma = product / kernels.dot(y, y * self.scale if self.scale.size else y)
        self.w, self.value, self.gradient = w, value, gradient

    def _report(self, number: int, norm: float) -> None:
        active = int(np.count_nonzero(self.w))
        seconds = time.perf_counter() - self.began
        iteration = Iteration(number, self.value, norm, active, self.evaluations, seconds)
        self.iterations.append(iteration)
        if self.callback is not None:
            self.callback(iteration, self.w)

    def _result(self, stopped: str, converged: bool) -> Result:
        return Result(self.w, self.value, stopped, converged, self.iterations, self.evaluations)
