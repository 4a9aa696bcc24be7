"""Sums over lattices of words, each word with a few labels, under a label model of order 1 or 2.

A node is (lattice state, labels of the word before, word v read last) and holds a block α[b, c]: b is a label of the
word before, c one of v.
An arc leads from a node (·, u, v) to one (·, v, w). Label trigrams have the weight W, a word's labels the weight E:

    order 2     α'[b, c] = E[w, c] · Σ_arcs Σ_a α[a, b] · W[a, b, c]
    order 1     α'[0, c] = E[w, c] · Σ_arcs Σ_b α[0, b] · W[0, b, c]              blocks have one row

Arcs of labels are never stored. Numbers are scaled: the sum is α·exp(scale of the node). STOP is a word of its own,
and every node that reads it belongs to a goal, whose sum of paths is Z. Backward, the derivative of Σ_goals
weight · log Z by α runs through all nodes at once, whatever the signs of the weights:

    β[a, b] = Σ_arcs Σ_c W[a, b, c] · E[w, c] · β'[b, c]        expected uses of (w, c): α·β, of (a, b, c): α·W·E·β'

A lattice with numbers that may have vanished is left to kernels/lattice_logs.py.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from loglin.kernels.compile import REORDER, kernel, record
from loglin.kernels.growing import grown

SMALL, LARGE = 1e-50, 1e50  # a block whose largest number is smaller or larger is scaled
VANISHING = 1e-100  # a positive number below it makes a lattice unsafe

ROW, ROWS, COLUMN, COLUMNS, PLACE, GOAL = range(6)


@record("i8[] i4[,] i8[] i4[] i4[] int")
class Graph(NamedTuple):
    """Lattices one behind the other; the nodes of each are contiguous and in topological order."""

    lattices: np.ndarray  # (lattices + 1,) int64: the first node of each
    nodes: np.ndarray  # (nodes, 6) int32: first and number of its row labels, first and number of its own labels,
    # place of its block in the lattice, goal or −1
    arcs: np.ndarray  # (nodes + 1,) int64
    sources: np.ndarray  # (arcs,) int32: nodes that the arcs into a node come from
    labels: np.ndarray  # (entries,) int32, of rows and of words; E and its gradient run along with it
    second: int  # 1 in a label model of order 2, else 0


@record("int f8[] f8[] f8[] float bool")
class Factors(NamedTuple):
    """exp(W − step) and exp(E − shift)."""

    S: int  # labels, START and STOP included
    W: np.ndarray  # flat: the place of (a, b, c) is (a · S + b) · S + c
    E: np.ndarray  # (entries,)
    shift: np.ndarray  # (entries,) at the first entry of every site
    step: float
    forbids: bool  # whether some of W or E is zero


class Work(NamedTuple):
    """Where one thread works."""

    alpha: np.ndarray  # (states,)
    beta: np.ndarray  # (states,)
    scale: np.ndarray  # (nodes,)
    larger: np.ndarray  # (nodes,) by which a block was multiplied
    least: np.ndarray  # (nodes,) the smallest positive number of a block
    factor: np.ndarray  # (arcs,)


@kernel("int int Graph Factors f8[] f8[] b1[] bool f8[] f8[]", fastmath=REORDER)
def sums(begin, end, graph, factors, weight, logz, unsafe, gradient, gW, gE):
    """log Z of the goals of lattices begin … end − 1, and with ``gradient`` expected uses, without the factor W."""
    lattices, nodes, arcs = graph.lattices, graph.nodes, graph.arcs
    states, most_nodes, most_arcs = 0, 0, 0
    for lattice in range(begin, end):
        lo, hi = lattices[lattice], lattices[lattice + 1]
        states = max(states, nodes[hi - 1, PLACE] + nodes[hi - 1, ROWS] * nodes[hi - 1, COLUMNS])
        most_nodes, most_arcs = max(most_nodes, hi - lo), max(most_arcs, arcs[hi] - arcs[lo])
    scale, larger, least = np.empty(most_nodes), np.empty(most_nodes), np.empty(most_nodes)
    work = Work(np.empty(states), np.empty(states), scale, larger, least, np.empty(most_arcs))
    for lattice in range(begin, end):
        safe = _forward(lattice, graph, factors, work, logz)
        unsafe[lattice] = not safe
        if gradient and safe:
            _backward(lattice, graph, factors, work, weight, logz, gW, gE)


@kernel(inline=True)
def _run(labels, first, count):
    """The first of labels that follow one another without a gap, which vector units like, else −1."""
    return labels[first] if labels[first + count - 1] - labels[first] == count - 1 else -1


@kernel(fastmath=REORDER)
def _forward(lattice, graph, factors, work, logz):
    """α of all nodes and log Z of the goals; whether no number may have vanished.

    A block of zeros has the scale −inf. Where something is forbidden, a state may have no other way than a very
    unlikely one, which must not vanish beside the others.
    """
    lattices, nodes, arcs, sources, labels, second = graph
    S, W, E, shift, step, forbids = factors
    alpha, _beta, scale, larger, least, factor = work
    lo, hi = lattices[lattice], lattices[lattice + 1]
    first, safe = arcs[lo], True
    alpha[0], scale[0], least[0] = 1.0, 0.0, 1.0
    for n in range(lo + 1, hi):
        rows, column, columns, place = nodes[n, ROWS], nodes[n, COLUMN], nodes[n, COLUMNS], nodes[n, PLACE]
        run = _run(labels, column, columns)
        a0, a1 = arcs[n], arcs[n + 1]
        top = scale[sources[a0] - lo]
        for a in range(a0 + 1, a1):
            top = max(top, scale[sources[a] - lo])
        for i in range(place, place + rows * columns):
            alpha[i] = 0.0
        for a in range(a0, a1):
            source = sources[a]
            s = scale[source - lo]
            f = 1.0 if s == top else math.exp(s - top)
            factor[a - first] = f
            if forbids and s > -math.inf and f * least[source - lo] < VANISHING:
                safe = False
            row, before, width = nodes[source, ROW], nodes[source, COLUMN], nodes[source, COLUMNS]
            state = nodes[source, PLACE]
            for i in range(nodes[source, ROWS]):
                high = labels[row + i] * S
                target = place
                for j in range(width):
                    x = alpha[state] * f
                    cell = (high + labels[before + j]) * S
                    if run >= 0:
                        for k in range(columns):
                            alpha[target + k] += x * W[cell + run + k]
                    else:
                        for k in range(columns):
                            alpha[target + k] += x * W[cell + labels[column + k]]
                    state += 1
                    target += columns * second
        largest, smallest, i = 0.0, math.inf, place
        for _ in range(rows):
            for k in range(columns):
                y = alpha[i] * E[column + k]
                alpha[i] = y
                largest = max(largest, y)
                if y < smallest and y > 0.0:
                    smallest = y
                i += 1
        larger[n - lo] = 1.0
        if largest == 0.0:
            top = -math.inf
        elif largest < SMALL or largest > LARGE:
            larger[n - lo] = 1.0 / largest
            for i in range(place, place + rows * columns):
                alpha[i] *= larger[n - lo]
            top += math.log(largest)
        least[n - lo] = smallest * larger[n - lo]
        if min(smallest, least[n - lo]) < VANISHING:
            safe = False
        scale[n - lo] = top + step + shift[column]
        goal = nodes[n, GOAL]
        if goal >= 0:
            total = 0.0
            for i in range(place, place + rows * columns):
                total += alpha[i]
            if total > 0.0:
                z = scale[n - lo] + math.log(total)
                high, low = max(z, logz[goal]), min(z, logz[goal])
                logz[goal] = high if low == -math.inf else high + math.log1p(math.exp(low - high))
    return safe


@kernel(fastmath=REORDER)
def _backward(lattice, graph, factors, work, weight, logz, gW, gE):
    """Add the expected uses of words and of label n-grams, the latter without their factor W."""
    lattices, nodes, arcs, sources, labels, second = graph
    S, W, E = factors.S, factors.W, factors.E
    alpha, beta, scale, larger, _least, factor = work
    lo, hi = lattices[lattice], lattices[lattice + 1]
    first = arcs[lo]
    for i in range(nodes[hi - 1, PLACE] + nodes[hi - 1, ROWS] * nodes[hi - 1, COLUMNS]):
        beta[i] = 0.0
    for n in range(hi - 1, lo, -1):
        rows, column, columns, place = nodes[n, ROWS], nodes[n, COLUMN], nodes[n, COLUMNS], nodes[n, PLACE]
        run, goal = _run(labels, column, columns), nodes[n, GOAL]
        if goal >= 0 and logz[goal] > -math.inf:
            share = weight[goal] * math.exp(scale[n - lo] - logz[goal])
            for i in range(place, place + rows * columns):
                beta[i] = share
        i = place
        for _ in range(rows):
            for k in range(columns):
                b = beta[i] if alpha[i] > 0.0 else 0.0  # what nothing reaches could grow without end
                gE[column + k] += alpha[i] * b
                beta[i] = b * E[column + k] * larger[n - lo]
                i += 1
        for a in range(arcs[n], arcs[n + 1]):
            source, f = sources[a], factor[a - first]
            row, before, width = nodes[source, ROW], nodes[source, COLUMN], nodes[source, COLUMNS]
            state = nodes[source, PLACE]
            for i in range(nodes[source, ROWS]):
                high = labels[row + i] * S
                target = place
                for j in range(width):
                    cell = (high + labels[before + j]) * S
                    x, total = alpha[state] * f, 0.0
                    if run >= 0:
                        for k in range(columns):
                            b = beta[target + k]
                            total += W[cell + run + k] * b
                            gW[cell + run + k] += x * b
                    else:
                        for k in range(columns):
                            b, c = beta[target + k], cell + labels[column + k]
                            total += W[c] * b
                            gW[c] += x * b
                    beta[state] += total * f
                    state += 1
                    target += columns * second


@kernel("i8[] i8[] i4[] i4[] i1[] i4[] i4[] int int int")
def expand(states, arcs, targets, symbols, final, site_of, row_of, order, stop, goals):
    """Nodes of word lattices: (word before, word, goal, arcs' sources …) in topological order.

    Returns lattices (n + 1,), words (nodes, 3): word before, word and goal, node arcs (nodes + 1,), sources.
    ``site_of`` numbers the sites of symbols, START is stop − 1, STOP is ``stop``; ``row_of`` gives sites with the same
    labels one number, as the word before matters by its labels alone. A lattice has one goal, all its sentences; with
    ``goals`` 2 another before it, its observed sentence; with ``goals`` 0 one for every final state.
    """
    n = len(states) - 1
    lattices = np.zeros(n + 1, np.int64)
    words, count = np.empty((4 * len(final) + 16, 3), np.int32), 0
    edge_from, edge_to = np.empty(4 * len(symbols) + 16, np.int64), np.empty(4 * len(symbols) + 16, np.int64)
    edges = 0
    longest = 0
    for i in range(n):
        longest = max(longest, states[i + 1] - states[i])
    head, tail = np.empty(longest, np.int64), np.empty(longest, np.int64)
    kinds, made = max(goals, 1), 0
    # nodes get temporary numbers when met and final ones when their state is reached
    following, number = np.empty(len(words), np.int64), np.empty(len(words), np.int64)
    for i in range(n):
        q0, q1 = states[i], states[i + 1]
        for q in range(q1 - q0):
            head[q], tail[q] = -1, -1
        base = count
        words[count, 0], words[count, 1], words[count, 2] = stop - 1, stop - 1, -1
        following[count] = -1
        head[0], tail[0] = count, count
        count += 1
        placed = base
        stop_head = np.full(kinds, -1, np.int64)
        for q in range(q1 - q0):
            node = head[q]
            while node >= 0:
                number[node] = placed
                placed += 1
                for a in range(arcs[q0 + q], arcs[q0 + q + 1] + (kinds if final[q0 + q] else 0)):
                    at_end = a >= arcs[q0 + q + 1]
                    which = a - arcs[q0 + q + 1]
                    if at_end:
                        if goals == 2 and which == 0 and final[q0 + q] != 2:
                            continue
                        site, found = stop, stop_head[which]
                    else:
                        site, found = site_of[symbols[a]], head[targets[a]]
                    u = row_of[words[node, 1]] if order == 2 else stop - 1
                    goal = (made if goals == 0 else goals * i + which) if at_end else -1
                    while found >= 0 and (words[found, 0] != u or words[found, 1] != site or words[found, 2] != goal):
                        found = following[found]
                    if found < 0:
                        if count == len(words):
                            words = grown(words, count + 1)
                            following, number = grown(following, count + 1), grown(number, count + 1)
                        found = count
                        count += 1
                        words[found, 0], words[found, 1], words[found, 2] = u, site, goal
                        following[found] = -1
                        if at_end:
                            following[found] = stop_head[which]
                            stop_head[which] = found
                        elif tail[targets[a]] < 0:
                            head[targets[a]], tail[targets[a]] = found, found
                        else:
                            following[tail[targets[a]]] = found
                            tail[targets[a]] = found
                    if edges == len(edge_from):
                        edge_from, edge_to = grown(edge_from, edges + 1), grown(edge_to, edges + 1)
                    edge_from[edges], edge_to[edges] = node, found
                    edges += 1
                node = following[node]
            made += final[q0 + q] > 0
        for which in range(kinds):
            node = stop_head[which]
            while node >= 0:
                number[node] = placed
                placed += 1
                node = following[node]
        lattices[i + 1] = count
    table = np.empty((count, 3), np.int32)
    ptr = np.zeros(count + 1, np.int64)
    for node in range(count):
        table[number[node]] = words[node]
    for e in range(edges):
        ptr[number[edge_to[e]] + 1] += 1
    for node in range(count):
        ptr[node + 1] += ptr[node]
    cursor, sources = ptr[:-1].copy(), np.empty(edges, np.int32)
    for e in range(edges):
        node = number[edge_to[e]]
        sources[cursor[node]] = number[edge_from[e]]
        cursor[node] += 1
    return lattices, table, ptr, sources
