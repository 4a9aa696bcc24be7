"""L-BFGS, and OWL-QN where there is an L1 penalty.

``scale`` is a diagonal guess of the inverse Hessian (any positive numbers; only their ratios matter), so the
direction is −H·g with H₀ = γ·diag(scale).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from loglin.kernels import vectors as kernels
from loglin.optimize.descent import Descent, Function, Goal, modest_step
from loglin.optimize.linesearch import Point, Rules
from loglin.optimize.record import Result
from loglin.optimize.reporter import Reporter
from loglin.optimize.rows import Room, release


def minimize(
    function: Function,
    start: np.ndarray,
    *,
    l1: np.ndarray | float = 0.0,
    scale: np.ndarray | None = None,
    memory: int = 8,
    max_iter: int = 1000,
    tol: float = 1e-4,
    goal: Goal | None = None,
    gradient_tol: float = 1e-7,
    reporter: Reporter | None = None,
    first: tuple[float, np.ndarray] | None = None,
    room: Room | None = None,
) -> Result:
    """Minimize ``function`` (+ Σ l1·|w|) from ``start``; ``first`` is function(start) where that is known.

    Stops when the goal is reached, by default when gains promise less than ``tol`` of the value, or when the
    gradient's norm is below ``gradient_tol`` times the weights' (at least 1).
    """
    direction = QuasiNewton(scale, memory, room)
    how = {"l1": l1, "goal": goal or Goal(tol), "gradient_tol": gradient_tol, "reporter": reporter, "first": first}
    return Descent(start, direction, **how).run(function, max_iter)  # type: ignore[arg-type]


class QuasiNewton:
    """The direction −H·slope, with H from the last steps and the scaled identity."""

    STATE: ClassVar[tuple[str, ...]] = ("known", "newest", "gamma", "rho", "scale", "S", "Y")

    def __init__(self, scale: np.ndarray | None, memory: int, room: Room | None = None):
        self.memory, self.room = memory, room or Room()
        self.scale = np.asarray([] if scale is None else scale)
        self.known = 0  # steps in the history, a ring of which ``newest`` is the last written
        self.newest = -1
        self.gamma = 1.0
        self.rho = np.zeros(memory)
        self.S = self.Y = np.zeros((0, 0))  # (memory, features) once the gradient's precision is known

    @property
    def rules(self) -> Rules:
        return Rules(growth=2.0 if self.known else 4.0)

    def of(self, here: Point, slope: np.ndarray) -> np.ndarray:
        q = -slope
        if not len(self.S):
            dtype = here.gradient.dtype
            self.S, self.Y = (self.room.rows(self.memory, len(q), dtype) for _ in range(2))
            self.scale = self.scale.astype(dtype, copy=False)
        self._times_inverse_hessian(q)
        return q

    def _times_inverse_hessian(self, q: np.ndarray) -> None:
        """q ← H·q by the two-loop recursion (Nocedal & Wright, algorithm 7.4); S, Y (m, n) are rings."""
        S, Y, m, count = self.S, self.Y, self.memory, self.known
        alpha, k = np.zeros(m), self.newest
        product = kernels.dot(S[k], q) if count else 0.0
        for _ in range(count):
            alpha[k] = self.rho[k] * product
            older = (k - 1 + m) % m
            product = kernels.add_and_dot(-alpha[k], Y[k], q, S[older])
            release(Y[k])
            release(S[k])
            k = older
        kernels.times_scale(q, self.gamma, self.scale)
        k = (self.newest - count + 1 + m) % m
        product = kernels.dot(Y[k], q) if count else 0.0
        for _ in range(count):
            younger = (k + 1) % m
            product = kernels.add_and_dot(alpha[k] - self.rho[k] * product, S[k], q, Y[younger])
            release(S[k])
            release(Y[k])
            k = younger

    def first_step(self, here: Point, d: np.ndarray, descent: float) -> float:
        return 1.0 if self.known else modest_step(here, d)

    def learn(self, here: Point, there: Point) -> None:
        k = (self.newest + 1) % self.memory
        kernels.difference(there.w, here.w, self.S[k])
        kernels.difference(there.gradient, here.gradient, self.Y[k])
        product = kernels.dot(self.S[k], self.Y[k])
        if product > 0:
            self.rho[k] = 1 / product
            self.newest, self.known = k, min(self.known + 1, self.memory)
            y = self.Y[k]
            self.gamma = product / kernels.dot(y, y * self.scale if self.scale.size else y)
        release(self.S[k])
        release(self.Y[k])

    def forget(self) -> bool:
        """Drop the history and start again from the scaled gradient; returns whether there was a history."""
        knew = self.known > 0
        self.known, self.gamma = 0, 1.0
        return knew
