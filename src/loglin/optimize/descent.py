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
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from loglin.kernels import vectors as kernels
from loglin.optimize.bounds import Certificate, LowerBound, likely
from loglin.optimize.checkpoint import Stage, fields_of, set_fields
from loglin.optimize.linesearch import Point, Rules, line_search
from loglin.optimize.penalties import absolute
from loglin.optimize.record import CONVERGED, LIMIT, Result, Stop, StopTraining, converged, limit
from loglin.optimize.reporter import Reporter

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]
Outcome = TypeVar("Outcome")
Steps = Generator[np.ndarray, tuple, Outcome]  # yields weights, is sent (value, gradient)
WINDOW = 4  # iterations over which a gain is measured
SLOWEST = 0.5  # share of a window's gain that the next is expected to bring at least, however fast it began
CAUTION = 0.1  # of tol, where a bound exists but proves too little: a small penalty makes it loose, and gains slow
SLOW = 0.01  # of tol, under an l1 alone, where gains fall slowest: what they promise may be a hundredth of the truth
LOOSER = 2.0  # times what is usual: a bound that proves less than that contradicts small gains
ROUNDING = {4: 1e-5, 8: 1e-9}  # of the value, by bytes a number: what cannot be told from nothing


class Direction(Protocol):
    """A way to choose directions."""

    STATE: ClassVar[tuple[str, ...]]  # what it has learned: the names of attributes

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
    length = kernels.norm(d)  # 0 where the squares of a tiny direction are: a huge penalty makes such
    return min(1.0, 0.1 * max(1.0, kernels.norm(here.w)) / length) if length > 0 else 1.0


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
    left = improvement_left(values)
    if left is None or not left < tol * abs(values[-1]):
        return None
    return f"{_gains(left, values[-1])}, less than tol = {tol:g}"


def _gains(left: float, value: float) -> str:
    return f"the objective would improve by about {left / max(abs(value), 1e-300):.1g} of itself if it went on"


@dataclass(frozen=True)
class Goal:
    """When a run has converged.

    Where a lower bound of the optimum is known, it decides: the value is near it. Else, or as well, the improvement to
    come must be small both by the last gains and by the gradient in scaled variables, ½ Σ g²/h; gains alone can be
    small far from the optimum.
    """

    tol: float = 1e-4
    bound: LowerBound | None = None
    diagonal: np.ndarray | None = None  # h, a guess of the Hessian's diagonal with the penalty's part
    certify: bool = False  # only a bound below tol itself will do
    named: float | None = None  # the tol that the user gave, for messages
    l1: np.ndarray | None = None
    more_precise: bool = False  # a run in higher precision follows: what rounding hides is not for this one to judge

    def judge(self, values: list[float], point: Point) -> Certificate:
        """What is known of the distance to the optimum."""
        value, bound = values[-1], self.bound
        gap = bound.gap(value) if bound is not None and np.isfinite(bound.best) else 1.0
        proved = gap if gap < 1 else None
        if proved is not None and not bound.is_weak:  # type: ignore[union-attr]
            return Certificate(proved, likely(proved), "a lower bound of the optimum")
        left, scaled = improvement_left(values), self.scaled_gradient(value, point)
        if left is None or scaled is None:
            return Certificate(proved, None, "how far the optimum is cannot be told")
        share = max(left / max(abs(value), 1e-300), scaled)
        if proved is not None:
            share = min(share / SLOW, likely(proved))
        return Certificate(proved, share, "the last gains and the gradient in scaled variables")

    def scaled_gradient(self, value: float, point: Point) -> float | None:
        """½ Σ g²/h relative to the value: what a step in every direction by itself would gain; None if h is unknown."""
        if self.diagonal is None:
            return None
        slope = point.gradient if self.l1 is None else one_sided(point.w, point.gradient, self.l1)
        gain = 0.5 * float(np.sum(np.square(slope, dtype=np.float64) / self.diagonal))
        return gain / max(abs(value), 1e-300)

    def reached(self, values: list[float], point: Point, tol: float | None = None) -> Stop | None:
        """The reason to stop, if the goal is reached."""
        tol, told = self.tol if tol is None else tol, f"tol = {self.named or self.tol:g}"
        proved = self.bound.gap(values[-1]) if self.bound is not None else np.inf
        if (proved if self.certify else likely(proved)) <= tol:
            return converged(f"{self.judge(values, point)}" + (f" ({told})" if tol == self.tol else ""))
        weak = self.bound is None or self.bound.is_weak
        loose = LOOSER * tol < likely(proved) and proved < 1 and not weak
        if self.certify or loose or (self.bound is not None and self.diagonal is None):
            return None
        tol *= 1.0 if self.bound is None else SLOW if self.bound.is_weak else CAUTION
        left, scaled = improvement_left(values), self.scaled_gradient(values[-1], point)
        if left is None or not left < tol * abs(values[-1]) or (scaled is not None and scaled >= 2 * tol):
            return None
        if proved < 1:
            return converged(f"{self.judge(values, point)}; the last gains and the gradient promise less than {told}")
        sure = "" if scaled is None else ", which the gradient in scaled variables confirms"
        return converged(f"{_gains(left, values[-1])}{sure} ({told})")


def one_sided(w: np.ndarray, g: np.ndarray, l1: np.ndarray) -> np.ndarray:
    """The steepest one-sided slope under an L1 penalty: at w = 0, g ± l1 where that is a descent, else 0."""
    right, left = g + l1, g - l1
    at_zero = np.where(right < 0, right, np.where(left > 0, left, 0.0))
    return np.where(w > 0, right, np.where(w < 0, left, at_zero))


class Descent:
    """A minimization from ``start``, one search along a direction after the other."""

    def __init__(
        self,
        start: np.ndarray,
        direction: Direction,
        *,
        l1: np.ndarray | float = 0.0,
        tol: float = 1e-4,
        goal: Goal | None = None,
        gradient_tol: float = 1e-7,
        reporter: Reporter | None = None,
        first: tuple[float, np.ndarray] | None = None,
    ):
        self.direction, self.first_point = direction, first
        self.l1 = None if np.all(np.asarray(l1) == 0) else np.broadcast_to(l1, start.shape)
        self.goal, self.gradient_tol = replace(goal or Goal(tol), l1=self.l1), gradient_tol
        self.evaluations = 0
        self.reporter = reporter or Reporter()
        self.first = len(self.reporter.iterations)
        self.here = Point(np.array(start, np.float64), np.nan, np.empty(0))
        self.values: list[float] = []
        self.stage: Stage | None = None
        self.answers: list[tuple[float, np.ndarray]] | None = None  # of this iteration; None: they are not kept
        self.top: dict[str, Any] | None = None  # the state when this iteration began, where answers are kept

    def run(self, function: Function, max_iter: int) -> Result:
        """Minimize ``function`` and return where the run ended."""
        stage = self.reporter.stage(function)
        if stage.ended:
            return stage.outcome
        stage.resume(self.restore)
        self.stage, steps = stage, self.steps(max_iter)
        try:
            asked = next(steps)
            while True:
                asked = steps.send(function(asked))
        except StopIteration as end:
            return stage.end(end.value)

    def state(self) -> dict[str, Any]:
        """All that the iterations to come depend on, as it is when one begins."""
        here, bound = self.here, self.goal.bound
        return {
            "here": [here.w, here.value, here.gradient, here.step],
            "values": list(self.values),
            "evaluations": self.evaluations,
            "direction": fields_of(self.direction, self.direction.STATE),
            "bound": None if bound is None else fields_of(bound, bound.STATE),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Begin with the iteration that follows a state."""
        w, value, gradient, step = state["here"]
        if w.shape != self.here.w.shape or gradient.shape != w.shape:
            raise ValueError("its weights are others")
        self.here = Point(w, value, gradient, step)
        self.values, self.evaluations = list(state["values"]), state["evaluations"]
        set_fields(self.direction, self.direction.STATE, state["direction"], len(w))
        if self.goal.bound is not None:
            set_fields(self.goal.bound, self.goal.bound.STATE, state["bound"], len(w))

    def steps(self, max_iter: int) -> Steps[Result]:
        """The whole run as a generator, which yields weights and is sent value and gradient there."""
        if not self.values:
            if self.first_point is None:
                value, gradient = yield from self.evaluate(self.here.w)
            else:
                value, gradient = self._with_l1(self.here.w, *self.first_point)
            self.here = Point(self.here.w, value, gradient)
            if not np.isfinite(self.here.value):
                return self._result(Stop(LIMIT, "the objective is not a number at the start"))
            self.values = [self.here.value]
            self._bound()
        goal = self.goal
        try:
            for _ in range(len(self.values) - 1, max_iter):
                self._begin_iteration()
                slope = self.pseudo_gradient()
                norm = kernels.norm(slope)
                if norm <= self.gradient_tol * max(1.0, kernels.norm(self.here.w)):
                    return self._result(converged(f"the gradient's norm, {norm:.3g}, is practically zero"))
                if not (yield from self.advance(slope)):
                    return self._result(self._rounding())
                self.values.append(self.here.value)
                self._bound()
                self.reporter.note(self.here.value, norm, self.here.w, self.evaluations)
                if stop := goal.reached(self.values, self.here):
                    return self._result(stop)
                if self._stalls():
                    return self._result(self._rounding())
        except StopTraining as stop:
            return self._result(stop.stop)
        return self._result(limit(max_iter))

    def _begin_iteration(self) -> None:
        if self.stage is not None:
            self.stage.save(self.state())
        if self.answers is not None:
            self.top, self.answers = self.state(), []

    def _bound(self) -> None:
        if self.goal.bound is not None:
            self.goal.bound.see(self.here.w, self.here.value, self.here.gradient)

    def _stalls(self) -> bool:
        """Whether the last gains are no larger than roundings of the value."""
        if len(self.values) <= WINDOW:
            return False
        gain, eps = self.values[-1 - WINDOW] - self.values[-1], float(np.finfo(self.here.gradient.dtype).eps)
        return gain < WINDOW * eps * abs(self.values[-1])

    def _rounding(self) -> Stop:
        """The Stop where no step lowers the value: converged only if the goal, or what rounding allows, is reached."""
        text = "no step lowers the objective any more: rounding is reached"
        hidden = 0.0 if self.goal.more_precise else ROUNDING[self.here.gradient.dtype.itemsize]
        rounding = max(self.goal.tol, hidden)
        certain = self.goal.bound is None and self.goal.diagonal is None
        scaled = self.goal.scaled_gradient(self.here.value, self.here)
        certain |= scaled is not None and scaled < CAUTION * rounding and not self.goal.certify
        if certain or self.goal.reached(self.values, self.here, rounding):
            return converged(text)
        return Stop(LIMIT, f"{text}, and {self.goal.judge(self.values, self.here)}")

    def evaluate(self, w: np.ndarray) -> Steps[tuple[float, np.ndarray]]:
        self.evaluations += 1
        answer = yield w
        if self.answers is not None:
            self.answers.append(answer)
        return self._with_l1(w, *answer)

    def _with_l1(self, w: np.ndarray, value: float, gradient: np.ndarray) -> tuple[float, np.ndarray]:
        return value if self.l1 is None else value + absolute(self.l1, w), gradient

    def pseudo_gradient(self) -> np.ndarray:
        """The gradient, with an L1 penalty the steepest one-sided slope."""
        return self.here.gradient if self.l1 is None else one_sided(self.here.w, self.here.gradient, self.l1)

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

        gain = None if self.l1 is None else lambda w: kernels.dot(slope, w - here.w)
        step = direction.first_step(here, d, descent)
        return line_search(self.evaluate, along, here, d, descent, step, direction.rules, gain)

    def _result(self, stop: Stop) -> Result:
        here, iterations = self.here, self.reporter.since(self.first)
        certificate = self.goal.judge(self.values, here) if len(self.values) else None
        done = stop.kind == CONVERGED
        return Result(here.w, here.value, stop, done, iterations, self.evaluations, certificate=certificate)
