"""Criteria on label sequences by their definitions, for the problems of support.chains; every sequence is listed."""

from __future__ import annotations

import itertools
import math

import numpy as np

import oracle
from support.chains import parts_of

COSTS = np.array([[0.0, 1.0, 0.5], [2.0, 0.0, 1.0], [0.3, 1.5, 0.0]])
COST_TEXT = "0>1:1,0>2:0.5,1>0:2,1>2:1,2>0:0.3,2>1:1.5"


def defined(name, settings, design, gold, index, weights, instance=None) -> float:
    """The criterion to be minimized, by its definition."""
    total = 0.0
    sentences = parts_of(design, index, weights)
    for s, ((scores, steps, cube), (b, e)) in enumerate(
        zip(sentences, itertools.pairwise(design.offsets.tolist()), strict=True)
    ):
        if e == b and name not in ("accuracy", "expected-accuracy", "boosting"):
            continue  # of these alone an empty sentence has a value, p = 1
        y, weight = gold.codes[b:e].tolist(), 1.0 if instance is None else instance[s]
        total -= weight * _defined(name, settings, scores, steps, cube, y)
    return total


def _defined(name, settings, scores, steps, cube, y) -> float:
    if name == "memm":
        return oracle.memm(scores, steps, cube, y)
    if name == "piecewise":
        return oracle.piecewise(scores, steps, cube, y, None if settings["nota"] == "all" else lambda t: [])
    if name == "pseudolikelihood" and settings["nota"] == "none":
        return oracle.pseudolikelihood(scores, steps, cube, y)
    if name == "pseudolikelihood":
        return oracle.pseudolikelihood_nota(scores, steps, y, settings["nota"] == "one")
    listing = oracle.chain(scores, steps, cube)
    if name == "margin":
        return oracle.margin(listing, y, COSTS, settings["loss"] == "softmax")
    if name == "label-likelihood":
        return oracle.label_likelihood(listing, y, scores.shape[1])
    p = oracle.gold_probability(listing, y, settings.get("sharpness", 1.0))
    return {"crf": math.log(p), "accuracy": p, "expected-accuracy": p, "boosting": -1 / p}[name]


def enumerated(design, gold, index, weights, instance=None) -> float:
    """−Σ weight·log p(observed), by listing every label sequence."""
    unigram, bigram, _, _ = index.split(np.asarray(weights, float))
    T, cube, L = index.transitions(weights), index.trigrams(weights), index.n_labels
    total = 0.0
    for s, (b, e) in enumerate(itertools.pairwise(design.offsets.tolist())):
        everything, observed = [], []
        for y in itertools.product(range(L), repeat=e - b):
            score, ok, possible = 0.0, True, True
            for t, label in enumerate(y):
                for a, value in attributes(design, b + t):
                    for f in range(index.ptr[a], index.ptr[a + 1]):
                        if index.labels[f] == label:
                            score += unigram[f] * value
                code = gold.codes[b + t]
                ok &= label == code if code >= 0 else bool(gold.sets[~code, label])
                if gold.candidates.size:
                    possible &= bool(gold.sets[gold.candidates[b + t], label])
                if t:
                    score += T[y[t - 1], label]
                    for a in design.bigrams.ids[design.bigrams.ptr[b + t] : design.bigrams.ptr[b + t + 1]]:
                        for f in range(index.bigram_ptr[a], index.bigram_ptr[a + 1]):
                            if index.bigram_pairs[f] == y[t - 1] * L + label:
                                score += bigram[f]
                if t > 1 and cube is not None:
                    score += cube[y[t - 2], y[t - 1], label]
            if possible:
                everything.append(score)
                if ok:
                    observed.append(score)
        weight = 1.0 if instance is None else instance[s]
        if e > b:
            total += weight * (np.logaddexp.reduce(everything) - np.logaddexp.reduce(observed))
    return total


def attributes(design, token):
    """(attribute, value) of a token, those of its heads included."""
    tokens = design.tokens
    for q in range(tokens.ptr[token], tokens.ptr[token + 1]):
        yield tokens.ids[q], tokens.values[q] if tokens.values.size else 1.0
    if design.heads is not None:
        for head in design.heads.of_token[token]:
            ptr = design.heads.attributes.ptr
            for a in design.heads.attributes.ids[ptr[head] : ptr[head + 1]]:
                yield a, 1.0
