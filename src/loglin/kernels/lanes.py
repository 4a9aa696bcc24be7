"""Vector primitives on eight sentences side by side: the innermost loops where there are many labels.

A number of every label and sentence stands in a row of ``LANES``, the sentences; label j of a token has the row
first + j. A label pair that was never observed has the weight 0 and so the factor 1: a step over all pairs is the sum
of all labels plus, for the observed pairs, a·(factor − 1).

    pull_pairs   v[j] = total + Σ_{observed (i, j)} a[i]·(M[i, j] − 1)
    scale_lanes  out[j] = scale·x[j]·v[j], total = Σ_j out[j]
    add_pairs    X[pair] += scale·a[i]·b[j]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from loglin.kernels.compile import PLAIN, primitive
from loglin.kernels.rows import LANES

if TYPE_CHECKING:
    from loglin.kernels.emitter import Emitter

WEAK = 1 / 16  # of the total: where less is left of it, digits were lost, and the sum is made anew


def _row(e, number):
    return e.b.mul(number, e.int(LANES))


@primitive("a", "a", "i", "a", "a", "a", "a", "a")
def pull_pairs(e: Emitter):  # v, a, first, total, ptr, ids, excess, weak
    """v[j] = total[0] + Σ_{ptr[j] ≤ q < ptr[j + 1]} excess[q]·a[first + ids[q]], for every j with a place in ptr.

    Rows with a lane below WEAK·total[0] are listed from weak[1] on, weak[0] of them.
    """
    base = e.load(e.data(3), 0)
    least = e.b.fmul(base, e.constant(np.float32(WEAK)))
    source, n = e.data(1, _row(e, e.args[2])), e.b.sub(e.width(4), e.int(1))
    count = e.data(7)
    none = e.b.load(count).type(0)
    e.b.store(none, count)
    with e.loop(e.int(0), n) as (j, _):
        begin, end = e.index(4, j), e.index(4, e.b.add(j, e.int(1)))
        sums = e.zeros(2)
        even = e.b.sub(end, e.b.urem(e.b.sub(end, begin), e.int(2)))
        with e.loop(begin, even, 2) as (q, _):
            for way in range(2):
                at = e.b.add(q, e.int(way))
                factor = e.splat(e.b.load(e.data(6, at)))
                e.accumulate(sums[way], factor, e.load(e.at(source, _row(e, e.index(5, at))), 0))
        with e.loop(even, end) as (q, _):
            factor = e.splat(e.b.load(e.data(6, q)))
            e.accumulate(sums[0], factor, e.load(e.at(source, _row(e, e.index(5, q))), 0))
        found = e.b.fadd(base, e.b.fadd(e.b.load(sums[0]), e.b.load(sums[1])))
        e.store(found, e.data(0, _row(e, j)), 0)
        with e.b.if_then(e.any(e.b.fcmp_unordered("<", found, least))):
            number = e.b.add(e.b.load(count), none.type(1))
            e.b.store(number, count)
            e.b.store(e.b.trunc(j, none.type), e.at(count, e.b.zext(number, j.type)))


@primitive("a", "i", "a", "i", "a", "a", "a", "i")
def scale_lanes(e: Emitter):  # out, o, x, i, v, scale, total, n
    """out[o + j] = scale[0]·x[i + j]·v[j] for j < n; total[0] = Σ_j out[o + j]."""
    scale, sums = e.load(e.data(5), 0), e.zeros(1)
    with e.loop(e.int(0), e.args[7]) as (j, _):
        x = e.load(e.data(2, _row(e, e.b.add(e.args[3], j))), 0)
        scaled = e.b.fmul(e.b.fmul(e.load(e.data(4, _row(e, j)), 0), scale), x)
        e.store(scaled, e.data(0, _row(e, e.b.add(e.args[1], j))), 0)
        e.b.store(e.b.fadd(e.b.load(sums[0]), scaled), sums[0])
    e.store(e.b.load(sums[0]), e.data(6), 0)


@primitive("a", "a", "i", "a", "i", "a", "a", "a")
def add_pairs(e: Emitter):  # X, a, i, b, j, ptr, ids, scale
    """X[q] += scale[0]·a[i + k]·b[j + ids[q]], ptr[k] ≤ q < ptr[k + 1], for every k with a place in ptr."""
    scale, n = e.load(e.data(7), 0), e.b.sub(e.width(5), e.int(1))
    target = e.data(3, _row(e, e.args[4]))
    with e.loop(e.int(0), n) as (k, _):
        weight = e.b.fmul(scale, e.load(e.data(1, _row(e, e.b.add(e.args[2], k))), 0))
        with e.loop(e.index(5, k), e.index(5, e.b.add(k, e.int(1)))) as (q, _):
            other, out = e.load(e.at(target, _row(e, e.index(6, q))), 0), e.data(0, _row(e, q))
            e.store(e.multiply_add(weight, other, e.load(out, 0)), out, 0)


if PLAIN:  # the same in NumPy, so that kernels can be stepped through and covered

    def pull_pairs(v, a, first, total, ptr, ids, excess, weak):
        weak[0] = 0
        for j in range(len(ptr) - 1):
            q = slice(ptr[j], ptr[j + 1])
            v[j] = total[0] + excess[q] @ a[first + ids[q].astype(np.int64)]
            if not np.all(v[j] >= WEAK * total[0]):
                weak[0] += 1
                weak[weak[0]] = j

    def scale_lanes(out, o, x, i, v, scale, total, n):
        out[o : o + n] = scale[0] * x[i : i + n] * v[:n]
        total[0] = out[o : o + n].sum(axis=0)

    def add_pairs(X, a, i, b, j, ptr, ids, scale):
        for k in range(len(ptr) - 1):
            q = slice(ptr[k], ptr[k + 1])
            X[q] += scale[0] * a[i + k] * b[j + ids[q].astype(np.int64)]
