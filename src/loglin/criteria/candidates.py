"""Features of input and outcome together, f(x, y): each example chooses among candidates of its own.

p(c | i) = exp(w · f(i, c)) / Σ_{c' of i} exp(w · f(i, c')), one row of F for every candidate, and

value(w) = −Σ_i weight_i·(log Σ_{right c} exp(w · f(i, c)) − log Σ_c exp(w · f(i, c)))
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from loglin.corpus.labels import Choices
from loglin.features.design import Design
from loglin.features.index import FeatureIndex


class CandidateLikelihood:
    """−log-likelihood of the chosen candidates: value and gradient, unpenalized."""

    stochastic = None  # nothing to warm up from

    def __init__(
        self,
        design: Design,
        choices: Choices,
        index: FeatureIndex,
        instance_weights: np.ndarray | None = None,
        dtype: type = np.float64,
    ):
        self.n_features, self.dtype = index.n_features, np.dtype(dtype)
        tokens = design.tokens
        values = tokens.values if tokens.values.size else np.ones(len(tokens.ids))
        shape = design.n_tokens, design.n_attributes
        owner = np.repeat(np.arange(design.n_attributes), np.diff(index.ptr))  # a cut-off leaves some without a weight
        self.F = sparse.csr_matrix((values.astype(dtype), tokens.ids, tokens.ptr), shape=shape)[:, owner]
        self.chosen, self.first = choices.chosen, design.offsets[:-1]
        self.example = np.repeat(np.arange(design.n_sentences), np.diff(design.offsets))  # (candidates,)
        self.weight = np.ones(design.n_sentences) if instance_weights is None else np.asarray(instance_weights)
        self.evaluations = 0

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        self.evaluations += 1
        all_, log_all = self._posterior(weights, np.zeros(len(self.chosen)))
        right, log_right = self._posterior(weights, np.where(self.chosen, 0.0, -np.inf))
        residuals = (all_ - right) * self.weight[self.example]
        return float(self.weight @ (log_all - log_right)), self.F.T @ residuals.astype(self.dtype)

    def _posterior(self, weights: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """p (candidates,) among those that the mask does not forbid, and log Z (examples,)."""
        scores = (self.F @ np.asarray(weights, self.dtype)).astype(np.float64) + mask
        peak = np.maximum.reduceat(scores, self.first)
        u = np.exp(scores - peak[self.example])
        Z = np.add.reduceat(u, self.first)
        return u / Z[self.example], peak + np.log(Z)

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        """The Hessian's diagonal, Σ_i weight_i·(E[f²] − E[f]²), of all candidates."""
        p, _ = self._posterior(weights, np.zeros(len(self.chosen)))
        per_candidate = self.F.multiply(p[:, None]).tocsr()
        places = (np.ones(len(p)), (self.example, np.arange(len(p))))
        mean = sparse.csr_matrix(places, shape=(len(self.weight), len(p))) @ per_candidate
        second = per_candidate.multiply(self.F).T @ self.weight[self.example]
        return np.maximum(np.asarray(second).ravel() - np.asarray(mean.multiply(mean).T @ self.weight).ravel(), 0.0)
