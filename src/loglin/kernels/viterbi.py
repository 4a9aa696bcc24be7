"""The best label sequence of a chain of first order, a row of labels at a time; ranked.py has the k best of any."""

from __future__ import annotations

from loglin.kernels.compile import kernel
from loglin.kernels.rows import best_rows


@kernel("int int F[,] F[,] i4[,] i8[] int")
def viterbi(n, n_labels, e, T, back, out, first):
    """δ_t[j] = e_t[j] + max_i δ_{t−1}[i] + T[i, j]; out[first:] = the best labels. e is overwritten by δ."""
    for t in range(1, n):
        best_rows(e, back, t, e, t - 1, T, n_labels)
    follow(n, n_labels, e, back, out, first)


@kernel
def follow(n, n_labels, delta, back, out, first):
    """out[first : first + n] = the best last label and, from there, the labels that back[t, label] points to."""
    label = 0
    for j in range(1, n_labels):
        if delta[n - 1, j] > delta[n - 1, label]:
            label = j
    for t in range(n - 1, -1, -1):
        out[first + t] = label
        if t > 0:
            label = back[t, label]
