"""Bytes in, numbers out: where the fields of a column file are, and which distinct string each is.

Strings are slices [begin, end) of a byte array. A vocabulary is such an array with one slice per
distinct string (``starts``: V+1 numbers) and an open-addressing hash table ``slots`` of a power-of-two
size, -1 where empty. Unsigned indices throughout: signed ones cost a wraparound test per access.
"""

from __future__ import annotations

import numpy as np

from loglin.kernels.compile import kernel
from loglin.kernels.growing import grown

u8 = np.uint64
RAGGED = 1


@kernel
def hash_bytes(text, begin, end):
    h = u8(14695981039346656037)  # FNV-1a
    for i in range(u8(begin), u8(end)):
        h = (h ^ u8(text[i])) * u8(1099511628211)
    return h ^ (h >> u8(29))


@kernel
def same_bytes(a, a_begin, b, b_begin, length):
    for i in range(u8(length)):
        if a[u8(a_begin) + i] != b[u8(b_begin) + i]:
            return False
    return True


@kernel("u1[] int bool i4[,] i4[,] i8[] i8[] i8[] u1[]")
def scan_columns(text, n_columns, tabs, begin, end, line_begin, line_end, offsets, docstart):
    """Find the fields of every token line.

    begin, end (columns, lines): the fields; line_begin, line_end (lines): the whole lines without
    their newline; offsets: where sentences start, counted in tokens. A line that starts with the
    bytes ``docstart`` is no token and ends a sentence, as a blank line does. Fields are parted by
    runs of blanks, or by single tabs where ``tabs``.
    Returns (tokens, sentences, status, bytes used up to the bad line, fields found there).
    """
    i, size = u8(0), u8(text.shape[0])
    token, sentence = 0, 0
    offsets[0] = 0
    one = u8(1)
    while i < size:
        start = i
        while i < size and text[i] != 10:
            i += one
        stop = i
        i += one
        if stop > start and text[stop - one] == 13:
            stop -= one
        p = start
        while p < stop and (text[p] == 32 or text[p] == 9):
            p += one
        blank = p == stop
        if not blank and stop - start >= u8(docstart.shape[0]) and docstart.shape[0] > 0:
            blank = same_bytes(text, start, docstart, 0, docstart.shape[0])
        if blank:
            if token > offsets[sentence]:
                sentence += 1
                offsets[sentence] = token
            continue
        found = 0
        p = start if tabs else p
        while True:
            field = p
            if tabs:
                while p < stop and text[p] != 9:
                    p += one
            else:
                while p < stop and text[p] != 32 and text[p] != 9:
                    p += one
            if found < n_columns:
                begin[found, token] = field
                end[found, token] = p
            found += 1
            if tabs:
                if p == stop:
                    break
                p += one
            else:
                while p < stop and (text[p] == 32 or text[p] == 9):
                    p += one
                if p == stop:
                    break
        if found != n_columns:
            return token, sentence, RAGGED, np.int64(start), found
        line_begin[token] = start
        line_end[token] = stop
        token += 1
    if token > offsets[sentence]:
        sentence += 1
        offsets[sentence] = token
    return token, sentence, 0, np.int64(size), 0


@kernel("u1[] K[] K[] i4[]", K="i4 i8")
def encode(text, begin, end, codes):
    """Number the strings text[begin[i]:end[i]] in order of first occurrence.

    codes[i] receives the number; returns an array of one example position i per distinct string.
    """
    n = u8(begin.shape[0])
    capacity = u8(1024)
    slots = np.full(1024, -1, np.int32)
    hashes = np.empty(512, np.uint64)
    examples = np.empty(512, np.int64)
    distinct = u8(0)
    for i in range(n):
        b, e = begin[i], end[i]
        h = hash_bytes(text, b, e)
        k = h & (capacity - u8(1))
        while True:
            code = slots[k]
            if code < 0:
                if distinct * u8(2) >= capacity:  # grow, then look for the place anew
                    capacity *= u8(4)
                    slots = np.full(capacity, -1, np.int32)
                    for c in range(distinct):
                        k = hashes[c] & (capacity - u8(1))
                        while slots[k] >= 0:
                            k = (k + u8(1)) & (capacity - u8(1))
                        slots[k] = np.int32(c)
                    size = np.int64(capacity // u8(2))
                    hashes, examples = grown(hashes, size), grown(examples, size)
                    k = h & (capacity - u8(1))
                    continue
                slots[k] = np.int32(distinct)
                hashes[distinct] = h
                examples[distinct] = i
                codes[i] = distinct
                distinct += u8(1)
                break
            if hashes[u8(code)] == h:
                x = u8(examples[u8(code)])
                if end[x] - begin[x] == e - b and same_bytes(text, begin[x], text, b, e - b):
                    codes[i] = code
                    break
            k = (k + u8(1)) & (capacity - u8(1))
    return examples[:distinct].copy()


@kernel("u1[] i8[] i4[]")
def fill_slots(blob, starts, slots):
    """Hash table of a vocabulary; slots is all -1 and at least twice as long as the vocabulary."""
    mask = u8(slots.shape[0] - 1)
    for c in range(u8(starts.shape[0] - 1)):
        k = hash_bytes(blob, starts[c], starts[c + u8(1)]) & mask
        while slots[k] >= 0:
            k = (k + u8(1)) & mask
        slots[k] = np.int32(c)


@kernel("u1[] i8[] i4[] u1[] i8[] i8[] i4[]")
def find(blob, starts, slots, text, begin, end, codes):
    """codes[i] = number of text[begin[i]:end[i]] in the vocabulary, or -1."""
    mask = u8(slots.shape[0] - 1)
    for i in range(u8(begin.shape[0])):
        b, e = begin[i], end[i]
        k = hash_bytes(text, b, e) & mask
        codes[i] = -1
        while slots[k] >= 0:
            c = u8(slots[k])
            if starts[c + u8(1)] - starts[c] == e - b and same_bytes(blob, starts[c], text, b, e - b):
                codes[i] = np.int32(c)
                break
            k = (k + u8(1)) & mask


@kernel("u1[] K[] K[] i8[] u1[] i8[]", K="i4 i8")
def gather_strings(text, begin, end, which, blob, starts):
    """blob = the strings numbered by ``which``, one after another; starts says where each begins."""
    k = u8(0)
    for c in range(u8(which.shape[0])):
        starts[c] = k
        i = u8(which[c])
        for p in range(u8(begin[i]), u8(end[i])):
            blob[k] = text[p]
            k += u8(1)
    starts[u8(which.shape[0])] = k


@kernel("u1[] i8[] i8[] int int i4[] u1[] i8[] int u1[]")
def append_column(text, line_begin, line_end, first, last, codes, blob, starts, separator, out):
    """Copy text[first:last], adding separator and the label's name behind every token line."""
    k, i = u8(0), u8(first)
    for t in range(u8(line_begin.shape[0])):
        stop = u8(line_end[t])
        while i < stop:
            out[k] = text[i]
            k += u8(1)
            i += u8(1)
        out[k] = separator
        k += u8(1)
        c = u8(codes[t])
        for p in range(u8(starts[c]), u8(starts[c + u8(1)])):
            out[k] = blob[p]
            k += u8(1)
    while i < u8(last):
        out[k] = text[i]
        k += u8(1)
        i += u8(1)
    return np.int64(k)
