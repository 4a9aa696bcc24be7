"""Scores and best labels before, found over observed label pairs, are those found over all pairs, ties included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loglin.kernels.rows import padded
from loglin.kernels.sparse_viterbi import Observed, best_step, normalize_step
from loglin.kernels.viterbi import viterbi


def observed_of(T: np.ndarray, seen: np.ndarray, dtype: type) -> Observed:
    before, label = np.nonzero(seen)
    return Observed.of(before, label, T[before, label], len(T), dtype)


@pytest.mark.without_jit
@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 1 << 20),
    n=st.integers(1, 6),
    n_labels=st.integers(1, 20),
    share=st.sampled_from([0.0, 0.2, 0.9, 1.0]),
    whole=st.booleans(),
)
def test_same_path_as_over_all_pairs(seed, n, n_labels, share, whole):
    """Whole scores make many ties."""
    rng, width = np.random.default_rng(seed), padded(n_labels)
    draw = (lambda size: rng.integers(-2, 3, size).astype(float)) if whole else (lambda size: rng.normal(size=size) * 3)
    seen = rng.random((n_labels, n_labels)) < share
    T = np.where(seen, draw((n_labels, n_labels)), 0.0)
    scores, wide = np.zeros((n, width)), np.zeros((n_labels, width))
    scores[:, :n_labels], wide[:, :n_labels] = draw((n, n_labels)), T
    expected = np.zeros(n, np.int64)
    delta, back = scores.copy(), np.zeros((n, width), np.int32)
    viterbi(n, n_labels, delta, wide, back, expected, 0)
    mine, steps = scores.copy(), np.zeros((n, width), np.int32)
    observed = observed_of(T, seen, np.float64)
    for t in range(1, n):
        room = np.empty(n_labels), np.empty(n_labels, np.int64), np.zeros(n_labels, bool)
        best_step(t, observed, mine, steps, *room)
    np.testing.assert_array_equal(mine[:, :n_labels], delta[:, :n_labels])
    np.testing.assert_array_equal(steps[1:, :n_labels], back[1:, :n_labels])


@pytest.mark.without_jit
@pytest.mark.parametrize("constant", [0.0, 1.0])
@pytest.mark.parametrize("scale", [1.0, 40.0])
def test_normalizers_are_those_over_all_pairs(constant, scale):
    rng, L = np.random.default_rng(5), 12
    seen = rng.random((L, L)) < 0.5
    seen[3] = True
    T = np.where(seen, rng.normal(size=(L, L)) * scale, 0.0)
    T[3] = -scale  # every step from here is next to forbidden, so that differences lose all digits
    e = rng.normal(size=(2, L))
    arcs = np.concatenate([T + e[1], np.full((L, 1), 0.0 if constant else -np.inf)], axis=1)
    expected = e[0] - np.logaddexp.reduce(arcs, axis=1)
    normalize_step(e, 1, observed_of(T, seen, np.float64), constant, np.empty(L))
    np.testing.assert_allclose(e[0], expected, rtol=1e-9)
