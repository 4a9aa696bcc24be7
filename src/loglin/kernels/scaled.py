"""Sums over one chain in scaled probabilities, float64: what kernels/logspace.py sums, where that is safe.

The passes are those of training (kernels/chain.py, kernels/second.py); e is shifted by the best label of every token.

Safe means that no α underflows unseen. Where scores of a token span R and those of steps R′, and nothing is forbidden,

    α_t[j] ≥ exp(−R − R′)·max_i α_{t−1}[i]

so α, which is scaled at every token, never falls below exp(−R − R′)/L. Where something is forbidden a label may be
reached from unlikely ones alone and fall by that factor at every token; but from SMALL on it falls at most to
SMALL·exp(−RANGE) > 0 in one step, where it is seen. What is not safe is left to the log domain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loglin.kernels.chain import backward, forward
from loglin.kernels.compile import kernel, record
from loglin.kernels.rows import exp_row
from loglin.kernels.second import backward_pairs, forward_pairs

RANGE = 230.0  # of R + R′: exp(−230) = 1e-100
SMALL = 1e-200


@record("f8[,] f8[,] f8[,] f8[,] bool float (float float)")
class Links(NamedTuple):
    """exp of the scores of steps, each divided by the largest; W = labels padded, H ≥ L + 1 histories."""

    S: np.ndarray  # (W, W), the same for every step, or (T·W, W), at t·W those of the step into token t
    ST: np.ndarray  # (W, W) its transpose, where all steps are alike
    C: np.ndarray  # (H·L, W) trigrams as in kernels/second.py, or (0, W) in first order
    CT: np.ndarray  # (L·W, W), or (0, W)
    per_token: bool
    range: float  # R′
    tops: tuple[float, float]  # logs of what transitions and trigrams were divided by


@record("f8[,] f8[,] f8[] f8[,] f8[,]")
class Sums(NamedTuple):
    """Sums of a sentence, forward and backward; H = 1 in first order."""

    e: np.ndarray  # (T, W)
    a: np.ndarray  # (T·H, W)
    c: np.ndarray  # (T,)
    b: np.ndarray  # (T·H, W), in second order G of kernels/second.py
    nodes: np.ndarray  # (T, W) p(y_t = j)


@kernel
def exponentiate(scores, room, e):
    """e = exp(score − the token's best), zero in the padding; returns Σ best, NaN where a token spans ``room``."""
    T, L = scores.shape
    total = 0.0
    for t in range(T):
        top, least = -np.inf, np.inf
        for j in range(L):
            value = scores[t, j]
            e[t, j] = value
            if value > -np.inf:
                top, least = max(top, value), min(least, value)
        if not 0 <= top - least < room:
            return np.nan
        exp_row(e, t, top)
        for j in range(L, e.shape[1]):
            e[t, j] = 0.0
        total += top
    return total


@kernel
def vanishes(a, c, rows):
    """Whether some α, scaled, is positive and below SMALL; a (T·rows, W)."""
    found = False
    for t in range(c.shape[0]):
        least = SMALL / c[t]
        for row in range(t * rows, (t + 1) * rows):
            for j in range(a.shape[1]):
                found |= (a[row, j] > 0) & (a[row, j] < least)
    return found


@kernel("f8[,] Links Sums")
def forward_sums(scores, links, sums):
    """log Z of a sentence of at least one token, NaN if it is not safe; fills e, a and c of the sums."""
    T, L = scores.shape
    H, e, a, c = links.C.shape[0] // L, sums.e, sums.a, sums.c
    total = exponentiate(scores, RANGE - links.range, e)
    if total == total:
        if H:
            total += forward_pairs(T, L, e, links.S, links.per_token, links.C, a, c)
        else:
            total += forward(T, e, links.S, links.per_token, a, c)
        total += links.tops[0] * (T - 1) + links.tops[1] * max(T - 2, 0)
        if not abs(total) < np.inf or vanishes(a, c, max(H, 1)):
            total = np.nan
    return total


@kernel("int Links Sums")
def backward_sums(n_labels, links, sums):
    """Fill b, zero before, and nodes from forward sums that are safe; return whether they are safe, too."""
    e, a, c, b, nodes = sums
    T, H = e.shape[0], links.C.shape[0] // n_labels
    if H:
        backward_pairs(T, n_labels, e, links.S, links.per_token, links.CT, H, a, c, b, nodes)
    else:
        backward(T, n_labels, e, links.S, links.ST, links.per_token, a, c, b, nodes)
    safe = True
    for t in range(T):
        one = 0.0
        for j in range(n_labels):
            one += nodes[t, j]
        safe &= abs(one - 1) < 1e-9  # labels that cannot be reached may have brought infinities
    return safe


@kernel
def new_sums(T, width, H):
    """Room for the sums of a sentence of T tokens."""
    rows = T * H
    return Sums(
        np.empty((T, width)), np.empty((rows, width)), np.empty(T), np.zeros((rows, width)), np.empty((T, width))
    )


@kernel("int int i8[] f8[,] Links f8[] f8[,]")
def sum_sentences(begin, end, offsets, scores, links, totals, nodes):
    """log Z of the sentences begin … end − 1, whose steps are alike, and probabilities of labels; NaN: not safe.

    scores (tokens, L), totals (sentences,), nodes (tokens, L), or (0, L): not asked for.
    """
    L = scores.shape[1]
    for s in range(begin, end):
        first, last = offsets[s], offsets[s + 1]
        totals[s] = 0.0
        if first == last:
            continue
        sums = new_sums(last - first, links.S.shape[1], max(links.C.shape[0] // L, 1))
        totals[s] = forward_sums(scores[first:last], links, sums)
        if nodes.shape[0] and totals[s] == totals[s]:
            if not backward_sums(L, links, sums):
                totals[s] = np.nan
            for t in range(last - first):
                for j in range(L):
                    nodes[first + t, j] = sums.nodes[t, j]


# With x_t the part of α_t that is inside the mask, and v_t = p(y_t) / α_t: p(span) = Σ_j x_last[j]·v_last[j]. x is α of
# a chain that begins at ``start``, scaled by its own c′: x_last = α′_last·Π_{start ≤ t < last} c_t / c′_t.
@kernel
def span_sum(start, allowed, links, sums):  # allowed (k, L) bool, k > 0
    """Probability that the labels from ``start`` on are allowed, in a chain of first order."""
    k, L = allowed.shape
    width, last = links.S.shape[1], start + k - 1
    e, a, c = np.zeros((k, width)), np.empty((k, width)), np.empty(k)
    some = False
    for i in range(k):
        for j in range(L):
            if allowed[i, j]:
                e[i, j] = sums.e[start + i, j] if i else sums.a[start, j]
                some |= i == 0 and e[i, j] > 0
    if not some:
        return 0.0
    forward(k, e, links.S[start * width :] if links.per_token else links.S, links.per_token, a, c)
    total, factor = 0.0, 0.0
    for i in range(k - 1):
        factor += np.log(sums.c[start + i] / c[i])
    for j in range(L):
        if a[k - 1, j] > 0:
            total += a[k - 1, j] * (sums.nodes[last, j] / sums.a[last, j])
    return total * np.exp(factor)


# The same over pairs of labels, from the begin of the sentence on: v_t[a, b] = G_t[a, b] / (e_t[b]·M[a, b]).
@kernel
def span_sum_of_pairs(start, allowed, links, sums):  # allowed (k, L) bool, k > 0
    """Probability that the labels from ``start`` on are allowed, in a chain of second order."""
    k, L = allowed.shape
    width, H, last = links.S.shape[1], links.C.shape[0] // L, start + k - 1
    e, a, c = sums.e[: last + 1].copy(), np.empty(((last + 1) * H, width)), np.empty(last + 1)
    for i in range(k):
        for j in range(L):
            if not allowed[i, j]:
                e[start + i, j] = 0.0
    forward_pairs(last + 1, L, e, links.S, links.per_token, links.C, a, c)
    total, factor = 0.0, 0.0
    for t in range(last):
        factor += np.log(sums.c[t] / c[t])
    if last == 0:
        for j in range(L):
            if a[L, j] > 0:
                total += a[L, j] * (sums.nodes[0, j] / sums.a[L, j])
        return total
    for i in range(L):
        for j in range(L):
            if a[last * H + i, j] > 0:
                step = sums.e[last, j] * links.S[last * width * links.per_token + i, j]
                total += a[last * H + i, j] * (sums.b[last * H + i, j] / step)
    return total * np.exp(factor)


@kernel("i8[] i8[] b1[,] Links Sums f8[]")
def span_sums(starts, ptr, allowed, links, sums, out):  # (n,), (n + 1,), (ptr[n], L) bool; out (n,)
    """out[i] = probability that the labels from starts[i] on lie in allowed[ptr[i]], …, allowed[ptr[i + 1] − 1]."""
    for i in range(starts.shape[0]):
        inside = allowed[ptr[i] : ptr[i + 1]]
        if inside.shape[0] == 0:
            out[i] = 1.0
            continue
        if links.C.shape[0]:
            found = span_sum_of_pairs(starts[i], inside, links, sums)
        else:
            found = span_sum(starts[i], inside, links, sums)
        out[i] = min(found, 1.0) if abs(found) < np.inf else 0.0  # NaN where nothing inside is possible
