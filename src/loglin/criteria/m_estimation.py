"""M-estimation: a base model, its expectations of the features, and a loss without inference.

base     hmm         counted on the training data
         uniform     locally uniform labels, words regardless of them (Eq. 15)
         empirical   the HMM's labels for the training sentences themselves (Eq. 16)
         sampled     the HMM's own text, so many sentences of it (Eq. 7)
         an HMM, or a function (n, rng) → sentences, labels: any sampler
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from loglin.corpus import schemes
from loglin.corpus.columns import Corpus, from_sentences
from loglin.corpus.labels import Gold, gold_of_sequences
from loglin.errors import LoglinError
from loglin.features.design import Design
from loglin.features.extract import TemplateExtractor
from loglin.generative.expectations import expectations
from loglin.generative.hmm import HMM
from loglin.kernels import logspace
from loglin.kernels.careful import add_residuals
from loglin.objectives.chain import ChainCriterion
from loglin.objectives.exponential import NEARLY, ExponentialLoss, sentence_features
from loglin.problems.problem import Method, Problem


def counted_hmm(settings: dict, problem: Problem, order: int) -> HMM:
    """The HMM of the training data; a base model treats unknown values as the templates do."""
    corpus = problem_corpus(problem)
    return HMM.fit(
        corpus,
        problem.gold.codes,
        problem.labels,
        order=order,
        columns=chosen_columns(settings["columns"]),
        smoothing=settings["smoothing"],
        prior=settings["prior"],
        transition_smoothing=settings.get("transition_smoothing", 0.0),
        oov=_oov(problem) if settings.get("oov", "auto") == "auto" else settings["oov"],
    )


def _oov(problem: Problem) -> str:
    return "first" if problem.extractor.templates.oov == "first" else "unseen"


def problem_corpus(problem: Problem) -> Corpus:
    corpus = problem.design.corpus
    if corpus is None or not isinstance(problem.extractor, TemplateExtractor):
        raise LoglinError(
            "a generative model emits columns of words, but the data are ready-made attributes; give words and a "
            "template"
        )
    return corpus


def chosen_columns(columns: Any) -> list[int] | None:
    """Column numbers: None for all, a list, or text such as 0,1."""
    if columns is None or columns == "":
        return None
    try:
        return [int(c) for c in (columns.split(",") if isinstance(columns, str) else columns)]
    except (TypeError, ValueError):
        raise LoglinError(f"columns is {columns!r}; write column numbers such as 0,1") from None


def base_model(settings: dict, problem: Problem) -> HMM | None:
    """The base model, checked to hold the data possible; None where there is only a sampler."""
    base = settings["base"]
    if callable(base) and not isinstance(base, HMM):
        return None
    corpus = problem_corpus(problem)
    if isinstance(base, HMM):
        hmm = base.with_labels(problem.labels)
    elif base == "uniform":
        names = [str(label) for label in problem.labels]
        scheme = schemes.detect(names)
        hmm = HMM.locally_uniform(
            corpus,
            problem.gold.codes,
            problem.labels,
            columns=chosen_columns(settings["columns"]),
            oov=_oov(problem),
            legal=schemes.legal(names, scheme) if scheme else None,
        )
    else:
        hmm = counted_hmm(settings, problem, settings["base_order"])
    hmm.check_support(corpus, problem.gold.codes)
    return hmm


def expected_features(settings: dict, problem: Problem, base: HMM | None) -> np.ndarray:
    """E_q0[f] of every feature and, with input-only features, of every attribute behind them."""
    inputs = settings["input_features"]
    if base is None or settings["base"] == "sampled":
        return _sampled(settings, problem, base)
    if settings["base"] == "empirical":
        return _empirical(problem, base, inputs)
    if not inputs:
        return expectations(base, problem.extractor, problem.index)
    return np.concatenate(expectations(base, problem.extractor, problem.index, input_only=True))


def _sampled(settings: dict, problem: Problem, base: HMM | None) -> np.ndarray:
    """Mean counts in a sample, each smoothed by ``sample_smoothing`` (Eq. 7)."""
    rng, n = np.random.default_rng(problem.seed), settings["samples"]
    if n < 1:
        raise LoglinError(f"samples is {n}; give a whole number of at least 1")
    if base is not None:
        corpus, codes = base.sample(n, rng)
        gold = Gold.certain(codes, problem.index.n_labels)
    else:
        sentences, labels = settings["base"](n, rng)
        sentences = [list(sentence) for sentence in sentences]
        corpus = from_sentences(sentences, "the sample")
        _, gold = gold_of_sequences(labels, [len(s) for s in sentences], problem.labels)
    counts = np.bincount(*_counted(problem, corpus, gold, settings["input_features"]))
    return (counts + settings["sample_smoothing"]) / max(corpus.n_sentences, 1)


def _counted(problem: Problem, corpus: Corpus, gold: Gold, inputs: bool) -> tuple:
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


def _empirical(problem: Problem, base: HMM, inputs: bool) -> np.ndarray:
    """Mean over the training sentences of E[f | x] under q0(y | x): one forward-backward pass."""
    p, n = problem, max(problem.design.n_sentences, 1)
    posteriors = BasePosteriors(base, p.design, p.gold, p.index, None, np.float64, p.threads)
    _, expected = posteriors(np.zeros(p.index.n_features))  # which weights does not matter
    if inputs:
        tokens = p.design.unfolded()
        expected = np.concatenate([expected, np.bincount(tokens.ids, tokens.values if tokens.values.size else None)])
    return expected / n


class BasePosteriors(ChainCriterion):
    """What a base model expects of every feature in the sentences at hand, as the gradient of log Σ_y q0(x, y)."""

    def __init__(self, base: HMM, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.base = base

    def residuals_of(self, weights: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        L, second = self.index.n_labels, np.zeros((self.index.n_labels,) * 3)
        pairs, corpus = np.zeros((L, L)), self.design.corpus
        cuts = pairwise(self.design.offsets.tolist())
        self.residuals[:] = 0
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
            add_residuals(first, L, self.bigrams, 1.0, nodes, found, self.residuals, pairs, self.step_residuals)
        return pairs, second


def m_estimation(settings: dict, problem: Problem, base: HMM | None) -> Method:
    """The loss with the base model's expectations; refuses what has no minimum."""
    p, expected = problem, expected_features(settings, problem, base)
    if not np.isfinite(expected).all():
        raise LoglinError(
            "the base model's expectations are no finite numbers; it may not end its sentences: smooth it"
        )
    lists = sentence_features(p.design, p.gold, p.index, len(expected) > p.index.n_features)
    if not np.all(p.l2 > 0):
        check_bounded(ExponentialLoss(lists, expected, p.weight, np.float64, p.threads), float(p.l1.min(initial=0.0)))
    return Method(lambda dtype: ExponentialLoss(lists, expected, p.weight, dtype, p.threads))


def check_bounded(loss: ExponentialLoss, l1: float) -> None:
    """Refuse a loss that falls for ever where only an l1 penalty holds it, or none."""
    missed, proven = loss.outside(l1)
    if missed > NEARLY:
        raise LoglinError(
            f"without a penalty M-estimation {'has' if proven else 'seems to have'} no minimum here: the base "
            "model expects features in a mixture that no weighting of the training sentences gives "
            f"({missed:.0%} of it is missed); set l2 above 0"
        )
