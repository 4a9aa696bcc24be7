"""What a base model expects of the features of a chain: exactly, in a sample, or given the training sentences.

E_q0[f]     over all sentences and labels           exactly (generative/expectations.py)
sampled     in sentences that the model draws       (m_estimation.txt, Eq. 7)
empirical   over the labels of the training text    (Eq. 16)
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from loglin.corpus.columns import Corpus, from_sentences
from loglin.corpus.labels import Gold, gold_of_sequences
from loglin.errors import LoglinError
from loglin.features.design import Design
from loglin.generative.hmm import HMM
from loglin.kernels import logspace
from loglin.kernels.careful import add_residuals
from loglin.objectives.chain import ChainCriterion
from loglin.objectives.exponential import NEARLY, ExponentialLoss, sentence_features
from loglin.objectives.likelihood import ConditionalLikelihood
from loglin.problems.chains import ChainProblem


def sampled_features(
    problem: ChainProblem, base: HMM | Callable, n: int, smoothing: float, inputs: bool, seed: int
) -> np.ndarray:
    """Mean counts in n sentences that the base model, or another sampler, draws; ``smoothing`` is added to each."""
    rng = np.random.default_rng(seed)
    if n < 1:
        raise LoglinError(f"samples is {n}; give a whole number of at least 1")
    if isinstance(base, HMM):
        corpus, codes = base.sample(n, rng)
        gold = Gold.certain(codes, problem.index.n_labels)
    else:
        sentences, labels = base(n, rng)
        sentences = [list(sentence) for sentence in sentences]
        corpus = from_sentences(sentences, "the sample")
        _, gold = gold_of_sequences(labels, [len(s) for s in sentences], problem.labels)
    counts = np.bincount(*_counted(problem, corpus, gold, inputs))
    return (counts + smoothing) / max(corpus.n_sentences, 1)


def _counted(problem: ChainProblem, corpus: Corpus, gold: Gold, inputs: bool) -> tuple:
    """Features of a labelled corpus and how much each counts, for np.bincount."""
    design = problem.extractor.transform(corpus)
    known = Design(
        design.offsets,
        design.tokens.with_ids(design.tokens.ids),
        design.bigrams.with_ids(design.bigrams.ids),
        design.n_attributes,
        design.n_bigram_attributes,
    )
    _, ids, values = sentence_features(known, gold, problem.index, inputs)
    size = problem.index.n_features + inputs * design.n_attributes
    return ids.astype(np.int64), values if values.size else None, size


def empirical_features(problem: ChainProblem, base: HMM, inputs: bool) -> np.ndarray:
    """Mean over the training sentences of E[f | x] under q0(y | x): one forward-backward pass."""
    p, n = problem, max(problem.design.n_sentences, 1)
    posteriors = BasePosteriors(base, p.design, p.gold, p.index, None, np.float64, p.threads)
    _, expected = posteriors(np.zeros(p.index.n_features))  # which weights does not matter
    if inputs:
        tokens = p.design.unfolded()
        expected = np.concatenate([expected, np.bincount(tokens.ids, tokens.values if tokens.values.size else None)])
    return expected / n


def posterior_features(problem: ChainProblem, weights: np.ndarray, inputs: bool) -> np.ndarray:
    """Mean over the training sentences of E[f | x] under the chain of these weights: one forward-backward pass."""
    p = problem
    share = np.full(p.design.n_sentences, 1 / max(p.design.n_sentences, 1))
    if p.weight is not None:
        share = p.weight / p.weight.sum()
    _, excess = ConditionalLikelihood(p.design, p.gold, p.index, p.weight, np.float64, p.threads)(weights)
    ptr, ids, values = sentence_features(p.design, p.gold, p.index, inputs)
    amounts = np.repeat(share, np.diff(ptr)) * (values if values.size else 1.0)
    size = p.index.n_features + inputs * p.design.n_attributes
    expected: np.ndarray = np.bincount(ids, amounts, minlength=size)  # of the sentences as they are labelled
    expected[: p.index.n_features] += excess / (p.design.n_sentences if p.weight is None else p.weight.sum())
    return expected


class BasePosteriors(ChainCriterion):
    """What a base model expects of every feature in the sentences at hand, as the gradient of log Σ_y q0(x, y)."""

    def __init__(self, base: HMM, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.base = base

    def residuals_of(self, weights: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        L, second = self.index.n_labels, np.zeros((self.index.n_labels,) * 3)
        pairs, corpus = np.zeros((L, L)), self.design.corpus
        assert corpus is not None
        cuts = pairwise(self.design.offsets.tolist())
        self.residuals[:] = 0
        summed = self.filled(0, pairs, second, pairs).steps
        for s, ((first, last), parts) in enumerate(zip(cuts, self.base.chain_parts(corpus), strict=True)):
            if last == first:
                continue
            scores, steps, trigrams = parts
            steps = np.ascontiguousarray(steps if last - first > 1 else np.zeros((1, L, L)))
            # an index with trigrams wants them counted, though the base model may look back one label only
            cube = np.zeros((L if self.order == 2 else 0, L, L)) if trigrams is None else trigrams
            nodes, found = np.empty(scores.shape), np.empty((last - first - 1, L, L))
            scores = np.ascontiguousarray(scores)
            self.losses[s] = logspace.forward_backward(scores, steps, cube, nodes, found, second[: len(cube)])
            add_residuals(first, L, self.bigrams, 1.0, nodes, found, self.residuals, pairs, summed, False)
        return pairs, second


def check_bounded(loss: ExponentialLoss, l1: float) -> None:
    """Refuse a loss that falls for ever where only an l1 penalty holds it, or none."""
    missed, proven = loss.outside(l1)
    if missed > NEARLY:
        raise LoglinError(
            f"without a penalty M-estimation {'has' if proven else 'seems to have'} no minimum here: the base "
            "model expects features in a mixture that no weighting of the training sentences gives "
            f"({missed:.0%} of it is missed); set l2 above 0"
        )
