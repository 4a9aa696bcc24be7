"""The structured perceptron: on a mistake, add the gold features and take away the predicted ones.

Sums weigh every change by the time until then, so that weights − sums / clock is the average over all sentences.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loglin.kernels.careful import log_steps
from loglin.kernels.chain import score_tokens
from loglin.kernels.compile import kernel, record
from loglin.kernels.ranked import best_path
from loglin.kernels.viterbi import viterbi

u8 = np.uint64


@record("F[,] F[] F[,] f8[,,]")
class Learned(NamedTuple):
    """Weights, or sums of their changes, where scoring reads them."""

    table: np.ndarray  # (rows, W)
    weights: np.ndarray  # (features,)
    T: np.ndarray  # (L, W) label bigrams
    cube: np.ndarray  # (L, L, L) label trigrams, or (0, L, L) in first order


@kernel
def best_guess(first, n, text, learned, e, back, predicted):
    """The best labels by the scores e (n, W), which are used up; observed steps and trigrams in the log domain."""
    L = text.n_labels
    if text.steps.ptr.shape[0] == 0 and learned.cube.shape[0] == 0:
        viterbi(n, L, e, learned.T, back, predicted, first)
        return
    steps = log_steps(first, n, text, learned, np.empty((max(n - 1, 1), L, L)))
    best = np.empty(n, np.int64)
    best_path(e[:n, :L].astype(np.float64), steps, learned.cube, best)
    predicted[first : first + n] = best


@kernel
def change_token(token, y, p, now, tokens, allowed_bits, learned, sums):
    """The unigram features of a token whose right label is y and predicted one p."""
    row_ptr, row_ids, row_values, entry_ptr, entry_ids, entry_labels, entry_values = tokens
    table, table_sum, weights, weights_sum = learned.table, sums.table, learned.weights, sums.weights
    for q in range(row_ptr[token], row_ptr[token + 1]):
        row = row_ids[q]
        v = row_values[q] if row_values.shape[0] else 1.0
        table[row, y] += v
        table_sum[row, y] += v * now
        if (allowed_bits[row, p >> 3] >> (p & 7)) & 1:
            table[row, p] -= v
            table_sum[row, p] -= v * now
    for q in range(entry_ptr[token], entry_ptr[token + 1]):
        v = entry_values[q] if entry_values.shape[0] else 1.0
        if entry_labels[q] == y:
            weights[entry_ids[q]] += v
            weights_sum[entry_ids[q]] += v * now
        elif entry_labels[q] == p:
            weights[entry_ids[q]] -= v
            weights_sum[entry_ids[q]] -= v * now


@kernel
def change_step(token, y, p, now, steps, pair_number, learned, sums):
    """The features of the step into a token; y and p are (label before, label), the right ones and the predicted."""
    ptr, ids, ends, pairs, base = steps[:5]
    T, T_sum, weights, weights_sum = learned.T, sums.T, learned.weights, sums.weights
    if pair_number[y] >= 0:
        T[y] += 1
        T_sum[y] += now
    if pair_number[p] >= 0:
        T[p] -= 1
        T_sum[p] -= now
    if ptr.shape[0]:
        L = pair_number.shape[0]
        for q in range(ptr[token], ptr[token + 1]):
            for f in range(ends[ids[q]], ends[ids[q] + 1]):
                sign = np.int64(pairs[f] == y[0] * L + y[1]) - np.int64(pairs[f] == p[0] * L + p[1])
                if sign != 0:
                    weights[u8(base + f)] += sign
                    weights_sum[u8(base + f)] += sign * now


@kernel("i8[] Sentences Known Learned Learned float i4[]")
def perceptron_epoch(order, text, known, learned, sums, clock, predicted):
    """One pass over the sentences in ``order``; returns clock, mistakes.

    Sentences without a full annotation are passed over. known: see kernels/stochastic.py.
    """
    gold, table, cube, cube_sum = text.labels.gold, learned.table, learned.cube, sums.cube
    e = np.zeros((text.longest, table.shape[1]), table.dtype)
    back = np.zeros((text.longest, table.shape[1]), np.int32)
    mistakes = 0
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
        for t in range(first, first + n):
            y, p = gold[t], predicted[t]
            if y != p:
                mistakes += 1
                change_token(t, y, p, clock, text.tokens, known.rows, learned, sums)
            if t > first and (y != p or gold[t - 1] != predicted[t - 1]):
                right, wrong = (gold[t - 1], y), (predicted[t - 1], p)
                change_step(t, right, wrong, clock, text.steps, known.pairs, learned, sums)
            if t > first + 1 and cube.shape[0]:
                if known.triples[gold[t - 2], gold[t - 1], y]:
                    cube[gold[t - 2], gold[t - 1], y] += 1
                    cube_sum[gold[t - 2], gold[t - 1], y] += clock
                if known.triples[predicted[t - 2], predicted[t - 1], p]:
                    cube[predicted[t - 2], predicted[t - 1], p] -= 1
                    cube_sum[predicted[t - 2], predicted[t - 1], p] -= clock
    return clock, mistakes
