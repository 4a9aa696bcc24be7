"""Iterative scaling: expectations by the sum of a pair's features, and the update that they give every weight."""

from __future__ import annotations

import numpy as np

from loglin.kernels.compile import kernel

NEWTON_STEPS = 60
PRECISION = 1e-13  # of the longest δ


@kernel("i4[] i4[] f8[] i8[] u2[] f8[,] i4[,] f8[,]")
def sum_by_level(ptr, ids, values, feature_ptr, labels, expected, levels, out):
    """out[f, m] = Σ over the tokens d of f's attribute of expected[d, c]·value, where f's label c has level m."""
    for d in range(ptr.shape[0] - 1):
        for q in range(ptr[d], ptr[d + 1]):
            for f in range(feature_ptr[ids[q]], feature_ptr[ids[q] + 1]):
                c = labels[f]
                out[f, levels[d, c]] += expected[d, c] * values[q]


@kernel(inline=True)
def excess(delta, sums, expected, f, weight, l2, empirical):
    """F(δ) = Σ_m expected[f, m]·exp(δ·sums[m]) + l2·(w + δ) − empirical, which rises with δ, and F′(δ)."""
    value, slope = l2 * (weight + delta) - empirical, l2
    for m in range(sums.shape[0]):
        if expected[f, m] > 0:
            grown = expected[f, m] * np.exp(delta * sums[m])
            value += grown
            slope += grown * sums[m]
    return value, slope


@kernel("f8[] f8[,] f8[] f8[] const f8[] float f8[]")
def scale_weights(sums, expected, empirical, weights, l2, longest, delta):
    """delta[f] ← the δ with F(δ) = 0, or ± ``longest`` where that lies farther (or nowhere).

    F is convex, so Newton's steps from any guess, such as the δ of the round before, stay on its right.
    """
    for f in range(weights.shape[0]):
        x, low, high = delta[f], -longest, longest
        now, slope = excess(x, sums, expected, f, weights[f], l2[f], empirical[f])
        if slope == 0:  # neither expected nor penalized: it does not matter, or all the data want it
            delta[f] = 0.0 if empirical[f] == 0 else longest
            continue
        if now < 0 and l2[f] == 0 and now + empirical[f] > 0:  # a step in the logarithm, exact if there is one sum
            x = min(x + np.log(empirical[f] / (now + empirical[f])) / sums[sums.shape[0] - 1], longest)
            now, slope = excess(x, sums, expected, f, weights[f], l2[f], empirical[f])
        for _ in range(NEWTON_STEPS):
            if now > 0:
                high = min(high, x)
            else:
                low = max(low, x)
            guess = x - now / slope
            if not low <= guess <= high:
                guess = 0.5 * (low + high)
            done = abs(guess - x) <= PRECISION * longest
            x = guess
            if done or now == 0:
                break
            now, slope = excess(x, sums, expected, f, weights[f], l2[f], empirical[f])
        delta[f] = x
