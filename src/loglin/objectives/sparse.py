"""Conditional likelihood on chains of many labels, of which most pairs never occur: the same sums in less time.

A pair without a weight has the factor 1, so that a step costs labels + observed pairs (kernels/sparse_chain.py).
Attributes of many labels are rows of a table; the weights of the others are read where they are.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from loglin.corpus.labels import Gold
from loglin.features.design import Design
from loglin.features.index import ROW_SHARE, FeatureIndex
from loglin.kernels import sparse_chain as kernels
from loglin.kernels.gradient import fill_table
from loglin.kernels.rows import LANES, padded
from loglin.kernels.sentences import Sentences, Steps, Tokens
from loglin.kernels.sparse_chain import AttributeLists, LabelPairs, PairLinks, SparseSums
from loglin.objectives.likelihood import ConditionalLikelihood
from loglin.threads import chunks_by_size

ROUGH = 1 / 16  # factors below it are the same number in the sums and in the score of the gold labels


def likelihood_of(design: Design, gold: Gold, index: FeatureIndex, *more: Any) -> ConditionalLikelihood:
    """Conditional likelihood, summed in the way that takes less time."""
    steps = design.n_tokens > np.count_nonzero(np.diff(design.offsets))  # else labels are independent decisions
    sparse = steps and index.few_pairs and not design.vectors  # a row of a vector is one of all labels
    kind = SparseLikelihood if sparse else ConditionalLikelihood
    return kind(design, gold, index, *more)


class SparseLikelihood(ConditionalLikelihood):
    """−log-likelihood of a chain of first order without observed bigram features.

    A pass takes so little time beside steps of single sentences, each of labels², that L-BFGS starts without them.
    """

    starts_cold = True

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        index, lengths = self.index, np.diff(self.design.offsets)
        tokens = self.design.unfolded()
        is_row = np.diff(index.ptr) * ROW_SHARE >= index.n_labels
        self.row_of = np.where(is_row, np.cumsum(is_row) - 1, -1).astype(np.int32)
        self.table = np.zeros((int(is_row.sum()), padded(index.n_labels)), self.dtype)
        values = tokens.values.astype(self.dtype)
        self.lists = AttributeLists(tokens.ptr, tokens.ids, values, index.ptr, index.labels, self.row_of)
        self.sorted = np.argsort(-lengths, kind="stable")[: np.count_nonzero(lengths)]
        batches = np.concatenate([[0], np.cumsum(lengths[self.sorted])])[::LANES]
        ends = np.append(batches, lengths.sum()) if len(self.sorted) % LANES else batches
        self.batches = chunks_by_size(ends)
        before, label = np.divmod(index.pairs.astype(np.int64), index.n_labels)
        self._by_label = np.argsort(label, kind="stable")
        self._before, self._label = before, label

    def prepare(self) -> None:
        _ = self.gold_pairs, self._all_observed

    @property
    def bare(self) -> Sentences:
        """The sentences without features, which are in ``lists``."""
        number, nobody, single = np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, self.dtype)
        ids, none = np.zeros(0, np.uint32), Steps(number, nobody, number, nobody, 0, number, nobody)
        tokens = Tokens(number, ids, single, number, ids, np.zeros(0, np.uint16), single)
        return Sentences(
            self.design.offsets, self.longest, self.index.n_labels, tokens, none, self.labels, self.instance
        )

    @cached_property
    def gold_pairs(self) -> np.ndarray:
        """The number of the label pair that leads into each token, −1 for none; empty unless labels are certain."""
        codes, L = self.gold.codes.astype(np.int64), self.index.n_labels
        if np.any(codes < 0) or self.gold.candidates.size:
            return np.zeros(0, np.int32)
        pair = np.append(-1, codes[:-1] * L + codes[1:])[: len(codes)]
        pair[self.design.offsets[:-1][np.diff(self.design.offsets) > 0]] = -1
        place = np.searchsorted(self.index.pairs, pair)
        known = np.append(self.index.pairs, -2)[place] == pair
        return np.where(known & (pair >= 0), place, -1).astype(np.int32)

    def pairs_of(self, weights: np.ndarray) -> LabelPairs:
        """The observed label pairs with their factors."""
        L, own = self.index.n_labels, self.index.split(np.asarray(weights, np.float64))[2]
        with np.errstate(over="ignore", divide="ignore"):
            factor, excess = np.exp(own).astype(self.dtype), np.expm1(own).astype(self.dtype)
            near = np.where(factor > ROUGH, np.log1p(excess.astype(np.float64)), np.log(factor.astype(np.float64)))
        logs = np.where(np.isfinite(near), near, own)  # gold labels score what sums over all labels score
        into = PairLinks(_cuts(self._label, L), *_of(self._by_label, self._before.astype(np.uint16), factor, excess))
        behind = PairLinks(_cuts(self._before, L), self._label.astype(np.uint16), factor, excess)
        return LabelPairs(into, behind, self.gold_pairs, logs)

    def _observed(self, sentences: np.ndarray | None = None) -> np.ndarray:
        """How often each label pair was observed, in the given sentences: (pairs,)."""
        lengths = np.diff(self.design.offsets)
        weight = self.instance.astype(np.float64) if self.instance.size else np.ones(len(lengths))
        if sentences is not None:
            weight = np.where(np.isin(np.arange(len(lengths)), sentences), weight, 0.0)
        found = np.flatnonzero(self.gold_pairs >= 0)
        of_token = np.repeat(weight, lengths)[found]
        return np.bincount(self.gold_pairs[found], of_token, minlength=len(self.index.pairs))

    @cached_property
    def _all_observed(self) -> np.ndarray:
        return self._observed()

    def weigh(self, instance_weights: np.ndarray) -> None:
        super().weigh(instance_weights)
        self.__dict__.pop("_all_observed", None)

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        gradient, pairs = self._summed(weights, False)
        self.index.split(gradient)[2][:] = pairs
        return float(self.losses.sum()), gradient

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        diagonal, pairs = self._summed(weights, True)
        self.index.split(diagonal)[2][:] = np.abs(pairs + self._all_observed) / 2  # p·(1 − p) of few, large p
        return diagonal

    def _summed(self, weights: np.ndarray, curved: bool) -> tuple[np.ndarray, np.ndarray]:
        """The gradient, or with ``curved`` a guess of the Hessian's diagonal, and residuals of label pairs."""
        self.evaluations += 1
        x, index = np.ascontiguousarray(weights, self.dtype), self.index
        fill_table(0, len(self.row_of), index.ptr, index.labels, self.row_of, x, self.table)
        pairs, text, found = self.pairs_of(weights), self.bare, self._room()
        scored = (text, self.lists, self.table, x, pairs)

        def chunk(begin: int, end: int) -> SparseSums:
            room = self._room()
            kernels.sparse_posteriors(begin, end, self.sorted, *scored, curved, room)
            return room

        for first in range(0, len(self.batches), self.threads.n):  # so many sums at a time take memory
            for part in self.threads.map(chunk, self.batches[first : first + self.threads.n]):
                for total, more in zip(found[:3], part[:3], strict=True):
                    total += more
        given = self._all_observed
        careful = np.flatnonzero(self.unsafe)
        if len(careful):
            steps = index.transitions(np.asarray(weights, np.float64))[None]
            kernels.sparse_carefully(careful, *scored, steps, curved, found)
            given = given - self._observed(careful)
        gradient = found.weights
        rows = np.repeat(self.row_of, np.diff(index.ptr))
        place = np.flatnonzero(rows >= 0)
        gradient[place] = found.table[rows[place], index.labels[place]]
        return gradient, found.pairs - given

    def _room(self) -> SparseSums:
        index = self.index
        sums = np.zeros_like(self.table), np.zeros(index.n_features, self.dtype), np.zeros(len(index.pairs))
        return SparseSums(*sums, self.losses, self.unsafe)


def _cuts(labels: np.ndarray, n_labels: int) -> np.ndarray:
    """Where the pairs of each label begin, and their number at the end."""
    return np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=n_labels))]).astype(np.int64)


def _of(order: np.ndarray, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple(np.ascontiguousarray(array[order]) for array in arrays)
