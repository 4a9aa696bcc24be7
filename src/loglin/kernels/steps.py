"""Observed bigram features: an attribute of a step has one weight for each label pair that it was seen with.

    Z[t, pair] = Σ_{a at t} w[a, pair]                 scores of the step into token t
    B[t, pair]                                         derivatives of the loss by these scores
    gradient[a, pair] = Σ_{t has a} B[t, pair]

The weights of an attribute stand side by side, so that only attributes are listed for every token. Z and B share one
room for the label pairs of a sentence, of which only cells are touched: pairs that some feature of the step has.
"""

from __future__ import annotations

import numpy as np

from loglin.kernels.compile import kernel

u8 = np.uint64


@kernel(allocates=False)
def add_scores(token, steps, weights, Z, t):
    """Z[t, pair] += the weights of the attributes of the step into a token."""
    ptr, ids, ends, pairs, base = steps[:5]
    for q in range(u8(ptr[token]), u8(ptr[token + 1])):
        a = u8(ids[q])
        for f in range(u8(ends[a]), u8(ends[a + u8(1)])):
            Z[t, u8(pairs[f])] += weights[u8(base) + f]


@kernel(allocates=False)
def spread_steps(first, n, steps, B, curved, out):
    """out[f] += B[t, pair of f] for all features of the steps of a sentence; if ``curved``, |B|·(1 − |B|) in its place.

    B = p − y for label pairs, and |p − y|·(1 − |p − y|) is p·(1 − p) for y = 0 and y = 1.
    """
    ptr, ids, ends, pairs = steps[:4]
    for t in range(1, n):
        if curved:
            for c in range(steps.cell_ptr[first + t], steps.cell_ptr[first + t + 1]):
                size = min(abs(B[t, steps.cell_pairs[c]]), 1)
                B[t, steps.cell_pairs[c]] = size * (1 - size)
        for q in range(u8(ptr[first + t]), u8(ptr[first + t + 1])):
            a = u8(ids[q])
            for f in range(u8(ends[a]), u8(ends[a + u8(1)])):
                out[f] += B[u8(t), u8(pairs[f])]


@kernel(allocates=False)
def move_steps(first, n, steps, rate, B, weights):
    """Add rate·B[t, pair] to the weights of the features of the steps of a sentence."""
    ptr, ids, ends, pairs, base = steps[:5]
    for t in range(1, n):
        for q in range(u8(ptr[first + t]), u8(ptr[first + t + 1])):
            a = u8(ids[q])
            for f in range(u8(ends[a]), u8(ends[a + u8(1)])):
                weights[u8(base) + f] += rate * B[u8(t), u8(pairs[f])]


@kernel("i8[] i8[] i4[] i8[] i4[] int i8[] i4[]")
def list_cells(offsets, ptr, ids, ends, pairs, n_pairs, cell_ptr, cell_pairs):
    """List the cells of every step, label pairs being below ``n_pairs``; without room for them, count them."""
    met, n, fill = np.full(n_pairs, -1), 0, cell_pairs.shape[0] > 0
    for s in range(offsets.shape[0] - 1):
        for t in range(offsets[s], offsets[s + 1]):
            cell_ptr[t] = n
            if t == offsets[s]:
                continue
            for q in range(ptr[t], ptr[t + 1]):
                for f in range(ends[ids[q]], ends[ids[q] + 1]):
                    if met[pairs[f]] != t:
                        met[pairs[f]] = t
                        if fill:
                            cell_pairs[n] = pairs[f]
                        n += 1
    cell_ptr[cell_ptr.shape[0] - 1] = n


@kernel(allocates=False)
def square_steps(first, n, steps, remembered, B, summed):
    """B = δ = residual − what is remembered, by cell; ‖δ‖² of the weights of a sentence, with δ summed by feature.

    ``summed`` (features of steps,) is zero before, and after ``climb_steps``.
    """
    ptr, ids, ends, pairs = steps[:4]
    square = 0.0
    for t in range(1, n):
        for c in range(steps.cell_ptr[first + t], steps.cell_ptr[first + t + 1]):
            B[t, steps.cell_pairs[c]] -= remembered[c]
        for q in range(u8(ptr[first + t]), u8(ptr[first + t + 1])):
            a = u8(ids[q])
            for f in range(u8(ends[a]), u8(ends[a + u8(1)])):
                summed[f] += B[u8(t), u8(pairs[f])]
    for t in range(1, n):  # Σ_f δ_f² = Σ_t Σ_{f at t} δ_f·δ[t, pair of f]
        for q in range(u8(ptr[first + t]), u8(ptr[first + t + 1])):
            a = u8(ids[q])
            for f in range(u8(ends[a]), u8(ends[a + u8(1)])):
                square += summed[f] * B[u8(t), u8(pairs[f])]
    return square


@kernel(allocates=False)
def climb_steps(first, n, steps, remembered, B, summed, share, rate, weights, raw, threshold):
    """Move the weights by rate·δ and what is remembered by share·δ; ``raw`` are those before they are cut, or empty."""
    ptr, ids, ends, _pairs, base = steps[:5]
    for t in range(1, n):
        for q in range(u8(ptr[first + t]), u8(ptr[first + t + 1])):
            a = u8(ids[q])
            for f in range(u8(ends[a]), u8(ends[a + u8(1)])):
                moved = rate * summed[f]
                summed[f] = 0
                if threshold > 0:
                    raw[u8(base) + f] += moved
                    weights[u8(base) + f] = cut(raw[u8(base) + f], threshold)
                else:
                    weights[u8(base) + f] += moved
        for c in range(steps.cell_ptr[first + t], steps.cell_ptr[first + t + 1]):
            remembered[c] += share * B[t, steps.cell_pairs[c]]


@kernel
def cut(x, threshold):
    """x nearer to zero by the threshold, or zero."""
    return max(x - threshold, 0.0) - max(-x - threshold, 0.0)
