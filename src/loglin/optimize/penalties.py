"""Penalties on weights: Gaussian (L2), Laplacian (L1), or both, each with its own strength per weight."""

from __future__ import annotations

import numpy as np

from loglin.kernels.vectors import add_ridge


class Penalized:
    """criterion(w) + ½ Σ l2·w²; an L1 part is left to the optimizer, which needs it apart."""

    def __init__(self, criterion, l2: np.ndarray | float):
        self.criterion, self.l2 = criterion, np.atleast_1d(np.asarray(l2, np.float64))

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = self.criterion(weights)
        return value + add_ridge(self.l2, weights, gradient), gradient


def shortest(strengths: np.ndarray) -> np.ndarray:
    """One number in place of many equal ones."""
    first = strengths.ravel()[:1]
    return first if len(first) and np.all(strengths == first) else strengths
