"""Stochastic passes over sentences: gradient steps, and the structured perceptron.

Both keep their weights where scoring reads them: rows of ``table``, single weights in ``weights``, label
bigrams in ``T``. Tokens are listed without heads, since every weight changes all the time.
"""

from __future__ import annotations

import numpy as np

from loglin.kernels.chain import new_scratch, sentence
from loglin.kernels.compile import kernel
from loglin.kernels.rows import best_rows, exp_row, spread_row

u8 = np.uint64


@kernel
def exp_transitions(T, n_labels, M, MT):
    """M = exp(T), padded with zeros, and its transpose."""
    for i in range(n_labels):
        for j in range(n_labels):
            M[i, j] = T[i, j]
        exp_row(M, i, M[i, 0] * 0)
        for j in range(n_labels, M.shape[1]):
            M[i, j] = 0
    for i in range(n_labels):
        for j in range(n_labels):
            MT[j, i] = M[i, j]


@kernel
def descend(
    order,
    offsets,
    n_labels,
    tokens,
    allowed_bits,
    bigrams,
    labels,
    instance,
    parameters,
    pair_number,
    step,
    share,
    memory,
    pair_memory,
    step_memory,
    longest,
    residual,
    patience,
):
    """One step per sentence, without penalty; returns the losses met on the way.

    More than ``patience`` sentences that leave the safe range end it with an infinite loss.

    Gradient descent: w −= step·r, r the residual p − y. With a ``memory`` of the residuals met before, the
    dual ascent of SDCA: m += share·(r − m), w −= step·(that change), which keeps w = −step·Σ m, the
    optimum for the residuals in memory when step = 1 / l2, so the noise of the steps dies away.
    """
    table, weights, T, M, MT, M_exp = parameters
    row_ptr, row_ids, row_values, entry_ptr, entry_ids, entry_labels, entry_values = tokens
    gold = labels[0]
    width, rate = table.shape[1], T[0, 0] * 0 - step
    scratch = new_scratch(longest, width, n_labels, bigrams[0].shape[0] > 0, table)
    r = np.zeros((longest, width), table.dtype)
    X, XD = np.zeros((width, width), table.dtype), np.zeros((width, width))
    loss, unsafe = 0.0, 0
    weight = rate * 0 + 1
    for i in range(order.shape[0]):
        s = order[i]
        first, n = offsets[s], offsets[s + 1] - offsets[s]
        if n == 0:
            continue
        if instance.shape[0]:
            weight = instance[s]
        if n > 1:
            exp_transitions(T, n_labels, M, MT)
            for a in range(width):
                for b in range(width):
                    X[a, b] = 0
                    XD[a, b] = 0
        one = sentence(
            first, n, n_labels, tokens, bigrams, labels, parameters, None, weight, scratch, r, X, XD, residual
        )
        if not abs(one) < np.inf:  # passed over; if there are many, the steps are too long
            unsafe += 1
            if unsafe > patience:
                return np.inf
            continue
        loss += one
        if memory.shape[0]:
            for t in range(n):
                for j in range(n_labels):
                    change = share * (r[t, j] - memory[first + t, j])
                    memory[first + t, j] += change
                    r[t, j] = change
        for t in range(n):
            for q in range(row_ptr[first + t], row_ptr[first + t + 1]):
                if row_values.shape[0]:
                    spread_row(table, allowed_bits, row_ids, q, rate * row_values[q], r, t)
                else:
                    spread_row(table, allowed_bits, row_ids, q, rate, r, t)
            for q in range(u8(entry_ptr[first + t]), u8(entry_ptr[first + t + 1])):
                move = rate * r[u8(t), u8(entry_labels[q])]
                if entry_values.shape[0]:
                    move *= entry_values[q]
                weights[u8(entry_ids[q])] += move
        if n > 1:
            certain = True
            for t in range(n):
                certain = certain and gold[first + t] >= 0
            if certain and labels[2].shape[0] == 0:
                for t in range(1, n):
                    XD[gold[first + t - 1], gold[first + t]] -= weight
            for a in range(n_labels):
                for b in range(n_labels):
                    k = pair_number[a, b]
                    if k >= 0:
                        change = X[a, b] * M[a, b] + XD[a, b]
                        if memory.shape[0]:
                            change = share * (change - pair_memory[s, k])
                            pair_memory[s, k] += change
                        T[a, b] += rate * change
            if bigrams[0].shape[0]:
                for q in range(bigrams[0][first], bigrams[0][first + n]):
                    f = bigrams[1][q]
                    change = residual[q]
                    if memory.shape[0]:
                        change = share * (change - step_memory[q])
                        step_memory[q] += change
                    weights[f] += rate * change
                    residual[q] = 0
                    M_exp[f] = np.exp(weights[f])
    return loss


@kernel
def viterbi(n, n_labels, e, T, back, out, o):
    """δ_t[j] = e_t[j] + max_i δ_{t−1}[i] + T[i, j]; out[o:] = the best labels. e is overwritten by δ."""
    for t in range(1, n):
        best_rows(e, back, t, e, t - 1, T, n_labels)
    label = 0
    for j in range(1, n_labels):
        if e[n - 1, j] > e[n - 1, label]:
            label = j
    score = e[n - 1, label]
    for t in range(n - 1, -1, -1):
        out[o + t] = label
        if t > 0:
            label = back[t, label]
    return score
