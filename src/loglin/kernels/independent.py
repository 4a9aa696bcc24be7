"""Independent yes-or-no decisions, one a label, on the same attributes: losses and their derivatives by score.

    logistic        log(1 + e^−ys)        −y / (1 + e^ys)        p·(1 − p)
    squared hinge   max(0, 1 − ys)²       −2y·max(0, 1 − ys)     2 where ys < 1
    squares         ½ (s − [y = 1])²      s − [y = 1]            1

with y = ±1 and s the label's score.
"""

from __future__ import annotations

import numpy as np

from loglin.kernels.chain import score_tokens
from loglin.kernels.compile import REORDER, kernel
from loglin.kernels.rows import exp_row

LOGISTIC, SQUARED_HINGE, SQUARES = 0, 1, 2
_PRODUCT = 512  # factors of at most 2 whose product is still a number


@kernel("int int int int Tokens Parameters F[,] F[] bool F[,] f8[]", T="f8")
def losses_and_slopes(begin, end, kind, n_labels, tokens, parameters, targets, instance, second, R, losses):
    """R[t, j] = the loss's derivative by score j of example t, or its second one; losses[j] = Σ_t loss.

    targets (examples, width) 0 or 1. Σ_t log(1 + e^−|s|) is taken as the log of a product.
    """
    width, dtype = parameters.table.shape[1], parameters.table.dtype
    scores, row = np.zeros((1, width), dtype), np.zeros((1, width), dtype)
    product, weighted = np.ones(width), instance.shape[0] > 0
    losses[:] = 0.0
    for t in range(begin, end):
        weight = instance[t] if weighted else 1.0
        score_tokens(t, 1, tokens, parameters, scores)
        if kind == LOGISTIC:
            for j in range(width):
                row[0, j] = -abs(scores[0, j])
            exp_row(row, 0, 0.0)
            logistic(n_labels, scores[0], row[0], targets[t], second, weight, R[t], losses)
            if weighted:
                for j in range(n_labels):
                    losses[j] += weight * np.log1p(row[0, j])
            else:
                for j in range(n_labels):
                    product[j] *= 1.0 + row[0, j]
                if (t - begin) % _PRODUCT == _PRODUCT - 1:
                    take_logs(n_labels, product, losses)
        elif kind == SQUARED_HINGE:
            squared_hinge(n_labels, scores[0], targets[t], second, weight, R[t], losses)
        else:
            squares(n_labels, scores[0], targets[t], second, weight, R[t], losses)
    take_logs(n_labels, product, losses)


@kernel
def take_logs(n_labels, product, losses):
    for j in range(n_labels):
        losses[j] += np.log(product[j])
        product[j] = 1.0


@kernel(fastmath=REORDER)
def logistic(n_labels, scores, shrunk, targets, second, weight, out, losses):
    """All but log(1 + e^−|s|); ``shrunk`` holds e^−|s|."""
    for j in range(n_labels):
        s, y, e = scores[j], targets[j], shrunk[j]
        p = (1.0 if s > 0 else e) / (1 + e)
        out[j] = weight * (p * (1 - p) if second else p - y)
        losses[j] += weight * ((s if s > 0 else 0.0) - y * s)


@kernel(fastmath=REORDER)
def squared_hinge(n_labels, scores, targets, second, weight, out, losses):
    for j in range(n_labels):
        sign = targets[j] * 2 - 1
        short = 1 - sign * scores[j]
        short = short if short > 0 else 0.0
        out[j] = weight * ((2 if short > 0 else 0) if second else -2 * sign * short)
        losses[j] += weight * short * short


@kernel(fastmath=REORDER)
def squares(n_labels, scores, targets, second, weight, out, losses):
    for j in range(n_labels):
        off = scores[j] - targets[j]
        out[j] = weight * (1 if second else off)
        losses[j] += weight * 0.5 * off * off
