"""Penalties on weights: Gaussian (L2), Laplacian (L1), or both, each with its own strength per weight."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from loglin.kernels.vectors import add_ridge
from loglin.optimize.objective import Objective


class Penalties(NamedTuple):
    """Σ l1·|w| + ½ Σ l2·w², strengths of every weight."""

    l1: np.ndarray  # (features,)
    l2: np.ndarray  # (features,)

    @classmethod
    def uniform(cls, n_features: int, l1: float, l2: float) -> Penalties:
        """Penalties with the same strengths for all weights: one number each in memory, not to be written to."""
        return cls(*(np.broadcast_to(float(strength), n_features) for strength in (l1, l2)))

    @property
    def free(self) -> np.ndarray:
        """Which weights have no penalty: (features,) bool."""
        return (self.l1 == 0) & (self.l2 == 0)

    def value(self, weights: np.ndarray) -> float:
        return absolute(self.l1, weights) + 0.5 * single_threaded("i,i", self.l2, weights**2)


def single_threaded(subscripts: str, *arrays: np.ndarray) -> Any:
    """Products without BLAS, which would take threads of its own."""
    return np.einsum(subscripts, *arrays)


def absolute(l1: np.ndarray, weights: np.ndarray) -> float:
    """Σ l1·|w|."""
    return float(single_threaded("i,i", l1, np.abs(weights)))


class Penalized:
    """objective(w) + ½ Σ l2·w²; the L1 part is left to the optimizer, which treats it separately."""

    def __init__(self, objective: Objective, l2: np.ndarray | float):
        self.objective, self.l2 = objective, shortest(np.atleast_1d(np.asarray(l2, np.float64)))

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = self.objective(weights)
        return value + add_ridge(self.l2, weights, gradient), gradient


def shortest(strengths: np.ndarray) -> np.ndarray:
    """The strengths as one number, (1,), if all are equal; otherwise as they are."""
    first = strengths[(slice(1),) * strengths.ndim].reshape(-1).copy()
    return first if len(first) and np.all(strengths == first) else strengths
