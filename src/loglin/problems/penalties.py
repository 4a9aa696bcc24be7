"""How much each sentence counts, and how strongly each weight is pulled to zero."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np

from loglin.corpus.labels import Gold
from loglin.errors import LoglinError
from loglin.features.design import Design
from loglin.features.index import FeatureIndex
from loglin.optimize.penalties import Penalties
from loglin.problems.options import ChainOptions


def instance_weights(design: Design, gold: Any, labels: list, options: ChainOptions) -> np.ndarray | None:
    """Weights of sentences: as given, times the mean weight of their labels."""
    weight = options.instance_weights
    if weight is not None:
        weight = checked_weights(weight, design.n_sentences)
    if options.label_weights:
        if not isinstance(gold, Gold):
            raise LoglinError("weights of classes need one class an example; weigh the examples with sample_weight")
        given = options.label_weights
        told = _balanced(gold, labels) if isinstance(given, str) else given
        unknown = [label for label in told if label not in labels]
        if unknown:
            raise LoglinError(f"label_weights names {unknown[0]!r}, which is no label of the data")
        if not (gold.codes >= 0).any():
            raise LoglinError("label_weights weigh labelled sentences, but no token has a certain label; leave it out")
        wrong = [(y, w) for y, w in told.items() if not isinstance(w, Real) or not 0 <= float(w) < np.inf]
        if wrong:
            raise LoglinError(f"label_weights gives {wrong[0][0]!r} {wrong[0][1]!r}; give numbers of at least 0")
        by_label = np.array([float(told.get(label, 1.0)) for label in labels])
        by_token = np.where(gold.codes >= 0, by_label[np.maximum(gold.codes, 0)], 1.0)
        sums = np.add.reduceat(np.append(by_token, 0.0), np.minimum(design.offsets[:-1], len(by_token)))
        mean = sums / np.maximum(np.diff(design.offsets), 1)
        weight = mean if weight is None else weight * mean
    return weight


def _balanced(gold: Gold, labels: list) -> dict:
    """For every label tokens / (labels · tokens with the label), of those that are certain."""
    counts = np.bincount(gold.codes[gold.codes >= 0], minlength=len(labels))
    seen = max(1, int(np.count_nonzero(counts)))
    return {y: counts.sum() / (seen * n) for y, n in zip(labels, counts.tolist(), strict=True) if n}


def checked_weights(given: Any, n: int) -> np.ndarray:
    """Weights of n sentences as an array, refused where they make no sense."""
    weight = numbers_of(given)
    if weight.shape != (n,) or not np.isfinite(weight).all() or (weight < 0).any():
        raise LoglinError(f"instance weights must be {n} finite numbers of at least 0, one per sentence")
    if not weight.any():
        raise LoglinError("all instance weights are zero, so there is nothing to learn from; raise some")
    return weight


def numbers_of(given: Any) -> np.ndarray:
    """Weights as they are given, which may be a generator, as an array; empty if they are no numbers."""
    try:
        return np.asarray(list(given) if isinstance(given, Iterator) else given, np.float64)
    except (TypeError, ValueError):
        return np.empty(0)


def strengths(
    extractor: Any, index: FeatureIndex, options: ChainOptions, unpenalized: np.ndarray | None, vectors: bool = False
) -> Penalties:
    """Strengths per weight: l2 is 1 / variance, with a variance per template where one is given.

    With ``vectors``, attributes behind the extractor's own are dimensions of vectors.
    """
    found = Penalties.uniform(index.n_features, options.l1, options.l2)
    templates = getattr(extractor, "templates", None)
    by_hand = templates is not None and any(t.variance is not None for t in templates.templates)
    by_dimension = vectors and options.vector_l2 is not None
    if not by_hand and not options.variances and unpenalized is None and not by_dimension:
        return found
    l1, l2 = (strength.copy() for strength in found)
    ptr = index.ptr[: extractor.n_attributes + 1] if vectors else index.ptr
    if templates is not None and by_hand:
        by_template = np.array([options.l2 if t.variance is None else 1 / t.variance for t in templates.observed])
        unigram, bigram, pair, triple = index.split(l2)
        unigram[: ptr[-1]] = np.repeat(by_template[extractor.template_of("unigram")], np.diff(ptr))
        bigram[:] = np.repeat(by_template[extractor.template_of("bigram")], np.diff(index.bigram_ptr))
        for t in templates.label_ngrams:
            if t.variance is not None:
                (pair if t.kind == "bigram" else triple)[:] = 1 / t.variance
    if options.variances:
        unigram = index.split(l2)[0]
        unigram[: ptr[-1]] = np.repeat(_group_strengths(extractor, options), np.diff(ptr))
    if by_dimension:
        l2[ptr[-1] : index.ptr[-1]] = options.vector_l2
    if unpenalized is not None:
        free = np.repeat(unpenalized, np.diff(index.ptr))
        l1[: len(free)][free] = 0.0
        l2[: len(free)][free] = 0.0
    return Penalties(l1, l2)


def _group_strengths(extractor: Any, options: ChainOptions) -> np.ndarray:
    """1 / variance of every attribute: of the first group whose pattern its name matches, else l2."""
    n = extractor.n_attributes
    strength = np.full(n, float(options.l2))
    names = [extractor.attribute_name(a) for a in range(n)]
    waiting = np.ones(n, bool)
    for group, variance in (options.variances or {}).items():
        matches = re.compile(fnmatch.translate(str(group))).match
        found = waiting & np.fromiter((matches(name) is not None for name in names), bool, n)
        if not found.any():
            raise LoglinError(
                f"no attribute is left for the variance of {group!r}; write a name, or a pattern such as w*"
            )
        strength[found], waiting[found] = 1 / float(variance), False
    return strength
