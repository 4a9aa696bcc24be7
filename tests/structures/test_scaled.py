"""Sums in scaled probabilities against enumeration and the log domain, and where they give way to it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import oracle
from loglin.structures import Chain

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")
CLOSE = {"rtol": 1e-9, "atol": 1e-12}
KINDS = list(itertools.product((1, 2), (False, True)))  # order, per_step


def arrays_of(seed, T, L, order, per_step, scale=1.0, forbidden=0.0):
    rng = np.random.default_rng(seed)
    arrays = oracle.random_chain(rng, T, L, order, per_step)
    return [None if a is None else np.where(rng.random(a.shape) < forbidden, -np.inf, scale * a) for a in arrays]


def in_logs(arrays) -> Chain:
    """The chain with sums in the log domain alone."""
    chain = Chain(*arrays)
    chain.__dict__.update(_sums=None, _scaled_partition=None)
    return chain


@pytest.mark.without_jit
@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    T=st.integers(1, 5),
    L=st.integers(1, 3),
    kind=st.sampled_from(KINDS),
    scale=st.sampled_from([0.0, 1.0, 10.0, 50.0, 300.0]),
    forbidden=st.sampled_from([0.0, 0.2, 0.6]),
)
@example(seed=1, T=1, L=1, kind=(2, False), scale=1.0, forbidden=0.0)
@example(seed=1, T=2, L=2, kind=(2, True), scale=1.0, forbidden=0.0)
def test_scaled_sums_equal_enumeration(seed, T, L, kind, scale, forbidden):
    arrays = arrays_of(seed, T, L, *kind, scale, forbidden)
    chain, listing = Chain(*arrays), oracle.chain(*arrays)
    np.testing.assert_allclose(chain.partition(), oracle.log_partition(listing), **CLOSE)
    if not listing:
        assert chain._scaled_partition is None
        return
    np.testing.assert_allclose(chain.marginals(), oracle.node_marginals(listing, T, L), **CLOSE)
    rng = np.random.default_rng(seed)
    for start in range(T):
        allowed = rng.random((rng.integers(0, T - start + 1), L)) < 0.6
        truth = oracle.span_probability(listing, start, allowed)
        np.testing.assert_allclose(chain.span_probability(start, allowed), truth, **CLOSE)


@pytest.mark.parametrize(("order", "per_step"), KINDS)
def test_ordinary_scores_are_summed_in_scaled_probabilities(order, per_step):
    chain = Chain(*arrays_of(0, 6, 3, order, per_step, scale=5.0))
    assert chain._sums is not None


@pytest.mark.parametrize(("order", "per_step"), KINDS)
@pytest.mark.parametrize("scale", [1e3, 1e6])
def test_huge_scores_are_summed_in_the_log_domain(order, per_step, scale):
    arrays = arrays_of(0, 5, 3, order, per_step, scale=scale)
    chain, listing = Chain(*arrays), oracle.chain(*arrays)
    assert chain._scaled_partition is None
    np.testing.assert_allclose(chain.partition(), oracle.log_partition(listing), rtol=1e-12)
    np.testing.assert_allclose(chain.marginals(), oracle.node_marginals(listing, 5, 3), atol=1e-9)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("late", [False, True])
def test_what_sinks_below_all_numbers_and_comes_back_is_seen(order, late):
    """Label 1 can only follow itself; it loses 25 at every token, and the last tokens bring it all back."""
    T, L = 120, 2
    scores = np.zeros((T, L))
    scores[: T // 2, 1] = -25.0
    scores[T // 2 :, 1] = 25.0 if late else 20.0
    transitions = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    trigrams = np.zeros((L, L, L)) if order == 2 else None
    chain = Chain(scores, transitions, trigrams)
    share = 0.5 if late else np.exp(-5.0 * T / 2) / (1 + np.exp(-5.0 * T / 2))
    np.testing.assert_allclose(chain.marginals()[:, 1], share, atol=1e-9)
    np.testing.assert_allclose(chain.partition(), np.log(2.0) if late else 0.0, atol=1e-9)
    assert chain._scaled_partition is None


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(KINDS),
    forbidden=st.sampled_from([0.0, 0.1, 0.4]),
    scale=st.sampled_from([1.0, 8.0, 20.0]),
)
def test_long_sentences_are_as_in_the_log_domain(seed, kind, forbidden, scale):
    T, L = 60, 9
    arrays = arrays_of(seed, T, L, *kind, scale, forbidden)
    chain, careful = Chain(*arrays), in_logs(arrays)
    np.testing.assert_allclose(chain.partition(), careful.partition(), rtol=1e-10, atol=1e-9)
    if careful.partition() == -np.inf:
        return
    np.testing.assert_allclose(chain.marginals(), careful.marginals(), atol=1e-8)
    allowed = np.random.default_rng(seed).random((4, L)) < 0.7
    for start in (0, 20, T - 4):
        np.testing.assert_allclose(
            chain.span_probability(start, allowed), careful.span_probability(start, allowed), atol=1e-8
        )


@pytest.mark.without_jit
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), T=st.integers(0, 4), L=st.integers(1, 3), kind=st.sampled_from(KINDS))
def test_equal_sequences_come_in_the_order_of_their_labels(seed, T, L, kind):
    """Whole numbers make many ties, and no rounding."""
    rng = np.random.default_rng(seed)
    arrays = [
        None if a is None else np.where(rng.random(a.shape) < 0.1, -np.inf, np.round(a))
        for a in oracle.random_chain(rng, T, L, *kind)
    ]
    ranked = sorted(oracle.chain(*arrays), key=lambda pair: (-pair[1], pair[0]))
    chain = Chain(*arrays)
    for k in (1, 2, 5, L**T + 1):
        found = [(tuple(y.tolist()), score) for y, score in chain.nbest(k)]
        assert found == [(tuple(y), score) for y, score in ranked[:k]]
    if ranked:
        assert tuple(chain.best()[0].tolist()) == tuple(ranked[0][0])
