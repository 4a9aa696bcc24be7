"""Nonlinear conjugate gradients, Polak and Ribière's, restarted where their direction does not descend.

    d = −g + β·d′,   β = max(0, g·(g − g′) / g′·g′),   g′, d′ those of the step before

β = 0 is a restart with the plain gradient; so is a d that does not descend.
"""

from __future__ import annotations

import numpy as np

from loglin.kernels import vectors as kernels
from loglin.optimize.ascent import Steepest
from loglin.optimize.linesearch import Point


class Conjugate(Steepest):
    STATE = (*Steepest.STATE, "beta", "d")

    def __init__(self) -> None:
        super().__init__()
        self.beta, self.d = 0.0, np.zeros(0)

    def of(self, here: Point, slope: np.ndarray) -> np.ndarray:
        self.d = self.beta * self.d - slope if self.beta else -slope
        return self.d

    def learn(self, here: Point, there: Point) -> None:
        super().learn(here, there)
        old, new = here.gradient, there.gradient
        self.beta = max(0.0, (kernels.dot(new, new) - kernels.dot(new, old)) / kernels.dot(old, old))

    def forget(self) -> bool:
        knew, self.beta = self.beta > 0, 0.0
        return super().forget() or knew
