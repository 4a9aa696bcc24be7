"""−log p of every word of a text given its history: Σ_h (count_h·log Z_h) − Σ_features observed·weight."""

from __future__ import annotations

import numpy as np

from loglin.kernels import history as kernels
from loglin.kernels.history import Features, Targets, Tree
from loglin.threads import Threads, chunks_by_size

CHUNKS = 4  # each has expectations of its own, added up in order: the same bits for any number of threads
_NONE = np.empty(0)
_NO_TARGETS = Targets(np.empty(0, np.int64), np.empty(0, np.int32), _NONE)


def group_chunks(tree: Tree, ptr: np.ndarray) -> list[tuple[int, int]]:
    """Groups cut into ranges of about equal work."""
    lengths = np.append(np.diff(ptr), 0)  # the last is that of −1
    below = np.concatenate([[0], np.cumsum(lengths[tree.history_attributes])])[tree.history_ptr][tree.histories]
    inner = np.concatenate([[0], np.cumsum(lengths[tree.path].sum(axis=1))])
    return chunks_by_size(below + inner + tree.histories, CHUNKS)


class NextWordLikelihood:
    """Value and gradient at weights: first one per predicted word, then one per (attribute, word)."""

    convex = True

    def __init__(self, tree: Tree, ptr: np.ndarray, words: np.ndarray, observed: np.ndarray, threads: Threads):
        self.tree, self.ptr, self.words, self.threads = tree, ptr, words, threads
        self.observed = observed  # (weights,) float64
        self.n_words, self.n_features = len(observed) - len(words), len(observed)
        self.chunks = group_chunks(tree, ptr)
        self.evaluations = self.touches = 0  # passes so far; words touched in the last one

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        weights = weights.astype(np.float64, copy=False)
        self.evaluations += 1
        unigram, factors = weights[: self.n_words], np.exp(weights[self.n_words :])

        def visit(begin: int, end: int) -> tuple[float, int, np.ndarray]:
            expected = np.zeros(self.n_features)
            features = Features(self.ptr, self.words, factors, expected[self.n_words :])
            found = kernels.visit(self.tree, begin, end, unigram, features, expected[: self.n_words], _NO_TARGETS)
            return *found, expected

        parts = self.threads.map(visit, self.chunks)
        self.touches = sum(touches for _, touches, _ in parts)
        gradient = -self.observed
        for _, _, expected in parts:
            gradient += expected
        return sum(value for value, _, _ in parts) - float(self.observed @ weights), gradient
