"""The vector primitives of kernels/rows.py against NumPy, for both types and rows of every kind of width."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from loglin.kernels import jit, rows
from loglin.kernels.compile import CONTRACT, Declared
from loglin.kernels.compile import PLAIN as JIT_OFF

WIDTHS = (8, 16, 24, 32, 40, 104)  # one to four vectors, a block and one more, three blocks and one more
N = 9  # rows of a table
UNTOUCHED = 77.0


def kernel(function):
    """As kernels of the package are compiled when first called, and kept as long as kernels/rows.py stays."""
    if JIT_OFF:
        return function
    function.__module__ = rows.__name__
    return jit.kernel(Declared(function, CONTRACT, False, (), {}))


def intrinsic(primitive):
    """The primitive itself, also where it was not needed so far as kernels are compiled already."""
    return getattr(primitive, "made", primitive)


_sum_rows = intrinsic(rows.sum_rows)
_weigh_rows = intrinsic(rows.weigh_rows)
_spread_row = intrinsic(rows.spread_row)
_mix_rows = intrinsic(rows.mix_rows)
_step_forward = intrinsic(rows.step_forward)
_step_backward = intrinsic(rows.step_backward)
_add_outer = intrinsic(rows.add_outer)
_best_rows = intrinsic(rows.best_rows)
_exp_row = intrinsic(rows.exp_row)
_spread_cut_row = intrinsic(rows.spread_cut_row)
_fetch_rows = intrinsic(rows.fetch_rows)
_count_rows = intrinsic(rows.count_rows)
_square_counted = intrinsic(rows.square_counted)
_subtract_row = intrinsic(rows.subtract_row)


# Intrinsics can only be called from compiled code.
@kernel
def sum_rows(out, o, table, index, begin, end):
    _sum_rows(out, o, table, index, begin, end)


@kernel
def weigh_rows(out, o, table, index, value, begin, end):
    _weigh_rows(out, o, table, index, value, begin, end)


@kernel
def spread_row(table, allowed, index, q, weight, row, r):
    _spread_row(table, allowed, index, q, weight, row, r)


@kernel
def mix_rows(out, o, coefficient, c, c_stride, matrix, m, m_stride, count):
    _mix_rows(out, o, coefficient, c, c_stride, matrix, m, m_stride, count)


@kernel
def step_forward(a, t, M, m, e, scale):
    return _step_forward(a, t, M, m, e, scale)


@kernel
def step_backward(b, t, MT, e, a, scale, r):
    _step_backward(b, t, MT, e, a, scale, r)


@kernel
def add_outer(X, a, b, scale, n):
    _add_outer(X, a, b, scale, n)


@kernel
def best_rows(out, arg, o, coefficient, c, matrix, count):
    _best_rows(out, arg, o, coefficient, c, matrix, count)


@kernel
def exp_row(row, r, shift):
    return _exp_row(row, r, shift)


@kernel
def spread_cut_row(table, raw, allowed, index, q, weight, row, r, threshold):
    _spread_cut_row(table, raw, allowed, index, q, weight, row, r, threshold)


@kernel
def fetch_rows(a, begin, end):
    _fetch_rows(a, begin, end)


@kernel
def count_rows(counts, t, allowed, index, begin, end):
    _count_rows(counts, t, allowed, index, begin, end)


@kernel
def square_counted(row, t, counts, s):
    return _square_counted(row, t, counts, s)


@kernel
def subtract_row(r, t, m, s):
    return _subtract_row(r, t, m, s)


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    return np.dtype(request.param)


@pytest.fixture(params=WIDTHS)
def width(request):
    return request.param


@pytest.fixture
def draw(dtype, width):
    """draw(rows, low=…): uniform random rows; positive unless told, so that sums do not cancel."""
    rng = np.random.default_rng(width)

    def draw(*shape, low=0.1, high=1.0):
        return rng.uniform(low, high, shape).astype(dtype)

    return draw


def close(found, expected, dtype):
    assert found.dtype == dtype
    tolerance = 2e-5 if dtype == np.float32 else 1e-13
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def wide(*arrays):
    return [array.astype(np.float64) for array in arrays]


@pytest.mark.parametrize(("n_labels", "expected"), [(1, 8), (7, 8), (8, 8), (9, 16), (22, 24), (97, 104)])
def test_padded(n_labels, expected):
    assert rows.padded(n_labels) == expected


@pytest.mark.parametrize("index_type", ["uint32", "int32", "int64"])
@pytest.mark.parametrize(("begin", "end"), [(0, 6), (2, 5), (3, 4), (4, 4)])
def test_sum_rows(draw, dtype, width, index_type, begin, end):
    table, out = draw(N, width, low=-1), np.full((3, width), UNTOUCHED, dtype)
    index = np.array([8, 0, 3, 3, 7, 1], index_type)
    sum_rows(out, 1, table, index, begin, end)
    close(out[1], sum((table[i].astype(np.float64) for i in index[begin:end]), np.zeros(width)), dtype)
    assert (out[[0, 2]] == UNTOUCHED).all()


@pytest.mark.parametrize(("begin", "end"), [(0, 6), (2, 5), (4, 4)])
def test_weigh_rows(draw, dtype, width, begin, end):
    table, value, out = draw(N, width, low=-1), draw(6, low=-2), np.full((3, width), UNTOUCHED, dtype)
    index = np.array([8, 0, 3, 3, 7, 1], np.uint32)
    weigh_rows(out, 1, table, index, value, begin, end)
    expected = np.zeros(width)
    for q in range(begin, end):
        expected += float(value[q]) * table[index[q]].astype(np.float64)
    close(out[1], expected, dtype)
    assert (out[[0, 2]] == UNTOUCHED).all()


def test_spread_row(draw, dtype, width):
    table, step = draw(N, width, low=-1), draw(4, width, low=-1)
    rng = np.random.default_rng(3)
    mask = rng.random((N, width)) < 0.5
    mask[5, :8], mask[5, -1] = [True, False, False, True, False, False, False, True], True
    index, weight = np.array([2, 5, 8], np.uint32), dtype.type(-0.75)
    expected = table.astype(np.float64)
    expected[5, mask[5]] -= 0.75 * step[3, mask[5]].astype(np.float64)
    before = table.copy()
    spread_row(table, np.packbits(mask, axis=1, bitorder="little"), index, 1, weight, step, 3)
    close(table, expected, dtype)
    np.testing.assert_array_equal(table[~mask], before[~mask])
    assert (table[5, mask[5]] != before[5, mask[5]]).all()


def test_spread_cut_row(draw, dtype, width):
    table, raw, step = draw(N, width), draw(N, width, low=-1), draw(4, width, low=-1)
    mask, index = np.random.default_rng(3).random((N, width)) < 0.5, np.array([2, 5, 8], np.uint32)
    expected, before = raw.astype(np.float64), table.copy()
    expected[5, mask[5]] -= 0.75 * step[3, mask[5]].astype(np.float64)
    allowed, weight, threshold = np.packbits(mask, axis=1, bitorder="little"), dtype.type(-0.75), dtype.type(0.5)
    spread_cut_row(table, raw, allowed, index, 1, weight, step, 3, threshold)
    close(raw, expected, dtype)
    close(table[5], np.sign(expected[5]) * np.maximum(np.abs(expected[5]) - 0.5, 0), dtype)
    np.testing.assert_array_equal(np.delete(table, 5, 0), np.delete(before, 5, 0))


def test_spread_row_where_nothing_is_allowed_keeps_infinities_out(draw, dtype, width):
    table, step = draw(2, width), np.full((1, width), np.inf, dtype)
    before = table.copy()
    spread_row(table, np.zeros((2, width // 8), np.uint8), np.array([1], np.uint32), 0, dtype.type(1), step, 0)
    np.testing.assert_array_equal(table, before)


@pytest.mark.parametrize(
    ("c", "c_stride", "m", "m_stride", "count"), [(0, 1, 0, 1, 8), (3, 2, 1, 1, 4), (1, 3, 2, 2, 12)]
)
def test_mix_rows(draw, dtype, width, c, c_stride, m, m_stride, count):
    coefficient, matrix = draw(5, 8, low=-1), draw(30, width, low=-1)
    out = np.full((3, width), UNTOUCHED, dtype)
    mix_rows(out, 1, coefficient, c, c_stride, matrix, m, m_stride, count)
    flat = coefficient.ravel()
    expected = np.zeros(width)
    for k in range(count):
        expected += float(flat[c + k * c_stride]) * matrix[m + k * m_stride].astype(np.float64)
    close(out[1], expected, dtype)
    assert (out[[0, 2]] == UNTOUCHED).all()


@pytest.mark.parametrize("m", [0, 1])
def test_step_forward(draw, dtype, width, m):
    a, M, e = draw(4, width), draw(2 * width, width), draw(4, width)
    before = a.copy()
    total = step_forward(a, 2, M, m * width, e, dtype.type(0.25))
    a64, M64, e64 = wide(before, M, e)
    expected = 0.25 * e64[2] * (a64[1] @ M64[m * width : (m + 1) * width])
    close(a[2], expected, dtype)
    assert total == pytest.approx(expected.sum(), rel=2e-5 if dtype == np.float32 else 1e-12)
    np.testing.assert_array_equal(a[[0, 1, 3]], before[[0, 1, 3]])


def test_step_backward(draw, dtype, width):
    b, MT, e, a = draw(4, width), draw(width, width), draw(4, width), draw(4, width)
    r, before = np.full((4, width), UNTOUCHED, dtype), b.copy()
    step_backward(b, 1, MT, e, a, dtype.type(0.25), r)
    b64, MT64, e64, a64 = wide(before, MT, e, a)
    v = 0.25 * (b64[2] @ MT64)
    close(b[1], e64[1] * v, dtype)
    close(r[1], a64[1] * v, dtype)
    np.testing.assert_array_equal(b[[0, 2, 3]], before[[0, 2, 3]])
    assert (r[[0, 2, 3]] == UNTOUCHED).all()


@pytest.mark.parametrize("n", [0, 1, 5])
def test_add_outer(draw, dtype, width, n):
    X, a, b, scale = draw(width, width), draw(7, width), draw(7, width), draw(7)
    X64, a64, b64, scale64 = wide(X, a, b, scale)
    for t in range(n):
        X64 += scale64[t] * np.outer(a64[t], b64[t + 1])
    add_outer(X, a, b, scale, n)
    close(X, X64, dtype)


def test_best_rows(draw, dtype, width):
    count = width - 3
    coefficient, matrix = draw(3, width, low=-1), draw(width, width, low=-1)
    matrix[count:] = 100  # padding: must not be looked at
    out, arg = np.full((3, width), UNTOUCHED, dtype), np.full((3, width), -1, np.int32)
    best_rows(out, arg, 2, coefficient, 1, matrix, count)
    scores = coefficient[1, :count, None] + matrix[:count]
    np.testing.assert_array_equal(out[2], np.full(width, UNTOUCHED, dtype) + scores.max(axis=0))
    np.testing.assert_array_equal(arg[2], scores.argmax(axis=0))
    assert (out[:2] == UNTOUCHED).all()
    assert (arg[:2] == -1).all()


def test_best_rows_prefers_the_lowest_of_equals_and_bears_infinities(dtype, width):
    coefficient = np.zeros((1, width), dtype)
    matrix = np.zeros((width, width), dtype)
    matrix[0] = -np.inf
    matrix[2, 1] = matrix[5, 1] = 3  # a tie above the rest
    matrix[:, 2] = -np.inf
    out, arg = np.zeros((1, width), dtype), np.empty((1, width), np.int32)
    best_rows(out, arg, 0, coefficient, 0, matrix, width)
    assert (out[0, :4].tolist(), arg[0, :4].tolist()) == ([0, 3, -np.inf, 0], [1, 2, 0, 1])


def test_exp_row(draw, dtype, width):
    row = draw(3, width, low=-20, high=30)
    before, shift = row.copy(), dtype.type(1.5)
    top = exp_row(row, 1, shift)
    x = before[1] - shift  # rounded as the kernel rounds it
    np.testing.assert_allclose(row[1], np.exp(x.astype(np.float64)), rtol=4e-7 if dtype.itemsize == 4 else 1e-14)
    assert top == x.max()
    np.testing.assert_array_equal(row[[0, 2]], before[[0, 2]])


def test_exp_row_reports_the_largest_input_wherever_it_stands(dtype, width):
    for at in range(width):
        row = np.full((1, width), -3, dtype)
        row[0, at] = 2.5
        assert exp_row(row, 0, dtype.type(0.5)) == 2


def test_exp_row_clamps_in_float32_alone(dtype, width):
    x = np.zeros(width, dtype)
    x[:7] = [-31.5, -32, -33, -1000, -np.inf, 87, 86.5]
    row = x[None].copy()
    assert exp_row(row, 0, dtype.type(0)) == 87
    held = np.clip(x.astype(np.float64), -32, 87) if dtype == np.float32 else x.astype(np.float64)
    np.testing.assert_allclose(row[0], np.exp(held), rtol=4e-7 if dtype.itemsize == 4 else 1e-13)
    assert row[0, 3] == row[0, 4]
    assert (row[0, 4] > 0) == (dtype == np.float32)


def test_exp_row_above_the_upper_end_says_so(dtype, width):
    row = np.full((1, width), 5, dtype)
    row[0, width - 1] = 200
    assert exp_row(row, 0, dtype.type(0)) == 200
    assert row[0, width - 1] == pytest.approx(np.exp(87.0 if dtype == np.float32 else 200.0), rel=1e-6)
    assert row[0, 0] == pytest.approx(np.exp(5.0), rel=1e-6)


def test_exp_row_of_float32_is_as_exact_as_it_says():
    if JIT_OFF:
        pytest.skip("NumPy's own exp")
    x = np.linspace(-32, 87, 104 * 2000, dtype=np.float32).reshape(-1, 104)
    row = x.copy()
    for r in range(len(row)):
        exp_row(row, r, np.float32(0))
    truth = np.exp(x.astype(np.float64))
    assert np.abs(row / truth - 1).max() < 2.0**-23


@pytest.mark.parametrize(("begin", "end"), [(0, 6), (2, 5), (4, 4)])
def test_count_rows(width, begin, end):
    mask = np.random.default_rng(width).random((N, width)) < 0.5
    index, counts = np.array([8, 0, 3, 3, 7, 1], np.uint32), np.full((3, width), 240, np.uint8)
    count_rows(counts, 1, np.packbits(mask, axis=1, bitorder="little"), index, begin, end)
    np.testing.assert_array_equal(counts[1], 240 + mask[index[begin:end]].sum(axis=0))
    assert (counts[[0, 2]] == 240).all()


def test_square_counted(draw, dtype, width):
    row = draw(3, width, low=-1)
    counts = np.random.default_rng(width).integers(0, 256, (4, width)).astype(np.uint8)
    expected = float(counts[2].astype(np.float64) @ wide(row)[0][1] ** 2)
    assert square_counted(row, 1, counts, 2) == pytest.approx(expected, rel=2e-5 if dtype == np.float32 else 1e-12)


def test_subtract_row(draw, dtype, width):
    r, m = draw(3, width, low=0), draw(4, width, low=-1)
    r[1, 0] = m[2, 0] = 0  # nothing is divided by nothing
    before = wide(r)[0][1]
    found = subtract_row(r, 1, m, 2)
    delta = before - m[2]
    close(r[1], delta, dtype)
    expected = (delta**2 / (np.abs(2 * before + m[2]) + 1e-12)).sum()
    assert found == pytest.approx(expected, rel=1e-3 if dtype == np.float32 else 1e-10)


def test_fetch_rows_changes_nothing(draw, dtype, width):
    a = draw(5, width)
    before = a.copy()
    for begin, end in ((0, 5), (2, 3), (5, 5)):
        fetch_rows(a, begin, end)
        fetch_rows(a.reshape(-1), begin, end)
    np.testing.assert_array_equal(a, before)


@pytest.mark.skipif(JIT_OFF, reason="this is the run without the compiler")
def test_the_same_without_the_compiler():
    """The NumPy stand-ins pass this very file."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-m", "pytest", "-o", "addopts=", "-p", "no:cacheprovider", __file__]
    run = subprocess.run(
        command, env=environment, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stdout[-3000:]
    assert re.search(r"\b[1-9]\d\d+ passed", run.stdout), run.stdout[-3000:]  # hundreds, not just skipped ones
