"""Weights as other programs list them, made the index and the weight vector of a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loglin.features.index import FeatureIndex
from loglin.models.foreign.format import require

NONE = np.empty(0, np.int64)


@dataclass(frozen=True)
class Entries:
    """Weights of attributes with a label, or with a pair label before · L + label; without attributes all are 0."""

    attributes: np.ndarray  # (entries,) int64
    outcomes: np.ndarray  # (entries,) int64
    weights: np.ndarray  # (entries,) float32 or float64

    @classmethod
    def none(cls, dtype: type | np.dtype = np.float64) -> Entries:
        return cls(NONE, NONE, np.empty(0, dtype))

    @classmethod
    def of_rows(cls, attributes: np.ndarray, rows: np.ndarray) -> Entries:
        """The weights of whole rows (attributes, outcomes) that are not 0."""
        found, outcomes = np.nonzero(rows)
        return cls(attributes[found], outcomes, rows[found, outcomes])

    def merged(self, n_outcomes: int) -> Entries:
        """In the order of attributes and outcomes, with one weight for each, those of 0 left out."""
        finite = np.isfinite(self.weights)
        require(bool(finite.all()), f"a weight is {self.weights[~finite][:1]}")
        keys = self.attributes * n_outcomes + self.outcomes
        order = np.argsort(keys, kind="stable")
        keys, weights = keys[order], self.weights[order]
        first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else NONE
        if len(first) < len(keys):
            weights, keys = np.add.reduceat(weights, first), keys[first]
        kept = weights != 0
        attributes, outcomes = np.divmod(keys[kept], n_outcomes)
        return Entries(attributes, outcomes, weights[kept])

    def ptr(self, n_attributes: int) -> np.ndarray:
        """Where the entries of each attribute begin and end, in their order."""
        return np.searchsorted(self.attributes, np.arange(n_attributes + 1))


def indexed(
    n_labels: int, n_attributes: int, unigrams: Entries, n_bigrams: int, bigrams: Entries, pairs: Entries
) -> tuple[FeatureIndex, np.ndarray]:
    """The index and the weights of attributes with labels, of attributes with label pairs, and of pairs alone."""
    unigrams, bigrams, pairs = (
        part.merged(size) for part, size in ((unigrams, n_labels), (bigrams, n_labels**2), (pairs, n_labels**2))
    )
    index = FeatureIndex(
        n_labels,
        unigrams.ptr(n_attributes),
        unigrams.outcomes.astype(np.uint16),
        bigrams.ptr(n_bigrams),
        bigrams.outcomes.astype(np.int32),
        pairs.outcomes.astype(np.int32),
        NONE,
    )
    return index, np.concatenate([unigrams.weights, bigrams.weights, pairs.weights])
