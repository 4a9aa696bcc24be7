"""Lattices in the log domain: sums that cannot vanish, best paths, samples. The layout is that of kernels/lattice.py.

W and E are logarithms here, −inf forbids. A path is told by its entries: for each word it reads the number of the
(word, label) in ``labels``, STOP left out.
"""

from __future__ import annotations

import math

import numpy as np

from loglin.kernels.compile import kernel
from loglin.kernels.lattice import COLUMN, COLUMNS, GOAL, PLACE, ROW, ROWS
from loglin.kernels.logspace import add_logs


@kernel
def size_of(lattice, graph):
    """How many numbers the blocks of a lattice hold."""
    last, nodes = graph.lattices[lattice + 1] - 1, graph.nodes
    return nodes[last, PLACE] + nodes[last, ROWS] * nodes[last, COLUMNS]


@kernel
def forward(lattice, graph, W, E, alpha):
    """log α of every state of a lattice, into ``alpha``."""
    lattices, nodes, arcs, sources, labels, second = graph
    lo, hi = lattices[lattice], lattices[lattice + 1]
    alpha[:] = -math.inf
    alpha[0] = 0.0
    for n in range(lo + 1, hi):
        column, columns, place = nodes[n, COLUMN], nodes[n, COLUMNS], nodes[n, PLACE]
        for a in range(arcs[n], arcs[n + 1]):
            source = sources[a]
            row, before, start, width = (
                nodes[source, ROW],
                nodes[source, COLUMN],
                nodes[source, PLACE],
                nodes[source, COLUMNS],
            )
            for i in range(nodes[source, ROWS]):
                for j in range(width):
                    x = alpha[start + i * width + j]
                    if x == -math.inf:
                        continue
                    for k in range(columns):
                        to = place + j * columns * second + k
                        w = W[labels[row + i], labels[before + j], labels[column + k]]
                        if w > -math.inf:
                            alpha[to] = add_logs(alpha[to], x + w)
        for i in range(nodes[n, ROWS]):
            for k in range(columns):
                alpha[place + i * columns + k] += E[column + k]


@kernel
def goal_sum(goal, lattice, graph, alpha):
    """log Z of a goal from the forward sums of its lattice."""
    lattices, nodes = graph.lattices, graph.nodes
    z = -math.inf
    for n in range(lattices[lattice], lattices[lattice + 1]):
        if nodes[n, GOAL] == goal:
            for i in range(nodes[n, PLACE], nodes[n, PLACE] + nodes[n, ROWS] * nodes[n, COLUMNS]):
                z = add_logs(z, alpha[i])
    return z


@kernel("i8[] Graph f8[,,] f8[] f8[] i8[] f8[] bool f8[,,] f8[]")
def careful_sums(chosen, graph, W, E, weight, goals, logz, gradient, gW, gE):
    """As ``kernels.lattice.sums`` for the chosen lattices, but expected uses include W; goals (n + 1,) of each."""
    lattices, nodes, arcs, sources, labels, second = graph
    for lattice in chosen:
        lo, hi = lattices[lattice], lattices[lattice + 1]
        size = size_of(lattice, graph)
        alpha, beta = np.empty(size), np.empty(size)
        forward(lattice, graph, W, E, alpha)
        for goal in range(goals[lattice], goals[lattice + 1]):
            z = goal_sum(goal, lattice, graph, alpha)
            logz[goal] = z
            if not gradient or z == -math.inf or weight[goal] == 0.0:
                continue
            beta[:] = -math.inf
            for n in range(hi - 1, lo, -1):
                column, columns, place = nodes[n, COLUMN], nodes[n, COLUMNS], nodes[n, PLACE]
                size = nodes[n, ROWS] * columns
                if nodes[n, GOAL] == goal:
                    beta[place : place + size] = 0.0
                for i in range(size):
                    if beta[place + i] > -math.inf and alpha[place + i] > -math.inf:
                        k = column + i % columns
                        gE[k] += weight[goal] * math.exp(alpha[place + i] + beta[place + i] - z)
                for a in range(arcs[n], arcs[n + 1]):
                    source = sources[a]
                    row, before = nodes[source, ROW], nodes[source, COLUMN]
                    start, width = nodes[source, PLACE], nodes[source, COLUMNS]
                    for i in range(nodes[source, ROWS]):
                        for j in range(width):
                            x, total = alpha[start + i * width + j], -math.inf
                            for k in range(columns):
                                b, c, d = labels[row + i], labels[before + j], labels[column + k]
                                y = W[b, c, d] + E[column + k] + beta[place + j * columns * second + k]
                                if y > -math.inf:
                                    total = add_logs(total, y)
                                    if x > -math.inf:
                                        gW[b, c, d] += weight[goal] * math.exp(x + y - z)
                            if total > -math.inf:
                                beta[start + i * width + j] = add_logs(beta[start + i * width + j], total)


@kernel("int int Graph f8[,,] f8[] i8[] int i8[,,] i8[,] f8[,]")
def best_paths(begin, end, graph, W, E, goals, k, entries, lengths, scores):
    """The k best paths to the last goal of each lattice: entries (n, k, longest), lengths (n, k), scores (n, k).

    Backward, so that of equal paths through one word sequence the one with the first labels comes first.
    """
    lattices, nodes, arcs, sources, labels, second = graph
    for lattice in range(begin, end):
        lo, hi = lattices[lattice], lattices[lattice + 1]
        goal, size = goals[lattice + 1] - 1, size_of(lattice, graph)
        best = np.full((size, k), -math.inf)  # of the ways from a state to the end
        after = np.empty((size, k, 3), np.int64)  # node, state and rank that follow
        for n in range(hi - 1, lo, -1):
            column, columns, place = nodes[n, COLUMN], nodes[n, COLUMNS], nodes[n, PLACE]
            if nodes[n, GOAL] == goal:
                for i in range(nodes[n, ROWS] * columns):
                    best[place + i, 0], after[place + i, 0, 0] = 0.0, -1
            for a in range(arcs[n], arcs[n + 1]):
                source = sources[a]
                row, before, width = nodes[source, ROW], nodes[source, COLUMN], nodes[source, COLUMNS]
                for i in range(nodes[source, ROWS]):
                    for j in range(width):
                        state = nodes[source, PLACE] + i * width + j
                        for c in range(columns):
                            to = place + j * columns * second + c
                            w = W[labels[row + i], labels[before + j], labels[column + c]] + E[column + c]
                            for rank in range(k):
                                y = w + best[to, rank]
                                if not y > best[state, k - 1]:
                                    break
                                r = k - 1
                                while r > 0 and y > best[state, r - 1]:
                                    best[state, r], after[state, r] = best[state, r - 1], after[state, r - 1]
                                    r -= 1
                                best[state, r] = y
                                after[state, r, 0], after[state, r, 1], after[state, r, 2] = n, to, rank
        for rank in range(k):
            i = lattice - begin
            scores[i, rank], lengths[i, rank] = best[0, rank], 0
            if best[0, rank] == -math.inf:
                continue
            state, r = 0, rank
            while True:
                n, state, r = after[state, r]
                if nodes[n, GOAL] == goal:
                    break
                entries[i, rank, lengths[i, rank]] = nodes[n, COLUMN] + (state - nodes[n, PLACE]) % nodes[n, COLUMNS]
                lengths[i, rank] += 1


@kernel("int Graph f8[,,] f8[] i8[] f8[,] i8[,] i8[]")
def sample_paths(lattice, graph, W, E, goals, uniforms, entries, lengths):
    """Draws of paths to the last goal, from their ends: entries (draws, longest) filled from the right, lengths."""
    lattices, nodes, arcs, sources, labels, second = graph
    goal = goals[lattice + 1] - 1
    alpha = np.empty(size_of(lattice, graph))
    forward(lattice, graph, W, E, alpha)
    z = goal_sum(goal, lattice, graph, alpha)
    for draw in range(len(entries)):
        left, n, state = uniforms[draw, 0], -1, -1
        for last in range(lattices[lattice], lattices[lattice + 1]):
            if nodes[last, GOAL] == goal and left >= 0.0:
                for i in range(nodes[last, PLACE], nodes[last, PLACE] + nodes[last, ROWS] * nodes[last, COLUMNS]):
                    if alpha[i] > -math.inf and left >= 0.0:
                        n, state = last, i
                        left -= math.exp(alpha[i] - z)
        length = 0
        while True:
            if nodes[n, GOAL] < 0:
                length += 1
                entries[draw, entries.shape[1] - length] = (
                    nodes[n, COLUMN] + (state - nodes[n, PLACE]) % nodes[n, COLUMNS]
                )
            k = (state - nodes[n, PLACE]) % nodes[n, COLUMNS]
            j_fixed = (state - nodes[n, PLACE]) // nodes[n, COLUMNS]
            column, target = nodes[n, COLUMN] + k, alpha[state]
            left, came, origin = uniforms[draw, 1 + length], -1, -1
            for a in range(arcs[n], arcs[n + 1]):
                source = sources[a]
                row, before, width = nodes[source, ROW], nodes[source, COLUMN], nodes[source, COLUMNS]
                for i in range(nodes[source, ROWS]):
                    for j in range(width):
                        if second and j != j_fixed:
                            continue
                        at = nodes[source, PLACE] + i * width + j
                        y = alpha[at] + W[labels[row + i], labels[before + j], labels[column]] + E[column]
                        if y > -math.inf and left >= 0.0:
                            came, origin = source, at
                            left -= math.exp(y - target)
            n, state = came, origin
            if n == lattices[lattice]:
                break
        lengths[draw] = length
