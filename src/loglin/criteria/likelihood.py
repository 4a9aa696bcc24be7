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
        everything = np.arange(design.n_sentences)
        self.order = 2 if len(index.triples) else 1
        self.empirical = [self._given(everything, size) for size in range(2, self.order + 2)]
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

    def _given(self, sentences: np.ndarray, size: int) -> np.ndarray:
        """Label n-grams (size 2 or 3) observed in those of the sentences that are free of doubt.

        The kernels leave these to us, and count both sides of the doubtful ones.
        """
        L, codes, offsets = self.index.n_labels, self.gold.codes.astype(np.int64), self.design.offsets
        lengths = np.diff(offsets)
        sentence = np.repeat(np.arange(len(lengths)), lengths)
        weight = np.zeros(len(lengths))
        weight[sentences] = self.instance[sentences] if self.instance.size else 1.0
        weight[sentence[codes < 0]] = 0.0
        if self.gold.candidates.size:
            weight[:] = 0.0
        last = np.flatnonzero(sentence[size - 1 :] == sentence[: len(sentence) - size + 1]) + size - 1
        weight = weight[sentence[last]]
        gram = np.zeros(len(last), np.int64)
        for back in range(size - 1, -1, -1):
            gram = gram * L + codes[last - back]
        return np.bincount(np.where(weight > 0, gram, 0), weight, minlength=L**size).reshape((L,) * size)

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient at ``weights``."""
        value, expected = self._residuals(weights)
        gradient = np.empty(self.n_features, self.dtype)
        unigram, bigram, pair, triple = self.index.split(gradient)
        self.scorer.gradient(self.residuals, unigram)
        self._sum_steps(self.step_residuals, bigram)
        pair[:] = (expected[0] - self.empirical[0]).reshape(-1)[self.index.pairs]
        if self.order == 2:
            triple[:] = (expected[1] - self.empirical[1]).reshape(-1)[self.index.triples]
        return value, gradient

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        """Σ p·(1 − p) of every feature, the diagonal of the Hessian without the links between tokens."""
        _, expected = self._residuals(weights)
        gradient_kernels.curvature(self.design.offsets, self.instance, self.residuals)
        diagonal = np.empty(self.n_features, self.dtype)
        unigram, bigram, pair, triple = self.index.split(diagonal)
        self.scorer.gradient(self.residuals, unigram, squared=True)
        self._sum_steps(np.abs(self.step_residuals), bigram)
        pair[:] = np.abs(expected[0]).reshape(-1)[self.index.pairs] / 2  # p·(1 − p) of few, large p
        if self.order == 2:
            triple[:] = np.abs(expected[1]).reshape(-1)[self.index.triples] / 2
        return diagonal

    def _sum_steps(self, residuals: np.ndarray, out: np.ndarray) -> None:
        """Sum the residuals of steps for every observed bigram feature."""
        ptr, postings = self._bigram_postings
        self.threads.map(
            lambda b, e: gradient_kernels.sum_postings(b, e, ptr, postings, residuals, out), chunks_by_size(ptr)
        )

    def _residuals(self, weights: np.ndarray) -> tuple[float, list[np.ndarray]]:
        """Fill the residuals of tokens and steps; return the value and the expected label bigrams, trigrams."""
        self.evaluations += 1
        index, L, width = self.index, self.index.n_labels, self.scorer.width
        x = np.ascontiguousarray(weights, self.dtype)
        self.scorer.load(x)
        T = index.transitions(np.asarray(weights, np.float64))
        M = np.zeros((width, width), self.dtype)
        with np.errstate(over="ignore"):
            M[:L, :L] = np.exp(T)
            M_exp = np.exp(x) if len(index.bigram_pairs) else x[:0]
        self.step_residuals[:] = 0
        parameters = (self.scorer.table, x, T, M, np.ascontiguousarray(M.T), M_exp)
        cube = _Cube(index, weights, self.longest, width, self.dtype) if self.order == 2 else None
        data = (self.design.offsets, L, self.scorer.tokens, self.bigrams, self.labels, self.instance, parameters)

        def chunk(begin: int, end: int) -> tuple:
            X, XD = np.zeros((width, width), self.dtype), np.zeros((width, width))
            second = cube.scratch() if cube else None
            rest = (self.longest, self.residuals, X, XD, self.step_residuals, self._unsafe)
            loss = kernels.posteriors(begin, end, *data, second, *rest)
            return loss, X, XD, second[3] if second else None

        value, pairs, triples = 0.0, np.zeros((width, width)), 0.0
        for loss, X, XD, XC in self.threads.map(chunk, self._chunks):
            value += loss
            pairs += X * M.astype(np.float64) + XD
            if cube:
                triples = triples + cube.expected(XC)
        expected = [pairs[:L, :L].copy(), triples][: self.order]
        careful = np.flatnonzero(self._unsafe)
        if len(careful):
            value += self._carefully(careful, data, cube, expected)
        return value, expected  # type: ignore[return-value]

    def _carefully(self, sentences: np.ndarray, data: tuple, cube: _Cube | None, expected: list) -> float:
        """Sentences that were not safe in scaled probabilities, in the log domain."""
        L = self.index.n_labels
        log_cube = cube.log if cube else np.zeros((0, L, L))
        XD, XC = np.zeros((L, L)), np.zeros(log_cube.shape)
        value = careful_sentences(sentences, *data, log_cube, self.residuals, XD, XC, self.step_residuals)
        for size, total in zip((2, 3), (XD, XC), strict=True):
            if size <= self.order + 1:  # what was given in certain sentences is subtracted later, for all alike
                expected[size - 2] += total + self._given(sentences, size)
        return value


class _Cube:
    """Label trigrams of a chain of second order, laid out for ``kernels.second``."""

    def __init__(self, index: FeatureIndex, weights: np.ndarray, longest: int, width: int, dtype: np.dtype):
        L = index.n_labels
        cube = index.trigrams(np.asarray(weights, np.float64))
        assert cube is not None
        self.log, self.width, self.longest, self.dtype = cube, width, longest, dtype
        self.histories = -(-(L + 1) // 4) * 4
        C = np.zeros((self.histories, L, width), dtype)
        CT = np.zeros((L, width, width), dtype)
        with np.errstate(over="ignore"):
            C[:L, :, :L] = np.exp(cube)
            CT[:, :L, :L] = np.exp(cube).transpose(1, 2, 0)
        self.C, self.CT = C.reshape(-1, width), CT.reshape(-1, width)

    def scratch(self) -> tuple[np.ndarray, ...]:
        """What the kernel needs for a chunk: C, CT, log C, expectations without their factor C, A, G."""
        A, G = (np.zeros((self.longest * self.histories, self.width), self.dtype) for _ in range(2))
        return self.C, self.CT, self.log, np.zeros_like(self.C), A, G

    def expected(self, XC: np.ndarray) -> np.ndarray:
        L = len(self.log)
        full = (XC * self.C.astype(np.float64)).reshape(self.histories, L, self.width)
        return full[:L, :, :L]
