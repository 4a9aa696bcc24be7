"""Features of input and outcome together, f(x, y): each example chooses among candidates of its own.

p(c | i) = exp(w · f(i, c)) / Σ_{c' of i} exp(w · f(i, c')), one row of F for every candidate, and

value(w) = −Σ_i weight_i·(log Σ_{right c} exp(w · f(i, c)) − log Σ_c exp(w · f(i, c)))
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse

from loglin.corpus.labels import Choices
from loglin.features.design import Design
from loglin.features.index import FeatureIndex
from loglin.objectives.decisions import HALF


class CandidateLikelihood:
    """−log-likelihood of the chosen candidates: value and gradient, unpenalized."""

    convex = True

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
        self.losses = np.zeros(design.n_sentences)  # of every example at the last weights, without its weight
        self.evaluations = 0

    @cached_property
    def decisions(self) -> CandidateDecisions | None:
        """What is known beyond value and gradient, if every example has one right candidate."""
        one = len(self.first) and np.all(np.add.reduceat(self.chosen.astype(int), self.first) == 1)
        return CandidateDecisions(self) if one else None

    def all_right(self) -> bool:
        """Whether the last weights give every right candidate more than half of the probability."""
        return self.decisions is not None and bool(np.all((self.losses < HALF) | (self.weight == 0)))

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        self.evaluations += 1
        all_, log_all = self._posterior(weights, np.zeros(len(self.chosen)))
        right, log_right = self._posterior(weights, np.where(self.chosen, 0.0, -np.inf))
        residuals = (all_ - right) * self.weight[self.example]
        self.losses = log_all - log_right
        return float(self.weight @ self.losses), self.F.T @ residuals.astype(self.dtype)

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


class CandidateDecisions:
    """As ``Decisions`` of optimize/objective.py says; a pair is a row of F."""

    def __init__(self, criterion: CandidateLikelihood):
        self.criterion, self.F = criterion, criterion.F
        self.F.sum_duplicates()
        self.mass = float(criterion.weight.sum())
        self.by_row = criterion.weight[criterion.example].astype(np.float64)
        self.right = np.flatnonzero(criterion.chosen)  # (examples,)

    def _expected(self, weights: np.ndarray) -> np.ndarray:
        """weight·p of every candidate."""
        return self.criterion._posterior(weights, np.zeros(len(self.by_row)))[0] * self.by_row

    def empirical(self) -> np.ndarray:
        return self.F.T @ (self.by_row * self.criterion.chosen)

    def feature_sums(self) -> np.ndarray:
        return np.asarray(self.F.sum(axis=1)).ravel()

    def expected_by_level(self, weights: np.ndarray, levels: np.ndarray, n_levels: int) -> np.ndarray:
        places = (self._expected(weights), (np.arange(len(levels)), levels))
        return (self.F.T @ sparse.csr_matrix(places, shape=(len(levels), n_levels))).toarray()

    def hessian_product(self, weights: np.ndarray, direction: np.ndarray) -> np.ndarray:
        c = self.criterion
        p, scores = c._posterior(weights, np.zeros(len(self.by_row)))[0], self.F @ direction
        mean = np.add.reduceat(p * scores, c.first)
        return self.F.T @ (p * self.by_row * (scores - mean[c.example]))

    def extremes(self) -> tuple[np.ndarray, np.ndarray]:
        c, entries = self.criterion, self.F.tocoo()
        key, group = np.unique(c.example[entries.row] * np.int64(self.F.shape[1]) + entries.col, return_inverse=True)
        example, feature = np.divmod(key, self.F.shape[1])
        absent = np.bincount(group, minlength=len(key)) < np.bincount(c.example)[example]  # 0 for some candidate
        found = []
        for take, far in ((np.minimum, np.inf), (np.maximum, -np.inf)):
            ends = np.where(absent, 0.0, far)
            take.at(ends, group, entries.data)
            found.append(np.bincount(feature, c.weight[example] * ends, minlength=self.F.shape[1]))
        return found[0], found[1]

    def differences(self, limit: int) -> sparse.csr_matrix | None:
        c = self.criterion
        wrong = np.flatnonzero(~c.chosen & (self.by_row > 0))
        right = self.right[c.example[wrong]]
        if self.F[wrong].nnz + np.diff(self.F.indptr)[right].sum() > limit:
            return None
        return (self.F[right] - self.F[wrong]).tocsr()

    def negative(self) -> int | None:
        found = np.flatnonzero(self.F.data < 0)
        return int(self.F.indices[found[0]]) if len(found) else None
