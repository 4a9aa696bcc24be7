"""Covariances of a chain's features with a sum over its labels, G(y) = Σ_t gains[t, y_t].

    A[t, s] = E[gains up to t | state s at t, what is before]     B[t, s] = E[gains after t | state s at t]
    E[1{state s at t}·G] = p(s at t)·(A[t, s] + B[t, s])

so Cov(f, G) = E[f·G] − E[f]·E[G] costs two passes like forward and backward. States and arrays are those
of kernels/logspace.py.
"""

from __future__ import annotations

import math

import numpy as np

from loglin.kernels.compile import kernel
from loglin.kernels.logspace import next_history, outgoing


# A[t+1, next(b), c] = gains[t+1, c] + Σ_{h, b} p(h, b | next, c)·A[t, h, b]
@kernel
def means_before(scores, transitions, trigrams, alpha, gains):
    """A (T, H, L)."""
    T, H, L = alpha.shape
    nothing, arcs = np.zeros(L), np.empty(L)
    A = np.zeros((T, H, L))
    A[0] = gains[0]
    for t in range(T - 1):
        for h in range(H):
            for b in range(L):
                if alpha[t, h, b] == -np.inf:
                    continue
                outgoing(scores, transitions, trigrams, t, h, b, nothing, arcs)
                n = next_history(trigrams, b)
                for c in range(L):
                    if arcs[c] > -np.inf:
                        A[t + 1, n, c] += math.exp(alpha[t, h, b] + arcs[c] - alpha[t + 1, n, c]) * A[t, h, b]
        A[t + 1] += gains[t + 1]
    return A


# B[t, h, b] = Σ_c p(c | h, b)·(gains[t+1, c] + B[t+1, next(b), c])
@kernel
def means_after(scores, transitions, trigrams, beta, gains):
    """B (T, H, L)."""
    T, H, L = beta.shape
    arcs = np.empty(L)
    B = np.zeros((T, H, L))
    for t in range(T - 2, -1, -1):
        for h in range(H):
            for b in range(L):
                if beta[t, h, b] == -np.inf:
                    continue
                n = next_history(trigrams, b)
                outgoing(scores, transitions, trigrams, t, h, b, beta[t + 1, n], arcs)
                for c in range(L):
                    if arcs[c] > -np.inf:
                        p = math.exp(arcs[c] - beta[t, h, b])
                        B[t, h, b] += p * (gains[t + 1, c] + B[t + 1, n, c])
    return B


@kernel
def covariances(scores, transitions, trigrams, alpha, beta, logz, gains, nodes, pairs, triples):
    """Overwrite nodes (T, L) and pairs (T-1, L, L) by Cov(indicator, G), add those of triples; return E[G]."""
    T, H, L = alpha.shape
    A = means_before(scores, transitions, trigrams, alpha, gains)
    B = means_after(scores, transitions, trigrams, beta, gains)
    mean = 0.0
    for h in range(H):
        for b in range(L):
            if alpha[T - 1, h, b] > -np.inf:
                mean += math.exp(alpha[T - 1, h, b] - logz) * A[T - 1, h, b]
    nodes[:] = 0.0
    pairs[:] = 0.0
    arcs = np.empty(L)
    for t in range(T):
        for h in range(H):
            for b in range(L):
                if alpha[t, h, b] == -np.inf:
                    continue
                p = math.exp(alpha[t, h, b] + beta[t, h, b] - logz)
                nodes[t, b] += p * (A[t, h, b] + B[t, h, b] - mean)
                if t == T - 1:
                    continue
                n = next_history(trigrams, b)
                outgoing(scores, transitions, trigrams, t, h, b, beta[t + 1, n], arcs)
                for c in range(L):
                    p = math.exp(alpha[t, h, b] + arcs[c] - logz)
                    if p > 0:
                        covariance = p * (A[t, h, b] + gains[t + 1, c] + B[t + 1, n, c] - mean)
                        pairs[t, b, c] += covariance
                        if h < triples.shape[0]:
                            triples[h, b, c] += covariance
    return mean
