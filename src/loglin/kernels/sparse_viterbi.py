"""The best label sequence where most label pairs have no weight: a step costs labels + observed pairs, not labels².

The best label before j is the best of those whose pair with j was observed, or the best of all others, which add
nothing. The latter is the first in the order of their scores that was not observed before j, mostly the first of all.
So every j has at least the first's score with the least weight of its pairs, and labels that stay below that with the
largest weight of theirs are passed over: mostly all but a few.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loglin.kernels.compile import kernel, record
from loglin.kernels.decode import add_heads, score_attributes
from loglin.kernels.viterbi import follow

u8 = np.uint64
LOST = 1e-6  # of a sum: where less is left of it, digits were lost, and it is made anew


@record("i8[] u2[] F[] f8[] u1[,] F[] F[]")
class Observed(NamedTuple):
    """Label pairs that have a weight, by the label before."""

    ptr: np.ndarray  # (L + 1,) int64
    ids: np.ndarray  # (P,) uint16: the label, rising
    weights: np.ndarray  # (P,)
    excess: np.ndarray  # (P,) float64: exp(weight) − 1
    before: np.ndarray  # (L, bytes) uint8: the labels observed before each, as bits
    least: np.ndarray  # (L,) of the weights behind a label, and 0
    most: np.ndarray  # (L,)

    @classmethod
    def of(cls, before: np.ndarray, label: np.ndarray, weights: np.ndarray, n_labels: int, dtype: type) -> Observed:
        """The pairs with these weights, ordered by the label before and then by the label."""
        seen = np.zeros((n_labels, n_labels), bool)
        seen[label, before] = True
        ptr, bits = np.searchsorted(before, np.arange(n_labels + 1)), np.packbits(seen, axis=1, bitorder="little")
        rounded: np.ndarray = weights.astype(dtype)
        least: np.ndarray = np.zeros(n_labels, dtype)
        most: np.ndarray = np.zeros(n_labels, dtype)
        np.minimum.at(least, before, rounded)
        np.maximum.at(most, before, rounded)
        return cls(ptr, label.astype(np.uint16), rounded, np.expm1(weights.astype(np.float64)), bits, least, most)


@kernel(inline=True)
def was_observed(observed, i, j):
    return observed.before[j, i >> 3] >> np.uint8(i & 7) & 1


@kernel
def next_of_order(delta, t, order, n, taken):
    """Put the best label that is not yet among order[:n] behind them, of equals the lowest."""
    best = -1
    for i in range(order.shape[0]):
        if not taken[i] and (best < 0 or delta[t, i] > delta[t, best]):
            best = i
    taken[best] = True
    order[n] = best


@kernel("int Observed F[,] i4[,] F[] i8[] b1[]")
def best_step(t, observed, delta, back, best, order, taken):
    """delta[t, j] += max_i delta[t − 1, i] + weight of (i, j); back[t, j] = the lowest i that reaches it."""
    L, first = order.shape[0], 0
    for i in range(1, L):
        if delta[t - 1, i] > delta[t - 1, first]:
            first = i
    best[:], taken[:] = -np.inf, False
    back[t, :L] = 0
    reached = delta[t - 1, first] + observed.least[first]
    for i in range(u8(L)):
        d = delta[u8(t - 1), i]
        if d + observed.most[i] < reached:
            continue
        for q in range(u8(observed.ptr[i]), u8(observed.ptr[i + u8(1)])):
            behind, score = u8(observed.ids[q]), d + observed.weights[q]
            if score > best[behind]:
                best[behind] = score
                back[u8(t), behind] = i
    known = 1
    taken[first], order[0] = True, first
    for place in range(observed.ptr[first], observed.ptr[first + 1]):  # the first is none of the others for these
        after = np.int64(observed.ids[place])
        for m in range(1, L):
            if m == known:
                next_of_order(delta, t - 1, order, known, taken)
                known += 1
            other = order[m]
            d = delta[t - 1, other]
            if d < best[after]:
                break
            if not was_observed(observed, other, after):
                if d > best[after] or other < back[t, after]:
                    best[after] = d
                    back[t, after] = other
                break
        delta[t, after] += best[after]
        best[after] = np.inf
    d = delta[t - 1, first]
    for j in range(L):
        if best[j] == np.inf:  # one of them
            continue
        if d > best[j] or (d == best[j] and first < back[t, j]):
            best[j] = d
            back[t, j] = first
        delta[t, j] += best[j]


@kernel("F[,] int Observed F f8[]")
def normalize_step(e, t, observed, constant, room):
    """e[t − 1, i] −= log(constant + Σ_j exp(e[t, j] + weight of (i, j))), as ``subtract_normalizer`` in decode.py."""
    L, top, total = observed.ptr.shape[0] - 1, 0.0 if constant > 0 else -np.inf, 0.0
    for j in range(L):
        top = max(top, np.float64(e[t, j]))
    for j in range(L):
        room[j] = np.exp(np.float64(e[t, j]) - top)
        total += room[j]
    total += constant * np.exp(-top)
    for i in range(L):
        z = total
        for q in range(observed.ptr[i], observed.ptr[i + 1]):
            z += room[observed.ids[q]] * observed.excess[q]
        if not z >= LOST * total:
            z, q = constant * np.exp(-top), observed.ptr[i]
            for j in range(L):
                if q < observed.ptr[i + 1] and observed.ids[q] == j:
                    z += room[j] * np.exp(np.float64(observed.weights[q]))
                    q += 1
                else:
                    z += room[j]
        e[t - 1, i] -= top + np.log(z)


@kernel("int int Attributes i4[,] F[,] Weights Observed F int i4[]")
def best_sparse_labels(begin, end, text, of_token, heads, model, observed, constant, longest, out):
    """What ``best_labels`` in decode.py finds, for a model without observed bigram features."""
    L, width = observed.ptr.shape[0] - 1, model.table.shape[1]
    e, back = np.zeros((longest, width), model.table.dtype), np.zeros((longest, width), np.int32)
    best, room = np.empty(L, model.table.dtype), np.empty(L)
    order, taken = np.empty(L, np.int64), np.zeros(L, np.bool_)
    for s in range(begin, end):
        first, last = text.offsets[s], text.offsets[s + 1]
        n = last - first
        if n == 0:
            continue
        score_attributes(first, last, text, model, e)
        add_heads(first, last, of_token, heads, e)
        for t in range(1, n if constant >= 0 else 1):
            normalize_step(e, t, observed, constant, room)
        for t in range(1, n):
            best_step(t, observed, e, back, best, order, taken)
        follow(n, L, e, back, out, first)
