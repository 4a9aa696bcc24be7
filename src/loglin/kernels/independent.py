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


@kernel
def losses_and_slopes(begin, end, n_labels, tokens, table, weights, kind, targets, instance, second, R, losses):
    """R[t, j] = the loss's derivative by score j of example t, or its second one; losses[t] = Σ_j loss.

    targets (examples, width) 0 or 1.
    """
    width = table.shape[1]
    scores, row = np.zeros((1, width), table.dtype), np.zeros((1, width), table.dtype)
    for t in range(begin, end):
        score_tokens(t, 1, tokens, table, weights, scores)
        if kind == LOGISTIC:
            for j in range(width):
                row[0, j] = -abs(scores[0, j])
            exp_row(row, 0, row[0, 0] * 0)
            loss = logistic(n_labels, scores[0], row[0], targets[t], second, R[t])
        elif kind == SQUARED_HINGE:
            loss = squared_hinge(n_labels, scores[0], targets[t], second, R[t])
        else:
            loss = squares(n_labels, scores[0], targets[t], second, R[t])
        if instance.shape[0]:
            for j in range(n_labels):
                R[t, j] *= instance[t]
            loss *= instance[t]
        losses[t] = loss


@kernel(fastmath=REORDER)
def logistic(n_labels, scores, shrunk, targets, second, out):
    """``shrunk`` holds e^−|s|; Σ log(1 + e^−|s|) is the log of a product."""
    loss = 0.0
    for first in range(0, n_labels, _PRODUCT):
        product = 1.0
        for j in range(first, min(first + _PRODUCT, n_labels)):
            product *= 1.0 + shrunk[j]
        loss += np.log(product)
    for j in range(n_labels):
        s, y, e = scores[j], targets[j], shrunk[j]
        p = (e * 0 + 1 if s > 0 else e) / (1 + e)
        out[j] = p * (1 - p) if second else p - y
        loss += (s if s > 0 else s * 0) - y * s
    return loss


@kernel(fastmath=REORDER)
def squared_hinge(n_labels, scores, targets, second, out):
    loss = 0.0
    for j in range(n_labels):
        sign = targets[j] * 2 - 1
        short = 1 - sign * scores[j]
        short = short if short > 0 else short * 0
        out[j] = (2 if short > 0 else 0) if second else -2 * sign * short
        loss += short * short
    return loss


@kernel(fastmath=REORDER)
def squares(n_labels, scores, targets, second, out):
    loss = 0.0
    for j in range(n_labels):
        off = scores[j] - targets[j]
        out[j] = 1 if second else off
        loss += 0.5 * off * off
    return loss
