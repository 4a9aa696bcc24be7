"""Vector primitives on rows of labels, the innermost loops of the engine.

A row holds one number per label, padded with zeros to a multiple of ``LANES``. Everything the
engine does to rows is one of

    sum_rows       out[o] = Σ_q table[index[q]]                     scores = X·W, gradient = Xᵀ·R
    weigh_rows     out[o] = Σ_q value[q]·table[index[q]]            the same with real-valued features
    spread_row     table[index[q]] += value·row, where allowed      one stochastic step
    spread_cut_row the same to raw, and table = raw cut at a threshold   one with an L1 penalty
    put_row        rows[o] = value·other[t]                         a dual step, summed by feature
    add_row        rows[o] += value·other[t]
    square_rows    Σ_q Σ_j row[j]², where index[q] allows it        the square of a dual step
    fetch_rows     a[begin:end] are needed soon
    count_rows     count[t, j] += 1 for each index[q] that allows j
    square_counted Σ_j count[j]·row[j]²                             the same from such counts
    subtract_row   r[t] −= m[s], Σ_j δ²/|2·p + m|                   how far two rows of probabilities are apart
    step_forward   a[t] = scale·e[t]·Σ_k a[t−1, k]·M[k]             one step of forward
    step_backward  v = scale·Σ_k b[t+1, k]·MT[k], b = e·v, r = a·v  one step of backward
    mix_rows       out[o] = Σ_k coefficient[k]·matrix[k]            the same without its factors
    add_outer      X += Σ_t scale[t]·a[t] ⊗ b[t+1]                  expected transitions
    best_rows      out[o] += max_k coefficient[k] + matrix[k]       one step of Viterbi
    exp_row        row = exp(row − shift)

Plain loops keep the accumulators of a row in memory, at several times the cost; here they are
written with LLVM vectors and stay in registers. A row is walked in blocks of up to four vectors
(32 labels). Being intrinsics, they also spare the reference counting of a call with arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from loglin.kernels.compile import PLAIN, primitive

if TYPE_CHECKING:
    from loglin.kernels.emitter import Emitter

LANES = 8


def padded(n_labels: int) -> int:
    """Width of a row that holds ``n_labels`` numbers."""
    return -(-n_labels // LANES) * LANES


@primitive("a", "i", "a", "a", "i", "i")
def sum_rows(e: Emitter):  # out, o, table, index, begin, end
    """out[o] = Σ_{begin ≤ q < end} table[index[q]]."""
    width = e.width(2)

    def block(column, n):
        total, source = e.zeros(n), e.data(2, column)
        with e.loop(e.args[4], e.args[5]) as (q, _):
            row = e.at(source, e.b.mul(e.index(3, q), width))
            for k in range(n):
                e.b.store(e.b.fadd(e.b.load(total[k]), e.load(row, k)), total[k])
        for k in range(n):
            e.store(e.b.load(total[k]), e.data(0, e.b.add(e.b.mul(e.args[1], width), column)), k)

    e.walk(width, block)


@primitive("a", "i", "a", "a", "a", "i", "i")
def weigh_rows(e: Emitter):  # out, o, table, index, value, begin, end
    """out[o] = Σ_{begin ≤ q < end} value[q]·table[index[q]]."""
    width = e.width(2)

    def block(column, n):
        total, source = e.zeros(n), e.data(2, column)
        with e.loop(e.args[5], e.args[6]) as (q, _):
            row = e.at(source, e.b.mul(e.index(3, q), width))
            weight = e.splat(e.b.load(e.data(4, q)))
            for k in range(n):
                e.accumulate(total[k], weight, e.load(row, k))
        for k in range(n):
            e.store(e.b.load(total[k]), e.data(0, e.b.add(e.b.mul(e.args[1], width), column)), k)

    e.walk(width, block)


@primitive("a", "a", "a", "i", "x", "a", "i")
def spread_row(e: Emitter):  # table, allowed, index, q, weight, row, r
    """table[index[q]] += weight·row[r], for the labels whose bit is set in allowed (rows, width/8)."""
    width, weight = e.width(0), e.splat(e.args[4])
    attribute = e.b.mul(e.index(2, e.args[3]), width)

    def block(column, n):
        offset = e.b.add(attribute, column)
        target, bits = e.data(0, offset), e.data(1, e.b.udiv(offset, e.int(LANES)))
        step = e.data(5, e.b.add(e.b.mul(e.args[6], width), column))
        for k in range(n):
            lanes = e.bits(e.at(bits, e.int(k)))
            move = e.b.select(lanes, e.b.fmul(weight, e.load(step, k)), e.constant(0.0))
            e.store(e.b.fadd(e.load(target, k), move), target, k)

    e.walk(width, block)


@primitive("a", "a", "a", "a", "i", "x", "a", "i", "x")
def spread_cut_row(e: Emitter):  # table, raw, allowed, index, q, weight, row, r, threshold
    """raw[index[q]] += weight·row[r], for the labels allowed; table[index[q]] = the same less the threshold, or 0."""
    width, weight, least = e.width(0), e.splat(e.args[5]), e.splat(e.args[8])
    attribute, zero = e.b.mul(e.index(3, e.args[4]), width), e.constant(0.0)

    def block(column, n):
        offset = e.b.add(attribute, column)
        target, raw, bits = e.data(0, offset), e.data(1, offset), e.data(2, e.b.udiv(offset, e.int(LANES)))
        step = e.data(6, e.b.add(e.b.mul(e.args[7], width), column))
        for k in range(n):
            lanes = e.bits(e.at(bits, e.int(k)))
            move = e.b.select(lanes, e.b.fmul(weight, e.load(step, k)), zero)
            moved = e.b.fadd(e.load(raw, k), move)
            e.store(moved, raw, k)
            above, below = e.b.fsub(moved, least), e.b.fsub(e.b.fsub(zero, moved), least)
            e.store(e.b.fsub(e.greater(above, zero), e.greater(below, zero)), target, k)

    e.walk(width, block)


def _scaled_row(e, added):
    """rows[o] = value·other[t], ``added`` to what is there or in its place."""
    width, weight = e.width(0), e.splat(e.args[2])

    def block(column, n):
        target = e.data(0, e.b.add(e.b.mul(e.args[1], width), column))
        source = e.data(3, e.b.add(e.b.mul(e.args[4], width), column))
        for k in range(n):
            move = e.b.fmul(weight, e.load(source, k), flags=e.contract)
            e.store(e.b.fadd(e.load(target, k), move, flags=e.contract) if added else move, target, k)

    e.walk(width, block)


@primitive("a", "i", "x", "a", "i")
def put_row(e: Emitter):  # rows, o, value, other, t
    """rows[o] = value·other[t]."""
    _scaled_row(e, False)


@primitive("a", "i", "x", "a", "i")
def add_row(e: Emitter):  # rows, o, value, other, t
    """rows[o] += value·other[t]."""
    _scaled_row(e, True)


@primitive("a", "i", "a", "a", "i", "i", returns=True)
def square_rows(e: Emitter):  # rows, o, allowed, index, begin, end
    """Σ_{begin ≤ q < end} Σ_j rows[o, j]², over the labels j whose bit is set in allowed[index[q]]."""
    width = e.width(0)
    bytes_of_row = e.b.udiv(width, e.int(LANES))
    total = e.slot(e.constant(0.0))

    def block(column, n):
        source = e.data(0, e.b.add(e.b.mul(e.args[1], width), column))
        first = e.b.udiv(column, e.int(LANES))
        squares = [e.b.fmul(x, x) for x in (e.load(source, k) for k in range(n))]
        parts = e.zeros(n)
        with e.loop(e.args[4], e.args[5]) as (q, _):
            bits = e.data(2, e.b.add(e.b.mul(e.index(3, q), bytes_of_row), first))
            for k in range(n):
                kept = e.b.select(e.bits(e.at(bits, e.int(k))), squares[k], e.constant(0.0))
                e.b.store(e.b.fadd(e.b.load(parts[k]), kept), parts[k])
        for part in parts:
            e.b.store(e.b.fadd(e.b.load(total), e.b.load(part)), total)

    e.walk(width, block)
    return e.fold(e.b.load(total), e.b.fadd)


@primitive("a", "i", "i")
def fetch_rows(e: Emitter):  # a, begin, end
    """Have a[begin:end], rows or numbers, brought near the processor while it goes on."""
    e.prefetch(0, e.args[1], e.args[2])


@primitive("a", "i", "a", "a", "i", "i")
def count_rows(e: Emitter):  # counts, t, allowed, index, begin, end
    """counts[t, j] += 1 for every index[q], begin ≤ q < end, whose bit of label j is set in allowed; bytes."""
    width = e.width(0)
    bytes_of_row, here = e.b.udiv(width, e.int(LANES)), e.b.mul(e.args[1], width)
    with e.loop(e.args[4], e.args[5]) as (q, _):
        bits = e.data(2, e.b.mul(e.index(3, q), bytes_of_row))
        with e.loop(e.int(0), bytes_of_row) as (k, _):
            target = e.data(0, e.b.add(here, e.b.mul(k, e.int(LANES))))
            count = e.bytes(target)
            more = e.b.zext(e.bits(e.at(bits, k)), count.type)
            e.put_bytes(e.b.add(count, more), target)


@primitive("a", "i", "a", "i", returns=True)
def square_counted(e: Emitter):  # rows, t, counts, s
    """Σ_j counts[s, j]·rows[t, j]²."""
    width, total = e.width(0), e.slot(e.constant(0.0))
    first, counted = e.b.mul(e.args[1], width), e.b.mul(e.args[3], width)

    def block(column, n):
        source, counts = e.data(0, e.b.add(first, column)), e.data(2, e.b.add(counted, column))
        for k in range(n):
            x = e.load(source, k)
            times = e.b.uitofp(e.bytes(e.at(counts, e.int(LANES * k))), e.vector)
            e.accumulate(total, e.b.fmul(x, x), times)

    e.walk(width, block)
    return e.fold(e.b.load(total), e.b.fadd)


@primitive("a", "i", "a", "i", returns=True)
def subtract_row(e: Emitter):  # r, t, m, s
    """r[t] = δ = p − m[s], where r[t] was p; returns Σ_j δ² / (|2·p + m[s]| + 1e-12)."""
    width, tiny, total = e.width(0), e.constant(1e-12), e.slot(e.constant(0.0))
    here, there = e.b.mul(e.args[1], width), e.b.mul(e.args[3], width)

    def block(column, n):
        target, source = e.data(0, e.b.add(here, column)), e.data(2, e.b.add(there, column))
        for k in range(n):
            p, m = e.load(target, k), e.load(source, k)
            delta, base = e.b.fsub(p, m), e.b.fadd(e.b.fadd(p, p), m)
            e.store(delta, target, k)
            size = e.greater(base, e.b.fsub(e.constant(0.0), base))
            part = e.b.fdiv(e.b.fmul(delta, delta), e.b.fadd(size, tiny))
            e.b.store(e.b.fadd(e.b.load(total), part), total)

    e.walk(width, block)
    return e.fold(e.b.load(total), e.b.fadd)


@primitive("a", "i", "a", "i", "i", "a", "i", "i", "i")
def mix_rows(e: Emitter):  # out, o, coefficient, c, c_stride, matrix, m, m_stride, count
    """out[o] = Σ_{k < count} coefficient.flat[c + k·c_stride]·matrix[m + k·m_stride]; count a multiple of 4."""
    width = e.width(5)
    weights, stride = e.data(2, e.args[3]), e.b.mul(e.args[7], width)

    def block(column, n):
        rows = e.data(5, e.b.add(e.b.mul(e.args[6], width), column))
        target = e.data(0, e.b.add(e.b.mul(e.args[1], width), column))
        for v, mixed in enumerate(e.mix(n, weights, e.args[4], rows, stride, e.args[8])):
            e.store(mixed, target, v)

    e.walk(width, block)


@primitive("a", "i", "a", "i", "a", "x", returns=True)
def step_forward(e: Emitter):  # a, t, M, m, e, scale
    """a[t] = scale·e[t]·Σ_k a[t−1, k]·M[m + k]; returns Σ_j a[t, j]. Rows of padding in M are zero."""
    width, scale = e.width(2), e.splat(e.args[5])
    new, first = e.b.mul(e.args[1], width), e.b.mul(e.args[3], width)
    weights = e.data(0, e.b.sub(new, width))
    total = e.slot(e.number(0.0))

    def block(column, n):
        rows, here = e.data(2, e.b.add(first, column)), e.b.add(new, column)
        part = e.constant(0.0)
        for v, mixed in enumerate(e.mix(n, weights, e.int(1), rows, width, width)):
            mixed = e.b.fmul(e.b.fmul(mixed, scale), e.load(e.data(4, here), v))
            e.store(mixed, e.data(0, here), v)
            part = e.b.fadd(part, mixed)
        e.b.store(e.b.fadd(e.b.load(total), e.fold(part, e.b.fadd)), total)

    e.walk(width, block)
    return e.b.load(total)


@primitive("a", "i", "a", "a", "a", "x", "a")
def step_backward(e: Emitter):  # b, t, MT, e, a, scale, r
    """v = scale·Σ_k b[t+1, k]·MT[k];  b[t] = e[t]·v;  r[t] = a[t]·v."""
    width, scale = e.width(2), e.splat(e.args[5])
    new = e.b.mul(e.args[1], width)
    weights = e.data(0, e.b.add(new, width))

    def block(column, n):
        here = e.b.add(new, column)
        for v, mixed in enumerate(e.mix(n, weights, e.int(1), e.data(2, column), width, width)):
            mixed = e.b.fmul(mixed, scale)
            e.store(e.b.fmul(mixed, e.load(e.data(3, here), v)), e.data(0, here), v)
            e.store(e.b.fmul(mixed, e.load(e.data(4, here), v)), e.data(6, here), v)

    e.walk(width, block)


@primitive("a", "a", "a", "a", "i")
def add_outer(e: Emitter):  # X, a, b, scale, n
    """X[i, j] += Σ_{t < n} scale[t]·a[t, i]·b[t + 1, j]; X is (width, width)."""
    width = e.width(0)

    def block(column, n):
        n_rows = 4 if n < e.block else 2  # as many sums as there are registers
        with e.loop(e.int(0), width, n_rows) as (i, _):
            alpha, beta = e.data(1, i), e.data(2, e.b.add(width, column))
            total = e.zeros(n_rows * n)
            with e.loop(e.int(0), e.args[4]) as (t, _):
                at, scale = e.b.mul(t, width), e.b.load(e.data(3, t))
                row = [e.load(e.at(beta, at), v) for v in range(n)]
                for k in range(n_rows):
                    weight = e.b.load(e.at(alpha, e.b.add(at, e.int(k))))
                    weight = e.splat(e.b.fmul(weight, scale))
                    for v in range(n):
                        e.accumulate(total[k * n + v], weight, row[v])
            for k in range(n_rows):
                out = e.data(0, e.b.add(e.b.mul(e.b.add(i, e.int(k)), width), column))
                for v in range(n):
                    e.store(e.b.fadd(e.load(out, v), e.b.load(total[k * n + v])), out, v)

    e.walk(width, block)


@primitive("a", "a", "i", "a", "i", "a", "i")
def best_rows(e: Emitter):  # out, arg, o, coefficient, c, matrix, count
    """out[o] += max_{k < count} coefficient[c, k] + matrix[k]; arg[o] = the lowest k that reaches it."""
    width = e.width(5)
    weights, first = e.data(3, e.b.mul(e.args[4], width)), e.b.mul(e.args[2], width)

    def block(column, n):
        best, arg = (
            e.accumulators(n, e.constant(-np.inf)),
            e.accumulators(n, e.integers(32, 0)),
        )
        rows = e.data(5, column)
        with e.loop(e.int(0), e.args[6]) as (k, _):
            weight, number = e.splat(e.b.load(e.at(weights, k))), e.splat(e.short(k))
            row = e.at(rows, e.b.mul(k, width))
            for v in range(n):
                score, old = e.b.fadd(weight, e.load(row, v)), e.b.load(best[v])
                better = e.b.fcmp_ordered(">", score, old)
                e.b.store(e.b.select(better, score, old), best[v])
                e.b.store(e.b.select(better, number, e.b.load(arg[v])), arg[v])
        here = e.b.add(first, column)
        for v in range(n):
            e.store(e.b.fadd(e.load(e.data(0, here), v), e.b.load(best[v])), e.data(0, here), v)
            e.store(e.b.load(arg[v]), e.data(1, here), v)

    e.walk(width, block)


@primitive("a", "i", "x", returns=True)
def exp_row(e: Emitter):  # row, r, shift
    """row[r] = exp(row[r] − shift); returns the largest row[r] − shift, padding included.

    x = n·log 2 + y, |y| ≤ log 2 / 2. float64: eˣ = 2ⁿ·(1 + 2yP(y²) / (Q(y²) − yP(y²))), Cephes' exp, relative error
    below 2⁻⁵¹; 0 below -708 and infinite above 709. float32: eˣ = 2ⁿ·(1 + y + y²·P(y)), P the polynomial of
    Cephes' expf, relative error below 2⁻²³. Inputs are held to [-32, 87]: callers test the value returned for the
    upper end; below the lower one, e⁻³² ≈ 1e-14 of the gold label's weight changes no sum, while products of still
    smaller numbers would be denormal and many times slower.
    """
    width, shift = e.width(0), e.splat(e.args[2])
    place = e.data(0, e.b.mul(e.args[1], width))
    top = e.slot(e.constant(-np.inf))
    with e.loop(e.int(0), width, LANES) as (column, _):
        here = e.at(place, column)
        x = e.b.fsub(e.load(here, 0), shift)
        e.b.store(e.greater(x, e.b.load(top)), top)
        e.store(_exp_float(e, x) if e.align == 4 else _exp_double(e, x), here, 0)
    return e.fold(e.b.load(top), e.greater)


def _exp_double(e, x):
    b, number = e.b, e.constant
    low, high = b.fcmp_ordered("<", x, number(-708)), b.fcmp_ordered(">", x, number(709))
    # adding 1.5·2⁵² rounds to the nearest integer and leaves it in the lowest bits: no flag may reorder this
    shifted = b.fadd(b.fmul(x, number(1.4426950408889634)), number(6755399441055744))
    n = b.fsub(shifted, number(6755399441055744))
    y = e.multiply_add(n, number(-6.93145751953125e-1), x)
    y = e.multiply_add(n, number(-1.42860682030941723212e-6), y)
    z = b.fmul(y, y)
    p = e.multiply_add(number(1.26177193074810590878e-4), z, number(3.02994407707441961300e-2))
    p = b.fmul(e.multiply_add(p, z, number(1.0)), y)
    q = e.multiply_add(number(3.00198505138664455042e-6), z, number(2.52448340349684104192e-3))
    q = e.multiply_add(q, z, number(2.27265548208155028766e-1))
    q = e.multiply_add(q, z, number(2.0))
    ratio = b.fdiv(p, b.fsub(q, p))
    power = b.shl(b.add(b.bitcast(shifted, e.integers(64, 0).type), e.integers(64, 1023)), e.integers(64, 52))
    result = b.fmul(e.multiply_add(ratio, number(2.0), number(1.0)), b.bitcast(power, e.vector))
    result = b.select(low, number(0.0), result)
    return b.select(high, number(np.inf), result)


def _exp_float(e, x):
    b, number = e.b, lambda value: e.constant(np.float32(value))
    x = b.select(b.fcmp_ordered("<", x, number(87)), x, number(87))
    x = b.select(b.fcmp_ordered(">", x, number(-32)), x, number(-32))
    # adding and taking away 1.5·2²³ rounds to the nearest integer: no flag may reorder this
    n = b.fsub(b.fadd(b.fmul(x, number(1.44269504088896)), number(12582912)), number(12582912))
    y = e.multiply_add(n, number(-0.693359375), x)
    y = e.multiply_add(n, number(2.12194440e-4), y)
    p = number(1.9875691500e-4)
    for c in (1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1):
        p = e.multiply_add(p, y, number(c))
    p = b.fadd(e.multiply_add(p, b.fmul(y, y), y), number(1))
    power = b.add(b.fptosi(n, e.integers(32, 0).type), e.integers(32, 127))
    return b.fmul(p, b.bitcast(b.shl(power, e.integers(32, 23)), e.vector))


if PLAIN:  # the same in NumPy, so that kernels can be stepped through and covered

    def sum_rows(out, o, table, index, begin, end):
        out[o] = table[index[begin:end]].sum(axis=0)

    def weigh_rows(out, o, table, index, value, begin, end):
        out[o] = value[begin:end] @ table[index[begin:end]]

    def add_row(rows, o, value, other, t):
        rows[o] += value * other[t]

    def spread_row(table, allowed, index, q, weight, row, r):
        bits = np.unpackbits(allowed[index[q]], bitorder="little").astype(bool)
        table[index[q], bits] += weight * row[r, bits]

    def fetch_rows(a, begin, end):
        pass

    def count_rows(counts, t, allowed, index, begin, end):
        counts[t] += np.unpackbits(allowed[index[begin:end]], axis=1, bitorder="little").sum(axis=0, dtype=np.uint8)

    def square_counted(rows, t, counts, s):
        return counts[s].astype(rows.dtype) @ rows[t] ** 2

    def subtract_row(r, t, m, s):
        size = abs(2 * r[t] + m[s]) + r.dtype.type(1e-12)
        r[t] -= m[s]
        return (r[t] ** 2 / size).sum()

    def spread_cut_row(table, raw, allowed, index, q, weight, row, r, threshold):
        spread_row(raw, allowed, index, q, weight, row, r)
        moved = raw[index[q]]
        table[index[q]] = np.sign(moved) * np.maximum(np.abs(moved) - threshold, 0)

    def mix_rows(out, o, coefficient, c, c_stride, matrix, m, m_stride, count):
        k = np.arange(count)
        out[o] = coefficient.reshape(-1)[c + k * c_stride] @ matrix[m + k * m_stride]

    def step_forward(a, t, M, m, e, scale):
        a[t] = scale * e[t] * (a[t - 1] @ M[m : m + M.shape[1]])
        return a[t].sum()

    def step_backward(b, t, MT, e, a, scale, r):
        v = scale * (b[t + 1] @ MT)
        b[t], r[t] = e[t] * v, a[t] * v

    def add_outer(X, a, b, scale, n):
        X += (a[:n] * scale[:n, None]).T @ b[1 : n + 1]

    def best_rows(out, arg, o, coefficient, c, matrix, count):
        scores = coefficient[c, :count, None] + matrix[:count]
        out[o] += scores.max(axis=0)
        arg[o] = scores.argmax(axis=0)

    def exp_row(row, r, shift):
        x = row[r] - shift
        row[r] = np.exp(np.clip(x, -32, 87) if row.dtype == np.float32 else x)
        return x.max()
