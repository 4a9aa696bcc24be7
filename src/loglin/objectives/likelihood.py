"""Conditional likelihood on chains: −Σ weightᵢ·(log Σ_{Aᵢ} u − log Σ_{Bᵢ} u).

Bᵢ is every label sequence of sentence i, Aᵢ those that its annotation allows: one sequence when every
label is given, more with partial labels. A maximum-entropy classifier is a chain of sentences of
length one. With costs, u gains exp(cost) for every wrong label of Bᵢ: softmax-margin.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from loglin.kernels import chain as kernels
from loglin.kernels import local as local_kernels
from loglin.kernels.independent import SQUARES, losses_and_slopes
from loglin.kernels.sentences import Parameters
from loglin.kernels.whole import LIKELIHOOD, whole_sentences
from loglin.objectives.chain import ChainCriterion, new_trigrams
from loglin.objectives.decisions import HALF, TokenDecisions
from loglin.objectives.stochastic import StochasticLearner

MANY = 1000  # labels: from here on independent decisions are not passed over as chains, which take labels²
BLOCK = 1 << 20  # scores at a time
ROOM = 1 << 28  # pairs of example and class of which optimizers may ask for tables


class ConditionalLikelihood(ChainCriterion):
    """−log-likelihood, in scaled probabilities; sentences that need it in the log domain."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        index, steps = self.index, len(self.index.pairs) or len(self.index.bigram_pairs) or len(self.index.triples)
        self.alone = self.longest == 1 and not steps and index.n_labels > MANY and not self.labels.costs.size

    def parameters(self, weights: np.ndarray, x: np.ndarray) -> Parameters:
        return Parameters(self.scorer.table, x, np.zeros((0, 0))) if self.alone else super().parameters(weights, x)

    @property
    def starts_cold(self) -> bool:
        """Whether L-BFGS starts without steps of single sentences, for which a dimension is a feature of its own."""
        return bool(self.design.vectors)

    def learner(self, seed: int = 0) -> StochasticLearner:
        """What learns the same weights sentence by sentence."""
        return StochasticLearner(self, seed)

    @property
    def convex(self) -> bool:
        """Whether every sentence has one right answer; with partial labels the sum over them is not convex."""
        return bool(np.all(self.gold.codes >= 0))

    @cached_property
    def decisions(self) -> TokenDecisions | None:
        """The pairs of independent decisions; None for chains and partial labels, and where they are too many."""
        alone, certain = np.all(np.diff(self.design.offsets) == 1), np.all(self.gold.codes >= 0)
        return TokenDecisions(self) if alone and certain and self.residuals.size < ROOM else None

    def all_right(self) -> bool:
        """Whether the last weights give every observed sequence more than half of the probability.

        Then it scores strictly best everywhere, and c·w gives it a probability that goes to 1 with c.
        """
        if np.any(self.gold.codes < 0):
            return False
        weight = self.instance if self.instance.size else np.ones(1)
        return bool(np.all((self.losses < HALF * weight) | (weight == 0)))

    def weigh(self, instance_weights: np.ndarray) -> None:
        """Other weights of sentences from now on."""
        self.instance = np.asarray(instance_weights, self.dtype)
        for name in ("decisions", "_empirical"):
            self.__dict__.pop(name, None)

    def prepare(self) -> None:
        super().prepare()
        _ = self._empirical

    @cached_property
    def _empirical(self) -> list[np.ndarray]:
        """The label bigrams, and in second order the trigrams, observed in sentences that are free of doubt."""
        everything = np.arange(self.design.n_sentences)
        return [self._given(everything, size) for size in range(2, self.order + 2)]

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

    def residuals_of(self, weights: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.alone:
            self._decide(self.parameters(weights, x))
            return np.zeros((0, 0)), np.zeros((0, 0, 0))
        L, width = self.index.n_labels, self.scorer.width
        text, parameters = self.text, self.parameters(weights, x)
        exponentials = self.exponentials(parameters)
        rounded = parameters._replace(T=_logarithms(exponentials.M[:L, :L], parameters.T))
        log = self.log_trigrams(weights)
        second = new_trigrams(log, self.longest, width, self.dtype) if self.order == 2 else None
        no_triples = np.zeros((0, L, L))

        def chunk(begin: int, end: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            X, XD = np.zeros((width, width), self.dtype), np.zeros((width, width))
            room = second and second._replace(
                **{name: np.zeros_like(getattr(second, name)) for name in ("X", "A", "G")}
            )
            kernels.posteriors(begin, end, text, rounded, exponentials, room, self.filled(begin, XD, no_triples, X))
            return X, XD, room.X if room else no_triples

        pairs, triples = np.zeros((width, width)), np.zeros(log.shape)
        for X, XD, XC in self.threads.map(chunk, self.chunks):
            pairs += X * exponentials.M.astype(np.float64) + XD
            if second:
                triples += (XC * second.C.astype(np.float64)).reshape(-1, L, width)[:L, :, :L]
        residuals = [pairs[:L, :L], triples]
        for residual, observed in zip(residuals, self._empirical, strict=False):
            residual -= observed
        careful = np.flatnonzero(self.unsafe)
        if len(careful):
            self._carefully(careful, parameters, log, residuals)
        return residuals[0], residuals[1]

    def _decide(self, parameters: Parameters) -> None:
        """Residuals and losses of independent decisions, without the labels × labels that steps would take."""
        nothing, R, L = np.empty(0, self.dtype), self.residuals, self.index.n_labels
        R[:] = 0
        rows = max(1, BLOCK // R.shape[1])

        def chunk(begin: int, end: int) -> None:
            score = (SQUARES, L, self.scorer.tokens, parameters, R, nothing, False)  # a score is its distance from 0
            losses_and_slopes(begin, end, *score, R, np.empty(R.shape[1]))
            for first in range(begin, end, rows):
                self._decide_block(slice(first, min(first + rows, end)))

        self.threads.map(chunk, self.chunks)
        self.unsafe[:] = False

    def _decide_block(self, tokens: slice) -> None:
        """Replace the scores of some tokens by their residuals, weight·(p − observed)."""
        gold, sets, candidates = self.gold.codes[tokens], self.gold.sets, self.gold.candidates
        scores = self.residuals[tokens, : self.index.n_labels]
        if candidates.size:
            scores[~sets[candidates[tokens]]] = -np.inf
        right, doubtful, certain = np.empty(len(gold)), np.flatnonzero(gold < 0), np.flatnonzero(gold >= 0)
        right[certain] = scores[certain, gold[certain]]
        observed = np.where(sets[~gold[doubtful]], scores[doubtful], -np.inf)
        right[doubtful], total = _normalize(observed), _normalize(scores)
        scores[doubtful] -= observed
        scores[certain, gold[certain]] -= 1
        weight = self.instance[tokens] if self.instance.size else np.ones(len(gold), self.dtype)
        self.losses[tokens] = weight * (total - right)
        self.residuals[tokens, : self.index.n_labels] = scores * weight[:, None]

    def expected(self, pairs: np.ndarray, triples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.alone:
            return pairs, triples
        observed = self._empirical or []
        both = [residual + given for residual, given in zip((pairs, triples), observed, strict=False)]
        return both[0], both[1] if self.order == 2 else triples

    def step_marginals(self, weights: np.ndarray) -> np.ndarray:
        """p(y_t) of every token (tokens, labels) where every step is normalized by itself; first order."""
        x = np.ascontiguousarray(weights, self.dtype)
        self.scorer.load(x)
        text, parameters = self.text, self.parameters(weights, x)
        exponentials, out = self.exponentials(parameters), np.zeros((self.design.n_tokens, self.index.n_labels))
        self.threads.map(
            lambda b, e: local_kernels.step_marginals(b, e, text, parameters, exponentials, out), self.chunks
        )
        return out

    def _carefully(
        self, sentences: np.ndarray, parameters: Parameters, trigrams: np.ndarray, residuals: list[np.ndarray]
    ) -> None:
        """Add the sentences that were not safe in scaled probabilities, in the log domain."""
        L = self.index.n_labels
        out = self.filled(0, np.zeros((L, L)), np.zeros(trigrams.shape), np.zeros((0, 0), self.dtype))
        whole_sentences(LIKELIHOOD, sentences, self.text, parameters, trigrams, out)
        for size, total in zip((2, 3), (out.pairs, out.triples), strict=True):
            if size <= self.order + 1:  # both sides are in the totals, and what was given is subtracted already
                residuals[size - 2] += total + self._given(sentences, size)


def _normalize(scores: np.ndarray) -> np.ndarray:
    """Make scores (n, L) probabilities, and return log Z of every row."""
    peak = scores.max(axis=1, keepdims=True)
    scores -= peak
    np.exp(scores, out=scores)
    sums = scores.sum(axis=1, keepdims=True, dtype=np.float64)
    scores /= sums.astype(scores.dtype)
    return (peak + np.log(sums))[:, 0]


def _logarithms(M: np.ndarray, T: np.ndarray) -> np.ndarray:
    """log M, so that gold labels score what the sums over all labels score; T where M = exp T left the range.

    A label bigram occurs so often that the rounding of its M, counted for log Z but not for the gold labels, would
    make float32 values jump by 1e-5 of themselves between neighboring weights.
    """
    with np.errstate(divide="ignore"):
        found = np.log(M.astype(np.float64))
    return np.where(np.isfinite(found), found, T)
