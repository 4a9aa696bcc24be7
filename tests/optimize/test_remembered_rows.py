"""Rows in a file are rows in memory: the same numbers, and nothing stays in memory, nor on disk."""

from __future__ import annotations

import os

import numpy as np
import pytest

from loglin.errors import LoglinError
from loglin.optimize.lbfgs import minimize
from loglin.optimize.rows import Room, release


def resident() -> int:
    with open("/proc/self/statm") as stream:
        return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_written_rows_stay(tmp_path):
    rows = Room(str(tmp_path), 100).rows(3, 1001, np.float32)
    assert rows.shape == (3, 1001)
    assert not rows.any()
    rows[1] = np.arange(1001)
    for k in range(3):
        release(rows[k])
    np.testing.assert_array_equal(rows[1], np.arange(1001, dtype=np.float32))
    assert not rows[[0, 2]].any()
    assert list(tmp_path.iterdir()) == []  # the file has no name


def test_small_rows_are_in_memory(tmp_path):
    assert Room(str(tmp_path), 10**6).rows(3, 10, np.float64).base is None
    assert Room().rows(3, 10, np.float64).base is None
    release(np.zeros((3, 10))[1])  # changes nothing


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no /proc here")
def test_released_rows_take_no_memory(tmp_path):
    rows = Room(str(tmp_path), 100).rows(4, 1 << 22, np.float64)  # 32 MB each
    before = resident()
    for row in rows:
        row[:] = 1.0
        release(row)
    assert resident() - before < 16 << 20
    assert rows[3, -1] == 1.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_search_to_the_last_bit(tmp_path, dtype):
    rng = np.random.default_rng(3)
    A, b = rng.normal(size=(60, 40)), rng.normal(size=60)

    def function(w):
        rest = A @ w - b
        return float(np.sum(np.logaddexp(rest, -rest)) + w @ w), (A.T @ np.tanh(rest) + 2 * w).astype(dtype)

    found = [
        minimize(function, np.zeros(40), tol=1e-9, memory=4, scale=np.full(40, 0.5), room=room)
        for room in (None, Room(str(tmp_path), 0))
    ]
    assert found[0].evaluations > 6
    np.testing.assert_array_equal(found[0].weights, found[1].weights)


def test_no_room_on_the_disk(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(LoglinError, match=r"no room for 320 bytes .* No space left on device; free some"):
        Room(str(tmp_path), 0).rows(4, 10, np.float64)
