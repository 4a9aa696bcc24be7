"""Functions of a sentence's sums beyond likelihood, in scaled probabilities: one pass over the text where all labels
are known and the chain is of first order.

Arrays of a sentence are those of kernels/chain.py. Sentences whose numbers leave the safe range are marked and left to
kernels/whole.py, in the log domain.
"""

from __future__ import annotations

import numpy as np

from loglin.kernels.chain import (
    Scratch,
    add_step_residuals,
    backward,
    exponentiate,
    forward,
    gold_score,
    new_scratch,
    score_tokens,
    step_matrices,
    subtract_gold,
)
from loglin.kernels.compile import kernel
from loglin.kernels.rows import add_outer, step_backward, step_forward
from loglin.kernels.sentences import weight_of
from loglin.kernels.steps import spread_steps

LEAST = 1e-20  # a gold label less probable than this is left to the log domain


@kernel("int int Sentences Parameters Exponentials bool float Residuals", T="f8")
def functions_of_probability(begin, end, text, parameters, exponentials, rises, steepest, out):
    """Σ φ(l), l = −log p(gold): φ(l) = −e^−l, or e^l where it ``rises``, a straight line above l = steepest.

    Losses are l, without the sentence's weight. The derivative by a score is φ′(l) times that of l, so that it is known
    as soon as forward has run.
    """
    scratch = new_scratch(text, parameters.table)
    per_token, gold = text.steps.ptr.shape[0] > 0, text.labels.gold
    S = scratch.S if per_token else exponentials.M
    a, b, c, e = scratch.a, scratch.b, scratch.c, scratch.e
    for s in range(begin, end):
        first, n = text.offsets[s], text.offsets[s + 1] - text.offsets[s]
        out.unsafe[s] = False
        out.losses[s] = 0.0
        if n == 0:
            continue
        r = out.tokens[first : first + n]
        score_tokens(first, n, text.tokens, parameters, e)
        if not exponentiate(first, n, text, e):
            out.unsafe[s] = True
            continue
        right = 0.0
        if per_token:
            safe, right = step_matrices(first, n, text, parameters, exponentials.M, scratch)
            if not safe:
                out.unsafe[s] = True
                continue
        total = forward(n, e, S, per_token, a, c)
        if not abs(total) < np.inf:
            out.unsafe[s] = True
            continue
        loss = total - gold_score(first, n, text, parameters) - right
        out.losses[s] = loss
        weight = weight_of(s, text) * np.exp(min(loss, steepest) if rises else -loss)
        backward(n, text.n_labels, e, S, exponentials.MT, per_token, a, c, b, r)
        if per_token:
            add_step_residuals(first, n, text, scratch, S, weight, out)
        else:
            for t in range(n):
                c[t] *= weight
            add_outer(out.X, a, b, c, n - 1)
        subtract_gold(first, n, text, weight, r, scratch.B)
        if per_token:
            spread_steps(first, n, text.steps, scratch.B, out.curved, out.steps)
        for t in range(n):
            for j in range(text.n_labels):
                r[t, j] *= weight
            if t > 0:
                out.pairs[gold[first + t - 1], gold[first + t]] -= weight


# −Σ_t log p(y_t): with g_t(j) = 1{j = gold}/p(y_t = gold) − 1, whose mean is 0, and G = Σ_t g_t(y_t), the derivative
# by a score is −E[G·1{that label, or step}]. Sums of G over prefixes and suffixes run along with α and β:
#     A_t[j] = c_{t−1}·e_t[j]·Σ_i A_{t−1}[i]·S[i, j] + α_t[j]·g_t(j)
#     B_t[i] = e_t[i]·c_t·Σ_j S[i, j]·B_{t+1}[j] + b_t[i]·g_t(i)
@kernel("int int Sentences Parameters Exponentials Residuals", T="f8")
def label_likelihoods(begin, end, text, parameters, exponentials, out):
    """−Σ_t log p(y_t = gold_t) of the sentences begin … end − 1."""
    scratch = new_scratch(text, parameters.table)
    A, B, R = np.zeros_like(scratch.a), np.zeros_like(scratch.b), np.zeros_like(scratch.b)
    per_token, gold = text.steps.ptr.shape[0] > 0, text.labels.gold
    S = scratch.S if per_token else exponentials.M
    for s in range(begin, end):
        first, n = text.offsets[s], text.offsets[s + 1] - text.offsets[s]
        out.unsafe[s] = False
        out.losses[s] = 0.0
        if n == 0:
            continue
        r, y = out.tokens[first : first + n], gold[first : first + n]
        score_tokens(first, n, text.tokens, parameters, scratch.e)
        if not exponentiate(first, n, text, scratch.e):
            out.unsafe[s] = True
            continue
        if per_token and not step_matrices(first, n, text, parameters, exponentials.M, scratch)[0]:
            out.unsafe[s] = True
            continue
        loss = _label_sums(y, text.n_labels, S, exponentials.MT, per_token, scratch, A, B, R, r)
        if not abs(loss) < np.inf:
            out.unsafe[s] = True
            continue
        weight = weight_of(s, text)
        out.losses[s] = weight * loss
        a, b, c = scratch.a, scratch.b, scratch.c
        if per_token:
            for alpha, beta in ((A, b), (a, B)):
                room = Scratch(a, a, alpha, beta, c, scratch.masks, S, scratch.B, scratch.row)
                add_step_residuals(first, n, text, room, S, -weight, out)
            spread_steps(first, n, text.steps, scratch.B, out.curved, out.steps)
        else:
            for t in range(n):
                c[t] *= -weight
            add_outer(out.X, A, b, c, n - 1)
            add_outer(out.X, a, B, c, n - 1)
        for t in range(n):
            for j in range(text.n_labels):
                r[t, j] = -weight * R[t, j]


@kernel
def _label_sums(y, n_labels, S, MT, per_token, scratch, A, B, R, r):
    """Fill A, B and R = E[G·1{y_t = j}]; r = p(y_t). Returns the loss, or inf where the numbers are not safe."""
    e, a, b, c = scratch.e, scratch.a, scratch.b, scratch.c
    n, width, loss = y.shape[0], e.shape[1], 0.0
    if not abs(forward(n, e, S, per_token, a, c)) < np.inf:
        return np.inf
    backward(n, n_labels, e, S, MT, per_token, a, c, b, r)
    for t in range(n):
        p = np.float64(r[t, y[t]])
        if not p > LEAST:
            return np.inf
        loss -= np.log(p)
        if t > 0:
            step_forward(A, t, S, t * width if per_token else 0, e, c[t - 1])
        else:
            A[t] = 0
        for j in range(width):
            A[t, j] -= a[t, j]
        A[t, y[t]] += a[t, y[t]] / p
    for t in range(n - 1, -1, -1):
        if t == n - 1:
            B[t] = 0
            R[t] = 0
        elif per_token:
            row = (t + 1) * width
            for i in range(width):
                v = 0.0
                for j in range(n_labels):
                    v += S[row + i, j] * B[t + 1, j]
                v *= c[t]
                B[t, i] = e[t, i] * v
                R[t, i] = a[t, i] * v
        else:
            step_backward(B, t, MT, e, a, c[t], R)
        for j in range(n_labels):
            B[t, j] -= b[t, j]
            R[t, j] += A[t, j] * b[t, j] / e[t, j] if e[t, j] > 0 else 0.0
        B[t, y[t]] += b[t, y[t]] / r[t, y[t]]
    return loss
