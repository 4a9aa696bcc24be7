"""The structured perceptron: on a mistake, add the gold features and take away the predicted ones.

Sums weigh every change by the time until then, so that weights − sums / clock is the average over all sentences.
"""

from __future__ import annotations

import numpy as np

from loglin.kernels import logspace
from loglin.kernels.chain import score_tokens
from loglin.kernels.compile import kernel
from loglin.kernels.stochastic import viterbi

u8 = np.uint64


@kernel
def best_guess(first, n, n_labels, e, T, weights, bigrams, cube, back, predicted):
    """The best labels by the scores e (n, W), which are used up; observed steps and trigrams in the log domain."""
    ptr, ids, pairs = bigrams
    if ptr.shape[0] == 0 and cube.shape[0] == 0:
        viterbi(n, n_labels, e, T, back, predicted, first)
        return
    scores = e[:n, :n_labels].astype(np.float64)
    steps = np.zeros((max(n - 1, 1), n_labels, n_labels))
    for t in range(n - 1):
        for i in range(n_labels):
            for j in range(n_labels):
                steps[t, i, j] = T[i, j]
        if ptr.shape[0]:
            for q in range(ptr[first + t + 1], ptr[first + t + 2]):
                i, j = divmod(np.int64(pairs[q]), n_labels)
                steps[t, i, j] += weights[u8(ids[q])]
    best = np.empty(n, np.int64)
    logspace.best_path(scores, steps, cube, best)
    predicted[first : first + n] = best


@kernel
def change_token(token, y, p, now, tokens, allowed_bits, table, table_sum, weights, weights_sum):
    """The unigram features of a token whose right label is y and predicted one p."""
    row_ptr, row_ids, row_values, entry_ptr, entry_ids, entry_labels, entry_values = tokens
    one = now * 0 + 1
    for q in range(row_ptr[token], row_ptr[token + 1]):
        row = row_ids[q]
        v = row_values[q] if row_values.shape[0] else one
        table[row, y] += v
        table_sum[row, y] += v * now
        if (allowed_bits[row, p >> 3] >> (p & 7)) & 1:
            table[row, p] -= v
            table_sum[row, p] -= v * now
    for q in range(entry_ptr[token], entry_ptr[token + 1]):
        v = entry_values[q] if entry_values.shape[0] else one
        if entry_labels[q] == y:
            weights[entry_ids[q]] += v
            weights_sum[entry_ids[q]] += v * now
        elif entry_labels[q] == p:
            weights[entry_ids[q]] -= v
            weights_sum[entry_ids[q]] -= v * now


@kernel
def change_step(token, y, p, now, bigrams, weights, weights_sum, T, T_sum, pair_number):
    """The features of the step into a token; y and p are (label before, label), the right ones and the predicted."""
    ptr, ids, pairs = bigrams
    if pair_number[y] >= 0:
        T[y] += 1
        T_sum[y] += now
    if pair_number[p] >= 0:
        T[p] -= 1
        T_sum[p] -= now
    if ptr.shape[0]:
        L = pair_number.shape[0]
        for q in range(ptr[token], ptr[token + 1]):
            sign = (pairs[q] == y[0] * L + y[1]) - (pairs[q] == p[0] * L + p[1])
            if sign != 0:
                weights[u8(ids[q])] += sign
                weights_sum[u8(ids[q])] += sign * now


@kernel
def perceptron_epoch(
    order,
    offsets,
    n_labels,
    tokens,
    bigrams,
    allowed_bits,
    labels,
    table,
    table_sum,
    weights,
    weights_sum,
    T,
    T_sum,
    pair_number,
    cube,
    cube_sum,
    has_triple,
    clock,
    longest,
    predicted,
):
    """One pass over the sentences in ``order``; returns clock, mistakes.

    Sentences without a full annotation are passed over. cube, cube_sum, has_triple (L, L, L), or (0, L, L).
    """
    gold = labels[0]
    e = np.zeros((longest, table.shape[1]), table.dtype)
    back = np.zeros((longest, table.shape[1]), np.int32)
    mistakes = 0
    for i in range(order.shape[0]):
        s = order[i]
        first, n = offsets[s], offsets[s + 1] - offsets[s]
        clock += 1
        certain = n > 0
        for t in range(n):
            certain = certain and gold[first + t] >= 0
        if not certain:
            continue
        score_tokens(first, n, tokens, table, weights, e)
        best_guess(first, n, n_labels, e, T, weights, bigrams, cube, back, predicted)
        now = (T[0, 0] * 0 + 1) * clock
        for t in range(first, first + n):
            y, p = gold[t], predicted[t]
            if y != p:
                mistakes += 1
                change_token(t, y, p, now, tokens, allowed_bits, table, table_sum, weights, weights_sum)
            if t > first and (y != p or gold[t - 1] != predicted[t - 1]):
                right, wrong = (gold[t - 1], y), (predicted[t - 1], p)
                change_step(t, right, wrong, now, bigrams, weights, weights_sum, T, T_sum, pair_number)
            if t > first + 1 and cube.shape[0]:
                if has_triple[gold[t - 2], gold[t - 1], y]:
                    cube[gold[t - 2], gold[t - 1], y] += 1
                    cube_sum[gold[t - 2], gold[t - 1], y] += now
                if has_triple[predicted[t - 2], predicted[t - 1], p]:
                    cube[predicted[t - 2], predicted[t - 1], p] -= 1
                    cube_sum[predicted[t - 2], predicted[t - 1], p] -= now
    return clock, mistakes
