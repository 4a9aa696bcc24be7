"""What every criterion on chains shares: weights in, scores of labels and steps, residuals, gradient out.

    weights → scores of tokens (Scorer), steps, label trigrams → the criterion's sums → residuals → gradient

A residual is the derivative of the criterion by a score; the gradient sums it over the places of a feature.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from loglin.corpus.labels import Gold
from loglin.features.design import Design
from loglin.features.index import FeatureIndex
from loglin.features.scoring import Scorer
from loglin.kernels import gradient as gradient_kernels
from loglin.kernels.rows import padded
from loglin.kernels.second import lay_out
from loglin.kernels.sentences import Exponentials, Labels, Parameters, Residuals, Sentences, Steps, Tokens, Trigrams
from loglin.kernels.steps import list_cells
from loglin.threads import CHUNKS, Threads, chunks_by_size

ROOM_FOR_STEPS, FEWEST_CHUNKS = 1 << 24, 4  # gradients of steps' features, which every chunk of the text sums by itself
MOST_MEMORY = 200  # steps of L-BFGS
OF_VECTORS, OF_VALUES = 1 << 24, 1 << 21  # weights times steps that are worth their time beside a pass


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
        n_chunks = min(max(ROOM_FOR_STEPS // max(index.sizes[1], 1), FEWEST_CHUNKS), CHUNKS)
        self.chunks = chunks_by_size(design.offsets, n_chunks)
        self.bigrams = self._steps()
        self._step_sums = np.zeros((len(self.chunks), len(self.bigrams.pairs)))  # gradients of steps' features
        self._chunk_of = {begin: k for k, (begin, _) in enumerate(self.chunks)}
        self._curved = False
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
        return np.zeros((self.design.n_tokens + self.design.n_heads, padded(self.index.n_labels)), self.dtype)

    def prepare(self) -> None:
        """Make what every pass reads, before the objective is stored."""
        _ = self.scorer, self.residuals

    def _steps(self) -> Steps:
        """Observed bigram features of the step into each token."""
        index, incidence = self.index, self.design.bigrams
        if not len(index.bigram_pairs):
            none = np.empty(0, np.int64), np.empty(0, np.int32)
            return Steps(*none, *none, 0, *none)
        ids, n_pairs = np.ascontiguousarray(incidence.ids, np.int32), index.n_labels**2
        lists = (incidence.ptr, ids, index.bigram_ptr, index.bigram_pairs)
        ptr, pairs = np.zeros(self.design.n_tokens + 1, np.int64), np.zeros(0, np.int32)
        list_cells(self.design.offsets, *lists, n_pairs, ptr, pairs)
        pairs = np.zeros(ptr[-1], np.int32)
        list_cells(self.design.offsets, *lists, n_pairs, ptr, pairs)
        return Steps(*lists, index.sizes[0], ptr, pairs)

    @property
    def memory(self) -> int:
        """How many steps L-BFGS should remember at least: many of few weights, where attributes are numbers.

        Numbers depend on each other as zeros and ones hardly do. On 384 dimensions of 3,000 sentences 8, 20, 50 and 200
        steps take 365, 261, 150 and 114 iterations; with a template beside, 8 and 100 take 191 and 105. Of sparse
        values with many weights it takes more time than it saves (52 classes of Reuters: 2.7 s with 10, 3.2 with 36).
        """
        room = OF_VECTORS if self.design.vectors else OF_VALUES if self.design.tokens.values.size else 0
        return min(room // max(self.n_features, 1), MOST_MEMORY)

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
        return self.text_of(self.scorer.tokens)

    def text_of(self, tokens: Tokens) -> Sentences:
        """The same with the features of ``tokens``."""
        lists = (tokens, self.bigrams, self.labels, self.instance)
        return Sentences(self.design.offsets, self.longest, self.index.n_labels, *lists)

    def parameters(self, weights: np.ndarray, x: np.ndarray) -> Parameters:
        """What kernels score with; ``x`` are the weights in our precision, already in the scorer's table."""
        return Parameters(self.scorer.table, x, self.index.transitions(np.asarray(weights, np.float64)))

    def exponentials(self, parameters: Parameters) -> Exponentials:
        """exp of the label bigrams, as kernels in scaled probabilities read them."""
        M, L = np.zeros((self.scorer.width, self.scorer.width), self.dtype), self.index.n_labels
        with np.errstate(over="ignore"):
            M[:L, :L] = np.exp(parameters.T)
        return Exponentials(M, np.ascontiguousarray(M.T))

    def log_trigrams(self, weights: np.ndarray) -> np.ndarray:
        """Weights of label trigrams (L, L, L), or (0, L, L) in first order."""
        cube, L = self.index.trigrams(np.asarray(weights, np.float64)), self.index.n_labels
        return np.zeros((0, L, L)) if cube is None else cube

    def filled(self, begin: int, pairs: np.ndarray, triples: np.ndarray, X: np.ndarray) -> Residuals:
        """The arrays that a pass over the chunk from sentence ``begin`` on fills; those of n-grams are its own."""
        steps = self._step_sums[self._chunk_of.get(begin, 0)] if self._step_sums.size else np.zeros(0)
        return Residuals(self.residuals, steps, self.losses, self.unsafe, X, pairs, triples, self._curved)

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient at ``weights``."""
        gradient = self._gathered(*self._pass(weights))
        return float(self.losses.sum()), gradient

    def _gathered(self, pairs: np.ndarray, triples: np.ndarray) -> np.ndarray:
        """Sum residuals, and those of label bigrams and trigrams, by feature."""
        gradient = np.empty(self.n_features, self.dtype)
        unigram, bigram, pair, triple = self.index.split(gradient)
        self.scorer.gradient(self.residuals, unigram)
        bigram[:] = self._step_sums.sum(axis=0)
        pair[:] = pairs.reshape(-1)[self.index.pairs]
        triple[:] = triples.reshape(-1)[self.index.triples]
        return gradient

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        """Σ p·(1 − p) of every feature, the diagonal of the Hessian without the links between tokens."""
        pairs, triples = self.expected(*self._pass(weights, curved=True))
        gradient_kernels.curvature(self.design.offsets, self.instance, self.residuals)
        diagonal = np.empty(self.n_features, self.dtype)
        unigram, bigram, pair, triple = self.index.split(diagonal)
        self.scorer.gradient(self.residuals, unigram, squared=True)
        bigram[:] = self._step_sums.sum(axis=0)
        pair[:] = np.abs(pairs).reshape(-1)[self.index.pairs] / 2  # p·(1 − p) of few, large p
        triple[:] = np.abs(triples).reshape(-1)[self.index.triples] / 2
        return diagonal

    def expected(self, pairs: np.ndarray, triples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Expected label bigrams and trigrams, or a guess of their size, from their residuals."""
        return pairs, triples

    def _pass(self, weights: np.ndarray, curved: bool = False) -> tuple[np.ndarray, np.ndarray]:
        self.evaluations += 1
        x = np.ascontiguousarray(weights, self.dtype)
        self.scorer.load(x)
        self.clear_steps(curved)
        return self.residuals_of(weights, x)

    def clear_steps(self, curved: bool = False) -> None:
        """Begin to sum the gradient of steps' features, or, if ``curved``, their p·(1 − p)."""
        self._curved = curved
        self._step_sums[:] = 0

    @abstractmethod
    def residuals_of(self, weights: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Fill residuals of tokens and steps, and losses; return those of label bigrams and trigrams.

        ``x`` are the weights in this criterion's precision, already in the scorer's table.
        """


def new_trigrams(log: np.ndarray, longest: int, width: int, dtype: np.dtype) -> Trigrams:
    """Label trigrams (L, L, L) laid out for ``kernels.second``, with room for sentences of up to ``longest`` tokens."""
    with np.errstate(over="ignore"):
        C, CT = lay_out(np.exp(log), width, dtype)
    A, G = (np.zeros((longest * (len(C) // len(log)), width), dtype) for _ in range(2))
    return Trigrams(C, CT, log, np.zeros_like(C), A, G)
