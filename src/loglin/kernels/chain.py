"""Sums over the label sequences of a sentence, in scaled probabilities: the training pass.

    e  (n, W)    scores, then exp(score − shift), of every token and label; W = labels padded
    a  (n, W)    α, rescaled at every token by c (n,), 1 / the sum of its row
    b  (n, W)    e·β, rescaled, so that p(y_t = i, y_{t+1} = j) = c[t]·a[t, i]·M[i, j]·b[t+1, j]
    r  (n, W)    p(y_t = j), later minus what was observed
    S  (K, W)    exp(transition), padded with zeros: K = W, the same for every step, or n·W, one per token
    B  (n, L²)   where steps have features, their scores by label pair, then the derivatives of the loss by them

Scores are shifted by the gold label's score where there is one label, else by the best allowed one, so
that log Z − gold is a sum of small numbers and float32 is enough. Where a shifted score leaves the
range in which that is safe, the sentence is left to ``kernels.whole``, in the log domain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loglin.kernels.compile import REORDER, kernel
from loglin.kernels.rows import LANES, add_outer, exp_row, step_backward, step_forward, sum_rows, weigh_rows
from loglin.kernels.second import second_order_sums
from loglin.kernels.sentences import is_certain, weight_of
from loglin.kernels.steps import add_scores, spread_steps

u8 = np.uint64
LIMIT = 60.0  # a shifted score above this goes to the log domain
LEAST = -30.0  # a step's features that score less than this too, as exp_row holds them to −32
FLUSH = 2000  # tokens whose label bigrams are summed in the precision of the scores; longer sums would lose digits


class Scratch(NamedTuple):
    """Room for one sentence; n is the length of the longest."""

    e: np.ndarray  # (n, W)
    observed: np.ndarray  # (n, W) e of the labels that the annotation allows
    a: np.ndarray  # (n, W)
    b: np.ndarray  # (n, W)
    c: np.ndarray  # (n,)
    masks: np.ndarray  # (n, L) bool
    S: np.ndarray  # (n·W, W), or (0, W) if all steps are alike
    B: np.ndarray  # (n, L²) scores of steps, then derivatives, by label pair, or (0, L²)
    row: np.ndarray  # (L²,) padded, or empty


@kernel
def new_scratch(text, like):
    """Room for any sentence of the text, in the precision and width of ``like``."""
    longest, width = text.longest, like.shape[1]
    rows = np.zeros((4, longest, width), like.dtype)
    masks = np.zeros((longest, text.n_labels), np.bool_)
    n_steps, n_pairs = longest if text.steps.ptr.shape[0] else 0, text.n_labels**2
    S, B = np.zeros((n_steps * width, width), like.dtype), np.zeros((n_steps, n_pairs), like.dtype)
    row = np.zeros(-(-n_pairs // LANES) * LANES if n_steps else 0, like.dtype)
    return Scratch(rows[0], rows[1], rows[2], rows[3], np.zeros(longest, like.dtype), masks, S, B, row)


@kernel(fastmath=REORDER, allocates=False)
def score_tokens(first, n, tokens, parameters, e):
    """e[t] = Σ rows of the table + Σ single weights, for the tokens first … first + n − 1."""
    table, weights = parameters.table, parameters.weights
    row_ptr, row_ids, row_values, entry_ptr, entry_ids, entry_labels, entry_values = tokens
    for t in range(n):
        if row_values.shape[0]:
            weigh_rows(e, t, table, row_ids, row_values, row_ptr[first + t], row_ptr[first + t + 1])
        else:
            sum_rows(e, t, table, row_ids, row_ptr[first + t], row_ptr[first + t + 1])
        for q in range(u8(entry_ptr[first + t]), u8(entry_ptr[first + t + 1])):
            if entry_values.shape[0]:
                e[u8(t), u8(entry_labels[q])] += weights[u8(entry_ids[q])] * entry_values[q]
            else:
                e[u8(t), u8(entry_labels[q])] += weights[u8(entry_ids[q])]


@kernel(inline=True)
def exponentiate(first, n, text, e):
    """e = exp(e − shift), zero in the padding; returns whether all scores are in the safe range."""
    gold, allowed, n_labels = text.labels.gold, text.labels.allowed, text.n_labels
    safe = True
    for t in range(n):
        y = gold[first + t]
        if y >= 0:
            shift = e[t, y]
        else:
            shift = -np.inf
            for j in range(n_labels):
                if allowed[~y, j] and e[t, j] > shift:
                    shift = e[t, j]
        top = exp_row(e, t, shift)
        safe = safe and top < LIMIT and abs(shift) < np.inf
        for j in range(n_labels, e.shape[1]):
            e[t, j] = 0
    return safe


@kernel(allocates=False)
def forward(n, e, S, per_token, a, c):
    """α_t[j] = c_{t−1}·e_t[j]·Σ_i α_{t−1}[i]·S[i, j], 1/c_t = Σ_j α_t[j].

    Returns Σ −log c_t = log Z, infinite or NaN if it under- or overflowed.
    """
    width = e.shape[1]
    total, product = 0.0, 1.0
    scale = 1.0
    for t in range(n):
        if t > 0:
            z = step_forward(a, t, S, t * width if per_token else 0, e, scale)
        else:
            z = 0.0
            for j in range(width):
                a[t, j] = e[t, j]
                z += e[t, j]
        scale = 1 / z
        c[t] = scale
        product *= np.float64(z)
        if not 1e-200 < product < 1e200:
            total += np.log(product)
            product = 1.0
    return total + np.log(product)


@kernel(allocates=False)
def backward(n, n_labels, e, S, MT, per_token, a, c, b, r):
    """v_t[i] = c_t·Σ_j S[i, j]·b_{t+1}[j];  b_t = e_t·v_t;  r_t = α_t·v_t = p(y_t | x)."""
    width = e.shape[1]
    for t in range(n - 1, -1, -1):
        if t == n - 1:
            for j in range(width):
                b[t, j] = e[t, j] * c[t]
                r[t, j] = a[t, j] * c[t]
        elif per_token:
            row = (t + 1) * width
            for i in range(width):
                v = 0.0
                for j in range(n_labels):
                    v += S[row + i, j] * b[t + 1, j]
                v *= c[t]
                b[t, i] = e[t, i] * v
                r[t, i] = a[t, i] * v
        else:
            step_backward(b, t, MT, e, a, c[t], r)


@kernel(allocates=False)
def step_matrices(first, n, text, parameters, M, scratch):
    """Fill scratch.S: for every token, M times exp of what the features of the step into it score; set scratch.B = 0.

    Returns whether the scores are in the safe range, and the sum of those of gold labels.
    """
    S, B, row, steps, gold, L, width = (
        scratch.S, scratch.B, scratch.row, text.steps, text.labels.gold, text.n_labels, M.shape[1],
    )  # fmt: skip
    safe, right = True, 0.0
    for t in range(1, n):
        for i in range(width):
            for j in range(width):
                S[t * width + i, j] = M[i, j]
        begin, end = u8(steps.cell_ptr[first + t]), u8(steps.cell_ptr[first + t + 1])
        before, y = gold[first + t - 1], gold[first + t]
        certain = before >= 0 and y >= 0
        if certain:
            B[t, before * L + y] = 0
        for c in range(begin, end):
            B[t, u8(steps.cell_pairs[c])] = 0
        add_scores(first + t, steps, parameters.weights, B, t)
        if certain:
            one = B[t, before * L + y]
            safe = safe and one > LEAST
            right += one
        size = u8(0)
        for c in range(begin, end):
            row[size] = B[t, u8(steps.cell_pairs[c])]
            safe = safe and (certain or row[size] > LEAST)
            size += u8(1)
        while size % u8(LANES):
            row[size] = 0
            size += u8(1)
        safe = safe and (begin == end or exp_row(row[: np.int64(size)].reshape(1, np.int64(size)), 0, 0.0) < LIMIT)
        for c in range(begin, end):
            i, j = divmod(np.int64(steps.cell_pairs[c]), L)
            S[t * width + i, j] *= row[c - begin]
            B[t, u8(steps.cell_pairs[c])] = 0
    return safe, right


@kernel(inline=True)
def label_mask(first, n, text, observed, mask):
    """mask[t, j]: label j is in play at t; with ``observed``, only labels that the annotation allows."""
    gold, allowed, candidates, n_labels = text.labels.gold, text.labels.allowed, text.labels.candidates, text.n_labels
    for t in range(n):
        y = gold[first + t]
        for j in range(n_labels):
            ok = True
            if observed:
                ok = j == y if y >= 0 else allowed[~y, j]
            if candidates.shape[0]:
                ok = ok and allowed[candidates[first + t], j]
            mask[t, j] = ok


@kernel(allocates=False)
def masked(n, n_labels, mask, e, out):
    """out = e where the mask allows, else 0."""
    for t in range(n):
        for j in range(n_labels):
            out[t, j] = e[t, j] if mask[t, j] else 0.0


@kernel(inline=True)
def gold_score(first, n, text, parameters):
    """Σ label bigrams along the gold labels."""
    gold, T = text.labels.gold, parameters.T
    total = 0.0
    for t in range(1, n):
        total += T[gold[first + t - 1], gold[first + t]]
    return total


@kernel(inline=True)
def add_step_residuals(first, n, text, scratch, S, weight, out):
    """Per-token transitions: B[t, pair] += weight·p(pair at t), by cell, and out.pairs the sums of all pairs."""
    a, b, c, B, X, L, steps = scratch.a, scratch.b, scratch.c, scratch.B, out.pairs, text.n_labels, text.steps
    for t in range(1, n):
        row, scale = t * S.shape[1], weight * c[t - 1]
        for i in range(L):
            v = a[t - 1, i] * scale
            for j in range(L):
                X[i, j] += v * S[row + i, j] * b[t, j]
        for k in range(u8(steps.cell_ptr[first + t]), u8(steps.cell_ptr[first + t + 1])):
            i, j = divmod(np.int64(steps.cell_pairs[k]), L)
            B[t, u8(steps.cell_pairs[k])] += scale * a[t - 1, i] * S[row + i, j] * b[t, j]


@kernel(inline=True)
def add_costs(first, n, text, e):
    """e[t, j] += what label j costs where another is right: softmax-margin (Gimpel & Smith 2010)."""
    gold, costs, n_labels = text.labels.gold, text.labels.costs, text.n_labels
    for t in range(n if costs.shape[0] else 0):
        y = gold[first + t]
        if y >= 0:
            for j in range(n_labels):
                e[t, j] += costs[y, j]


@kernel(inline=True)
def scaled_sums(first, n, text, S, MT, second, weight, e, scratch, r, out):
    """Forward and backward over e: r = p(y_t), transitions weighted by ``weight``; returns log Z.

    out.X collects a·b products that still lack the factor S, out.pairs true pair probabilities. If the sums leave
    the range of numbers, nothing is added and the result is not finite. ``second`` is None in a chain of
    first order, which then is compiled without the other.
    """
    per_token = text.steps.ptr.shape[0] > 0
    a, b, c = scratch.a, scratch.b, scratch.c
    if second is not None:
        return second_order_sums(first, n, text, S, per_token, weight, e, second, scratch, r, out)
    total = forward(n, e, S, per_token, a, c)
    if abs(total) < np.inf:
        backward(n, text.n_labels, e, S, MT, per_token, a, c, b, r)
        if per_token:
            add_step_residuals(first, n, text, scratch, S, weight, out)
        else:
            if weight != 1:
                for t in range(n):
                    c[t] *= weight
            add_outer(out.X, a, b, c, n - 1)
    return total


@kernel(inline=True)
def subtract_gold(first, n, text, weight, r, B):
    """r, and B where steps have features, minus what was observed, where every label is known."""
    gold, n_labels = text.labels.gold, text.n_labels
    for t in range(n):
        r[t, gold[first + t]] -= 1
        if t > 0 and B.shape[0]:
            B[t, gold[first + t - 1] * n_labels + gold[first + t]] -= weight


@kernel(inline=True)
def sentence(s, text, parameters, exponentials, second, scratch, r, out):
    """One sentence: r = weight·(p − observed) for its tokens, expected transitions; returns −weight·log p(observed).

    Derivatives by features of steps are left in scratch.B.
    Unless every label is known there are two sums: over the sequences that were observed, then over all.
    Returns inf, and has added nothing, if the sentence is not safe in scaled probabilities.
    """
    first, n = text.offsets[s], text.offsets[s + 1] - text.offsets[s]
    n_labels, weight = text.n_labels, weight_of(s, text)
    e, observed, masks, MT = scratch.e, scratch.observed, scratch.masks, exponentials.MT
    score_tokens(first, n, text.tokens, parameters, e)
    add_costs(first, n, text, e)
    if not exponentiate(first, n, text, e):
        return np.inf
    S, right = exponentials.M, 0.0
    if text.steps.ptr.shape[0]:
        S = scratch.S
        safe, right = step_matrices(first, n, text, parameters, exponentials.M, scratch)
        if not safe:
            return np.inf
    certain = is_certain(first, n, text.labels)
    loss = 0.0
    if not certain:
        label_mask(first, n, text, True, masks)
        masked(n, n_labels, masks, e, observed)
        loss = -scaled_sums(first, n, text, S, MT, second, -weight, observed, scratch, r, out)
        if not abs(loss) < np.inf:
            return np.inf
        label_mask(first, n, text, False, masks)
        masked(n, n_labels, masks, e, e)
        for t in range(n):  # the first posterior is kept where the masked scores were
            for j in range(n_labels):
                observed[t, j] = r[t, j]
    total = scaled_sums(first, n, text, S, MT, second, weight, e, scratch, r, out)
    if not abs(total) < np.inf:
        return np.inf
    loss += total
    if certain:
        loss -= gold_score(first, n, text, parameters) + right
        if second is not None:
            gold = text.labels.gold
            for t in range(2, n):
                loss -= second.log[gold[first + t - 2], gold[first + t - 1], gold[first + t]]
        subtract_gold(first, n, text, weight, r, scratch.B)
    else:
        for t in range(n):
            for j in range(n_labels):
                r[t, j] -= observed[t, j]
    if weight != 1:
        for t in range(n):
            for j in range(n_labels):
                r[t, j] *= weight
    return loss * weight


@kernel(allocates=False)
def flush_pairs(n_labels, M, out):
    """out.pairs += out.X·M in double precision, and out.X = 0."""
    for i in range(n_labels):
        for j in range(n_labels):
            out.pairs[i, j] += np.float64(out.X[i, j]) * M[i, j]
            out.X[i, j] = 0


@kernel("int int Sentences Parameters Exponentials Trigrams|none Residuals", T="f8")
def posteriors(begin, end, text, parameters, exponentials, second, out):
    """Fill the residuals, expected transitions and losses of the sentences begin … end − 1.

    Sentences that need the log domain are marked in out.unsafe and left out.
    """
    fill(begin, end, text, parameters, exponentials, second, new_scratch(text, parameters.table), out)


@kernel(allocates=False)
def fill(begin, end, text, parameters, exponentials, second, scratch, out):
    """``posteriors`` in the room that was made for it."""
    met = 0
    for s in range(begin, end):
        first, last = text.offsets[s], text.offsets[s + 1]
        met += last - first
        if met > FLUSH:
            flush_pairs(text.n_labels, exponentials.M, out)
            met = 0
        out.unsafe[s] = False
        out.losses[s] = 0.0
        if first < last:
            one = sentence(s, text, parameters, exponentials, second, scratch, out.tokens[first:last], out)
            out.unsafe[s] = not abs(one) < np.inf
            if not out.unsafe[s]:
                out.losses[s] = one
                if text.steps.ptr.shape[0]:
                    spread_steps(first, last - first, text.steps, scratch.B, out.curved, out.steps)
