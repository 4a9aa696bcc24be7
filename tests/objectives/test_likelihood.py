"""Conditional likelihood on chains: value and gradient against enumeration and finite differences."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
from loglin.objectives.likelihood import ConditionalLikelihood
from loglin.threads import Threads
from support.chains import CONDITIONED, parts_of, problem
from support.definitions import enumerated

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


@pytest.mark.parametrize("scale", [0.5, 40.0])
@pytest.mark.parametrize("order", [1, 2])
def test_curvature_of_features_of_steps_is_that_of_label_pairs(order, scale):
    """Σ_t p·(1 − p) of the label pair into every token that has the attribute, by enumeration."""
    design, gold, index = problem(5, order=order, template=CONDITIONED)
    weights = np.random.default_rng(0).normal(size=index.n_features) * scale
    L, wanted = index.n_labels, np.zeros(index.sizes[1])
    for first, parts in zip(design.offsets.tolist(), parts_of(design, index, weights), strict=False):
        n = len(parts[0])
        pairs = oracle.pair_marginals(oracle.chain(*parts), n, L) if n > 1 else []
        for t in range(1, n):
            for a in design.bigrams.ids[design.bigrams.ptr[first + t] : design.bigrams.ptr[first + t + 1]]:
                for f in range(index.bigram_ptr[a], index.bigram_ptr[a + 1]):
                    p = pairs[t - 1].reshape(-1)[index.bigram_pairs[f]]
                    wanted[f] += p * (1 - p)
    found = ConditionalLikelihood(design, gold, index, None, np.float64, Threads(2)).curvature(weights)
    np.testing.assert_allclose(index.split(found)[1], wanted, atol=1e-9)


@pytest.mark.parametrize("partial", [False, True])
def test_steps_that_score_far_below_others_are_summed_in_single_precision_too(partial):
    """exp of such scores is held to e⁻³², which would make unlikely labels likelier than they are."""
    design, gold, index = problem(3, template=CONDITIONED, partial=partial)
    weights = np.zeros(index.n_features)
    index.split(weights)[1][:] = -45.0
    exact = ConditionalLikelihood(design, gold, index, None, np.float64, Threads(1))(weights)
    found = ConditionalLikelihood(design, gold, index, None, np.float32, Threads(1))(weights)
    assert found[0] == pytest.approx(exact[0], rel=1e-5)
    np.testing.assert_allclose(found[1], exact[1], atol=1e-4)
