"""Word lattices to lattices of windows: each arc reads a word together with the words around it.

A state of the new lattice is a state of the old one and the last words that led to it, so many as windows ahead
need. An arc that reads word t writes the window of word t − right; the last ``right`` windows follow behind the end:

    BEGIN    at most ``right`` words read, no window written; all such states are the start of the new lattice
    INSIDE   state q of the old lattice, the last left + right words
    1, 2     behind an end with this mark: the last left + j words, of which j still wait for their windows

A state is kept as a sequence (place, kind, words …); places are states of the old lattice, then Q + right − j, so
that arcs lead to higher places.
"""

from __future__ import annotations

import numpy as np

from loglin.kernels.compile import kernel
from loglin.kernels.growing import grown
from loglin.kernels.transduce import keep, slot_of

INSIDE, BEGIN = 0, 3


@kernel
def empty_table():
    """Sequences by number: entries, where each begins, slots of a hash table, how many there are."""
    return np.empty(64, np.int64), np.zeros(64, np.int64), np.full(64, -1, np.int64), 0


@kernel
def number_of(table, key, length):
    """The number of key[:length] in the table, which is added if it is new, and the table."""
    entries, ends, slots, n = table
    slot = slot_of(entries, ends, slots, key, length)
    if slots[slot] >= 0:
        return slots[slot], table
    entries, ends, slots = keep(entries, ends, slots, n, slot, key, length)
    return n, (entries, ends, slots, n + 1)


@kernel
def window_at(windows, words, n, center, left, window):
    """The number of the window around words[center] of n words, and the table; it holds symbol + 1, 0 outside."""
    for i in range(window.shape[0]):
        at = center + i - left
        window[i] = words[at] + 1 if 0 <= at < n else 0
    return number_of(windows, window, window.shape[0])


@kernel
def state_of(table, place, kind, words, n, kept, key):
    """The number of the state (place, kind, the last ``kept`` of n words), and the table."""
    kept = min(kept, n)
    key[0], key[1] = place, kind
    key[2 : 2 + kept] = words[n - kept : n]
    return number_of(table, key, 2 + kept)


@kernel
def split_states(first, last, arcs, targets, symbols, final, left, right, windows):
    """The states of one new lattice, its arcs (n, 3): from, window, to, and the table of windows."""
    Q = last - first
    width = left + 1 + right
    key, words, window = np.empty(2 + width, np.int64), np.empty(width, np.int64), np.empty(width, np.int64)
    edges, n_edges = np.empty((64, 3), np.int64), 0
    k, table = state_of(empty_table(), 0, BEGIN, words, 0, 0, key)
    while k < table[3]:
        entries, ends = table[0], table[1]
        place, kind, m = entries[ends[k]], entries[ends[k] + 1], ends[k + 1] - ends[k] - 2
        words[:m] = entries[ends[k] + 2 : ends[k + 1]]
        waiting, mark = Q + right - place, kind
        if kind == INSIDE or kind == BEGIN:
            q = first + place
            waiting, mark = (min(right, m) if final[q] else 0), np.int64(final[q])
            for a in range(arcs[q], arcs[q + 1]):
                words[m] = symbols[a]
                to = first + targets[a]
                silent = kind == BEGIN and m < right
                ahead = right > 0 or arcs[to] < arcs[to + 1]  # else nothing looks back
                target, table = state_of(
                    table, targets[a], BEGIN if silent else INSIDE, words, m + 1, left + right if ahead else 0, key
                )
                if not silent:
                    written, windows = window_at(windows, words, m + 1, m - right, left, window)
                    edges = grown(edges, n_edges + 1)
                    edges[n_edges, 0], edges[n_edges, 1], edges[n_edges, 2] = k, written, target
                    n_edges += 1
        if waiting > 0:
            written, windows = window_at(windows, words, m, m - waiting, left, window)
            kept = left + waiting - 1 if waiting > 1 else 0
            target, table = state_of(table, Q + right - (waiting - 1), mark, words, m, kept, key)
            edges = grown(edges, n_edges + 1)
            edges[n_edges, 0], edges[n_edges, 1], edges[n_edges, 2] = k, written, target
            n_edges += 1
        k += 1
    return table, edges[:n_edges], windows


@kernel
def ordered(table):
    """The number of every state in topological order, 0 of those that are the start, and how many numbers there are."""
    entries, ends, _, n = table
    place, begins = np.empty(n, np.int64), 0
    for k in range(n):
        begin = entries[ends[k] + 1] == BEGIN
        begins += begin
        place[k] = -1 if begin else entries[ends[k]]
    number = np.zeros(n, np.int64)
    for rank, k in enumerate(np.argsort(place, kind="mergesort")):
        number[k] = max(rank - begins + 1, 0)
    return number, n - begins + 1


@kernel("i8[] i8[] i4[] i4[] i1[] int int i8[,]")
def lattices_of_windows(states, arcs, targets, symbols, final, left, right, known):
    """WordLattices' states, arcs, targets, symbols, final of windows, and the windows (n, left + 1 + right).

    The windows ``known`` keep their numbers; −1 stands outside the sentence.
    """
    windows, width = empty_table(), left + 1 + right
    for row in known:
        _, windows = number_of(windows, row + 1, width)
    new_states, new_arcs = np.zeros(states.shape[0], np.int64), np.zeros(64, np.int64)
    new_final, reads = np.empty(64, np.int8), np.empty(64, np.int64)  # window · 2³² + target
    n, n_arcs = 0, 0
    for i in range(states.shape[0] - 1):
        table, edges, windows = split_states(
            states[i], states[i + 1], arcs, targets, symbols, final, left, right, windows
        )
        number, count = ordered(table)
        new_arcs, new_final = grown(new_arcs, n + count + 1), grown(new_final, n + count)
        reads = grown(reads, n_arcs + edges.shape[0])
        new_arcs[n + 1 : n + count + 1], new_final[n : n + count] = 0, 0
        for k in range(table[3]):
            place, kind = table[0][table[1][k]], table[0][table[1][k] + 1]
            if kind == INSIDE and right == 0:
                new_final[n + number[k]] = final[states[i] + place]
            elif kind != BEGIN and place == states[i + 1] - states[i] + right:
                new_final[n + number[k]] = kind
        for e in range(edges.shape[0]):
            new_arcs[n + number[edges[e, 0]] + 1] += 1
        for q in range(n, n + count):
            new_arcs[q + 1] += new_arcs[q]
        cursor = new_arcs[n : n + count].copy()
        for e in range(edges.shape[0]):
            q = number[edges[e, 0]]
            reads[cursor[q]] = (edges[e, 1] << 32) + number[edges[e, 2]]
            cursor[q] += 1
        for q in range(n, n + count):
            reads[new_arcs[q] : new_arcs[q + 1]].sort()
        n, n_arcs = n + count, n_arcs + edges.shape[0]
        new_states[i + 1] = n
    read = reads[:n_arcs]
    return (
        new_states,
        new_arcs[: n + 1],
        (read & 0xFFFFFFFF).astype(np.int32),
        (read >> 32).astype(np.int32),
        new_final[:n],
        (windows[0][: windows[3] * width] - 1).astype(np.int32).reshape(windows[3], width),
    )
