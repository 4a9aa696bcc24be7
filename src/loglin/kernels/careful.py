"""Scores of single sentences in the log domain, float64, and where the derivatives by them go."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loglin.kernels.chain import score_tokens
from loglin.kernels.compile import kernel

u8 = np.uint64


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
    ptr, ids, pairs = text.steps
    T, weights, L = parameters.T, parameters.weights, text.n_labels
    n_steps = n - 1 if ptr.shape[0] and n > 1 else 1
    for t in range(n_steps):
        for i in range(L):
            for j in range(L):
                transitions[t, i, j] = T[i, j]
        if ptr.shape[0] and n > 1:
            for q in range(u8(ptr[first + t + 1]), u8(ptr[first + t + 2])):
                i, j = divmod(np.int64(pairs[q]), L)
                transitions[t, i, j] += weights[u8(ids[q])]
    return transitions[:n_steps]


@kernel("int int Steps float f8[,] f8[,,] f8[,] f8[,] f8[]")
def add_residuals(first, n_labels, steps, sign, nodes, pairs, R, XD, residual):
    """Add sign·nodes to the residuals of tokens, sign·pairs to those of steps and of label bigrams."""
    ptr, _ids, pair_of = steps
    for t in range(nodes.shape[0]):
        for j in range(n_labels):
            R[first + t, j] += sign * nodes[t, j]
    for t in range(pairs.shape[0]):
        for i in range(n_labels):
            for j in range(n_labels):
                XD[i, j] += sign * pairs[t, i, j]
        if ptr.shape[0]:
            for q in range(ptr[first + t + 1], ptr[first + t + 2]):
                i, j = divmod(np.int64(pair_of[q]), n_labels)
                residual[q] += sign * pairs[t, i, j]
