"""Criteria of whole sentences beyond likelihood: margin, label likelihood, and functions of p(y*|x).

The rows of Table 1 in contrastive_estimation.txt; all are written to be minimized.
"""

from __future__ import annotations

import numpy as np

from loglin.kernels import one_pass
from loglin.kernels import whole as kernels
from loglin.kernels.sentences import Parameters
from loglin.objectives.chain import ChainCriterion
from loglin.objectives.likelihood import ConditionalLikelihood

KINDS = {
    "hinge": kernels.HINGE,
    "label-likelihood": kernels.LABEL_LIKELIHOOD,
    "all-neighbors": kernels.ALL_NEIGHBORS,
    "one-neighbor": kernels.ONE_NEIGHBOR,
}
STEEPEST = 50.0  # losses e^l go on as straight lines above this l


class WholeSentences(ChainCriterion):
    """Criteria of kernels/whole.py."""

    def __init__(self, kind: str, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.kind = KINDS[kind]
        self.convex = kind == "hinge"

    def residuals_of(self, weights: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        text, parameters, trigrams = self.text, self.parameters(weights, x), self.log_trigrams(weights)
        L, X = self.index.n_labels, np.zeros((0, 0), self.dtype)

        def chunk(begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
            out = self.filled(begin, np.zeros((L, L)), np.zeros(trigrams.shape), X)
            kernels.whole_sentences(self.kind, np.arange(begin, end), text, parameters, trigrams, out)
            return out.pairs, out.triples

        parts = self.threads.map(chunk, self.chunks)
        return sum((p for p, _ in parts), np.zeros((L, L))), sum((t for _, t in parts), np.zeros(trigrams.shape))


class LabelLikelihood(WholeSentences):
    """−Σ_t log p(y_t | x): in scaled probabilities on chains of first order, elsewhere in the log domain."""

    def __init__(self, *args, **kwargs):
        super().__init__("label-likelihood", *args, **kwargs)

    def residuals_of(self, weights: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.order == 2:
            return super().residuals_of(weights, x)
        text, parameters, L, width = self.text, self.parameters(weights, x), self.index.n_labels, self.scorer.width
        exponentials, nothing = self.exponentials(parameters), np.zeros((0, L, L))

        def chunk(begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
            X, XD = np.zeros((width, width), self.dtype), np.zeros((width, width))
            one_pass.label_likelihoods(begin, end, text, parameters, exponentials, self.filled(begin, XD, nothing, X))
            return X, XD

        pairs = np.zeros((width, width))
        for X, XD in self.threads.map(chunk, self.chunks):
            pairs += X * exponentials.M.astype(np.float64) + XD
        pairs = pairs[:L, :L]
        careful = np.flatnonzero(self.unsafe)
        if len(careful):
            out = self.filled(0, np.zeros((L, L)), nothing, np.zeros((0, 0), self.dtype))
            kernels.whole_sentences(self.kind, careful, text, parameters, nothing, out)
            pairs += out.pairs
        return pairs, nothing


def local_marginals(chain: ChainCriterion, weights: np.ndarray, least: float = 1e-6) -> np.ndarray:
    """p(y_t) of every token (tokens, labels) of the chain's text where every step is normalized by itself."""
    text, parameters, trigrams = chain.text, _loaded(chain, weights), chain.log_trigrams(weights)
    out = np.zeros((chain.design.n_tokens, text.n_labels))
    chain.threads.map(
        lambda b, e: kernels.local_marginals(b, e, text, parameters, trigrams, least, out),
        chain.chunks,
    )
    return out


def scaled_likelihood(chain: ChainCriterion, weights: np.ndarray, alpha: np.ndarray) -> tuple[float, np.ndarray]:
    """−log-likelihood where steps from label r score α_r times as much (α_L: from START), and its gradient by α."""
    text, parameters, trigrams = chain.text, _loaded(chain, weights), chain.log_trigrams(weights)
    alpha = np.asarray(alpha, np.float64)

    def chunk(begin: int, end: int) -> tuple[float, np.ndarray]:
        slopes = np.zeros(text.n_labels + 1)
        return kernels.scaled_rows(begin, end, text, parameters, trigrams, alpha, slopes), slopes

    parts = chain.threads.map(chunk, chain.chunks)
    return sum(v for v, _ in parts), sum((g for _, g in parts), np.zeros(text.n_labels + 1))


def _loaded(chain: ChainCriterion, weights: np.ndarray) -> Parameters:
    """What kernels score with, these weights being in the chain's table."""
    x = np.ascontiguousarray(weights, chain.dtype)
    chain.scorer.load(x)
    return chain.parameters(weights, x)


class OfProbability:
    """Σ φ(log p_γ(y*|x)), p_γ ∝ u^γ: its gradient is the likelihood's with φ′ as weight of each sentence.

    expected-accuracy   φ(l) = −e^l          −Σ p(y*|x)                     (Klein & Manning 2002)
    accuracy            the same, γ > 1      towards counting errors        (Juang & Katagiri 1992)
    boosting            φ(l) = e^−l          Σ 1/p(y*|x)                    (Collins 2000)

    Where all labels are known and the chain is of first order, one pass does it; else a pass for φ′ and one with it.
    """

    def __init__(self, likelihood: ConditionalLikelihood, rises: bool = False, sharpness: float = 1.0):
        self.likelihood, self.sharpness, self.rises = likelihood, sharpness, rises  # rises: φ(l) = e^−l
        self.own = np.ones(len(likelihood.losses)) if not likelihood.instance.size else likelihood.instance.copy()
        self.n_features, self.dtype = likelihood.n_features, likelihood.dtype
        self.quick = likelihood.order == 1 and likelihood.gold.all_certain
        self.evaluations = 0

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        self.evaluations += 1
        found = self._in_one_pass(weights) if self.quick else None
        if found is None:
            value, factors = self._factors(weights)
            self.likelihood.weigh(factors)
            found = value, self.likelihood(self.sharpness * weights)[1]
        value, gradient = found
        return value, gradient * self.dtype.type(self.sharpness)

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        self.likelihood.weigh(self.own)
        return self.likelihood.curvature(self.sharpness * weights)

    def _in_one_pass(self, weights: np.ndarray) -> tuple[float, np.ndarray] | None:
        """Value and gradient by γ·weights; None where a sentence needs the log domain."""
        chain = self.likelihood
        chain.weigh(self.own)
        scaled = self.sharpness * np.asarray(weights)
        chain.clear_steps()
        parameters = _loaded(chain, scaled)
        exponentials, text = chain.exponentials(parameters), chain.text
        L, width = chain.index.n_labels, chain.scorer.width

        def chunk(begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
            X, XD = np.zeros((width, width), chain.dtype), np.zeros((width, width))
            out = chain.filled(begin, XD, np.zeros((0, L, L)), X)
            one_pass.functions_of_probability(begin, end, text, parameters, exponentials, self.rises, STEEPEST, out)
            return X, XD

        pairs = np.zeros((width, width))
        for X, XD in chain.threads.map(chunk, chain.chunks):
            pairs += X * exponentials.M.astype(np.float64) + XD
        if chain.unsafe.any():
            return None
        return self._values(chain.losses)[0], chain._gathered(pairs[:L, :L], np.zeros((0, L, L)))

    def _factors(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Value, and the derivative of φ by −l for every sentence."""
        self.likelihood.weigh(np.ones_like(self.own))
        self.likelihood(self.sharpness * weights)
        return self._values(self.likelihood.losses)

    def _values(self, loss: np.ndarray) -> tuple[float, np.ndarray]:
        """Σ φ and the derivative of every φ; ``loss`` is −log p."""
        if self.rises:
            steep = np.exp(np.minimum(loss, STEEPEST))
            return float(self.own @ (steep * (1 + np.maximum(loss - STEEPEST, 0)))), self.own * steep
        p = np.exp(-loss)
        return -float(self.own @ p), self.own * p
