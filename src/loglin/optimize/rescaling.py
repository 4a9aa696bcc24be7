"""Variables of about the same size: real-valued attributes in other units, for the optimizer alone.

    u = s·w,   s = the largest |value| of the weight's attribute, or √l2 if that is larger, but not above 1

√l2, because the Hessian of a weight whose values are small is its penalty's, which no other unit would make smaller.

The optimizer sees R(u / s) + Σ (l1/s)·|u| + ½ Σ (l2/s²)·u², which has the same values as the objective in w: the model
and its penalty stay those that were asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

FARTHEST = 10.0  # units between 1/10 and 10 are left as they are


class Rescaled:
    """An objective as a function of u = scales·w."""

    def __init__(self, objective: Any, scales: np.ndarray):
        self.objective, self.scales = objective, scales
        self.n_features = objective.n_features

    def __call__(self, u: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = self.objective(u / self.scales)
        return value, (gradient / self.scales).astype(gradient.dtype)

    def curvature(self, u: np.ndarray) -> np.ndarray:
        return self.objective.curvature(u / self.scales).astype(np.float64) / self.scales**2


def units(objective: Any, l2: np.ndarray) -> np.ndarray | None:
    """The s of every weight: (features,); None if all are near 1, or unknown."""
    if not hasattr(objective, "magnitudes"):
        return None
    found = objective.magnitudes()
    if found is None or not len(found):
        return None
    found = np.maximum(np.where(found > 0, found, 1.0), np.minimum(np.sqrt(l2), 1.0))
    if found.max() <= FARTHEST and found.min() >= 1 / FARTHEST:
        return None
    return found
