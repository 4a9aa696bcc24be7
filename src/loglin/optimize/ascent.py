"""Gradient ascent on the criterion, which is steepest descent on what we minimize, with a nearly exact line search.

d = −g,   w ← w + a*·d,   a* = argmin_a f(w + a·d)                                (loglinear_lecture)
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from loglin.optimize.descent import modest_step
from loglin.optimize.linesearch import Point, Rules

EXACT = Rules(bend=0.1, exact=True, growth=4.0)


class Steepest:
    rules = EXACT
    STATE: ClassVar[tuple[str, ...]] = ("slope_along", "step", "_descent")

    def __init__(self) -> None:
        self.slope_along = self.step = 0.0  # slope and length of the step before
        self._descent = 0.0

    def of(self, here: Point, slope: np.ndarray) -> np.ndarray:
        return -slope

    def first_step(self, here: Point, d: np.ndarray, descent: float) -> float:
        """The step length that promises the same first-order change as the step before (Nocedal & Wright, Eq. 3.60)."""
        self._descent = descent
        return self.step * self.slope_along / descent if self.step else modest_step(here, d)

    def learn(self, here: Point, there: Point) -> None:
        self.step, self.slope_along = there.step, self._descent

    def forget(self) -> bool:
        knew, self.step = self.step > 0, 0.0
        return knew
