"""Forests in logarithms: the best tree of each, and sums and samples that are safe for every input.

The charts are those of forest.py with I and O in logarithms; -inf is a zero. A derivation is written down in preorder,
(symbol, i, j, rule) a node; the rule of a leaf is −1 − its arc, counted from the forest's first.
"""

from __future__ import annotations

import math

import numpy as np

from loglin.kernels.compile import kernel
from loglin.kernels.forest import inside, log_goal, outside
from loglin.kernels.forest_scores import Best, cell, log_row, prepare, split_row
from loglin.kernels.logspace import add_logs


@kernel
def _allowed(f, c, A, layout):
    mask = layout.mask_of[layout.cells[f] + c] if len(layout.mask_of) > 0 else -1
    return mask < 0 or layout.masks[mask, A]


@kernel
def _fill_splits(f, layout, scores, splits):
    """Split scores by state and rule number: (states, binary), or nothing if there are none."""
    for k in range(splits.shape[0]):
        splits[k] = 0.0
        split_row(layout.states[f] + k, scores, splits[k])


# ---------------------------------------------------------------------------------------------- the best tree


@kernel("int Layout Tables Scores Best")
def best_chart(f, layout, tables, scores, best):
    """max instead of Σ: the score of the best tree of every item, the rule on its top and where that splits."""
    chart, rule, split, active, n_active, row, sums, places, splits = best
    S, n_binary = layout.states[f + 1] - layout.states[f], len(tables.binary)
    _fill_splits(f, layout, scores, splits)
    arc, last_arc = layout.arcs[f], layout.arcs[f + 1]
    for j in range(1, S):
        for i in range(j - 1, -1, -1):
            c = cell(i, j)
            values = chart[c]
            values[:] = -np.inf
            found = False
            sums[:] = -np.inf
            for k in range(i + 1, j):
                left, right = cell(i, k), cell(k, j)
                if n_active[left] == 0 or n_active[right] == 0:
                    continue
                found = True
                right_values = chart[right]
                for b in range(n_active[left]):
                    B = active[left, b]
                    value = chart[left, B]
                    for q in range(tables.left_ptr[B], tables.left_ptr[B + 1]):
                        score = value + right_values[tables.right[q]]
                        if splits.shape[0] > 0:
                            score += splits[k, tables.order[q]]
                        if score > sums[q]:
                            sums[q] = score
                            places[q] = k
            if found or len(tables.unary) > 0:
                log_row(layout.cells[f] + c, tables, scores, row)
            if found:
                for q in range(n_binary):
                    if sums[q] > -np.inf:
                        A, score = tables.parent[q], sums[q] + row[tables.order[q]]
                        if score > values[A]:
                            values[A] = score
                            rule[c, A] = tables.order[q]
                            split[c, A] = places[q]
            while arc < last_arc and layout.target[arc] == j and layout.source[arc] == i:
                for t in range(len(tables.tags)):
                    leaf, A = scores.leaves[layout.row[arc], t], tables.tags[t]
                    if leaf > values[A]:
                        values[A] = leaf
                        rule[c, A] = -1 - (arc - layout.arcs[f])
                arc += 1
            n_active[c] = _close_best(f, c, layout, tables, row, values, rule[c], active[c])


@kernel
def _close_best(f, c, layout, tables, row, values, rule, active):
    """The mask, the unary rules children first, and the list of symbols that are there; how many."""
    for A in range(len(values)):
        if values[A] > -np.inf and not _allowed(f, c, A, layout):
            values[A] = -np.inf
    for u in range(len(tables.unary)):
        parent, score = tables.unary[u, 0], values[tables.unary[u, 1]] + row[len(tables.binary) + u]
        if score > values[parent] and _allowed(f, c, parent, layout):
            values[parent] = score
            rule[parent] = len(tables.binary) + u
    n = 0
    for A in range(len(values)):
        if values[A] > -np.inf:
            active[n] = A
            n += 1
    return n


@kernel("int Layout Scores f8[,]")
def best_goal(f, layout, scores, chart):
    """The state where the best tree ends, its symbol and its score."""
    S = layout.states[f + 1] - layout.states[f]
    end, top, best = 0, 0, -np.inf
    for j in range(1, S):
        if layout.final[layout.states[f] + j] > 0:
            for A in range(chart.shape[1]):
                score = chart[cell(0, j), A] + scores.roots[A]
                if score > best:
                    end, top, best = j, A, score
    return end, top, best


@kernel("int int int Tables i4[,] i4[,] i4[,] i4[,]")
def unfold(A, i, j, tables, rule, split, ahead, nodes):
    """Write down the tree below item (A, i, j) that the chart points to; how many nodes it has."""
    n, waiting = 0, 1
    ahead[0, 0], ahead[0, 1], ahead[0, 2] = A, i, j
    while waiting > 0:
        waiting -= 1
        A, i, j = ahead[waiting, 0], ahead[waiting, 1], ahead[waiting, 2]
        r, k = rule[cell(i, j), A], split[cell(i, j), A]
        nodes[n, 0], nodes[n, 1], nodes[n, 2], nodes[n, 3] = A, i, j, r
        n += 1
        if r >= len(tables.binary):
            ahead[waiting, 0], ahead[waiting, 1], ahead[waiting, 2] = tables.unary[r - len(tables.binary), 1], i, j
            waiting += 1
        elif r >= 0:
            ahead[waiting, 0], ahead[waiting, 1], ahead[waiting, 2] = tables.binary[r, 2], k, j
            ahead[waiting + 1, 0], ahead[waiting + 1, 1], ahead[waiting + 1, 2] = tables.binary[r, 1], i, k
            waiting += 2
    return n


@kernel("int int Layout Tables Scores f8[] i8[] i4[,,]")
def best_trees(begin, end, layout, tables, scores, best, n_nodes, nodes):
    """The best tree of forests begin … end − 1: scores (n,), and its nodes (n, longest, 4)."""
    most = 0
    for f in range(begin, end):
        most = max(most, layout.states[f + 1] - layout.states[f])
    N, n_binary, cells = len(scores.roots), len(tables.binary), cell(0, most)
    chart, active = np.empty((cells, N)), np.empty((cells, N), np.int32)
    rule, split = np.empty((cells, N), np.int32), np.empty((cells, N), np.int32)
    n_active, ahead = np.zeros(cells, np.int32), np.empty((nodes.shape[1] + 1, 3), np.int32)
    row, sums, places = np.empty(len(scores.rules)), np.empty(n_binary), np.empty(n_binary, np.int32)
    all_splits = np.empty((most if scores.splits.shape[1] > 0 else 0, n_binary))
    for f in range(begin, end):
        S = layout.states[f + 1] - layout.states[f]
        splits = all_splits[: min(S, len(all_splits))]
        found = Best(chart, rule, split, active, n_active, row, sums, places, splits)
        best_chart(f, layout, tables, scores, found)
        last, top, best[f - begin] = best_goal(f, layout, scores, chart)
        n_nodes[f - begin] = 0
        if best[f - begin] > -np.inf:
            n_nodes[f - begin] = unfold(top, 0, last, tables, rule, split, ahead, nodes[f - begin])


# ---------------------------------------------------------------------------------------------- sums


@kernel("int Layout Tables Scores f8[,] f8[] f8[,]")
def inside_logs(f, layout, tables, scores, chart, row, splits):
    S, n_binary = layout.states[f + 1] - layout.states[f], len(tables.binary)
    _fill_splits(f, layout, scores, splits)
    arc, last_arc = layout.arcs[f], layout.arcs[f + 1]
    for j in range(1, S):
        for i in range(j - 1, -1, -1):
            c = cell(i, j)
            values = chart[c]
            values[:] = -np.inf
            log_row(layout.cells[f] + c, tables, scores, row)
            while arc < last_arc and layout.target[arc] == j and layout.source[arc] == i:
                for t in range(len(tables.tags)):
                    A = tables.tags[t]
                    values[A] = add_logs(values[A], scores.leaves[layout.row[arc], t])
                arc += 1
            for r in range(n_binary):
                A, B, C = tables.binary[r]
                if row[r] == -np.inf:
                    continue
                for k in range(i + 1, j):
                    score = chart[cell(i, k), B] + chart[cell(k, j), C]
                    if score > -np.inf:
                        score += splits[k, r] if splits.shape[0] > 0 else 0.0
                        values[A] = add_logs(values[A], score + row[r])
            for A in range(len(values)):
                if values[A] > -np.inf and not _allowed(f, c, A, layout):
                    values[A] = -np.inf
            for u in range(len(tables.unary)):
                parent, child = tables.unary[u]
                if _allowed(f, c, parent, layout):
                    values[parent] = add_logs(values[parent], values[child] + row[n_binary + u])


@kernel("int Layout Scores f8[,] int")
def log_goal_of_logs(f, layout, scores, chart, least):
    total = -np.inf
    for j in range(1, layout.states[f + 1] - layout.states[f]):
        if layout.final[layout.states[f] + j] >= least:
            for A in range(chart.shape[1]):
                total = add_logs(total, chart[cell(0, j), A] + scores.roots[A])
    return total


@kernel("int Layout Tables Scores f8[,] f8[,] f8[] f8[,] (int float float) Uses f8[,]")
def outside_logs(f, layout, tables, scores, chart, outer, row, splits, seed, gradient, posteriors):
    """Add weight · expected uses to the gradients; seed is (least final, log Z, weight)."""
    S, n_binary = layout.states[f + 1] - layout.states[f], len(tables.binary)
    g_leaves, g_roots, g_rules, g_pairs, g_splits, g_dense = gradient
    least, log_z, weight = seed
    counts = np.zeros(len(scores.rules))
    split_counts = np.zeros(splits.shape)
    outer[: cell(0, S)] = -np.inf
    for j in range(1, S):
        if layout.final[layout.states[f] + j] >= least:
            for A in range(chart.shape[1]):
                outer[cell(0, j), A] = scores.roots[A] - log_z
                if chart[cell(0, j), A] > -np.inf:
                    g_roots[A] += weight * math.exp(scores.roots[A] - log_z + chart[cell(0, j), A])
    arc, first_arc = layout.arcs[f + 1] - 1, layout.arcs[f]
    for j in range(S - 1, 0, -1):
        for i in range(j):
            c = cell(i, j)
            log_row(layout.cells[f] + c, tables, scores, row)
            for A in range(chart.shape[1]):  # what no tree has, such as what the mask forbids, has no outside
                if chart[c, A] == -np.inf:
                    outer[c, A] = -np.inf
            for u in range(len(tables.unary) - 1, -1, -1):
                parent, child = tables.unary[u]
                share = outer[c, parent] + row[n_binary + u]
                if share > -np.inf and chart[c, child] > -np.inf:
                    outer[c, child] = add_logs(outer[c, child], share)
                    counts[n_binary + u] = weight * math.exp(share + chart[c, child])
            while arc >= first_arc and layout.target[arc] == j and layout.source[arc] == i:
                for t in range(len(tables.tags)):
                    leaf = scores.leaves[layout.row[arc], t] + outer[c, tables.tags[t]]
                    if leaf > -np.inf and chart[c, tables.tags[t]] > -np.inf:
                        g_leaves[layout.row[arc], t] += weight * math.exp(leaf)
                arc -= 1
            for r in range(n_binary):
                A, B, C = tables.binary[r]
                share = outer[c, A] + row[r]
                if share == -np.inf:
                    continue
                for k in range(i + 1, j):
                    left, right = cell(i, k), cell(k, j)
                    here = share + (splits[k, r] if splits.shape[0] > 0 else 0.0)
                    whole = here + chart[left, B] + chart[right, C]
                    if whole > -np.inf:
                        use = weight * math.exp(whole)
                        counts[r] += use
                        if splits.shape[0] > 0:
                            split_counts[k, r] += use
                        outer[left, B] = add_logs(outer[left, B], here + chart[right, C])
                        outer[right, C] = add_logs(outer[right, C], here + chart[left, B])
            _collect_logs(layout.cells[f] + c, tables, scores, counts, g_rules, g_pairs, g_dense)
            for A in range(chart.shape[1]):
                if posteriors.shape[0] > 0 and outer[c, A] > -np.inf and chart[c, A] > -np.inf:
                    posteriors[layout.cells[f] + c, A] += weight * math.exp(outer[c, A] + chart[c, A])
    for k in range(splits.shape[0]):
        for t in range(scores.splits.shape[1]):
            a = scores.splits[layout.states[f] + k, t]
            if a >= 0:
                for p in range(scores.split_ptr[a], scores.split_ptr[a + 1]):
                    g_splits[p] += split_counts[k, scores.split_targets[p]]


@kernel
def _collect_logs(g, tables, scores, counts, g_rules, g_pairs, g_dense):
    R = len(scores.rules)
    for t in range(scores.attributes.shape[1]):
        a = scores.attributes[g, t]
        if a >= 0:
            for p in range(scores.ptr[a], scores.ptr[a + 1]):
                target = scores.targets[p]
                if target < R:
                    g_pairs[p] += counts[target]
                else:
                    g_pairs[p] += counts[tables.expansions[target - R] : tables.expansions[target - R + 1]].sum()
    g_rules += counts
    if g_dense.shape[0] > 0:
        g_dense[g] += counts
    counts[:] = 0.0


@kernel("int int Layout Tables Scores Room f8[,] f8[,] Uses f8[,]")
def sums(begin, end, layout, tables, scores, room, weights, log_z, gradient, posteriors):
    """log Z of the goals of forests begin … end − 1, (forests, 2): the observed sentence, all sentences; and for
    weights (forests, 2) of the goals that are not all 0, weighted expectations added to the gradients.
    """
    peak, safe = prepare(tables, scores, room)
    N = len(scores.roots)
    for f in range(begin, end):
        S = layout.states[f + 1] - layout.states[f]
        fine = safe and inside(f, layout, tables, scores, room, peak)
        chart, row = room.chart, room.row
        if not fine:
            prepare(tables, scores, room)  # an unfinished cell left its traces
            chart, row = np.empty((cell(0, S), N)), np.empty(len(scores.rules))
            splits = np.empty((S if scores.splits.shape[1] > 0 else 0, len(tables.binary)))
            inside_logs(f, layout, tables, scores, chart, row, splits)
        for g in range(2):
            if fine:
                log_z[f, g] = log_goal(f, layout, scores, room, 2 - g)
            else:
                log_z[f, g] = log_goal_of_logs(f, layout, scores, chart, 2 - g)
        wanted = weights.shape[0] > 0 and (weights[f, 0] != 0.0 or weights[f, 1] != 0.0)
        if not wanted or log_z[f, 1] == -np.inf:
            continue
        seeds = ((2, log_z[f, 0], weights[f, 0] if log_z[f, 0] > -np.inf else 0.0), (1, log_z[f, 1], weights[f, 1]))
        if fine:
            outside(f, layout, tables, scores, room, peak, seeds, gradient)
            if posteriors.shape[0] > 0:
                for c in range(cell(0, S)):
                    for a in range(room.n_active[c]):
                        A = room.active[c, a]
                        posteriors[layout.cells[f] + c, A] += room.outside[c, A] * room.chart[c, A]
        else:
            outer = np.empty((cell(0, S), N))
            for seed in seeds:
                if seed[2] != 0.0:
                    outside_logs(f, layout, tables, scores, chart, outer, row, splits, seed, gradient, posteriors)


# ---------------------------------------------------------------------------------------------- samples


@kernel("int Layout Tables Scores f8[,] i8[] i4[,,]")
def sample_trees(f, layout, tables, scores, uniforms, n_nodes, nodes):
    """Draw trees of forest f: uniforms (n, longest + 1), one for each choice; nodes (n, longest, 4). log Z."""
    S, n_binary, N = layout.states[f + 1] - layout.states[f], len(tables.binary), len(scores.roots)
    chart, row = np.empty((cell(0, S), N)), np.empty(len(scores.rules))
    splits = np.empty((S if scores.splits.shape[1] > 0 else 0, n_binary))
    inside_logs(f, layout, tables, scores, chart, row, splits)
    total = log_goal_of_logs(f, layout, scores, chart, 1)
    ahead = np.empty((nodes.shape[1] + 1, 3), np.int32)
    for s in range(len(uniforms) if total > -np.inf else 0):
        left = uniforms[s, 0]
        for j in range(1, S):
            for A in range(N):
                score = chart[cell(0, j), A] + scores.roots[A]
                if layout.final[layout.states[f] + j] > 0 and score > -np.inf and left >= 0.0:
                    ahead[0, 0], ahead[0, 1], ahead[0, 2] = A, 0, j
                    left -= math.exp(score - total)
        n, waiting = 0, 1
        while waiting > 0:
            waiting -= 1
            A, i, j = ahead[waiting, 0], ahead[waiting, 1], ahead[waiting, 2]
            log_row(layout.cells[f] + cell(i, j), tables, scores, row)
            r, k = _choose(f, A, i, j, layout, tables, scores, chart, row, splits, uniforms[s, n + 1])
            nodes[s, n, 0], nodes[s, n, 1], nodes[s, n, 2], nodes[s, n, 3] = A, i, j, r
            n += 1
            if r >= n_binary:
                ahead[waiting, 0], ahead[waiting, 1], ahead[waiting, 2] = tables.unary[r - n_binary, 1], i, j
                waiting += 1
            elif r >= 0:
                ahead[waiting, 0], ahead[waiting, 1], ahead[waiting, 2] = tables.binary[r, 2], k, j
                ahead[waiting + 1, 0], ahead[waiting + 1, 1], ahead[waiting + 1, 2] = tables.binary[r, 1], i, k
                waiting += 2
        n_nodes[s] = n
    return total


@kernel
def _choose(f, A, i, j, layout, tables, scores, chart, row, splits, uniform):
    """One way to make item (A, i, j), by its share of all: the rule (−1 − arc of a leaf) and the split."""
    c, n_binary = cell(i, j), len(tables.binary)
    left, found, place = uniform, 0, 0
    for a in range(layout.arcs[f], layout.arcs[f + 1]):
        if layout.source[a] == i and layout.target[a] == j:
            for t in range(len(tables.tags)):
                leaf = scores.leaves[layout.row[a], t]
                if tables.tags[t] == A and leaf > -np.inf and left >= 0.0:
                    left -= math.exp(leaf - chart[c, A])
                    found = -1 - (a - layout.arcs[f])
    for r in range(tables.expansions[A], tables.expansions[A + 1]):
        for k in range(i + 1, j):
            score = row[r] + chart[cell(i, k), tables.binary[r, 1]] + chart[cell(k, j), tables.binary[r, 2]]
            if splits.shape[0] > 0:
                score += splits[k, r]
            if score > -np.inf and left >= 0.0:
                left -= math.exp(score - chart[c, A])
                found, place = r, k
    for u in range(len(tables.unary)):
        score = row[n_binary + u] + chart[c, tables.unary[u, 1]]
        if tables.unary[u, 0] == A and score > -np.inf and left >= 0.0:
            left -= math.exp(score - chart[c, A])
            found = n_binary + u
    return found, place
