"""Conditional likelihood on chains: −Σ weightᵢ·(log Σ_{Aᵢ} u − log Σ_{Bᵢ} u).

Bᵢ is every label sequence of sentence i, Aᵢ those that its annotation allows: one sequence when every
label is given, more with partial labels. A maximum-entropy classifier is a chain of sentences of
length one.
"""

from __future__ import annotations

import numpy as np

from loglin.corpus.labels import Gold
from loglin.criteria.scoring import Scorer
from loglin.features.design import Design
from loglin.features.index import FeatureIndex
from loglin.kernels import chain as kernels
from loglin.kernels import gradient as gradient_kernels
from loglin.kernels.careful import careful_sentences
from loglin.parallel.threads import Threads, chunks_by_size


class ConditionalLikelihood:
    """Value and gradient of the unpenalized criterion, to be minimized."""

    def __init__(
        self,
        design: Design,
        gold: Gold,
        index: FeatureIndex,
        instance_weights: np.ndarray | None = None,
        dtype: type = np.float32,
        threads: Threads | None = None,
    ):
        self.design, self.gold, self.index = design, gold, index
        self.threads = threads or Threads(1)
        self.scorer = Scorer(design, index, dtype, self.threads)
        self.dtype, self.n_features = np.dtype(dtype), index.n_features
        self.instance = np.asarray([] if instance_weights is None else instance_weights, self.dtype)
        self.labels = (gold.codes, gold.sets, gold.candidates)
        self.longest = int(np.diff(design.offsets).max(initial=1))
        self.residuals = np.zeros((design.n_tokens + self.scorer.n_heads, self.scorer.width), self.dtype)
        self._chunks = chunks_by_size(design.offsets)
        self.bigrams = self._bigram_lists()
        self.step_residuals = np.zeros(len(self.bigrams[1]), self.dtype)
        self._unsafe = np.zeros(design.n_sentences, bool)
        self.empirical = self._given(np.arange(design.n_sentences))
        self.evaluations = 0

    def _bigram_lists(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Observed bigram features of the step into each token, and for each feature where it occurs."""
        if not len(self.index.bigram_pairs):
            self._bigram_postings = np.zeros(1, np.int64), np.empty(0, np.uint32)
            return np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.int32)
        incidence = self.design.bigrams
        counts = np.diff(self.index.bigram_ptr)[incidence.ids]
        ends = np.concatenate([[0], np.cumsum(counts)])
        starts = np.repeat(self.index.bigram_ptr[incidence.ids] - ends[:-1], counts)
        features = (starts + np.arange(ends[-1])).astype(np.uint32)
        ptr = ends[incidence.ptr]
        sizes = np.bincount(features, minlength=len(self.index.bigram_pairs))
        posting_ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._bigram_postings = posting_ptr, np.argsort(features, kind="stable").astype(np.uint32)
        # kernels number the weights of all kinds in one vector
        return ptr, features + np.uint32(self.index.sizes[0]), self.index.bigram_pairs[features]

    def _given(self, sentences: np.ndarray) -> np.ndarray:
        """Transitions observed in those of the sentences that are free of doubt; of the others, none.

        The kernels leave these to us, and count both sides of the doubtful ones.
        """
        L, codes, offsets = self.index.n_labels, self.gold.codes, self.design.offsets
        lengths = np.diff(offsets)
        sentence = np.repeat(np.arange(len(lengths)), lengths)
        weight = np.zeros(len(lengths))
        weight[sentences] = self.instance[sentences] if self.instance.size else 1.0
        weight[sentence[codes < 0]] = 0.0
        if self.gold.candidates.size:
            weight[:] = 0.0
        step = np.flatnonzero(sentence[1:] == sentence[:-1]) + 1
        weight = weight[sentence[step]]
        pair = np.where(weight > 0, codes[step - 1] * np.int64(L) + codes[step], 0)
        return np.bincount(pair, weight, minlength=L * L).reshape(L, L)

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient at ``weights``."""
        value, expected = self._residuals(weights)
        gradient = np.empty(self.n_features, self.dtype)
        unigram, bigram, transition, _ = self.index.split(gradient)
        self.scorer.gradient(self.residuals, unigram)
        if len(bigram):
            ptr, postings = self._bigram_postings
            gradient_kernels.sum_postings(0, len(bigram), ptr, postings, self.step_residuals, bigram)
        transition[:] = (expected - self.empirical).reshape(-1)[self.index.pairs]
        return value, gradient

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        """Σ p·(1 − p) of every feature, the diagonal of the Hessian without the links between tokens."""
        _, expected = self._residuals(weights)
        gradient_kernels.curvature(self.design.offsets, self.instance, self.residuals)
        diagonal = np.empty(self.n_features, self.dtype)
        unigram, bigram, transition, _ = self.index.split(diagonal)
        self.scorer.gradient(self.residuals, unigram, squared=True)
        if len(bigram):
            ptr, postings = self._bigram_postings
            spread = np.abs(self.step_residuals)
            gradient_kernels.sum_postings(0, len(bigram), ptr, postings, spread, bigram)
        transition[:] = expected.reshape(-1)[self.index.pairs] / 2
        return diagonal

    def _residuals(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Fill the residuals of tokens and steps; return the value and the expected transitions (L, L)."""
        self.evaluations += 1
        index, L, width = self.index, self.index.n_labels, self.scorer.width
        x = np.ascontiguousarray(weights, self.dtype)
        self.scorer.load(x)
        T = index.transitions(np.asarray(weights, np.float64))
        M = np.zeros((width, width), self.dtype)
        with np.errstate(over="ignore"):
            M[:L, :L] = np.exp(T)
            M_exp = np.exp(x) if len(index.bigram_pairs) else x[:0]
        MT = np.ascontiguousarray(M.T)
        self.step_residuals[:] = 0
        parameters = (self.scorer.table, x, T, M, MT, M_exp)

        def chunk(begin: int, end: int) -> tuple[float, np.ndarray, np.ndarray]:
            X, XD = np.zeros((width, width), self.dtype), np.zeros((width, width))
            loss = kernels.posteriors(
                begin,
                end,
                self.design.offsets,
                L,
                self.scorer.tokens,
                self.bigrams,
                self.labels,
                self.instance,
                parameters,
                self.longest,
                self.residuals,
                X,
                XD,
                self.step_residuals,
                self._unsafe,
            )
            return loss, X, XD

        value, expected = 0.0, np.zeros((width, width))
        for loss, X, XD in self.threads.map(chunk, self._chunks):
            value += loss
            expected += X * M.astype(np.float64) + XD
        careful = np.flatnonzero(self._unsafe)
        if len(careful):
            XD = np.zeros((width, width))
            value += careful_sentences(
                careful,
                self.design.offsets,
                L,
                self.scorer.tokens,
                self.bigrams,
                self.labels,
                self.instance,
                parameters,
                self.residuals,
                XD,
                self.step_residuals,
            )
            expected[:L, :L] += XD[:L, :L] + self._given(
                careful
            )  # transitions of certain sentences are subtracted later
        return value, expected[:L, :L]
