"""Forests as kernels read them: the grammar, the layout, and the score of every rule at every cell.

States of a forest are 0 … S − 1 in topological order (between the words of a sentence), and cell (i, j), i < j, has
the number j(j−1)/2 + i. A rule's score at a cell is its own weight plus the weights of the cell's attributes for it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from loglin.kernels.compile import kernel, record

VANISHING = 1e-75  # a product of four such numbers is still a number
SPREAD = -math.log(VANISHING)


@record("i8[] i4[] i4[] i4[] i4[,] i4[,] i8[] i4[]")
class Tables(NamedTuple):
    """The grammar, as kernels read it. R rules of which the first are binary, N symbols, K tags."""

    left_ptr: np.ndarray  # (N + 1,) int64: binary rules by left child B are left_ptr[B] … left_ptr[B + 1] − 1
    order: np.ndarray  # (binary,) int32: the number of each of these
    parent: np.ndarray  # (binary,) int32, by left child
    right: np.ndarray  # (binary,) int32, by left child
    binary: np.ndarray  # (binary, 3) int32: parent, left, right, by number
    unary: np.ndarray  # (unary, 2) int32: parent, child
    expansions: np.ndarray  # (N + 1,) int64: binary rules of A by number
    tags: np.ndarray  # (K,) int32: symbols of the leaves' columns


@record("f8[,] f8[] f8[] f8[,] i4[,] i8[] i4[] f8[] i4[,] i8[] i4[] f8[] int f8[]")
class Scores(NamedTuple):
    """What the score of a tree is made of, in logarithms; a cell's rules are ``rules`` + weights of its attributes."""

    leaves: np.ndarray  # (rows, K)
    roots: np.ndarray  # (N,)
    rules: np.ndarray  # (R,)
    dense: np.ndarray  # (cells, R) instead, or (0, 0)
    attributes: np.ndarray  # (cells, templates) int32, -1: none
    ptr: np.ndarray  # (attributes + 1,) int64
    targets: np.ndarray  # (pairs,) int32: a rule, or R + a symbol, whose binary rules all get the weight
    weights: np.ndarray  # (pairs,)
    splits: np.ndarray  # (states, templates) int32
    split_ptr: np.ndarray
    split_targets: np.ndarray  # binary rules
    split_weights: np.ndarray
    local: int  # 0: as they are; 1: of each symbol at each cell normalized; 2: with none of the above, e^0, added
    settled: np.ndarray  # (R,) rules normalized where no attribute touches them, if local


@record("i8[] i8[] i8[] i4[] i4[] i4[] i1[] i4[] b1[,]")
class Layout(NamedTuple):
    """Forests one behind the other."""

    states: np.ndarray  # (forests + 1,) int64
    cells: np.ndarray  # (forests + 1,) int64
    arcs: np.ndarray  # (forests + 1,) int64
    source: np.ndarray  # (arcs,) int32, in the order of cells: by target, then by source from the last
    target: np.ndarray  # (arcs,) int32
    row: np.ndarray  # (arcs,) int32: of leaves
    final: np.ndarray  # (states,) int8: 1 where a sentence may end, 2 where the observed one does
    mask_of: np.ndarray  # (cells,) int32 the row of masks, -1: all symbols are allowed; or (0,)
    masks: np.ndarray  # (masks, N) bool


@record("f8[,] f8[,] i4[,] i4[] f8[] f8[] f8[] f8[] f8[] i4[] i4[] f8[] f8[,] f8[,]")
class Room(NamedTuple):
    """Where one thread works."""

    chart: np.ndarray  # (cells, N)
    outside: np.ndarray  # (cells, N), or (0, N)
    active: np.ndarray  # (cells, N) int32: the symbols of a cell that are there
    n_active: np.ndarray  # (cells,) int32
    scale: np.ndarray  # (cells,)
    sums: np.ndarray  # (binary,) Σ_k, by left child
    row: np.ndarray  # (R,) exp(score − peak) of the rules at a cell; between cells that of ``rules``
    plain: np.ndarray  # (R,) the same without attributes
    change: np.ndarray  # (R,) what attributes add, 0 between cells
    touched: np.ndarray  # (R,) int32
    place: np.ndarray  # (binary,) int32: of a rule by its number, where it is by left child
    counts: np.ndarray  # (R,) expected uses at a cell, 0 between cells
    split: np.ndarray  # (states, binary) exp(split score) by left child, or (0, 0)
    split_counts: np.ndarray  # (states, binary) by left child, or (0, 0)


@record("f8[,] f8[] f8[] f8[] f8[] f8[,]")
class Uses(NamedTuple):
    """Expected uses, weighted: the gradient by each part of Scores. Added to."""

    leaves: np.ndarray  # (rows, K)
    roots: np.ndarray  # (N,)
    rules: np.ndarray  # (R,)
    pairs: np.ndarray  # (pairs,)
    splits: np.ndarray  # (split pairs,)
    dense: np.ndarray  # (cells, R), or (0, R) if not wanted


@record("f8[,] i4[,] i4[,] i4[,] i4[] f8[] f8[] i4[] f8[,]")
class Best(NamedTuple):
    """The best tree of every item, and room to find it."""

    chart: np.ndarray  # (cells, N) its score
    rule: np.ndarray  # (cells, N) int32: the rule on its top
    split: np.ndarray  # (cells, N) int32: where that splits
    active: np.ndarray  # (cells, N) int32: the symbols of a cell that are there
    n_active: np.ndarray  # (cells,) int32, 0 at first
    row: np.ndarray  # (R,) scores of the rules at a cell
    sums: np.ndarray  # (binary,) by left child
    places: np.ndarray  # (binary,) int32
    splits: np.ndarray  # (states, binary) split scores, or (0, binary) if there are none


@kernel("int int")
def cell(i, j):
    return j * (j - 1) // 2 + i


@kernel("int Tables Scores f8[]")
def log_row(c, tables, scores, row):
    """The scores of all rules at cell c (counted over all forests)."""
    R = len(scores.rules)
    if scores.dense.shape[0] > 0:
        row[:] = scores.dense[c]
        return
    row[:] = scores.rules
    for t in range(scores.attributes.shape[1]):
        a = scores.attributes[c, t]
        if a < 0:
            continue
        for p in range(scores.ptr[a], scores.ptr[a + 1]):
            target = scores.targets[p]
            if target < R:
                row[target] += scores.weights[p]
            else:
                for r in range(tables.expansions[target - R], tables.expansions[target - R + 1]):
                    row[r] += scores.weights[p]
    if scores.local > 0:
        _normalize(tables, scores, row)


@kernel
def _normalize(tables, scores, row):
    for A in range(len(tables.expansions) - 1):
        begin, end = tables.expansions[A], tables.expansions[A + 1]
        same = True
        peak = 0.0 if scores.local == 2 else -np.inf
        for r in range(begin, end):
            same = same and row[r] == scores.rules[r]
            peak = max(peak, row[r])
        if same:
            row[begin:end] = scores.settled[begin:end]
        elif peak > -np.inf:
            total = math.exp(-peak) if scores.local == 2 else 0.0
            for r in range(begin, end):
                total += math.exp(row[r] - peak)
            row[begin:end] -= peak + math.log(total)


@kernel("Tables Scores Room")
def prepare(tables, scores, room):
    """Fill what all cells share; the peak of the binary rules, and whether no rule's weight can vanish."""
    n_binary = len(tables.binary)
    peak, least = -np.inf, np.inf
    for r in range(n_binary):
        peak = max(peak, scores.rules[r])
        if scores.rules[r] > -np.inf:
            least = min(least, scores.rules[r])
    if peak == -np.inf:
        peak = least = 0.0
    room.change[:] = 0.0
    room.counts[:] = 0.0
    for r in range(n_binary, len(scores.rules)):
        if scores.rules[r] > -np.inf and abs(scores.rules[r]) > SPREAD:
            return peak, False
    for r in range(len(scores.rules)):
        room.plain[r] = math.exp(scores.rules[r] - (peak if r < n_binary else 0.0))
    room.row[:] = room.plain
    return peak, peak - least < SPREAD


@kernel
def exp_row(c, tables, scores, room, peak):
    """exp(scores) at cell c in room.row: the peak taken off, how many entries were touched, whether all is safe; if
    not, the room must be prepared anew."""
    R, n_binary = len(scores.rules), len(tables.binary)
    if scores.dense.shape[0] > 0 or scores.local > 0:
        log_row(c, tables, scores, room.row)
        peak, least, safe = -np.inf, np.inf, True
        for r in range(n_binary):
            peak = max(peak, room.row[r])
            if room.row[r] > -np.inf:
                least = min(least, room.row[r])
        if peak == -np.inf:
            peak = least = 0.0
        for r in range(n_binary, R):
            safe = safe and (abs(room.row[r]) < SPREAD or room.row[r] == -np.inf)
        safe = safe and peak - least < SPREAD
        for r in range(R if safe else 0):
            room.row[r] = math.exp(room.row[r] - (peak if r < n_binary else 0.0))
        return peak, 0, safe
    n = 0
    for t in range(scores.attributes.shape[1]):
        a = scores.attributes[c, t]
        if a < 0:
            continue
        for p in range(scores.ptr[a], scores.ptr[a + 1]):
            target, weight = scores.targets[p], scores.weights[p]
            if weight == 0.0:
                continue
            begin, end = target, target + 1
            if target >= R:
                begin, end = tables.expansions[target - R], tables.expansions[target - R + 1]
            for r in range(begin, end):
                if room.change[r] == 0.0:
                    room.touched[n] = r
                    n += 1
                room.change[r] += weight
                if room.change[r] == 0.0:  # stays marked
                    room.change[r] = 1e-300
    for t in range(n):
        r = room.touched[t]
        if abs(room.change[r]) > SPREAD and room.change[r] > -np.inf:
            return peak, n, False
        room.row[r] = room.plain[r] * math.exp(room.change[r])
        room.change[r] = 0.0
    return peak, n, True


@kernel
def restore_row(room, n_touched):
    for t in range(n_touched):
        room.row[room.touched[t]] = room.plain[room.touched[t]]


@kernel
def split_factors(f, layout, tables, scores, room):
    """exp(split score) of every rule at every state; False if one could vanish."""
    if room.split.shape[0] == 0:
        return True
    S = layout.states[f + 1] - layout.states[f]
    for k in range(1, S - 1):
        room.change[:] = 0.0
        split_row(layout.states[f] + k, scores, room.change)
        for q in range(len(tables.order)):
            score = room.change[tables.order[q]]
            if abs(score) > SPREAD and score > -np.inf:
                return False
            room.split[k, q] = math.exp(score)
    room.change[:] = 0.0
    return True


@kernel
def split_row(state, scores, row):
    """Add the split scores at a state (counted over all forests) to a row of rules."""
    for t in range(scores.splits.shape[1]):
        a = scores.splits[state, t]
        if a >= 0:
            for p in range(scores.split_ptr[a], scores.split_ptr[a + 1]):
                row[scores.split_targets[p]] += scores.split_weights[p]
