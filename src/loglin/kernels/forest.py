"""Sums over all trees of a sentence or of a word lattice: inside and outside, in numbers scaled cell by cell.

A cell (i, j) is filled when all (i, k) and (k, j) are. With s the score of a rule there,

    I(A, i, j) = Σ_arcs e^leaf(A) + Σ_{A→BC} e^{s(A→BC, i, j)} Σ_k e^{split(A→BC, k)} I(B, i, k) I(C, k, j)
                 + Σ_{A→B} e^{s(A→B, i, j)} I(B, i, j)
    O(B, i, k) += O(A, i, j) e^{s + split} I(C, k, j),   O(C, k, j) += O(A, i, j) e^{s + split} I(B, i, k)

A cell holds I divided by its largest, whose logarithm is the cell's scale, and O times the same number over Z, so that
their product is a posterior. Σ_k does not depend on the rule's score, so the inner loop is one multiplication and one
addition a rule. If a number could vanish the forest is ``unsafe``, and forest_logs.py sums it in logarithms.
"""

from __future__ import annotations

import math

import numpy as np

from loglin.kernels.compile import kernel
from loglin.kernels.forest_scores import SPREAD, VANISHING, cell, exp_row, restore_row, split_factors

NEGLIGIBLE = 1e-15  # items of less posterior are not followed further down: rounding errors are larger
LEAST = 1e-300  # a product below it could have lost digits, or all of itself


@kernel
def inside(f, layout, tables, scores, room, peak):
    """Fill the chart of forest f; False if a number could have vanished."""
    S, n_binary = layout.states[f + 1] - layout.states[f], len(tables.binary)
    with_splits = room.split.shape[0] > 0
    if not split_factors(f, layout, tables, scores, room):
        return False
    arc, last_arc = layout.arcs[f], layout.arcs[f + 1]
    for j in range(1, S):
        for i in range(j - 1, -1, -1):
            c = cell(i, j)
            first_arc = arc
            while arc < last_arc and layout.target[arc] == j and layout.source[arc] == i:
                arc += 1
            room.n_active[c] = 0
            room.scale[c] = 0.0
            ref, best_split = -np.inf, -np.inf
            for a in range(first_arc, arc):
                for t in range(len(tables.tags)):
                    ref = max(ref, scores.leaves[layout.row[a], t])
            for k in range(i + 1, j):
                left, right = cell(i, k), cell(k, j)
                if room.n_active[left] > 0 and room.n_active[right] > 0:
                    best_split = max(best_split, room.scale[left] + room.scale[right])
            if ref == -np.inf and best_split == -np.inf:
                continue
            values = room.chart[c]
            values[:] = 0.0
            n_touched = 0
            if best_split > -np.inf or len(tables.unary) > 0:
                cell_peak, n_touched, safe = exp_row(layout.cells[f] + c, tables, scores, room, peak)
                if not safe:
                    return False
                ref = max(ref, best_split + cell_peak)
            if best_split > -np.inf:
                sums = room.sums
                sums[:] = 0.0
                for k in range(i + 1, j):
                    left, right = cell(i, k), cell(k, j)
                    if room.n_active[left] == 0 or room.n_active[right] == 0:
                        continue
                    share = math.exp(room.scale[left] + room.scale[right] + cell_peak - ref)
                    if share < VANISHING:
                        return False
                    right_values = room.chart[right]
                    for b in range(room.n_active[left]):
                        B = room.active[left, b]
                        value = share * room.chart[left, B]
                        begin, end = tables.left_ptr[B], tables.left_ptr[B + 1]
                        if with_splits:
                            for q in range(begin, end):
                                sums[q] += value * right_values[tables.right[q]] * room.split[k, q]
                        else:
                            for q in range(begin, end):
                                sums[q] += value * right_values[tables.right[q]]
                for q in range(n_binary):
                    weight = room.row[tables.order[q]]
                    if sums[q] > 0.0 and weight > 0.0:
                        if sums[q] * weight < LEAST:
                            return False
                        values[tables.parent[q]] += sums[q] * weight
            for a in range(first_arc, arc):
                for t in range(len(tables.tags)):
                    leaf = scores.leaves[layout.row[a], t]
                    if leaf > -np.inf:
                        if leaf - ref < -SPREAD:
                            return False
                        values[tables.tags[t]] += math.exp(leaf - ref)
            if not (_close(f, c, layout, tables, room, values) and _settle(c, ref, room, values)):
                return False
            restore_row(room, n_touched)
    return True


@kernel
def _close(f, c, layout, tables, room, values):
    """Unary rules, children first; what the mask forbids is removed before anything is made of it. False if a number
    could have vanished."""
    mask = layout.mask_of[layout.cells[f] + c] if len(layout.mask_of) > 0 else -1
    if mask >= 0:
        for A in range(len(values)):
            if not layout.masks[mask, A]:
                values[A] = 0.0
    for u in range(len(tables.unary)):
        parent, weight, value = tables.unary[u, 0], room.row[len(tables.binary) + u], values[tables.unary[u, 1]]
        if weight > 0.0 and value > 0.0 and (mask < 0 or layout.masks[mask, parent]):
            if weight * value < LEAST:
                return False
            values[parent] += weight * value
    return True


@kernel
def _settle(c, ref, room, values):
    """Divide a cell by its largest and list its symbols; False if its smallest is too small beside it."""
    largest = 0.0
    for A in range(len(values)):
        largest = max(largest, values[A])
    if largest == 0.0:
        return True
    n, smallest = 0, largest
    for A in range(len(values)):
        if values[A] > 0.0:
            smallest = min(smallest, values[A])
            values[A] /= largest
            room.active[c, n] = A
            n += 1
    room.n_active[c] = n
    room.scale[c] = ref + math.log(largest)
    return smallest / largest > VANISHING


@kernel
def log_goal(f, layout, scores, room, least):
    """log Σ of the trees over the sentences that end in a state with final ≥ least."""
    S = layout.states[f + 1] - layout.states[f]
    peak, total = -np.inf, 0.0
    for j in range(1, S):
        if layout.final[layout.states[f] + j] < least:
            continue
        c = cell(0, j)
        for a in range(room.n_active[c]):
            A = room.active[c, a]
            score = scores.roots[A] + room.scale[c] + math.log(room.chart[c, A])
            if score > peak:
                total = total * math.exp(peak - score) + 1.0
                peak = score
            elif score > -np.inf:
                total += math.exp(score - peak)
    return peak + math.log(total) if total > 0.0 else -np.inf


@kernel
def outside(f, layout, tables, scores, room, peak, seeds, gradient):
    """Add expected uses to the gradient (see forest_scores.Uses); seeds, see seed_roots."""
    S = layout.states[f + 1] - layout.states[f]
    g_leaves, g_roots, g_rules, g_pairs, g_splits, g_dense = gradient
    outer = room.outside[: cell(0, S)]
    outer[:] = 0.0
    if room.split.shape[0] > 0:
        room.split_counts[:S] = 0.0
    seed_roots(f, layout, scores, room, seeds, outer, g_roots)
    arc, first_arc = layout.arcs[f + 1] - 1, layout.arcs[f]
    for j in range(S - 1, 0, -1):
        for i in range(j):
            c = cell(i, j)
            last = arc
            while arc >= first_arc and layout.target[arc] == j and layout.source[arc] == i:
                arc -= 1
            if room.n_active[c] == 0:
                continue
            found = False
            for a in range(room.n_active[c]):
                A = room.active[c, a]
                found = found or abs(outer[c, A] * room.chart[c, A]) > NEGLIGIBLE
            if not found:
                continue
            n_touched, cell_peak = 0, 0.0
            if j - i > 1 or len(tables.unary) > 0:
                cell_peak, n_touched, _ = exp_row(layout.cells[f] + c, tables, scores, room, peak)
            _open(c, tables, room, outer[c])
            for a in range(arc + 1, last + 1):
                for t in range(len(tables.tags)):
                    leaf, A = scores.leaves[layout.row[a], t], tables.tags[t]
                    if leaf > -np.inf and room.chart[c, A] > 0.0:
                        g_leaves[layout.row[a], t] += outer[c, A] * math.exp(leaf - room.scale[c])
            if j - i > 1:
                _descend(i, j, tables, room, outer, cell_peak)
            _collect(layout.cells[f] + c, c, tables, scores, room, g_rules, g_pairs, g_dense)
            restore_row(room, n_touched)
    if room.split.shape[0] > 0:
        for k in range(1, S - 1):
            for q in range(len(tables.order)):
                room.counts[tables.order[q]] = room.split_counts[k, q]
            for t in range(scores.splits.shape[1]):
                a = scores.splits[layout.states[f] + k, t]
                if a >= 0:
                    for p in range(scores.split_ptr[a], scores.split_ptr[a + 1]):
                        g_splits[p] += room.counts[scores.split_targets[p]]
        room.counts[:] = 0.0


@kernel
def seed_roots(f, layout, scores, room, seeds, outer, g_roots):
    """Every root begins with weight · e^root / Z: seeds are (least final, log Z, weight) of each goal."""
    S = layout.states[f + 1] - layout.states[f]
    for g in range(len(seeds)):
        least, log_z, weight = seeds[g]
        for j in range(1, S):
            if layout.final[layout.states[f] + j] < least or weight == 0.0:
                continue
            c = cell(0, j)
            for a in range(room.n_active[c]):
                A = room.active[c, a]
                share = weight * math.exp(scores.roots[A] + room.scale[c] - log_z)
                outer[c, A] += share
                g_roots[A] += share * room.chart[c, A]


@kernel
def _open(c, tables, room, outer):
    """Unary rules, parents first: what is outside a child; their uses go into room.counts."""
    n_binary = len(tables.binary)
    for u in range(len(tables.unary) - 1, -1, -1):
        parent, child = tables.unary[u, 0], tables.unary[u, 1]
        if outer[parent] != 0.0 and room.chart[c, child] > 0.0 and room.chart[c, parent] > 0.0:
            share = outer[parent] * room.row[n_binary + u]
            outer[child] += share
            room.counts[n_binary + u] = share * room.chart[c, child]


@kernel
def _descend(i, j, tables, room, outer, cell_peak):
    """From a cell to the cells inside it; the uses of its binary rules go into room.counts."""
    c, found = cell(i, j), False
    # what is outside a rule times its own weight, by left child; 0 for rules of symbols that do not matter
    around = room.sums
    around[:] = 0.0
    for a in range(room.n_active[c]):
        A = room.active[c, a]
        if abs(outer[c, A] * room.chart[c, A]) > NEGLIGIBLE:
            found = True
            for r in range(tables.expansions[A], tables.expansions[A + 1]):
                around[room.place[r]] = outer[c, A] * room.row[r]
    for k in range(i + 1, j):
        left, right = cell(i, k), cell(k, j)
        if not found or room.n_active[left] == 0 or room.n_active[right] == 0:
            continue
        share = math.exp(room.scale[left] + room.scale[right] + cell_peak - room.scale[c])
        right_values, right_outer = room.chart[right], outer[right]
        for b in range(room.n_active[left]):
            B = room.active[left, b]
            left_value, left_outer = room.chart[left, B], 0.0
            for q in range(tables.left_ptr[B], tables.left_ptr[B + 1]):
                if around[q] == 0.0:
                    continue
                C = tables.right[q]
                right_value = right_values[C]
                if right_value == 0.0:
                    continue
                weight = share * around[q]
                if room.split.shape[0] > 0:
                    weight *= room.split[k, q]
                    room.split_counts[k, q] += weight * left_value * right_value
                room.counts[tables.order[q]] += weight * left_value * right_value
                left_outer += weight * right_value
                right_outer[C] += weight * left_value
            outer[left, B] += left_outer


@kernel
def _collect(g, c, tables, scores, room, g_rules, g_pairs, g_dense):
    """Add the counts of a cell (g: counted over all forests) to the gradients, and clear them."""
    R, n_binary = len(scores.rules), len(tables.binary)
    dense = g_dense.shape[0] > 0
    for t in range(scores.attributes.shape[1]):
        a = scores.attributes[g, t]
        if a < 0:
            continue
        for p in range(scores.ptr[a], scores.ptr[a + 1]):
            target = scores.targets[p]
            if target < R:
                g_pairs[p] += room.counts[target]
            else:
                for r in range(tables.expansions[target - R], tables.expansions[target - R + 1]):
                    g_pairs[p] += room.counts[r]
    for a in range(room.n_active[c]):
        A = room.active[c, a]
        for r in range(tables.expansions[A], tables.expansions[A + 1]):
            if room.counts[r] != 0.0:
                g_rules[r] += room.counts[r]
                if dense:
                    g_dense[g, r] += room.counts[r]
                room.counts[r] = 0.0
    for r in range(n_binary, R):
        g_rules[r] += room.counts[r]
        if dense:
            g_dense[g, r] += room.counts[r]
        room.counts[r] = 0.0
