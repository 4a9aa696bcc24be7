"""Dual coordinate ascent, one sentence after the other, each with the step that raises the dual most.

    w = −(1/λ)·Σ_s m_s,   m_s = E_{α_s}[f] − f(y_s)        α_s: a distribution over the sequences of sentence s
    D(α) = Σ_s H(α_s) − ½·λ·‖w‖²  ≤  the optimum

A visit moves α_s towards the model's p_s: m += γ·δ, w −= γ·δ/λ with δ = (p_s − y_s) − m_s. Along it the dual gains
about γ·gap − ½γ²·(‖δ‖²/λ + gap), so γ = gap / (‖δ‖²/λ + gap): no step size has to be guessed, and weights cannot
run away, whatever the lengths of sentences and the values of attributes. ‖δ‖² needs the sum over all places of a
feature in the sentence: δ is summed by feature before the weights move.

The gap of a sentence, KL(α_s ‖ p_s), is taken from its tokens' marginals. Its sum over sentences is the duality gap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loglin.kernels.chain import new_scratch, sentence
from loglin.kernels.compile import REORDER, kernel, record
from loglin.kernels.rows import add_row, keep_row, put_row
from loglin.kernels.sentences import Residuals, is_certain, weight_of
from loglin.kernels.stochastic import exp_transitions

u8 = np.uint64
LONGEST = 0.9  # share of the way that a visit goes at most
FRESH = 2  # exp of the label bigrams' weights is renewed when this times the tokens met since is at least L
NOTHING = 1e-6  # a gap too small to move for
FARTHEST = 1 << 30  # places counted before those of features are forgotten, as they are 32 bits wide
TRANSITION_STEP = 0.1  # of label bigrams for which there is no room in every sentence


@record("F[,] F[,] F[] f4[] f8[]")
class Dual(NamedTuple):
    """What the weights are made of, and how far each sentence is from the model."""

    tokens: np.ndarray  # (T or more, W) residuals of the tokens
    pairs: np.ndarray  # (sentences, K) of the first K label bigrams; the others follow their gradient
    steps: np.ndarray  # (entries of Steps,)
    gaps: np.ndarray  # (sentences,) float32, as of the last visit
    squares: np.ndarray  # (label bigrams,) squared gradients met so far


class Sums(NamedTuple):
    """δ of one sentence by feature; ``row_place`` and ``weight_place`` say where each one's sum stands."""

    row_place: np.ndarray  # (rows,) int32
    rows: np.ndarray  # numbers of the rows
    row_sums: np.ndarray  # (places, W)
    weight_place: np.ndarray  # (features,) int32
    weights: np.ndarray
    weight_sums: np.ndarray


@kernel
def new_sums(text, table, weights):
    """Room for any sentence of the text."""
    rows, singles = 1, 1
    steps = text.steps.ptr.shape[0] > 0
    for s in range(text.offsets.shape[0] - 1):
        first, last = text.offsets[s], text.offsets[s + 1]
        rows = max(rows, text.tokens.row_ptr[last] - text.tokens.row_ptr[first])
        single = text.tokens.entry_ptr[last] - text.tokens.entry_ptr[first]
        if steps:
            single += text.steps.ptr[last] - text.steps.ptr[first]
        singles = max(singles, single)
    rows, singles = min(rows, table.shape[0] + 1), min(singles, weights.shape[0] + 1)
    return Sums(
        np.full(table.shape[0], -1, np.int32),
        np.zeros(rows, np.int64),
        np.zeros((rows, table.shape[1]), table.dtype),
        np.full(weights.shape[0], -1, np.int32),
        np.zeros(singles, np.int64),
        np.zeros(singles, table.dtype),
    )


@kernel(fastmath=REORDER)
def sentence_gap(first, n, text, weight, m, r):
    """Replace r by δ = r − m, and return the gap: Σ_t KL(μ_t ‖ p_t), nearly.

    The wrong labels' part of KL is taken as Σ_j 3·δ²/(2·(2p + μ)), the same to third order and nowhere above it
    (Bernstein's inequality): no logarithms. Where a label is not certain, a bound of KL is taken.
    """
    gold, width, tiny, total = text.labels.gold, u8(r.shape[1]), r.dtype.type(1e-12), 0.0
    for t in range(n):
        divergence, distance = r.dtype.type(0), r.dtype.type(0)
        token, place = u8(first + t), u8(t)
        for j in range(width):
            d = r[place, j] - m[token, j]
            divergence += d * d / (abs(2 * r[place, j] + m[token, j]) + tiny)
            distance += abs(d)
            r[place, j] = d
        y = gold[first + t]
        if y < 0:
            total += 0.5 * distance * distance / weight  # Pinsker's inequality
            continue
        d, mu = r[t, y], max(m[first + t, y] + weight, 1e-10)
        p = max(mu + d, 1e-10)
        total += 1.5 * (divergence - d * d / (abs(3 * m[first + t, y] + 2 * d) + tiny)) + mu * np.log(mu / p) + d
    return total


@kernel
def sum_tokens(first, n, tokens, sums, r, row_base, weight_base):
    """Sum δ = r by row and by single weight; returns how many of each there are."""
    row_ptr, row_ids, row_values, entry_ptr, entry_ids, entry_labels, entry_values = tokens
    n_rows, n_weights, one = 0, 0, r.dtype.type(1)
    for t in range(n):
        for q in range(row_ptr[first + t], row_ptr[first + t + 1]):
            k = u8(row_ids[q])
            place = sums.row_place[k] - row_base
            value = row_values[q] if row_values.shape[0] else one
            if place < 0:
                sums.row_place[k] = row_base + n_rows
                sums.rows[n_rows] = k
                put_row(sums.row_sums, n_rows, value, r, t)
                n_rows += 1
            else:
                add_row(sums.row_sums, place, value, r, t)
        for q in range(u8(entry_ptr[first + t]), u8(entry_ptr[first + t + 1])):
            d = r[u8(t), u8(entry_labels[q])]
            if entry_values.shape[0]:
                d *= entry_values[q]
            n_weights = add_single(sums, entry_ids[q], d, weight_base, n_weights)
    return n_rows, n_weights


@kernel(inline=True)
def add_single(sums, feature, d, base, n):
    """Add d to the sum of a single weight; returns how many there are."""
    place = sums.weight_place[feature] - base
    if place < 0:
        sums.weight_place[feature] = base + n
        sums.weights[n] = feature
        sums.weight_sums[n] = d
        return n + 1
    sums.weight_sums[place] += d
    return n


@kernel("i8[] Sentences Known Parameters Exponentials Dual float", T="F")
def ascend(order, text, known, parameters, exponentials, dual, strength):
    """Visit each sentence of ``order``; returns the losses met, and how many sentences were not safe to sum."""
    table, weights, L = parameters.table, parameters.weights, text.n_labels
    width, ptr = table.shape[1], text.steps.ptr
    scratch, sums = new_scratch(text, table), new_sums(text, table, weights)
    r, X = np.zeros((text.longest, width), table.dtype), np.zeros((width, width), table.dtype)
    XD = np.zeros((width, width))  # label bigrams with their factors, where steps have features of their own
    n_pairs = dual.squares.shape[0]
    places, delta = pair_places(known.pairs, n_pairs, width), np.zeros(n_pairs, table.dtype)
    steps = np.zeros(text.steps.ids.shape[0], table.dtype)
    out = Residuals(r, steps, np.zeros(0), np.zeros(0, np.bool_), X, XD, np.zeros((0, L, L)))
    loss, unsafe, row_base, weight_base, met = 0.0, 0, 0, 0, 0
    for i in range(order.shape[0]):
        s = order[i]
        first, n, weight = text.offsets[s], text.offsets[s + 1] - text.offsets[s], weight_of(s, text)
        if n == 0 or weight <= 0:
            dual.gaps[s] = 0
            continue
        met += n
        if FRESH * met >= L or i == 0:  # else it would cost more than the sentence
            exp_transitions(parameters.T, L, exponentials.M, exponentials.MT)
            met = 0
        if n > 1:
            X[:] = 0
            if ptr.shape[0]:
                XD[:] = 0
        one = sentence(s, text, parameters, exponentials, None, scratch, r, out)
        if not abs(one) < np.inf:  # passed over: the sums need the log domain
            unsafe += 1
            continue
        loss += one
        gap = sentence_gap(first, n, text, weight, dual.tokens, r)
        dual.gaps[s] = gap
        if gap < NOTHING * weight:
            clear_steps(first, n, text, steps)
            continue
        if max(row_base, weight_base) > FARTHEST:
            sums.row_place[:], sums.weight_place[:] = -1, -1
            row_base, weight_base = 0, 0
        n_rows, n_weights = sum_tokens(first, n, text.tokens, sums, r, row_base, weight_base)
        for q in range(ptr[first] if ptr.shape[0] else 0, ptr[first + n] if ptr.shape[0] else 0):
            steps[q] -= dual.steps[q]
            n_weights = add_single(sums, text.steps.ids[q], steps[q], weight_base, n_weights)
        square = 0.0
        for place in range(n_rows):
            square += keep_row(sums.row_sums, place, known.rows, sums.rows[place])
        for place in range(n_weights):
            square += sums.weight_sums[place] ** 2
        if n > 1:
            square += pair_differences(s, text, known.pairs, places, exponentials.M, dual, weight, out, delta)
        share = table.dtype.type(min(LONGEST, gap / (square / strength + gap)))
        rate = table.dtype.type(-share / strength)
        for place in range(n_rows):
            add_row(table, sums.rows[place], rate, sums.row_sums, place)
        for place in range(n_weights):
            weights[sums.weights[place]] += rate * sums.weight_sums[place]
        for t in range(n):
            add_row(dual.tokens, first + t, share, r, t)
        for q in range(ptr[first] if ptr.shape[0] else 0, ptr[first + n] if ptr.shape[0] else 0):
            dual.steps[q] += share * steps[q]
            exponentials.weights[text.steps.ids[q]] = np.exp(weights[text.steps.ids[q]])
        if n > 1:
            move_pairs(s, places, parameters.T, dual, rate, share, delta)
        clear_steps(first, n, text, steps)
        row_base, weight_base = row_base + n_rows, weight_base + n_weights
    return loss, unsafe


@kernel
def clear_steps(first, n, text, steps):
    ptr = text.steps.ptr
    for q in range(ptr[first] if ptr.shape[0] else 0, ptr[first + n] if ptr.shape[0] else 0):
        steps[q] = 0


@kernel
def pair_places(pair_number, n_pairs, width):
    """Where every label bigram stands in a flat (W, W) array: (label bigrams,)."""
    places = np.zeros(n_pairs, np.int32)
    for a in range(pair_number.shape[0]):
        for b in range(pair_number.shape[1]):
            if pair_number[a, b] >= 0:
                places[pair_number[a, b]] = a * width + b
    return places


@kernel(fastmath=REORDER)
def pair_differences(s, text, pair_number, places, M, dual, weight, out, delta):
    """delta = X·M + pairs minus what was observed, and minus what is in memory; returns Σ delta² of those in memory."""
    first, n, gold = text.offsets[s], text.offsets[s + 1] - text.offsets[s], text.labels.gold
    X, factors, known, square = out.X.reshape(-1), M.reshape(-1), u8(delta.shape[0]), delta.dtype.type(0)
    for k in range(known):
        delta[k] = X[u8(places[k])] * factors[u8(places[k])]
    if text.steps.ptr.shape[0]:
        pairs = out.pairs.reshape(-1)
        for k in range(known):
            delta[k] += pairs[u8(places[k])]
    if is_certain(first, n, text.labels):
        for t in range(1, n):
            k = pair_number[gold[first + t - 1], gold[first + t]]
            if k >= 0:
                delta[k] -= weight
    for k in range(u8(dual.pairs.shape[1])):
        delta[k] -= dual.pairs[u8(s), k]
        square += delta[k] * delta[k]
    return square


@kernel
def move_pairs(s, places, T, dual, rate, share, delta):
    """Move the weights of label bigrams: with the memory, or where there is none along their gradient (AdaGrad)."""
    weights, kept = T.reshape(-1), u8(dual.pairs.shape[1])
    for k in range(kept):
        weights[u8(places[k])] += rate * delta[k]
    for k in range(kept):
        dual.pairs[u8(s), k] += share * delta[k]
    for k in range(kept, u8(delta.shape[0])):
        dual.squares[k] += delta[k] ** 2
        weights[u8(places[k])] -= TRANSITION_STEP * delta[k] / np.sqrt(dual.squares[k] + 1.0)
