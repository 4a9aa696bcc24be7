"""Stochastic gradient steps, one per sentence.

Weights are kept where scoring reads them: rows of the table, single weights, label bigrams. Tokens are listed
without heads, since every weight changes all the time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loglin.kernels.chain import new_scratch, sentence
from loglin.kernels.compile import kernel, record
from loglin.kernels.rows import exp_row, spread_row
from loglin.kernels.sentences import Residuals, is_certain, weight_of
from loglin.kernels.steps import move_steps

u8 = np.uint64


@record("u1[,] i4[,] b1[,,]")
class Known(NamedTuple):
    """Which features there are, so that no other weight is changed."""

    rows: np.ndarray  # (rows, W / 8) uint8: the labels that a row of the table has weights for, as bits
    pairs: np.ndarray  # (L, L) int32: number of a label bigram, −1 for none
    triples: np.ndarray  # (L, L, L) bool, or (0, L, L) in first order


@kernel(allocates=False)
def exp_transitions(T, n_labels, M, MT):
    """M = exp(T), padded with zeros, and its transpose."""
    for i in range(n_labels):
        for j in range(n_labels):
            M[i, j] = T[i, j]
        exp_row(M, i, 0.0)
        for j in range(n_labels, M.shape[1]):
            M[i, j] = 0
    for i in range(n_labels):
        for j in range(n_labels):
            MT[j, i] = M[i, j]


@kernel("i8[] Sentences Known Parameters Exponentials float", T="F")
def descend(order, text, known, parameters, exponentials, step):
    """Take a step w −= step·r, r = p − y, for each sentence of ``order``, without penalty; return the losses met.

    A sentence that leaves the safe range ends it with an infinite loss: the steps are too long.
    """
    table, L, rate = parameters.table, text.n_labels, -step
    width = table.shape[1]
    scratch = new_scratch(text, table)
    r, X = np.zeros((text.longest, width), table.dtype), np.zeros((width, width), table.dtype)
    XD = np.zeros((width, width))
    out = Residuals(r, np.zeros(0), np.zeros(0), np.zeros(0, np.bool_), X, XD, np.zeros((0, L, L)), False)
    loss = 0.0
    for i in range(order.shape[0]):
        s = order[i]
        first, n = text.offsets[s], text.offsets[s + 1] - text.offsets[s]
        if n == 0:
            continue
        if n > 1:
            exp_transitions(parameters.T, L, exponentials.M, exponentials.MT)
            for a in range(width):
                for b in range(width):
                    X[a, b] = 0
                    XD[a, b] = 0
        one = sentence(s, text, parameters, exponentials, None, scratch, r, out)
        if not abs(one) < np.inf:
            return np.inf
        loss += one
        move_tokens(first, n, text.tokens, known.rows, parameters, rate, r)
        if n > 1:
            move_pairs(s, text, known.pairs, parameters, exponentials, rate, X, XD)
            if text.steps.ptr.shape[0]:
                move_steps(first, n, text.steps, rate, scratch.B, parameters.weights)
    return loss


@kernel(allocates=False)
def move_tokens(first, n, tokens, allowed_bits, parameters, rate, r):
    """Add rate·r[t] to the weights of the features of token first + t, for t < n."""
    table, weights = parameters.table, parameters.weights
    row_ptr, row_ids, row_values, entry_ptr, entry_ids, entry_labels, entry_values = tokens
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


@kernel(allocates=False)
def move_pairs(s, text, pair_number, parameters, exponentials, rate, X, XD):
    """Add rate times the residuals X·M + XD of label bigrams in sentence s to their weights T."""
    first, n, gold = text.offsets[s], text.offsets[s + 1] - text.offsets[s], text.labels.gold
    T, M = parameters.T, exponentials.M
    if is_certain(first, n, text.labels):
        weight = weight_of(s, text)
        for t in range(1, n):
            XD[gold[first + t - 1], gold[first + t]] -= weight
    for a in range(text.n_labels):
        for b in range(text.n_labels):
            if pair_number[a, b] >= 0:
                T[a, b] += rate * (X[a, b] * M[a, b] + XD[a, b])
