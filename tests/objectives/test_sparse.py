"""Sums over observed label pairs: against enumeration, finite differences, and the sums over all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from loglin.corpus.labels import Gold
from loglin.features.design import Design, Incidence
from loglin.features.index import FeatureIndex, build_index
from loglin.objectives.likelihood import ConditionalLikelihood
from loglin.objectives.sparse import SparseLikelihood, likelihood_of
from loglin.threads import Threads
from support.chains import problem
from support.definitions import enumerated

CASES = {
    "plain": {},
    "folded, other seed": {"seed": 2},
    "one label": {"n_labels": 1},
    "partial": {"partial": True},
    "candidates": {"candidates": True},
    "values": {"values": True},
}


@pytest.mark.without_jit
@pytest.mark.parametrize("scale", [0.5, 6.0, 40.0])
@pytest.mark.parametrize("name", CASES)
def test_value_and_gradient(name, scale):
    """At ordinary weights, where differences cancel, and at weights so large that sentences need the log domain."""
    case = dict(CASES[name])
    seed = case.pop("seed", 1)
    design, gold, index = problem(seed, **case)
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=index.n_features) * scale
    for given_weights in (None, rng.random(design.n_sentences) * 2):
        criterion = SparseLikelihood(design, gold, index, given_weights, np.float64, Threads(2))
        value, gradient = criterion(weights)
        assert value == pytest.approx(enumerated(design, gold, index, weights, given_weights), rel=1e-9, abs=1e-9)
        numeric = oracle.numeric_gradient(lambda w, c=criterion: c(w)[0], weights)
        np.testing.assert_allclose(gradient, numeric, atol=2e-5 * max(1, scale), rtol=1e-5)


def random_text(rng: np.random.Generator, n_labels: int, lengths: list[int]) -> tuple[Design, Gold]:
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    n = int(offsets[-1])
    ids = rng.integers(0, 12, (n, 3)).astype(np.int32)
    tokens = Incidence(np.arange(n + 1) * 3, ids.reshape(-1))
    gold = Gold.certain(rng.integers(0, n_labels, n), n_labels)
    return Design(offsets, tokens, Incidence.empty(n), 12, 0), gold


def with_pairs(index: FeatureIndex, which: str) -> FeatureIndex:
    """The index with no label pair, one, those observed or all."""
    L, seen = index.n_labels, index.pairs
    index.pairs = {"none": seen[:0], "one": seen[:1], "seen": seen, "all": np.arange(L * L, dtype=np.int32)}[which]
    return index


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 1 << 20),
    n_labels=st.integers(1, 20),
    lengths=st.lists(st.integers(0, 6), min_size=1, max_size=20),
    which=st.sampled_from(["none", "one", "seen", "all"]),
    scale=st.sampled_from([0.0, 1.0, 8.0, 100.0, -30.0]),
)
def test_same_as_over_all_pairs(seed, n_labels, lengths, which, scale):
    """Also where all label pairs are next to forbidden (a negative scale), so that differences lose every digit."""
    rng = np.random.default_rng(seed)
    design, gold = random_text(rng, n_labels, lengths)
    index = with_pairs(build_index(design, gold, False, True, 1), which)
    weights = rng.normal(size=index.n_features) * abs(scale)
    if scale < 0:
        index.split(weights)[2][:] = scale
    single = [(np.float32, 1e-4)] if abs(scale) < 50 else []  # beyond, factors are infinite
    for dtype, rel in [(np.float64, 1e-9), *single]:
        dense, sparse = (kind(design, gold, index, None, dtype) for kind in (ConditionalLikelihood, SparseLikelihood))
        value, gradient = dense(weights)
        found, slope = sparse(weights)
        assert found == pytest.approx(value, rel=rel, abs=rel)
        np.testing.assert_allclose(slope, gradient, rtol=rel, atol=rel * 10)
        np.testing.assert_allclose(sparse.curvature(weights), dense.curvature(weights), rtol=rel, atol=rel * 10)
        assert np.array_equal(sparse.unsafe, dense.unsafe) or np.isfinite(found)


def test_threads_give_the_same_bits():
    rng = np.random.default_rng(3)
    design, gold = random_text(rng, 90, [int(n) for n in rng.integers(0, 9, 200)])
    index = build_index(design, gold, False, True, 1)
    weights = rng.normal(size=index.n_features)
    for dtype in (np.float32, np.float64):
        one, *others = (SparseLikelihood(design, gold, index, None, dtype, Threads(n))(weights) for n in (1, 2, 3))
        for other in others:
            assert one[0] == other[0]
            assert np.array_equal(one[1], other[1])


def test_chosen_where_it_pays():
    """Many labels and few pairs; not with few labels, all pairs, or labels that have no neighbors."""
    rng = np.random.default_rng(4)
    lengths = [6] * 60
    design, gold = random_text(rng, 150, lengths)
    index = build_index(design, gold, False, True, 1)
    assert isinstance(likelihood_of(design, gold, index), SparseLikelihood)
    everything = build_index(design, gold, False, True, 1)
    assert type(likelihood_of(design, gold, with_pairs(everything, "all"))) is ConditionalLikelihood
    few, few_gold = random_text(rng, 45, lengths)
    assert type(likelihood_of(few, few_gold, build_index(few, few_gold, False, True, 1))) is ConditionalLikelihood
    alone, alone_gold = random_text(rng, 150, [1] * 60)
    index = build_index(alone, alone_gold, False, True, 1)
    assert type(likelihood_of(alone, alone_gold, index)) is ConditionalLikelihood
