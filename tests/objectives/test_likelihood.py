"""Conditional likelihood on chains: value and gradient against enumeration and finite differences."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
from loglin.objectives.likelihood import ConditionalLikelihood
from loglin.threads import Threads
from support.chains import CONDITIONED, problem
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
