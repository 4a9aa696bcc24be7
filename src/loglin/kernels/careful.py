"""Scores of single sentences in the log domain, float64, and where the derivatives by them go."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loglin.kernels.chain import score_tokens
from loglin.kernels.compile import kernel
from loglin.kernels.steps import add_scores, spread_steps


class LogScratch(NamedTuple):
    """Room for one sentence; n is the length of the longest."""

    e: np.ndarray  # (n, W) scores of tokens as they are summed
    scores: np.ndarray  # (n, L)
    transitions: np.ndarray  # (n, L, L), or (1, L, L) if all steps are alike


@kernel
def log_scratch(numbers, text, table):
    """Room for any of the numbered sentences."""
    longest, L = 1, text.n_labels
    for s in numbers:
        longest = max(longest, text.offsets[s + 1] - text.offsets[s])
    n_steps = longest if text.steps.ptr.shape[0] else 1
    e = np.zeros((longest, table.shape[1]), table.dtype)
    return LogScratch(e, np.zeros((longest, L)), np.zeros((n_steps, L, L)))


@kernel
def log_scores(first, n, text, parameters, scratch):
    """scores (n, L) and transitions (n − 1, L, L), or (1, L, L) where all steps are alike; views of the scratch."""
    e, scores, transitions = scratch
    score_tokens(first, n, text.tokens, parameters, e)
    for t in range(n):
        for j in range(text.n_labels):
            scores[t, j] = e[t, j]
    return scores[:n], log_steps(first, n, text, parameters, transitions)


@kernel
def log_steps(first, n, text, parameters, transitions):
    """transitions (n − 1, L, L), or (1, L, L) where all steps are alike: T plus the weights of observed features."""
    per_token, T, L = text.steps.ptr.shape[0] > 0, parameters.T, text.n_labels
    n_steps = n - 1 if per_token and n > 1 else 1
    flat = transitions.reshape(transitions.shape[0], L * L)
    for t in range(n_steps):
        for i in range(L):
            for j in range(L):
                transitions[t, i, j] = T[i, j]
        if per_token and n > 1:
            add_scores(first + t + 1, text.steps, parameters.weights, flat, t)
    return transitions[:n_steps]


@kernel("int int Steps float f8[,] f8[,,] f8[,] f8[,] f8[] bool")
def add_residuals(first, n_labels, steps, sign, nodes, pairs, R, XD, residual, curved):
    """Add sign·nodes to the residuals of tokens, sign·pairs to those of label bigrams and of features of steps.

    If ``curved``, the latter get pairs·(1 − pairs).
    """
    n_steps, per_token = pairs.shape[0], steps.ptr.shape[0] > 0
    B = np.zeros((n_steps + 1 if per_token else 0, n_labels * n_labels))
    for t in range(nodes.shape[0]):
        for j in range(n_labels):
            R[first + t, j] += sign * nodes[t, j]
    for t in range(n_steps):
        for i in range(n_labels):
            for j in range(n_labels):
                XD[i, j] += sign * pairs[t, i, j]
                if per_token:
                    B[t + 1, i * n_labels + j] = sign * pairs[t, i, j]
    if per_token:
        spread_steps(first, n_steps + 1, steps, B, curved, residual)
