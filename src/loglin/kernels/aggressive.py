"""Passive-aggressive learning, and adaptive regularization of weights: mistakes move weights as far as they cost.

    d = f(y) − f(ŷ)                  of a sentence whose best labels ŷ are wrong
    ℓ = w·f(ŷ) − w·f(y) + m          m = mistakes^power
    τ = min(most, ℓ / (Σ σ d² + slack))
    w ← w + τ σ d                    σ = 1: Crammer et al. 2006, section 3 and eq. 22
    σ ← 1 / (1/σ + d²/γ)             where weights have variances: Crammer, Kulesza & Dredze 2009, algorithm AROW

d is never listed: the places of d are visited one after the other, those that stand in it twice are visited twice, and
sums over d² are sums of (change at the place)·d.
"""

from __future__ import annotations

import numpy as np

from loglin.kernels.chain import score_tokens
from loglin.kernels.compile import kernel
from loglin.kernels.perceptron import best_guess

u8 = np.uint64
COLLECT, MEASURE, MOVE, SETTLE = 0, 1, 2, 3  # d; w·d and Σ σ d²; w; σ, and d to zero again


@kernel(allocates=False)
def touch(w, total, d, variance, cell, v, mode, rate, clock, gamma, found):
    """Visit one place of d, where a feature changes by v."""
    spread = variance[cell] if variance.shape[0] else 1.0
    if mode == COLLECT:
        d[cell] += v
    elif mode == MEASURE:
        found[0] += v * w[cell]
        found[1] += v * d[cell] * spread
    elif mode == MOVE:
        step = rate * spread * v
        w[cell] += step
        if total.shape[0]:
            total[cell] += step * clock
    elif d[cell] != 0:
        if variance.shape[0]:
            variance[cell] = 1.0 / (1.0 / spread + d[cell] * d[cell] / gamma)
        d[cell] = 0


@kernel(allocates=False)
def visit_token(token, y, p, text, known, learned, sums, delta, variance, how):
    """Visit the unigram features of a token whose right label is y and predicted one p."""
    row_ptr, row_ids, row_values, entry_ptr, entry_ids, entry_labels, entry_values = text.tokens
    mode, rate, clock, gamma, found = how
    table = (learned.table, sums.table, delta.table, variance.table)
    weights = (learned.weights, sums.weights, delta.weights, variance.weights)
    for q in range(row_ptr[token], row_ptr[token + 1]):
        row = row_ids[q]
        v = np.float64(row_values[q]) if row_values.shape[0] else 1.0
        if (known.rows[row, y >> 3] >> (y & 7)) & 1:
            touch(*table, (row, y), v, mode, rate, clock, gamma, found)
        if (known.rows[row, p >> 3] >> (p & 7)) & 1:
            touch(*table, (row, p), -v, mode, rate, clock, gamma, found)
    for q in range(entry_ptr[token], entry_ptr[token + 1]):
        v = np.float64(entry_values[q]) if entry_values.shape[0] else 1.0
        if entry_labels[q] == y:
            touch(*weights, u8(entry_ids[q]), v, mode, rate, clock, gamma, found)
        elif entry_labels[q] == p:
            touch(*weights, u8(entry_ids[q]), -v, mode, rate, clock, gamma, found)


@kernel(allocates=False)
def visit_step(token, y, p, text, known, learned, sums, delta, variance, how):
    """Visit the features of the step into a token; y and p are (label before, label), right and predicted."""
    ptr, ids, ends, pairs, base = text.steps[:5]
    mode, rate, clock, gamma, found = how
    T = (learned.T, sums.T, delta.T, variance.T)
    weights = (learned.weights, sums.weights, delta.weights, variance.weights)
    if known.pairs[y] >= 0:
        touch(*T, y, 1.0, mode, rate, clock, gamma, found)
    if known.pairs[p] >= 0:
        touch(*T, p, -1.0, mode, rate, clock, gamma, found)
    if ptr.shape[0]:
        L = known.pairs.shape[0]
        for q in range(ptr[token], ptr[token + 1]):
            for f in range(ends[ids[q]], ends[ids[q] + 1]):
                sign = np.float64(pairs[f] == y[0] * L + y[1]) - np.float64(pairs[f] == p[0] * L + p[1])
                if sign != 0:
                    touch(*weights, u8(base + f), sign, mode, rate, clock, gamma, found)


@kernel(allocates=False)
def visit(first, n, text, known, learned, sums, delta, variance, predicted, how):
    """Visit every place where the features of the right labels of a sentence differ from those of the predicted."""
    gold = text.labels.gold
    mode, rate, clock, gamma, found = how
    cube = (learned.cube, sums.cube, delta.cube, variance.cube)
    for t in range(first, first + n):
        y, p = gold[t], predicted[t]
        if y != p:
            visit_token(t, y, p, text, known, learned, sums, delta, variance, how)
        if t > first and (y != p or gold[t - 1] != predicted[t - 1]):
            right, wrong = (gold[t - 1], y), (predicted[t - 1], p)
            visit_step(t, right, wrong, text, known, learned, sums, delta, variance, how)
        if t > first + 1 and learned.cube.shape[0]:
            if known.triples[gold[t - 2], gold[t - 1], y]:
                touch(*cube, (gold[t - 2], gold[t - 1], y), 1.0, mode, rate, clock, gamma, found)
            if known.triples[predicted[t - 2], predicted[t - 1], p]:
                touch(*cube, (predicted[t - 2], predicted[t - 1], p), -1.0, mode, rate, clock, gamma, found)


@kernel("i8[] Sentences Known Learned Learned Learned Learned float float float float float i4[]")
def aggressive_epoch(order, text, known, learned, sums, delta, variance, clock, power, most, slack, gamma, predicted):
    """One pass over the sentences in ``order``; returns clock, the sum of ℓ.

    ``delta`` is room, all zero; ``sums`` and ``variance`` may be empty: no average, variances 1. Sentences without a
    full annotation are passed over. known: see kernels/stochastic.py.
    """
    gold, table = text.labels.gold, learned.table
    e = np.zeros((text.longest, table.shape[1]), table.dtype)
    back = np.zeros((text.longest, table.shape[1]), np.int32)
    found = np.zeros(2)
    loss = 0.0
    for i in range(order.shape[0]):
        s = order[i]
        first, n = text.offsets[s], text.offsets[s + 1] - text.offsets[s]
        clock += 1
        certain = n > 0
        for t in range(n):
            certain = certain and gold[first + t] >= 0
        if not certain:
            continue
        score_tokens(first, n, text.tokens, learned, e)
        best_guess(first, n, text, learned, e, back, predicted)
        mistakes = 0
        for t in range(first, first + n):
            mistakes += gold[t] != predicted[t]
        if mistakes == 0:
            continue
        found[:] = 0
        for mode in (COLLECT, MEASURE):
            visit(first, n, text, known, learned, sums, delta, variance, predicted, (mode, 0.0, clock, gamma, found))
        cost = mistakes**power - found[0]
        if found[1] + slack > 0:
            rate = min(most, cost / (found[1] + slack))
            visit(first, n, text, known, learned, sums, delta, variance, predicted, (MOVE, rate, clock, gamma, found))
        visit(first, n, text, known, learned, sums, delta, variance, predicted, (SETTLE, 0.0, clock, gamma, found))
        loss += cost
    return clock, loss
