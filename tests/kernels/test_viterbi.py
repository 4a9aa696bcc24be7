"""The Viterbi of rows against the one of any chain."""

import numpy as np
import pytest

from loglin.kernels.ranked import best_path
from loglin.kernels.rows import padded
from loglin.kernels.viterbi import viterbi


@pytest.mark.parametrize("n", [1, 2, 7])
@pytest.mark.parametrize("n_labels", [1, 5, 9, 33])
def test_rows_find_the_path_of_any_chain(n, n_labels):
    rng, width = np.random.default_rng(n * n_labels), padded(n_labels)
    scores, T = rng.normal(size=(n, n_labels)), rng.normal(size=(n_labels, n_labels))
    T[rng.random(T.shape) < 0.1] = -np.inf
    T[:, 0] = np.maximum(T[:, 0], -5.0)  # some way is open
    e, wide = np.zeros((n, width)), np.zeros((n_labels, width))
    e[:, :n_labels], wide[:, :n_labels] = scores, T
    found, expected = np.full(n + 2, -1), np.empty(n, np.int64)
    viterbi(n, n_labels, e, wide, np.zeros((n, width), np.int32), found, 1)
    best_path(scores, T[None], np.zeros((0, n_labels, n_labels)), expected)
    np.testing.assert_array_equal(found, [-1, *expected, -1])
