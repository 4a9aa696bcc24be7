"""M-estimation: margins of sentences and their gradient, from the features that each sentence has.

    z_s = Σ_{f in s} w_f·v       g_f = Σ_{s has f} a_s·v       v = 1 unless values are given

Both are sums in a fixed order, shared out among threads in any way with the same result.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loglin.kernels.compile import kernel, record

u8 = np.uint64


@kernel
def find(values, first, last, wanted):
    """Position of ``wanted`` in the rising values[first … last − 1], or -1."""
    for f in range(u8(first), u8(last)):
        if values[f] == wanted:
            return np.int64(f)
    return np.int64(-1)


@record("i8[] u2[] i8[] i4[] i8[] i8[]")
class Numbers(NamedTuple):
    """The numbers of all features, -1 where there is no weight."""

    ptr: np.ndarray  # (attributes + 1,) int64: attribute a has the features ptr[a] … ptr[a + 1] − 1
    labels: np.ndarray  # their labels
    bigram_ptr: np.ndarray  # (bigram attributes + 1,) int64: counted from the last of ``labels`` on
    bigram_pairs: np.ndarray  # label before · L + label
    pairs: np.ndarray  # (L²,) of a label bigram
    triples: np.ndarray  # (L³,) of a label trigram, or empty


@kernel("Attributes i4[] int Numbers i8[] u4[] F[]")
def gold_features(text, codes, n_labels, numbers, out_ptr, out_ids, out_values):
    """Features of every sentence with its own labels, as often as they occur; text: see sentences.Attributes.

    With an empty ``out_ids`` only out_ptr is filled.
    """
    offsets, ptr, ids, values, bigram_lists, bigram_ids = text
    feature_ptr, labels, bigram_ptr, bigram_pairs, pair_number, triple_number = numbers
    fill = out_ids.shape[0] > 0
    L, n = np.int64(n_labels), 0
    out_ptr[0] = 0
    for s in range(offsets.shape[0] - 1):
        for t in range(offsets[s], offsets[s + 1]):
            y = np.int64(codes[t])
            for q in range(u8(ptr[t]), u8(ptr[t + 1])):
                f = find(labels, feature_ptr[ids[q]], feature_ptr[ids[q] + 1], y)
                if f >= 0:
                    if fill:
                        out_ids[n] = f
                        if out_values.shape[0]:
                            out_values[n] = values[q]
                    n += 1
            if t == offsets[s]:
                continue
            pair = np.int64(codes[t - 1]) * L + y
            for q in range(u8(bigram_lists[t]), u8(bigram_lists[t + 1])):
                f = find(bigram_pairs, bigram_ptr[bigram_ids[q]], bigram_ptr[bigram_ids[q] + 1], pair)
                if f >= 0:
                    if fill:
                        out_ids[n] = f + labels.shape[0]
                    n += 1
            if pair_number[pair] >= 0:
                if fill:
                    out_ids[n] = pair_number[pair]
                n += 1
            if triple_number.shape[0] and t > offsets[s] + 1:
                triple = np.int64(codes[t - 2]) * L * L + pair
                if triple_number[triple] >= 0:
                    if fill:
                        out_ids[n] = triple_number[triple]
                    n += 1
        out_ptr[s + 1] = n


@kernel("int int i8[] u4[] F[] F[] F[]|f8[]")
def sum_weights(begin, end, ptr, ids, values, weights, out):
    """out[i] = Σ weights[ids]·values over list i, for the lists begin … end − 1."""
    weighted = values.shape[0] > 0
    for i in range(begin, end):
        total = 0.0
        if weighted:
            for q in range(u8(ptr[i]), u8(ptr[i + 1])):
                total += weights[u8(ids[q])] * values[q]
        else:
            for q in range(u8(ptr[i]), u8(ptr[i + 1])):
                total += weights[u8(ids[q])]
        out[i] = total


@kernel("i8[] u4[] F[] f8[] f8[]")
def square_norms(ptr, ids, values, count, out):
    """out[s] = ‖f_s‖²; a feature that occurs k times in a list is k in f_s. count (features,) is zero."""
    weighted = values.shape[0] > 0
    for s in range(out.shape[0]):
        for q in range(ptr[s], ptr[s + 1]):
            count[ids[q]] += values[q] if weighted else 1.0
        total = 0.0
        for q in range(ptr[s], ptr[s + 1]):
            total += count[ids[q]] * (values[q] if weighted else 1.0)
        for q in range(ptr[s], ptr[s + 1]):
            count[ids[q]] = 0
        out[s] = total


@kernel("i8[] i8[] u4[] F[] f8[] float f8[] F[]")
def descend_dual(order, ptr, ids, values, squares, least, a, r):
    """One pass of coordinate descent on ½‖soft(Fᵀa − E, least)‖², a ≥ 0; r = Fᵀa − E is kept up to date.

    squares[s] = ‖f_s‖². Returns the largest change of the gradient's scale.
    """
    weighted = values.shape[0] > 0
    moved = 0.0
    for s in order:
        slope = 0.0
        for q in range(ptr[s], ptr[s + 1]):
            v = r[ids[q]]
            v = max(v - least, 0.0) + min(v + least, 0.0)
            slope += v * values[q] if weighted else v
        step = max(-slope / squares[s], -a[s]) if squares[s] > 0 else 0.0
        if step != 0:
            a[s] += step
            moved = max(moved, abs(step) * np.sqrt(squares[s]))
            for q in range(ptr[s], ptr[s + 1]):
                r[ids[q]] += step * values[q] if weighted else step
    return moved


# Given the others, a_s solves a = exp(−f_s·w), w moving with it by (a − a_s)·share_s·f_s / l2; with
# q = share_s·‖f_s‖² / l2 and u = log a:  u + q·e^u = q·a_s − f_s·w, by Newton's method
@kernel("i8[] i8[] u4[] F[] f8[] f8[] float f8[] F[]")
def ascend_dual(order, ptr, ids, values, squares, share, l2, a, w):
    """One pass of coordinate ascent on the dual of the l2-penalized loss; w = (Σ share·a·f − E) / l2 is kept."""
    weighted = values.shape[0] > 0
    for s in order:
        first, last = u8(ptr[s]), u8(ptr[s + 1])
        z = 0.0
        for i in range(first, last):
            z += w[u8(ids[i])] * values[i] if weighted else w[u8(ids[i])]
        q = share[s] * squares[s] / l2
        right = q * a[s] - z
        u = np.log(right / q) if right > q else min(right, 0.0)  # at or above the root, so steps never overshoot
        for _ in range(50):
            e = q * np.exp(u)
            step = (u + e - right) / (1 + e)
            u -= step
            if abs(step) < 1e-12 * max(1.0, abs(u)):
                break
        new = np.exp(u)
        move = (new - a[s]) * share[s] / l2
        a[s] = new
        for i in range(first, last):
            f = u8(ids[i])
            w[f] += move * values[i] if weighted else move


@kernel("i8[] u4[] F[] f8[] f8[]")
def add_lists(ptr, ids, values, amounts, out):
    """out[f] += amounts[s]·v for every f of every list s."""
    weighted = values.shape[0] > 0
    for s in range(ptr.shape[0] - 1):
        amount = amounts[s]
        for q in range(u8(ptr[s]), u8(ptr[s + 1])):
            out[u8(ids[q])] += amount * values[q] if weighted else amount
