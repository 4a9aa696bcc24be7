"""What every criterion on chains shares: weights in, scores of labels and steps, residuals, gradient out.

    weights → scores of tokens (Scorer), steps, label trigrams → the criterion's sums → residuals → gradient

A residual is the derivative of the criterion by a score; the gradient sums it over the places of a feature.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from loglin.corpus.labels import Gold
from loglin.features.design import NO_VALUES, Design
from loglin.features.index import FeatureIndex
from loglin.features.scoring import Scorer
from loglin.kernels import gradient as gradient_kernels
from loglin.kernels import keys
from loglin.kernels.sentences import Labels, Parameters, Residuals, Sentences, Steps
from loglin.threads import Threads, chunks_by_size

MOST_MEMORY, ROOM_FOR_MEMORY = 200, 1 << 24  # steps of L-BFGS, and numbers of a weight's size that they may take


class ChainCriterion(ABC):
    """Value and gradient of an unpenalized criterion, to be minimized; ``residuals_of`` makes it one."""

    def __init__(
        self,
        design: Design,
        gold: Gold,
        index: FeatureIndex,
        instance_weights: np.ndarray | None = None,
        dtype: type = np.float32,
        threads: Threads | None = None,
        costs: np.ndarray | None = None,  # (L, L): of a wrong label, by the right one
    ):
        self.design, self.gold, self.index = design, gold, index
        self.threads = threads or Threads(1)
        self.dtype, self.n_features = np.dtype(dtype), index.n_features
        self.instance = np.asarray([] if instance_weights is None else instance_weights, self.dtype)
        price = np.zeros((0, 0), self.dtype) if costs is None else np.asarray(costs, self.dtype)
        self.labels = Labels(gold.codes, gold.sets, gold.candidates, price)
        self.longest = int(np.diff(design.offsets).max(initial=1))
        self.chunks = chunks_by_size(design.offsets)
        self.bigrams = self._bigram_lists()
        self.step_residuals = np.zeros(len(self.bigrams.ids), self.dtype)
        self.order = 2 if len(index.triples) else 1
        self.losses = np.zeros(design.n_sentences)  # of every sentence at the last weights
        self.unsafe = np.zeros(design.n_sentences, bool)  # where the last pass needed the log domain
        self.evaluations = 0
        self.epochs = 0.0  # stochastic passes over the sentences, or parts of one

    @cached_property
    def scorer(self) -> Scorer:
        return Scorer(self.design, self.index, self.dtype.type, self.threads)

    @cached_property
    def residuals(self) -> np.ndarray:
        """Of every token, then of every head: (tokens + heads, width)."""
        return np.zeros((self.design.n_tokens + self.scorer.n_heads, self.scorer.width), self.dtype)

    def prepare(self) -> None:
        """Make what every pass reads, before the objective is stored."""
        _ = self.scorer, self.residuals

    def _bigram_lists(self) -> Steps:
        """Observed bigram features of the step into each token, and for each feature where it occurs."""
        if not len(self.index.bigram_pairs):
            self._bigram_postings = np.zeros(1, np.int64), np.empty(0, np.uint32)
            return Steps(np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.int32))
        incidence = self.design.bigrams
        counts = np.diff(self.index.bigram_ptr)[incidence.ids]
        ends = np.concatenate([[0], np.cumsum(counts)])
        starts = np.repeat(self.index.bigram_ptr[incidence.ids] - ends[:-1], counts)
        features = (starts + np.arange(ends[-1])).astype(np.uint32)
        ptr = ends[incidence.ptr]
        sizes, places = np.zeros(len(self.index.bigram_pairs), np.int64), np.empty(len(features), np.uint32)
        keys.count(features, sizes)
        posting_ptr = np.concatenate([[0], np.cumsum(sizes)])
        one_each = np.arange(len(features) + 1)
        keys.transpose(one_each, features, NO_VALUES, 0, posting_ptr[:-1].copy(), places, NO_VALUES)
        self._bigram_postings = posting_ptr, places
        # kernels number the weights of all kinds in one vector
        return Steps(ptr, features + np.uint32(self.index.sizes[0]), self.index.bigram_pairs[features])

    @property
    def memory(self) -> int:
        """How many steps L-BFGS should remember at least: many of few weights, where attributes are numbers.

        Numbers depend on each other as zeros and ones hardly do. On 384 dimensions of 3,000 sentences 8, 20, 50 and 200
        steps take 365, 261, 150 and 114 iterations; with a template beside, 8 and 100 take 191 and 105.
        """
        numbers = bool(self.design.tokens.values.size or self.design.vectors)
        return min(ROOM_FOR_MEMORY // max(self.n_features, 1), MOST_MEMORY) if numbers else 0

    def magnitudes(self) -> np.ndarray | None:
        """The largest |value| of every feature's attribute: (features,); None if all values are 1."""
        tokens, vectors = self.design.tokens, self.design.vectors
        if not tokens.values.size and not vectors:
            return None
        largest = np.zeros(self.design.n_attributes)
        np.maximum.at(largest, tokens.ids, np.abs(tokens.values) if tokens.values.size else 1.0)
        if self.design.heads is not None:
            largest[self.design.heads.attributes.ids] = 1.0
        for v in vectors:
            largest[v.attributes] = np.maximum(v.rows.max(axis=0, initial=0), -v.rows.min(axis=0, initial=0))
        found = np.ones(self.n_features)
        found[: len(self.index.labels)] = np.repeat(largest, np.diff(self.index.ptr))
        return found

    @property
    def text(self) -> Sentences:
        """The sentences as kernels read them."""
        lists = (self.scorer.tokens, self.bigrams, self.labels, self.instance)
        return Sentences(self.design.offsets, self.longest, self.index.n_labels, *lists)

    def parameters(self, weights: np.ndarray, x: np.ndarray) -> Parameters:
        """What kernels score with; ``x`` are the weights in our precision, already in the scorer's table."""
        return Parameters(self.scorer.table, x, self.index.transitions(np.asarray(weights, np.float64)))

    def log_trigrams(self, weights: np.ndarray) -> np.ndarray:
        """Weights of label trigrams (L, L, L), or (0, L, L) in first order."""
        cube, L = self.index.trigrams(np.asarray(weights, np.float64)), self.index.n_labels
        return np.zeros((0, L, L)) if cube is None else cube

    def filled(self, pairs: np.ndarray, triples: np.ndarray, X: np.ndarray) -> Residuals:
        """The arrays that a pass over sentences fills; those of label n-grams belong to one thread."""
        return Residuals(self.residuals, self.step_residuals, self.losses, self.unsafe, X, pairs, triples)

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient at ``weights``."""
        gradient = self._gathered(*self._pass(weights))
        return float(self.losses.sum()), gradient

    def _gathered(self, pairs: np.ndarray, triples: np.ndarray) -> np.ndarray:
        """Sum residuals, and those of label bigrams and trigrams, by feature."""
        gradient = np.empty(self.n_features, self.dtype)
        unigram, bigram, pair, triple = self.index.split(gradient)
        self.scorer.gradient(self.residuals, unigram)
        self._sum_steps(self.step_residuals, bigram)
        pair[:] = pairs.reshape(-1)[self.index.pairs]
        triple[:] = triples.reshape(-1)[self.index.triples]
        return gradient

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        """Σ p·(1 − p) of every feature, the diagonal of the Hessian without the links between tokens."""
        pairs, triples = self.expected(*self._pass(weights))
        gradient_kernels.curvature(self.design.offsets, self.instance, self.residuals)
        diagonal = np.empty(self.n_features, self.dtype)
        unigram, bigram, pair, triple = self.index.split(diagonal)
        self.scorer.gradient(self.residuals, unigram, squared=True)
        p = np.minimum(np.abs(self.step_residuals), 1)  # as of tokens: |p − y|·(1 − |p − y|) = p·(1 − p)
        self._sum_steps(p * (1 - p), bigram)
        pair[:] = np.abs(pairs).reshape(-1)[self.index.pairs] / 2  # p·(1 − p) of few, large p
        triple[:] = np.abs(triples).reshape(-1)[self.index.triples] / 2
        return diagonal

    def expected(self, pairs: np.ndarray, triples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Expected label bigrams and trigrams, or a guess of their size, from their residuals."""
        return pairs, triples

    def _pass(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.evaluations += 1
        x = np.ascontiguousarray(weights, self.dtype)
        self.scorer.load(x)
        self.step_residuals[:] = 0
        return self.residuals_of(weights, x)

    @abstractmethod
    def residuals_of(self, weights: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Fill residuals of tokens and steps, and losses; return those of label bigrams and trigrams.

        ``x`` are the weights in this criterion's precision, already in the scorer's table.
        """

    def _sum_steps(self, residuals: np.ndarray, out: np.ndarray) -> None:
        """Sum the residuals of steps for every observed bigram feature."""
        ptr, postings = self._bigram_postings
        self.threads.map(
            lambda b, e: gradient_kernels.sum_postings(b, e, ptr, postings, residuals, out), chunks_by_size(ptr)
        )
