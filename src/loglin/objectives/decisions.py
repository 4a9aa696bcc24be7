"""What optimizers may know of independent decisions, see ``Decisions`` in optimize/objective.py."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from loglin.kernels.scaling import sum_by_level

if TYPE_CHECKING:
    from loglin.objectives.likelihood import ConditionalLikelihood

HALF = 0.693  # a little less than −log ½
ROOM = 20_000_000  # weights that are laid out as a full matrix


class TokenDecisions:
    """Of sentences of one token each with a certain label: pairs (token, label), (n, L) in that order."""

    def __init__(self, criterion: ConditionalLikelihood):
        self.criterion, self.index = criterion, criterion.index
        n, L, gold = criterion.design.n_tokens, criterion.index.n_labels, criterion.gold
        self.weight = criterion.instance.astype(np.float64) if criterion.instance.size else np.ones(n)
        self.mass = float(self.weight.sum())
        self.given = np.zeros((n, L), bool)
        self.given[np.arange(n), gold.codes] = True
        self.candidates = gold.sets[gold.candidates] if gold.candidates.size else np.ones((n, L), bool)
        self._at: tuple[np.ndarray, np.ndarray] | None = None  # weights, and expectations there

    @cached_property
    def _tokens(self) -> Any:
        """Attributes of every token: (n, attributes) sparse."""
        from scipy.sparse import csr_matrix

        lists, shape = self.criterion.design.unfolded(), (len(self.weight), len(self.index.ptr) - 1)
        values = lists.values if lists.values.size else np.ones(len(lists.ids))
        matrix = csr_matrix((values, lists.ids, lists.ptr), shape, copy=True)  # they may be the user's
        matrix.sum_duplicates()
        return matrix

    def _scores(self, weights: np.ndarray) -> np.ndarray:
        """w·f(d, c) of every pair (n, L)."""
        from scipy.sparse import csr_matrix

        shape = len(self.index.ptr) - 1, self.index.n_labels
        matrix = csr_matrix((self.index.split(weights)[0], self.index.labels.astype(np.int32), self.index.ptr), shape)
        if shape[0] * shape[1] <= ROOM:
            return self._tokens @ matrix.toarray()
        return (self._tokens @ matrix).toarray()

    def _gathered(self, by_pair: np.ndarray) -> np.ndarray:
        """Σ_d Σ_c by_pair[d, c]·f(d, c)."""
        criterion, total = self.criterion, np.zeros(self.index.n_features)
        R = np.zeros_like(criterion.residuals)
        R[: len(by_pair), : self.index.n_labels] = by_pair
        unigram = np.empty(self.index.sizes[0], criterion.dtype)
        criterion.scorer.gradient(R, unigram)
        total[: len(unigram)] = unigram
        return total

    def _expected(self, weights: np.ndarray) -> np.ndarray:
        """weight_d·p(c | d) of every pair (n, L)."""
        if self._at is None or not np.array_equal(self._at[0], weights):
            n, L = self.given.shape
            self.criterion._pass(weights)
            expected = self.criterion.residuals[:n, :L] + self.weight[:, None] * self.given
            self._at = weights.copy(), expected.astype(np.float64)
        return self._at[1]

    def empirical(self) -> np.ndarray:
        return self._gathered(self.weight[:, None] * self.given)

    def feature_sums(self) -> np.ndarray:
        return np.where(self.candidates, self._scores(np.ones(self.index.n_features)), 0.0).ravel()

    def expected_by_level(self, weights: np.ndarray, levels: np.ndarray, n_levels: int) -> np.ndarray:
        X, out = self._tokens, np.zeros((self.index.n_features, n_levels))
        lists = (X.indptr, X.indices, X.data, self.index.ptr, self.index.labels)
        sum_by_level(*lists, self._expected(weights), levels.reshape(self.given.shape), out)
        return out

    def hessian_product(self, weights: np.ndarray, direction: np.ndarray) -> np.ndarray:
        expected, scores = self._expected(weights), self._scores(direction)
        share = np.divide(1.0, self.weight, where=self.weight > 0, out=np.zeros_like(self.weight))
        mean = (expected * scores).sum(axis=1) * share
        return self._gathered(expected * (scores - mean[:, None]))

    def extremes(self) -> tuple[np.ndarray, np.ndarray]:
        """With values of at least 0: the most if every example chose the class, the least if it avoided it."""
        weight, forced = self.weight[:, None], self.candidates.sum(axis=1, keepdims=True) == 1
        return self._gathered(weight * (self.candidates & forced)), self._gathered(weight * self.candidates)

    def differences(self, limit: int) -> Any:
        from scipy.sparse import csr_matrix, vstack

        L = self.index.n_labels
        if 2 * self._tokens.nnz * (L - 1) > limit:
            return None
        attribute = np.repeat(np.arange(len(self.index.ptr) - 1), np.diff(self.index.ptr))
        ones, shape = np.ones(len(attribute)), (len(self.index.ptr) - 1, self.index.n_features)
        by_label = []  # features of every token with each label: (n, features)
        for label in range(L):
            own = np.flatnonzero(self.index.labels == label)
            by_label.append(self._tokens @ csr_matrix((ones[own], (attribute[own], own)), shape))
        codes = self.criterion.gold.codes
        rows = []
        for label in range(L):
            for other in range(L):
                which = np.flatnonzero((codes == label) & self.candidates[:, other] & (self.weight > 0))
                if other != label and len(which):
                    rows.append(by_label[label][which] - by_label[other][which])
        return vstack(rows).tocsr() if rows else csr_matrix((0, self.index.n_features))

    def negative(self) -> int | None:
        lists, counts = self.criterion.design.tokens, np.diff(self.index.ptr)
        found = np.flatnonzero(lists.values < 0)
        return next((int(self.index.ptr[a]) for a in lists.ids[found] if counts[a]), None)
