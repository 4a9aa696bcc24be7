"""Linear functions below a convex one: the arithmetic of optimize/bounds.py."""

from __future__ import annotations

import numpy as np

from loglin.kernels.compile import REORDER, kernel

MOST = 2000  # exchanges between two planes


@kernel("f8[] F[] f8[] F[]", fastmath=REORDER)
def set_plane(w, gradient, l2, plane):
    """plane = (gradient − l2·w)/√l2; returns gradient·w − ½ Σ l2·w²."""
    total, one = 0.0, l2.shape[0] == 1
    for i in range(w.shape[0]):
        strength = l2[0] if one else l2[i]
        pull = strength * w[i]
        plane[i] = (gradient[i] - pull) / np.sqrt(strength)
        total += (gradient[i] - 0.5 * pull) * w[i]
    return total


@kernel("f8[,] f8[] f8[]")
def best_mixture(products, heights, c):
    """The largest heights·c − ½ c·products·c over c ≥ 0, Σ c = 1: mass moves from the worst plane to the best."""
    n = heights.shape[0]
    slope, start = heights.copy(), 0
    c[:] = 0
    for i in range(n):
        if heights[i] - 0.5 * products[i, i] > heights[start] - 0.5 * products[start, start]:
            start = i
    c[start] = 1.0
    for i in range(n):
        slope[i] -= products[start, i]
    for _ in range(MOST):
        best, worst = 0, start
        for i in range(n):
            if slope[i] > slope[best]:
                best = i
            if c[i] > 0 and (c[worst] == 0 or slope[i] < slope[worst]):
                worst = i
        gain, bend = slope[best] - slope[worst], products[best, best] + products[worst, worst]
        bend -= 2 * products[best, worst]
        if gain <= 1e-12 * (1 + abs(slope[best])) or not bend > 0:
            break
        step = min(c[worst], gain / bend)
        c[best] += step
        c[worst] = c[worst] - step if step < c[worst] else 0.0
        for i in range(n):
            slope[i] -= step * (products[best, i] - products[worst, i])
    total = 0.0
    for i in range(n):
        total += 0.5 * c[i] * (heights[i] + slope[i])
    return total
