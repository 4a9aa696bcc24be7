"""Dual coordinate ascent, one sentence after the other, each with the step that raises the dual most.

    w = −(1/λ)·Σ_s m_s,   m_s = E_{α_s}[f] − f(y_s)        α_s: a distribution over the sequences of sentence s
    D(α) = Σ_s H(α_s) − ½·λ·‖w‖²  ≤  the optimum

An L1 penalty cuts small weights off: with v = −(1/λ)·Σ_s m_s, w is v less l1/λ where |v| is more, else 0, and in D
‖w‖² stays; all below holds for v.

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
from loglin.kernels.rows import (
    LANES,
    add_row,
    count_rows,
    exp_row,
    fetch_rows,
    put_row,
    spread_cut_row,
    square_counted,
    square_rows,
    subtract_row,
)
from loglin.kernels.second import exp_trigrams
from loglin.kernels.sentences import Residuals, is_certain, weight_of
from loglin.kernels.steps import climb_steps, cut, square_steps
from loglin.kernels.stochastic import exp_transitions, move_tokens

u8 = np.uint64
LONGEST = 0.9  # share of the way that a visit goes at most
FRESH = (
    2  # exp of the weights of label bigrams and trigrams is renewed when this times the tokens met since is at least L
)
NOTHING = 1e-6  # a gap too small to move for
FARTHEST = 1 << 30  # places counted before those of features are forgotten, as they are 32 bits wide
TRANSITION_STEP = 0.1  # of label bigrams and trigrams for which there is no room in every sentence


@record("F[,] F[,] F[] f4[] F[]")
class Dual(NamedTuple):
    """What the weights are made of, and how far each sentence is from the model."""

    tokens: np.ndarray  # (T or more, W) residuals of the tokens
    grams: np.ndarray  # (sentences, K) of the first K label bigrams and trigrams; the others follow their gradient
    steps: np.ndarray  # (cells of Steps,) of label pairs where steps have features
    gaps: np.ndarray  # (sentences,) float32, as of the last visit
    squares: np.ndarray  # (label bigrams and trigrams,) squared gradients met so far


@record("F[,] F[] F[,] f8[,,] float")
class Raw(NamedTuple):
    """With an L1 penalty the weights before they are cut; all empty without one."""

    table: np.ndarray  # as parameters
    weights: np.ndarray
    T: np.ndarray
    cube: np.ndarray  # as the label trigrams
    threshold: float  # l1/l2


@record("i8[] i8[] u1[,]")
class Single(NamedTuple):
    """Where in the list of every token those features end that occur once in its sentence; the others are behind them.

    δ of a feature that occurs more often is summed before it is squared.
    """

    rows: np.ndarray  # (T,) int64
    entries: np.ndarray  # (T,) int64
    counts: np.ndarray  # (T, W) uint8 how many of the former each label has; (0, W) if they are to be met one by one


class Sums(NamedTuple):
    """δ of the repeated features of one sentence; ``row_place`` and ``weight_place`` say where each sum stands."""

    row_place: np.ndarray  # (rows,) int32
    rows: np.ndarray  # uint32: numbers of the rows
    row_sums: np.ndarray  # (places, W)
    weight_place: np.ndarray  # (features,) int32
    weight_sums: np.ndarray


@kernel("i8[] i8[] u4[] u2[] F[] i8[] i8[]")
def put_single_first(offsets, ptr, ids, labels, values, first, ends):
    """Reorder the list of every token: first what occurs once in the sentence, up to ``ends``, then what is repeated.

    ids, labels and values are reordered alike; the latter two may be empty. ``first`` is −1 for every id.
    """
    longest = 1
    for t in range(ptr.shape[0] - 1):
        longest = max(longest, ptr[t + 1] - ptr[t])
    new_ids, new_labels, new_values = np.zeros(longest, ids.dtype), np.zeros(longest, labels.dtype), values[:0]
    if values.shape[0]:
        new_values = np.zeros(longest, values.dtype)
    for s in range(offsets.shape[0] - 1):
        begin, end = ptr[offsets[s]], ptr[offsets[s + 1]]
        repeated = np.zeros(end - begin, np.bool_)
        for q in range(begin, end):
            before = first[ids[q]]
            if before >= begin:
                repeated[q - begin] = repeated[before - begin] = True
            else:
                first[ids[q]] = q
        for t in range(offsets[s], offsets[s + 1]):
            place = 0
            for part in range(2):
                for q in range(ptr[t], ptr[t + 1]):
                    if repeated[q - begin] == part:
                        new_ids[place] = ids[q]
                        if labels.shape[0]:
                            new_labels[place] = labels[q]
                        if values.shape[0]:
                            new_values[place] = values[q]
                        place += 1
                if part == 0:
                    ends[t] = ptr[t] + place
            for k in range(place):
                ids[ptr[t] + k] = new_ids[k]
                if labels.shape[0]:
                    labels[ptr[t] + k] = new_labels[k]
                if values.shape[0]:
                    values[ptr[t] + k] = new_values[k]


@kernel("Tokens Single u1[,]")
def count_single(tokens, single, allowed):
    """Fill single.counts; none above 255, and no feature has a value."""
    counts, entry_ptr, entry_labels = single.counts, tokens.entry_ptr, tokens.entry_labels
    for t in range(counts.shape[0]):
        count_rows(counts, t, allowed, tokens.row_ids, tokens.row_ptr[t], single.rows[t])
        for q in range(entry_ptr[t], single.entries[t]):
            counts[t, entry_labels[q]] += np.uint8(1)


@kernel
def new_sums(text, single, table, weights):
    """Room for any sentence of the text."""
    rows, singles = 1, 1
    row_ptr, entry_ptr = text.tokens.row_ptr, text.tokens.entry_ptr
    for s in range(text.offsets.shape[0] - 1):
        row, entry = 0, 0
        for t in range(text.offsets[s], text.offsets[s + 1]):
            row += row_ptr[t + 1] - single.rows[t]
            entry += entry_ptr[t + 1] - single.entries[t]
        rows, singles = max(rows, row), max(singles, entry)
    return Sums(
        np.full(table.shape[0], -1, np.int32),
        np.zeros(rows, np.uint32),
        np.zeros((rows, table.shape[1]), table.dtype),
        np.full(weights.shape[0], -1, np.int32),
        np.zeros(singles, table.dtype),
    )


@kernel(fastmath=REORDER, allocates=False)
def sentence_gap(first, n, text, weight, m, r):
    """Replace r by δ = r − m, and return the gap: Σ_t KL(μ_t ‖ p_t), nearly.

    The wrong labels' part of KL is taken as Σ_j 3·δ²/(2·(2p + μ)), the same to third order and nowhere above it
    (Bernstein's inequality): no logarithms. Where a label is not certain, a bound of KL is taken.
    """
    gold, tiny, total = text.labels.gold, r.dtype.type(1e-12), 0.0
    for t in range(n):
        divergence = subtract_row(r, t, m, first + t)
        y = gold[first + t]
        if y < 0:
            distance = r.dtype.type(0)
            for j in range(r.shape[1]):
                distance += abs(r[t, j])
            total += 0.5 * distance * distance / weight  # Pinsker's inequality
            continue
        d, mu = r[t, y], max(m[first + t, y] + weight, 1e-10)
        p = max(mu + d, 1e-10)
        total += 1.5 * (divergence - d * d / (abs(3 * m[first + t, y] + 2 * d) + tiny)) + mu * np.log(mu / p) + d
    return total


@kernel(fastmath=REORDER, allocates=False)
def square_tokens(first, n, tokens, single, allowed, sums, r, row_base, weight_base):
    """‖δ‖² of the weights of tokens; returns it, and how many repeated rows and single weights were summed."""
    row_ptr, row_ids, row_values, entry_ptr, entry_ids, entry_labels, entry_values = tokens
    row_place, rows, row_sums, weight_place, weight_sums = sums
    n_rows, n_weights, one, square = 0, 0, r.dtype.type(1), r.dtype.type(0)
    for t in range(n):
        middle = single.rows[first + t]
        if single.counts.shape[0]:
            square += square_counted(r, t, single.counts, first + t)
        elif row_values.shape[0]:
            for q in range(row_ptr[first + t], middle):
                square += row_values[q] ** 2 * square_rows(r, t, allowed, row_ids, q, q + 1)
        else:
            square += square_rows(r, t, allowed, row_ids, row_ptr[first + t], middle)
        for q in range(u8(middle), u8(row_ptr[first + t + 1])):
            k, value = u8(row_ids[q]), row_values[q] if row_values.shape[0] else one
            place = np.int64(row_place[k]) - row_base
            if place < 0:
                row_place[k] = row_base + n_rows
                rows[n_rows] = k
                put_row(row_sums, n_rows, value, r, t)
                n_rows += 1
            else:
                add_row(row_sums, place, value, r, t)
        middle = single.entries[first + t]
        for q in range(u8(middle if single.counts.shape[0] else entry_ptr[first + t]), u8(middle)):
            d = r[u8(t), u8(entry_labels[q])]
            if entry_values.shape[0]:
                d *= entry_values[q]
            square += d * d
        for q in range(u8(middle), u8(entry_ptr[first + t + 1])):
            d = r[u8(t), u8(entry_labels[q])]
            if entry_values.shape[0]:
                d *= entry_values[q]
            place = np.int64(weight_place[u8(entry_ids[q])]) - weight_base
            if place < 0:
                weight_place[u8(entry_ids[q])] = weight_base + n_weights
                weight_sums[n_weights] = d
                n_weights += 1
            else:
                weight_sums[place] += d
    for place in range(n_rows):
        square += square_rows(row_sums, place, allowed, rows, place, place + 1)
    for place in range(n_weights):
        square += weight_sums[place] ** 2
    return square, n_rows, n_weights


@kernel("i8[] Sentences Known Single Parameters Raw Exponentials Trigrams|none Dual float", T="F")
def ascend(order, text, known, single, parameters, raw, exponentials, second, dual, strength):
    """Visit each sentence of ``order``; returns the losses met, and how many sentences were not safe to sum."""
    table, weights, L = parameters.table, parameters.weights, text.n_labels
    width = table.shape[1]
    scratch, sums = new_scratch(text, table), new_sums(text, single, table, weights)
    r, X = np.zeros((text.longest, width), table.dtype), np.zeros((width, width), table.dtype)
    XD = np.zeros((width, width))  # label bigrams with their factors, where steps have features of their own
    grams, delta = gram_places(known, width), np.zeros(dual.squares.shape[0], table.dtype)
    row = np.zeros((1, -(-grams.pairs.shape[0] // LANES) * LANES), table.dtype)
    steps = np.zeros(text.steps.pairs.shape[0], table.dtype)
    out = Residuals(r, np.zeros(0), np.zeros(0), np.zeros(0, np.bool_), X, XD, np.zeros((0, L, L)), False)
    exp_transitions(parameters.T, L, exponentials.M, exponentials.MT)
    return visit(
        order, text, known, single, parameters, raw, exponentials, second, dual, strength, scratch, sums, grams,
        delta, row, steps, out,
    )  # fmt: skip


@kernel(allocates=False)
def exp_pairs(places, turned, T, M, MT, row):
    """M = exp(T) and its transpose at the label bigrams that have weights, the others being 1; ``row`` is room."""
    T, M, MT = T.reshape(-1), M.reshape(-1), MT.reshape(-1)
    for k in range(u8(places.shape[0])):
        row[u8(0), k] = T[u8(places[k])]
    exp_row(row, 0, 0.0)
    for k in range(u8(places.shape[0])):
        M[u8(places[k])] = MT[u8(turned[k])] = row[u8(0), k]


@kernel(allocates=False)
def fetch(s, text, single, dual):
    """Have what the next visit reads of its sentence brought near: sentences are visited in random order."""
    first, last, tokens = text.offsets[s], text.offsets[s + 1], text.tokens
    fetch_rows(dual.tokens, first, last)
    fetch_rows(single.counts, first if single.counts.shape[0] else last, last)
    fetch_rows(tokens.row_ids, tokens.row_ptr[first], tokens.row_ptr[last])
    fetch_rows(tokens.entry_ids, tokens.entry_ptr[first], tokens.entry_ptr[last])
    fetch_rows(tokens.entry_labels, tokens.entry_ptr[first], tokens.entry_ptr[last])
    fetch_rows(dual.grams, s, s + 1)


@kernel(allocates=False)
def visit(
    order, text, known, single, parameters, raw, exponentials, second, dual, strength, scratch, sums, grams,
    delta, row, steps, out,
):  # fmt: skip
    """``ascend`` in the room that was made for it."""
    table, L, per_token = parameters.table, text.n_labels, text.steps.ptr.shape[0] > 0
    r, X, XD = out.tokens, out.X, out.pairs
    loss, unsafe, row_base, weight_base, met = 0.0, 0, 0, 0, 0
    for i in range(order.shape[0]):
        s = order[i]
        first, n, weight = text.offsets[s], text.offsets[s + 1] - text.offsets[s], weight_of(s, text)
        if n == 0 or weight <= 0:
            dual.gaps[s] = 0
            continue
        if i + 1 < order.shape[0]:
            fetch(order[i + 1], text, single, dual)
        met += n
        if FRESH * met >= L or i == 0:  # else it would cost more than the sentence
            exp_pairs(grams.pairs, grams.turned, parameters.T, exponentials.M, exponentials.MT, row)
            if second is not None:
                exp_trigrams(L, second)
            met = 0
        if n > 1:
            X[:] = 0
            if per_token or second is not None:
                XD[:] = 0
            if second is not None:
                second.X[:] = 0
        one = sentence(s, text, parameters, exponentials, second, scratch, r, out)
        if not abs(one) < np.inf:  # passed over: the sums need the log domain
            unsafe += 1
            continue
        loss += one
        gap = sentence_gap(first, n, text, weight, dual.tokens, r)
        dual.gaps[s] = gap
        if gap < NOTHING * weight:
            continue
        if max(row_base, weight_base) > FARTHEST:
            sums.row_place[:], sums.weight_place[:] = -1, -1
            row_base, weight_base = 0, 0
        square, n_rows, n_weights = square_tokens(
            first, n, text.tokens, single, known.rows, sums, r, row_base, weight_base
        )
        row_base, weight_base = row_base + n_rows, weight_base + n_weights
        if per_token:
            square += square_steps(first, n, text.steps, dual.steps, scratch.B, steps)
        if n > 1:
            pair_differences(s, text, grams, exponentials.M, second is not None, weight, out, delta)
            if second is not None:
                triple_differences(s, text, grams, second, weight, delta)
            square += recall(s, dual, delta)
        share = table.dtype.type(min(LONGEST, gap / (square / strength + gap)))
        rate = table.dtype.type(-share / strength)
        if raw.threshold > 0:
            move_raw_tokens(first, n, text.tokens, known.rows, parameters, raw, rate, r)
        else:
            move_tokens(first, n, text.tokens, known.rows, parameters, rate, r)
        for t in range(n):
            add_row(dual.tokens, first + t, share, r, t)
        if per_token:
            moved = share, rate, parameters.weights, raw.weights, raw.threshold
            climb_steps(first, n, text.steps, dual.steps, scratch.B, steps, *moved)
        if n > 1:
            flat = parameters.T.reshape(-1), raw.T.reshape(-1), raw.threshold
            move_grams(s, grams.pairs, 0, flat, dual, rate, share, delta)
            if second is not None:
                cube = second.log.reshape(-1), raw.cube.reshape(-1), raw.threshold
                move_grams(s, grams.triples, grams.pairs.shape[0], cube, dual, rate, share, delta)
    return loss, unsafe


@kernel(allocates=False)
def move_raw_tokens(first, n, tokens, allowed_bits, parameters, raw, rate, r):
    """As ``move_tokens``, with an L1 penalty."""
    row_ptr, row_ids, row_values, entry_ptr, entry_ids, entry_labels, entry_values = tokens
    threshold = r.dtype.type(raw.threshold)
    for t in range(n):
        for q in range(row_ptr[first + t], row_ptr[first + t + 1]):
            amount = rate * row_values[q] if row_values.shape[0] else rate
            spread_cut_row(parameters.table, raw.table, allowed_bits, row_ids, q, amount, r, t, threshold)
        for q in range(u8(entry_ptr[first + t]), u8(entry_ptr[first + t + 1])):
            move, f = rate * r[u8(t), u8(entry_labels[q])], u8(entry_ids[q])
            if entry_values.shape[0]:
                move *= entry_values[q]
            raw.weights[f] += move
            parameters.weights[f] = cut(raw.weights[f], threshold)


class Grams(NamedTuple):
    """Where every label bigram and trigram stands; trigrams are numbered behind the bigrams."""

    pairs: np.ndarray  # (label bigrams,) int32: its place in a flat (W, W) array
    turned: np.ndarray  # (label bigrams,) int32: in the transpose
    triples: np.ndarray  # (label trigrams,) int32: in a flat (L, L, L) array
    pair_number: np.ndarray  # (L, L) int32, −1 for none
    triple_number: np.ndarray  # (L, L, L) int32, −1 for none; (0, L, L) in first order


@kernel
def gram_places(known, width):
    n_pairs, n_triples, L = 0, 0, known.pairs.shape[0]
    for a in range(L):
        for b in range(L):
            n_pairs = max(n_pairs, known.pairs[a, b] + 1)
    pairs, turned, numbers = (
        np.zeros(n_pairs, np.int32),
        np.zeros(n_pairs, np.int32),
        np.full(known.triples.shape, -1, np.int32),
    )
    triples = np.zeros(numbers.size, np.int32)
    for a in range(L):
        for b in range(L):
            if known.pairs[a, b] >= 0:
                pairs[known.pairs[a, b]] = a * width + b
                turned[known.pairs[a, b]] = b * width + a
    for place in range(numbers.size):
        if known.triples.reshape(-1)[place]:
            numbers.reshape(-1)[place] = n_pairs + n_triples
            triples[n_triples] = place
            n_triples += 1
    return Grams(pairs, turned, triples[:n_triples], known.pairs, numbers)


@kernel(fastmath=REORDER, allocates=False)
def pair_differences(s, text, grams, M, second, weight, out, delta):
    """The first part of delta = X·M + pairs minus what was observed, by label bigram."""
    first, n, gold, places = text.offsets[s], text.offsets[s + 1] - text.offsets[s], text.labels.gold, grams.pairs
    X, factors, known = out.X.reshape(-1), M.reshape(-1), u8(places.shape[0])
    for k in range(known):
        delta[k] = X[u8(places[k])] * factors[u8(places[k])]
    if text.steps.ptr.shape[0] or second:
        pairs = out.pairs.reshape(-1)
        for k in range(known):
            delta[k] += pairs[u8(places[k])]
    if is_certain(first, n, text.labels):
        for t in range(1, n):
            k = grams.pair_number[gold[first + t - 1], gold[first + t]]
            if k >= 0:
                delta[k] -= weight


@kernel(allocates=False)
def triple_differences(s, text, grams, second, weight, delta):
    """The second part of delta = X·C minus what was observed, by label trigram."""
    first, n, gold, L = text.offsets[s], text.offsets[s + 1] - text.offsets[s], text.labels.gold, text.n_labels
    C, X, base = second.C, second.X, grams.pairs.shape[0]
    for k in range(grams.triples.shape[0]):
        row, j = divmod(np.int64(grams.triples[k]), L)
        delta[base + k] = X[row, j] * C[row, j]
    if is_certain(first, n, text.labels):
        for t in range(2, n):
            k = grams.triple_number[gold[first + t - 2], gold[first + t - 1], gold[first + t]]
            if k >= 0:
                delta[k] -= weight


@kernel(fastmath=REORDER, allocates=False)
def recall(s, dual, delta):
    """Subtract what is in memory from delta; returns Σ delta² of those in memory."""
    square = delta.dtype.type(0)
    for k in range(u8(dual.grams.shape[1])):
        delta[k] -= dual.grams[u8(s), k]
        square += delta[k] * delta[k]
    return square


@kernel(allocates=False)
def move_grams(s, places, base, cube, dual, rate, share, delta):
    """Move weights of label n-grams, from number ``base`` on: with the memory, or without one by gradient (AdaGrad).

    ``cube`` are the weights, those before they are cut, and where.
    """
    weights, raw, threshold = cube
    first, last = u8(base), u8(base + places.shape[0])
    kept = max(min(u8(dual.grams.shape[1]), last), first)
    for k in range(first, kept):
        place = u8(places[k - first])
        if threshold > 0:
            raw[place] += rate * delta[k]
            weights[place] = cut(raw[place], threshold)
        else:
            weights[place] += rate * delta[k]
    for k in range(first, kept):
        dual.grams[u8(s), k] += share * delta[k]
    one, step = delta.dtype.type(1), delta.dtype.type(TRANSITION_STEP)
    for k in range(kept, last):  # apart from the weights, whose places are all over: so many at a time
        dual.squares[k] += delta[k] * delta[k]
        delta[k] *= step / np.sqrt(dual.squares[k] + one)
    for k in range(kept, last):
        weights[u8(places[k - first])] -= delta[k]
