"""Automata with silent arcs to deterministic, minimal word lattices.

An automaton is a range of states first[s] … first[s + 1] − 1 whose arcs lead from lower to higher numbers; the
arcs of state q are ptr[q] … ptr[q + 1] − 1, and one that reads -1 is silent. A state of the deterministic
automaton is a set of states and a flag: 1 + d where only the first d words of the observed sentence lead to it,
0 elsewhere. So the observed sentence keeps states of its own, and the lowest member orders the sets.
"""

from __future__ import annotations

import numpy as np

from loglin.kernels.compile import kernel
from loglin.kernels.growing import grown

u8 = np.uint64
_PRIME = u8(0x100000001B3)


@kernel
def slot_of(entries, ends, slots, key, length):
    """Where key[:length] stands, or would stand, in the hash table of the sequences entries[ends[k]:ends[k + 1]]."""
    mask = u8(slots.shape[0] - 1)
    code = u8(length)
    for j in range(length):
        code = (code ^ u8(key[j])) * _PRIME
        code ^= code >> u8(29)
    slot = code & mask
    while slots[slot] >= 0:
        k = slots[slot]
        if ends[k + 1] - ends[k] == length:
            same = True
            for j in range(length):
                if entries[ends[k] + j] != key[j]:
                    same = False
                    break
            if same:
                break
        slot = (slot + u8(1)) & mask
    return slot


@kernel
def keep(entries, ends, slots, n, slot, key, length):
    """Add key[:length] as sequence number n at its slot; returns the arrays, larger where they were full."""
    entries, ends = grown(entries, ends[n] + length), grown(ends, n + 2)
    entries[ends[n] : ends[n] + length] = key[:length]
    ends[n + 1] = ends[n] + length
    slots[slot] = n
    if 2 * (n + 1) >= slots.shape[0]:
        slots = np.full(4 * slots.shape[0], -1, np.int64)
        for k in range(n + 1):
            sequence = entries[ends[k] : ends[k + 1]]
            slots[slot_of(entries, ends, slots, sequence, sequence.shape[0])] = k
    return entries, ends, slots


@kernel
def close(ptr, targets, symbols, first, mark, stamp, members, n):
    """Add what silent arcs lead to behind members[1:n], a set whose states are marked with ``stamp``, and sort it."""
    p = 1
    while p < n:
        q = first + members[p]
        for a in range(ptr[q], ptr[q + 1]):
            t = targets[a] - first
            if symbols[a] < 0 and mark[t] != stamp:
                mark[t] = stamp
                members[n] = t
                n += 1
        p += 1
    members[1:n].sort()
    return n


@kernel
def determinize(first, size, start, ptr, targets, symbols, words):
    """Subset construction. Returns the sets (flag, members …) and the arcs of each: (entries, ends, n, arcs, …)."""
    mark, stamp = np.zeros(size, np.int64), 1
    members = np.empty(size + 1, np.int64)
    reads = np.empty(16, np.int64)  # symbol · 2³² + target of the arcs of one set
    entries, ends, slots = np.empty(64, np.int64), np.zeros(64, np.int64), np.full(64, -1, np.int64)
    arcs, arc_symbols, arc_targets = np.zeros(64, np.int64), np.empty(64, np.int64), np.empty(64, np.int64)
    members[0], members[1] = (1 if words.shape[0] else 0), start - first
    mark[start - first] = stamp
    length = close(ptr, targets, symbols, first, mark, stamp, members, 2)
    slot = slot_of(entries, ends, slots, members, length)
    entries, ends, slots = keep(entries, ends, slots, 0, slot, members, length)
    n, n_arcs, q = 1, 0, 0
    while q < n:
        flag, k = entries[ends[q]], 0
        for e in range(ends[q] + 1, ends[q + 1]):
            state = first + entries[e]
            reads = grown(reads, k + ptr[state + 1] - ptr[state])
            for a in range(ptr[state], ptr[state + 1]):
                if symbols[a] >= 0:
                    reads[k] = (np.int64(symbols[a]) << 32) + targets[a] - first
                    k += 1
        reads[:k].sort()
        j = 0
        while j < k:
            symbol, stamp, length = reads[j] >> 32, stamp + 1, 1
            while j < k and reads[j] >> 32 == symbol:
                t = reads[j] & 0xFFFFFFFF
                if mark[t] != stamp:
                    mark[t] = stamp
                    members[length] = t
                    length += 1
                j += 1
            length = close(ptr, targets, symbols, first, mark, stamp, members, length)
            members[0] = flag + 1 if 0 < flag <= words.shape[0] and words[flag - 1] == symbol else 0
            slot = slot_of(entries, ends, slots, members, length)
            arc_symbols, arc_targets = grown(arc_symbols, n_arcs + 1), grown(arc_targets, n_arcs + 1)
            arc_symbols[n_arcs], arc_targets[n_arcs] = symbol, (slots[slot] if slots[slot] >= 0 else n)
            n_arcs += 1
            if slots[slot] < 0:
                entries, ends, slots = keep(entries, ends, slots, n, slot, members, length)
                n += 1
        q += 1
        arcs = grown(arcs, q + 1)
        arcs[q] = n_arcs
    return entries, ends, n, arcs, arc_symbols, arc_targets


@kernel
def minimize(first, final, entries, ends, n, arcs, arc_symbols, arc_targets, n_words):
    """Merge sets with the same strings behind them, backwards; drop those from which nothing ends.

    Returns classes as sequences (final, symbol, class, symbol, class, …), targets before sources, and their number.
    """
    lowest = np.empty(n, np.int64)
    for q in range(n):
        lowest[q] = entries[ends[q] + 1]
    order = np.argsort(lowest, kind="mergesort")
    number = np.full(n, -1, np.int64)
    classes, class_ends, slots = np.empty(64, np.int64), np.zeros(64, np.int64), np.full(64, -1, np.int64)
    key, n_classes = np.empty(16, np.int64), 0
    for i in range(n - 1, -1, -1):
        q = order[i]
        key = grown(key, 1 + 2 * (arcs[q + 1] - arcs[q]))
        key[0], length = 0, 1
        if q > 0:  # the empty string is nobody's neighbor
            for e in range(ends[q] + 1, ends[q + 1]):
                if final[first + entries[e]]:
                    key[0] = 2 if n_words and entries[ends[q]] == n_words + 1 else 1
        for a in range(arcs[q], arcs[q + 1]):
            target = number[arc_targets[a]]
            if target >= 0:
                key[length], key[length + 1] = arc_symbols[a], target
                length += 2
        if length == 1 and key[0] == 0:
            continue
        slot = slot_of(classes, class_ends, slots, key, length)
        number[q] = slots[slot] if slots[slot] >= 0 else n_classes
        if slots[slot] < 0:
            classes, class_ends, slots = keep(classes, class_ends, slots, n_classes, slot, key, length)
            n_classes += 1
    return classes, class_ends, n_classes


@kernel("i8[] i8[] i8[] i8[] i4[] b1[] i4[] i8[]")
def word_lattices(first, starts, ptr, targets, symbols, final, words, offsets):
    """The minimal lattice of every automaton: lost, states, arcs, targets, symbols, final as in WordLattices.

    ``lost`` is the first sentence that its automaton does not hold, or -1.
    """
    n_lattices = starts.shape[0]
    lost = -1
    states, arcs = np.zeros(n_lattices + 1, np.int64), np.zeros(64, np.int64)
    out_targets, out_symbols = np.empty(64, np.int32), np.empty(64, np.int32)
    out_final = np.empty(64, np.int8)
    n, n_arcs = 0, 0
    for s in range(n_lattices):
        sentence = words[offsets[s] : offsets[s + 1]]
        sets = determinize(first[s], first[s + 1] - first[s], starts[s], ptr, targets, symbols, sentence)
        classes, ends, n_classes = minimize(first[s], final, *sets, sentence.shape[0])
        arcs, out_final = grown(arcs, n + n_classes + 1), grown(out_final, n + n_classes)
        more = n_arcs + ends[n_classes] // 2
        out_targets, out_symbols = grown(out_targets, more), grown(out_symbols, more)
        found = sentence.shape[0] == 0
        for c in range(n_classes - 1, -1, -1):
            out_final[n] = classes[ends[c]]
            found |= classes[ends[c]] == 2
            for e in range(ends[c] + 1, ends[c + 1], 2):
                out_symbols[n_arcs], out_targets[n_arcs] = classes[e], n_classes - 1 - classes[e + 1]
                n_arcs += 1
            n += 1
            arcs[n] = n_arcs
        states[s + 1] = n
        if not found:
            lost = s
            break
    return lost, states, arcs[: n + 1], out_targets[:n_arcs], out_symbols[:n_arcs], out_final[:n]
