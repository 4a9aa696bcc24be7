"""The loop that L-BFGS, conjugate gradients and steepest descent share.

    slope ──► direction ──► line search ──► report ──► enough?
                 ▲              │
                 └── learns ────┘

The loop sees value and gradient of a function of the weights, and nothing else. It asks for them by yielding the
weights; its driver sends them from one function, or from one pass for many loops (together.py).
With an L1 penalty (OWL-QN, Andrew & Gao 2007) the pseudo-gradient replaces the gradient, a step never crosses
from one orthant to another, and directions learn from gradients of the smooth part alone.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Protocol, TypeVar

import numpy as np

from loglin.kernels import vectors as kernels
from loglin.optimize.linesearch import Point, Rules, line_search
from loglin.optimize.record import CONVERGED, LIMIT, Result, Stop, StopTraining, converged, limit
from loglin.optimize.reporter import Reporter

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]
Outcome = TypeVar("Outcome")
Steps = Generator[np.ndarray, tuple, Outcome]  # yields weights, is sent (value, gradient)
WINDOW = 4  # iterations over which a gain is measured
SLOWEST = 0.5  # share of a window's gain that the next is expected to bring at least, however fast it began


class Direction(Protocol):
    """A way to choose directions."""

    @property
    def rules(self) -> Rules: ...

    def of(self, here: Point, slope: np.ndarray) -> np.ndarray:
        """The direction to search, a new array; ``slope`` is the gradient, with an L1 penalty the pseudo-gradient."""

    def first_step(self, here: Point, d: np.ndarray, descent: float) -> float: ...

    def learn(self, here: Point, there: Point) -> None: ...

    def forget(self) -> bool:
        """Start again from the plain gradient; returns False if nothing has been learned that could be forgotten."""


def modest_step(here: Point, d: np.ndarray) -> float:
    """The length of a first step, when nothing is known of the curvature."""
    return min(1.0, 0.1 * max(1.0, kernels.norm(here.w)) / kernels.norm(d))


def improvement_left(values: list[float]) -> float | None:
    """How much lower the value would still get, if gains over windows went on as a geometric series.

    Returns None while there are too few values, or while gains do not fall.
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


def nearly_converged(values: list[float], tol: float) -> str | None:
    """The reason to stop, if the improvement still to come is less than ``tol`` of the value."""
    left, value = improvement_left(values), abs(values[-1])
    if left is None or not left < tol * value:
        return None
    return (
        f"the objective would improve by about {left / max(value, 1e-300):.1g} of itself if it went on, "
        f"less than tol = {tol:g}"
    )


class Descent:
    """A minimization from ``start``, one search along a direction after the other."""

    def __init__(
        self,
        start: np.ndarray,
        direction: Direction,
        *,
        l1: np.ndarray | float = 0.0,
        tol: float = 1e-4,
        gradient_tol: float = 1e-7,
        reporter: Reporter | None = None,
    ):
        self.direction = direction
        self.l1 = None if np.all(np.asarray(l1) == 0) else np.broadcast_to(l1, start.shape)
        self.tol, self.gradient_tol = tol, gradient_tol
        self.evaluations = 0
        self.reporter = reporter or Reporter()
        self.first = len(self.reporter.iterations)
        self.here = Point(np.array(start, np.float64), np.nan, np.empty(0))

    def run(self, function: Function, max_iter: int) -> Result:
        """Minimize ``function`` and return where the run ended."""
        steps = self.steps(max_iter)
        try:
            asked = next(steps)
            while True:
                asked = steps.send(function(asked))
        except StopIteration as end:
            return end.value

    def steps(self, max_iter: int) -> Steps[Result]:
        """The whole run as a generator, which yields weights and is sent value and gradient there."""
        value, gradient = yield from self.evaluate(self.here.w)
        self.here = Point(self.here.w, value, gradient)
        if not np.isfinite(self.here.value):
            return self._result(Stop(LIMIT, "the objective is not a number at the start"))
        values = [self.here.value]
        try:
            for _ in range(max_iter):
                slope = self.pseudo_gradient()
                norm = kernels.norm(slope)
                if norm <= self.gradient_tol * max(1.0, kernels.norm(self.here.w)):
                    return self._result(converged(f"the gradient's norm, {norm:.3g}, is practically zero"))
                if not (yield from self.advance(slope)):
                    return self._result(converged("no step lowers the objective any more: rounding is reached"))
                values.append(self.here.value)
                self.reporter.note(self.here.value, norm, self.here.w, self.evaluations)
                reason = nearly_converged(values, self.tol)
                if reason:
                    return self._result(converged(reason))
        except StopTraining as stop:
            return self._result(stop.stop)
        return self._result(limit(max_iter))

    def evaluate(self, w: np.ndarray) -> Steps[tuple[float, np.ndarray]]:
        self.evaluations += 1
        value, gradient = yield w
        if self.l1 is not None:
            value += float(self.l1 @ np.abs(w))
        return value, gradient

    def pseudo_gradient(self) -> np.ndarray:
        """The steepest one-sided slope: at w = 0, g ± l1 where that is a descent, else 0."""
        w, g = self.here.w, self.here.gradient
        if self.l1 is None:
            return g
        right, left = g + self.l1, g - self.l1
        at_zero = np.where(right < 0, right, np.where(left > 0, left, 0.0))
        return np.where(w > 0, right, np.where(w < 0, left, at_zero))

    def advance(self, slope: np.ndarray) -> Steps[bool]:
        """Make one iteration: direction, line search, learning; returns False if no step lowers the value."""
        while True:
            d = self.direction.of(self.here, slope)
            if self.l1 is not None:
                d[d * slope >= 0] = 0.0
            descent = kernels.dot(slope, d)
            if descent < 0:
                found = yield from self.search(d, descent, slope)
                if found is not None:
                    self.direction.learn(self.here, found)
                    self.here = found
                    return True
            if not self.direction.forget():
                return False

    def search(self, d: np.ndarray, descent: float, slope: np.ndarray) -> Steps[Point | None]:
        here, direction = self.here, self.direction

        def along(step: float) -> np.ndarray:
            w = np.empty_like(here.w)
            kernels.move(here.w, step, d, w)
            if self.l1 is not None:  # stay in the orthant: of w, or of the descent where w = 0
                orthant = np.where(here.w != 0, np.sign(here.w), -np.sign(slope))
                w[w * orthant < 0] = 0.0
            return w

        gain = None if self.l1 is None else lambda w: float(slope @ (w - here.w))
        step = direction.first_step(here, d, descent)
        return line_search(self.evaluate, along, here, d, descent, step, direction.rules, gain)

    def _result(self, stop: Stop) -> Result:
        here, iterations = self.here, self.reporter.since(self.first)
        return Result(here.w, here.value, stop, stop.kind == CONVERGED, iterations, self.evaluations)
