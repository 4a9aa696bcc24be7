"""Scores and best sequences for new text, straight from attribute numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loglin.kernels.compile import kernel, record
from loglin.kernels.rows import add_row, best_rows, sum_rows, weigh_rows
from loglin.kernels.viterbi import follow, viterbi

u8 = np.uint64
MANY = -(1 << 30)


@record("const i8[] const u2[] I[,] F[,] F[,] const F[] F[,] F[,] const i8[] const i4[] int")
class Weights(NamedTuple):
    """A model's weights by attribute, in one precision."""

    ptr: np.ndarray  # (attributes + 1,) int64: attribute a has the weights ptr[a] … ptr[a + 1] − 1
    labels: np.ndarray  # their labels
    places: np.ndarray  # (attributes, 2) and
    place_weights: np.ndarray  # the same memory seen as weights, see fill_places
    table: np.ndarray  # (rows, W)
    weights: np.ndarray  # (features,)
    T: np.ndarray  # (L, W) label bigrams
    edges: np.ndarray  # (2, W) scores of first and last labels, 0 or -inf
    bigram_ptr: np.ndarray  # (bigram attributes + 1,) int64
    bigram_pairs: np.ndarray  # label before · L + label, of the weights from
    bigram_first: int  # this on


@kernel("const i8[] int const u2[] const F[] I[,] F[,]")
def fill_places(ptr, least, labels, weights, places, place_weights):
    """Where an attribute's weights are, in one small record, so that scoring it takes one look into memory.

    places[a, 0]: a row of the table (≥ 0), for attributes with at least ``least`` labels; -1 − label for those
    with one, whose weight is place_weights[a, 1]; else MANY. The two arrays are one memory seen as whole
    numbers and as weights. Returns the number of rows.
    """
    n = 0
    for a in range(places.shape[0]):
        count = ptr[a + 1] - ptr[a]
        if count >= least:
            places[a, 0] = n
            n += 1
        elif count == 1:
            places[a, 0] = -1 - np.int64(labels[ptr[a]])
            place_weights[a, 1] = weights[ptr[a]]
        else:
            places[a, 0] = MANY
    return n


@kernel("const i8[] const u2[] I[,] const F[] F[,]")
def fill_rows(ptr, labels, places, weights, table):
    """table[place of attribute] = its weights by label."""
    for a in range(places.shape[0]):
        if places[a, 0] >= 0:
            for f in range(ptr[a], ptr[a + 1]):
                table[places[a, 0], labels[f]] = weights[f]


@kernel("int int Attributes Weights F[,]")
def score_attributes(first, last, text, model, e):
    """e[t − first] = Σ of the weights of token t's attributes, by label."""
    ptr, ids, values = text.ptr, text.ids, text.values
    feature_ptr, labels, places, place_weights = model.ptr, model.labels, model.places, model.place_weights
    table, weights = model.table, model.weights
    weighted = values.shape[0] > 0
    longest = 0
    for t in range(first, last):
        longest = max(longest, ptr[t + 1] - ptr[t])
    rows, others = np.empty(longest, np.uint32), np.empty(longest, np.uint64)
    row_values = np.empty(longest if weighted else 0, table.dtype)
    known = places.shape[0] > 0
    for t in range(first, last):
        n, m = u8(0), u8(0)
        for q in range(u8(ptr[t]), u8(ptr[t + 1]) if known else u8(ptr[t])):
            # no branches, which the processor would guess wrong: both lists are written, one of them or none grows
            seen = ids[q] >= 0
            place = places[u8(ids[q]) if seen else u8(0), u8(0)]
            rows[n] = place
            others[m] = q
            if weighted:
                row_values[n] = values[q]
            n += u8(seen & (place >= 0))
            m += u8(seen & (place < 0))
        if weighted:
            weigh_rows(e, t - first, table, rows, row_values, 0, np.int64(n))
        else:
            sum_rows(e, t - first, table, rows, 0, np.int64(n))
        for k in range(m):
            q = others[k]
            a = u8(ids[q])
            place = places[a, u8(0)]
            if place != MANY:
                one = place_weights[a, u8(1)]
                e[t - first, -1 - place] += one * values[q] if weighted else one
                continue
            for f in range(u8(feature_ptr[a]), u8(feature_ptr[a + u8(1)])):
                e[t - first, labels[f]] += weights[f] * values[q] if weighted else weights[f]


@kernel
def add_heads(first, last, of_token, heads, e):
    """e[t − first] += Σ of the rows of token t's heads."""
    one = e.dtype.type(1)
    for t in range(first, last):
        for f in range(of_token.shape[1]):
            add_row(e, t - first, one, heads, np.int64(of_token[t, f]))


@kernel("int Attributes Weights F[,]")
def step_scores(t, text, model, out):
    """out = T plus the observed bigram features of the step into token t."""
    ptr, ids, feature_ptr, pairs = text.bigram_ptr, text.bigram_ids, model.bigram_ptr, model.bigram_pairs
    weights, first, n_labels = model.weights, model.bigram_first, model.T.shape[0]
    out[:] = model.T
    for q in range(ptr[t], ptr[t + 1]):
        a = ids[q]
        if a < 0:
            continue
        for f in range(feature_ptr[a], feature_ptr[a + 1]):
            i, j = divmod(np.int64(pairs[f]), n_labels)
            out[i, j] += weights[first + f]


@kernel
def subtract_normalizer(e, t, step, n_labels, constant):
    """e[t − 1, i] −= log(constant + Σ_j exp(e[t, j] + step[i, j])): the step into t normalized by itself.

    Its normalizer depends on the label before alone, so it can be charged there.
    """
    for i in range(n_labels):
        top = e[t, 0] + step[i, 0]
        for j in range(1, n_labels):
            top = max(top, e[t, j] + step[i, j])
        if constant > 0:
            top = max(top, 0.0)
        z = constant * np.exp(-top)
        for j in range(n_labels):
            z += np.exp(e[t, j] + step[i, j] - top)
        e[t - 1, i] -= top + np.log(z)


@kernel("int int Attributes i4[,] F[,] Weights F int i4[]")
def best_labels(begin, end, text, of_token, heads, model, constant, longest, out):
    """out[t] = label of token t in the best sequence, for the sentences begin … end − 1, none longer than ``longest``.

    of_token (tokens, folds): the rows of ``heads`` that are added to a token's scores. With a constant ≥ 0, every step
    is normalized by itself (see ``subtract_normalizer``).
    """
    table, T, edges, n_labels = model.table, model.T, model.edges, model.T.shape[0]
    e = np.zeros((longest, table.shape[1]), table.dtype)
    back = np.zeros((longest, table.shape[1]), np.int32)
    conditioned = text.bigram_ptr.shape[0] > 0
    step = np.empty((n_labels if conditioned else 0, table.shape[1]), table.dtype)
    for s in range(begin, end):
        first, last = text.offsets[s], text.offsets[s + 1]
        n = last - first
        if n == 0:
            continue
        score_attributes(first, last, text, model, e)
        add_heads(first, last, of_token, heads, e)
        for j in range(n_labels):
            e[0, j] += edges[0, j]
            e[n - 1, j] += edges[1, j]
        if not conditioned:
            for t in range(1, n if constant >= 0 else 1):
                subtract_normalizer(e, t, T, n_labels, constant)
            viterbi(n, n_labels, e, T, back, out, first)
            continue
        for t in range(1, n):
            step_scores(first + t, text, model, step)
            if constant >= 0:
                subtract_normalizer(e, t, step, n_labels, constant)
            best_rows(e, back, t, e, t - 1, step, n_labels)
        follow(n, n_labels, e, back, out, first)


@kernel("Attributes Weights f8[,]", F="f8")
def all_scores(text, model, out):
    """out[t] = scores of token t by label, without padding."""
    e = np.zeros((1, model.table.shape[1]), model.table.dtype)
    for t in range(out.shape[0]):
        score_attributes(t, t + 1, text, model, e)
        for j in range(out.shape[1]):
            out[t, j] = e[0, j]
