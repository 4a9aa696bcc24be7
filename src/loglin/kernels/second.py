"""Chains of second order in scaled probabilities: states are pairs (a, b) of the last two labels.

    A  (n·H, W)   row t·H + a: α of states (a, ·) at token t; H ≥ L + 1 histories, BOS = L only at t = 0
    G  (n·H, W)   e·exp(transition)·β of the same states, so that
                  p(a, b at t; c at t + 1) = c[t]·A[t, a, b]·C[a, b, c]·G[t+1, b, c]
    C  (H·L, W)   exp(trigram), row a·L + b; CT (L·W, W) the same by (b, c), then a

Forward:  A_t[b, c] = c_{t−1}·e_t[c]·M[b, c]·Σ_a A_{t−1}[a, b]·C[a, b, c]; nothing of C at t = 1.
"""

from __future__ import annotations

import numpy as np

from loglin.kernels.compile import REORDER, kernel
from loglin.kernels.rows import exp_row, mix_rows


def lay_out(cube: np.ndarray, width: int, dtype: type | np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """C and CT of exp(trigram) (L, L, L); both are empty in a chain of first order, (0, L, L)."""
    L, second = cube.shape[1], len(cube) > 0
    H = -(-(L + 1) // 4) * 4 if second else 0
    C, CT = np.zeros((H, L, width), dtype), np.zeros((L if second else 0, width, width), dtype)
    if second:
        C[:L, :, :L] = cube
        CT[:, :L, :L] = cube.transpose(1, 2, 0)
    return C.reshape(-1, width), CT.reshape(-1, width)


@kernel(allocates=False)
def exp_trigrams(n_labels, second):
    """Renew C and CT after their weights have changed."""
    C, CT, cube, width = second.C, second.CT, second.log, second.C.shape[1]
    for a in range(n_labels):
        for b in range(n_labels):
            row = a * n_labels + b
            for j in range(n_labels):
                C[row, j] = cube[a, b, j]
            exp_row(C, row, 0.0)
            for j in range(n_labels, width):
                C[row, j] = 0
            for j in range(n_labels):
                CT[b * width + j, a] = C[row, j]


@kernel(fastmath=REORDER)
def forward_pairs(n, L, e, M, per_token, C, A, c):
    """Returns log Z, infinite or NaN if it under- or overflowed."""
    width = e.shape[1]
    H = C.shape[0] // L
    mixed = np.zeros((1, width), e.dtype)
    total, product = 0.0, 1.0
    for t in range(n):
        for row in range(t * H, (t + 1) * H):
            for j in range(width):
                A[row, j] = 0
        z = 0.0
        if t == 0:
            for j in range(L):
                A[L, j] = e[0, j]
                z += e[0, j]
        for b in range(L if t > 0 else 0):
            if t == 1:
                for j in range(width):
                    mixed[0, j] = A[L, b]
            else:
                mix_rows(mixed, 0, A, (t - 1) * H * width + b, width, C, b, L, H)
            row = t * width * per_token + b
            for j in range(L):
                v = c[t - 1] * e[t, j] * M[row, j] * mixed[0, j]
                A[t * H + b, j] = v
                z += v
        c[t] = 1 / z
        product *= np.float64(z)
        if not 1e-200 < product < 1e200:
            total += np.log(product)
            product = 1.0
    return total + np.log(product)


@kernel(fastmath=REORDER)
def backward_pairs(n, L, e, M, per_token, CT, H, A, c, G, r):
    """v_t[a, b] = c_t·Σ_c C[a, b, c]·G_{t+1}[b, c];  G_t = e_t·M·v_t;  r_t[b] = Σ_a A_t[a, b]·v_t[a, b]."""
    width = e.shape[1]
    mixed = np.zeros((1, width), e.dtype)
    for t in range(n - 1, -1, -1):
        for j in range(width):
            r[t, j] = 0
        for b in range(L):
            if t == n - 1:
                for a in range(width):
                    mixed[0, a] = 1
            elif t == 0:
                v = 0.0
                for j in range(L):
                    v += G[H + b, j]
                mixed[0, 0] = v
            else:
                mix_rows(mixed, 0, G, ((t + 1) * H + b) * width, 1, CT, b * width, 1, width)
            if t == 0:
                r[0, b] = A[L, b] * mixed[0, 0] * c[0]
                continue
            for a in range(L):
                v = mixed[0, a] * c[t]
                G[t * H + a, b] = e[t, b] * M[t * width * per_token + a, b] * v
                r[t, b] += A[t * H + a, b] * v


@kernel(fastmath=REORDER)
def add_triples(n, L, A, c, G, H, weight, X):
    """X[a, b, c] += weight·c_t·A_t[a, b]·G_{t+1}[b, c]; times C, the expected label trigrams."""
    width = A.shape[1]
    for t in range(1, n - 1):
        for a in range(L):
            for b in range(L):
                v = weight * c[t] * A[t * H + a, b]
                if v != 0:
                    for j in range(width):
                        X[a * L + b, j] += v * G[(t + 1) * H + b, j]


@kernel
def add_pair_posteriors(first, n, text, e, M, per_token, A, G, H, weight, B, XD):
    """Expected label bigrams p(a, b at t) for t ≥ 1: their sums, and those of cells where steps have features."""
    L, steps = text.n_labels, text.steps
    for t in range(1, n):
        for a in range(L):
            for b in range(L):
                factor = e[t, b] * M[t * e.shape[1] * per_token + a, b]
                if factor > 0:  # v = G / (e·M)
                    XD[a, b] += weight * A[t * H + a, b] * G[t * H + a, b] / factor
        if per_token:
            for k in range(steps.cell_ptr[first + t], steps.cell_ptr[first + t + 1]):
                a, b = divmod(np.int64(steps.cell_pairs[k]), L)
                factor = e[t, b] * M[t * e.shape[1] + a, b]
                if factor > 0:
                    B[t, steps.cell_pairs[k]] += weight * A[t * H + a, b] * G[t * H + a, b] / factor


@kernel
def second_order_sums(first, n, text, M, per_token, weight, e, second, scratch, r, out):
    """As ``chain.scaled_sums`` for a chain of second order; expected label trigrams go into second.X."""
    L = text.n_labels
    C, CT, A, G, c = second.C, second.CT, second.A, second.G, scratch.c
    H = C.shape[0] // L
    total = forward_pairs(n, L, e, M, per_token, C, A, c)
    if abs(total) < np.inf:
        backward_pairs(n, L, e, M, per_token, CT, H, A, c, G, r)
        add_pair_posteriors(first, n, text, e, M, per_token, A, G, H, weight, scratch.B, out.pairs)
        add_triples(n, L, A, c, G, H, weight, second.X)
    return total
