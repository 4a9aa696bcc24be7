"""−log-likelihood of a cache's weights: Σ_t log(1 + Σ_f mass_{t,f}·(e^{θ_f} − 1)) − Σ_t θ of the word that came."""

from __future__ import annotations

import numpy as np


class CacheLikelihood:
    def __init__(self, mass: np.ndarray, hit: np.ndarray):
        self.mass = mass  # (tokens, features): probability of the cached words with each feature
        self.n_features = mass.shape[1]
        self.observed = np.bincount(hit[hit >= 0], minlength=self.n_features).astype(np.float64)

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        Z = 1 + self.mass @ np.expm1(theta)
        expected = np.exp(theta) * (self.mass.T @ (1 / Z))
        return float(np.log(Z).sum() - self.observed @ theta), expected - self.observed
