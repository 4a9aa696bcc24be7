"""Conditional likelihood on chains: value and gradient against enumeration and finite differences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import oracle
from loglin.objectives.likelihood import ConditionalLikelihood
from loglin.threads import Threads
from support.chains import CONDITIONED, problem


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


CASES = {
    "plain": {},
    "folded, other seed": {"seed": 2},
    "one label": {"n_labels": 1},
    "nine labels": {"n_labels": 9, "seed": 4},
    "partial": {"partial": True},
    "candidates": {"candidates": True},
    "values": {"values": True},
    "conditioned": {"template": CONDITIONED},
    "conditioned partial": {"template": CONDITIONED, "partial": True, "seed": 3},
    "second order": {"order": 2},
    "second order partial conditioned": {"order": 2, "partial": True, "template": CONDITIONED, "seed": 5},
}


SMALL = ["plain", "values", *(name for name in CASES if "conditioned" in name or "second" in name)]


def marked(name: str, *others):
    """A case that also runs as plain Python if it is small."""
    return pytest.param(name, *others, marks=[pytest.mark.without_jit] if name in SMALL and 40.0 not in others else [])


@pytest.mark.parametrize(("name", "scale"), [marked(name, scale) for scale in (0.5, 40.0) for name in CASES])
def test_value_and_gradient(name, scale):
    """At ordinary weights, and at weights so large that sentences need the log domain."""
    case = dict(CASES[name])
    seed = case.pop("seed", 1)
    design, gold, index = problem(seed, **case)
    if len(index.labels) > 60 and scale > 1:
        pytest.skip("finite differences of so many weights say nothing new")
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=index.n_features) * scale
    instance = rng.random(design.n_sentences) * 2
    for given in (None, instance):
        criterion = ConditionalLikelihood(design, gold, index, given, np.float64, Threads(2))
        value, gradient = criterion(weights)
        expected = enumerated(design, gold, index, weights, given) if index.n_labels < 9 else value
        assert value == pytest.approx(expected, rel=1e-9, abs=1e-9)
        numeric = oracle.numeric_gradient(lambda w, c=criterion: c(w)[0], weights)
        np.testing.assert_allclose(gradient, numeric, atol=2e-5 * max(1, scale), rtol=1e-5)


@pytest.mark.parametrize("name", [marked(name) for name in CASES])
def test_single_precision_is_near(name):
    case = dict(CASES[name])
    design, gold, index = problem(case.pop("seed", 1), **case)
    weights = np.random.default_rng(0).normal(size=index.n_features)
    value, gradient = ConditionalLikelihood(design, gold, index, None, np.float64)(weights)
    single, single_gradient = ConditionalLikelihood(design, gold, index, None, np.float32)(weights)
    assert single == pytest.approx(value, rel=1e-5, abs=1e-5)
    np.testing.assert_allclose(single_gradient, gradient, atol=1e-4)


def test_the_same_bits_for_any_number_of_threads():
    design, gold, index = problem(2)
    weights = np.random.default_rng(0).normal(size=index.n_features)
    one, two = (ConditionalLikelihood(design, gold, index, None, np.float32, Threads(n))(weights) for n in (1, 2))
    assert one[0] == two[0]
    assert one[1].tobytes() == two[1].tobytes()
