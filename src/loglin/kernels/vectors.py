"""Long vectors: the parts of L-BFGS that NumPy would do in several passes with temporary arrays."""

from __future__ import annotations

import numpy as np

from loglin.kernels.compile import REORDER, kernel


@kernel("F[] F[]|f8[]", fastmath=REORDER)
def dot(x, y):
    total = 0.0
    for block in range(0, x.shape[0], 4096):  # a sum of short sums, all in float64, rounds less
        part = 0.0
        for i in range(block, min(block + 4096, x.shape[0])):
            part += x[i] * y[i]
        total += part
    return total


@kernel("F[]")
def norm(x):
    return np.sqrt(dot(x, x))


@kernel("float F[] F[]|f8[] F[]", fastmath=REORDER)
def add_and_dot(alpha, x, y, z):
    """y += alpha·x, then y·z, in one pass."""
    total = 0.0
    for block in range(0, x.shape[0], 4096):
        part = 0.0
        for i in range(block, min(block + 4096, x.shape[0])):
            v = y[i] + alpha * x[i]
            y[i] = v
            part += v * z[i]
        total += part
    return total


@kernel("F[]|f8[] float F[]", fastmath=REORDER)
def times_scale(q, gamma, scale):
    """q ← gamma·scale·q; an empty scale is 1."""
    if scale.shape[0]:
        for i in range(q.shape[0]):
            q[i] *= gamma * scale[i]
    else:
        for i in range(q.shape[0]):
            q[i] *= gamma


@kernel("F[] F[] F[]", "f8[] f8[] f4[]", fastmath=REORDER)
def difference(new, old, out):
    for i in range(out.shape[0]):
        out[i] = new[i] - old[i]


@kernel("f8[] float F[] f8[]", fastmath=REORDER)
def move(w, step, d, out):
    """out = w + step·d."""
    for i in range(out.shape[0]):
        out[i] = w[i] + step * d[i]


@kernel("f8[] f8[] F[]", fastmath=REORDER)
def add_ridge(l2, w, gradient):
    """gradient += l2·w; returns ½ Σ l2·w². l2 has one entry or one per weight."""
    total = 0.0
    if l2.shape[0] == 1:
        one = l2[0]
        for i in range(w.shape[0]):
            v = one * w[i]
            gradient[i] += v
            total += v * w[i]
    else:
        for i in range(w.shape[0]):
            v = l2[i] * w[i]
            gradient[i] += v
            total += v * w[i]
    return 0.5 * total


@kernel("const u4[] const F[] f8[] b1[]")
def add_at(places, numbers, total, seen):
    """total[places] += numbers, and seen[places] = True unless ``seen`` is empty; no place is there twice."""
    for i in range(places.shape[0]):
        total[places[i]] += numbers[i]
    if seen.shape[0]:
        for i in range(places.shape[0]):
            seen[places[i]] = True
