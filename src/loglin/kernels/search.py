"""Chains whose steps are normalized by themselves, and beam search; arrays as in kernels/logspace.py.

A constant of -1 means that nothing is normalized, 0 that each step is, 1 that none of the above competes.
"""

from __future__ import annotations

import math

import numpy as np

from loglin.kernels.compile import kernel
from loglin.kernels.logspace import histories, log_sum, next_history, outgoing


@kernel
def normalizer(arcs, constant):
    """log(constant + Σ exp(arcs)); 0 where nothing is possible or nothing is normalized."""
    total = log_sum(arcs)
    if constant < 0 or total == -np.inf:
        return 0.0
    if constant == 0:
        return total
    top = max(total, 0.0)
    return top + math.log(constant * math.exp(-top) + math.exp(total - top))


# A step's normalizer depends on what stands before it alone, so it is charged there: in first order to the
# label before, in second to the step before. What is left is an ordinary chain, with Z = 1 if constant = 0.
@kernel("f8[,] f8[,,] f8[,,] float")
def normalize_steps(scores, transitions, trigrams, constant):  # transitions (T-1, L, L); both are changed
    """Turn the scores of a chain into those of its locally normalized sister."""
    T, L = scores.shape
    H = histories(trigrams)
    nothing, arcs = np.zeros(L), np.empty(L)
    raw, steps = scores.copy(), transitions.copy()
    outgoing(raw, steps, trigrams, -1, H - 1, L, nothing, arcs)
    scores[0] -= normalizer(arcs, constant)
    for t in range(T - 1):
        for h in range(H):
            if trigrams.shape[0] and (h == H - 1) != (t == 0):
                continue
            for b in range(L):
                outgoing(raw, steps, trigrams, t, h, b, nothing, arcs)
                if t == 0 or not trigrams.shape[0]:
                    scores[t, b] -= normalizer(arcs, constant)
                else:
                    transitions[t - 1, h, b] -= normalizer(arcs, constant)


@kernel("f8[,] f8[,,] f8[,,] float int i8[]")
def beam_path(scores, transitions, trigrams, constant, width, labels):  # labels (T,), filled
    """Search that keeps the ``width`` best states at every position; width = 1 is greedy. Returns the score."""
    T, L = scores.shape
    H = histories(trigrams)
    nothing, arcs = np.zeros(L), np.empty(L)
    values = np.full((T, H, L), -np.inf)
    back = np.full((T, H, L, 2), -1, np.int64)
    outgoing(scores, transitions, trigrams, -1, H - 1, L, nothing, arcs)
    values[0, H - 1] = arcs - normalizer(arcs, constant)
    for t in range(T - 1):
        flat = values[t].copy().ravel()
        kept = min(width, flat.shape[0])
        for _ in range(kept):
            state = np.argmax(flat)
            if flat[state] == -np.inf:
                break
            flat[state] = -np.inf
            h, b = divmod(state, L)
            outgoing(scores, transitions, trigrams, t, h, b, nothing, arcs)
            total, n = normalizer(arcs, constant), next_history(trigrams, b)
            for c in range(L):
                value = values[t, h, b] + arcs[c] - total
                if value > values[t + 1, n, c]:
                    values[t + 1, n, c] = value
                    back[t + 1, n, c, 0], back[t + 1, n, c, 1] = h, b
    best = np.argmax(values[T - 1].copy().ravel())
    h, b = divmod(best, L)
    score = values[T - 1, h, b]
    for t in range(T - 1, -1, -1):
        labels[t] = b
        h, b = back[t, h, b, 0], back[t, h, b, 1]
    return score
