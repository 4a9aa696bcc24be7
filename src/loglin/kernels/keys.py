"""Templates as arithmetic: a key per token from shifted columns, and keys to attribute numbers."""

from __future__ import annotations

import numpy as np

from loglin.kernels.compile import kernel
from loglin.kernels.growing import grown

u8 = np.uint64
_GOLDEN = u8(0x9E3779B97F4A7C15)


@kernel("i4[,] i8[] i8[] i8[] i8[] int i8[]")
def template_keys(columns, offsets, which, shift, sizes, reach, keys):
    """keys[t] = mixed-radix number of the items (column which[i] at t + shift[i]) of one template.

    columns (D, N): codes, -1 where a value is unknown. Past a sentence's first or last token, at
    distance d, the item is boundary symbol sizes[i] + min(d, reach) − 1 before it and
    sizes[i] + reach + min(d, reach) − 1 behind it, so an item has sizes[i] + 2·reach values. A key with an
    unknown item is -1.
    """
    n_items = which.shape[0]
    for s in range(offsets.shape[0] - 1):
        first, last = offsets[s], offsets[s + 1]
        for t in range(first, last):
            key = np.int64(0)
            for i in range(n_items):
                p = t + shift[i]
                if p < first:
                    code = sizes[i] + min(first - p, reach) - 1
                elif p >= last:
                    code = sizes[i] + reach + min(p - last, reach - 1)
                else:
                    code = np.int64(columns[which[i], p])
                if code < 0:
                    key = np.int64(-1)
                    break
                key = key * (sizes[i] + 2 * reach) + code
            keys[t] = key


@kernel
def value_at(codes, p, first, last, size, reach):
    """The value (0 … size − 1) at place p of the sentence first … last − 1, or a boundary symbol as above."""
    if p < first:
        return size + min(first - p, reach) - 1
    if p >= last:
        return size + reach + min(p - last, reach - 1)
    return np.int64(codes[p])


@kernel("i4[] i8[] i8[] int int i8[] i4[,]")
def place_values(codes, offsets, shifts, size, reach, firsts, out):
    """out[t, f] = firsts[f] + the value at t + shifts[f]."""
    for s in range(offsets.shape[0] - 1):
        first, last = offsets[s], offsets[s + 1]
        for t in range(first, last):
            for f in range(shifts.shape[0]):
                out[t, f] = firsts[f] + value_at(codes, t + shifts[f], first, last, size, reach)


@kernel("i8[] i4[]")
def factorize(keys, ids):
    """ids[t] = number of keys[t] in order of first occurrence, -1 for a negative key.

    Returns (distinct keys, how often each occurred).
    """
    capacity = u8(1024)
    slots = np.full(1024, -1, np.int32)
    distinct = np.empty(512, np.int64)
    counts = np.empty(512, np.int64)
    n = u8(0)
    for t in range(u8(keys.shape[0])):
        key = keys[t]
        if key < 0:
            ids[t] = -1
            continue
        k = ((u8(key) * _GOLDEN) >> u8(20)) & (capacity - u8(1))
        while True:
            c = slots[k]
            if c < 0:
                if n * u8(2) >= capacity:
                    capacity *= u8(4)
                    slots = np.full(capacity, -1, np.int32)
                    for i in range(n):
                        k = ((u8(distinct[i]) * _GOLDEN) >> u8(20)) & (capacity - u8(1))
                        while slots[k] >= 0:
                            k = (k + u8(1)) & (capacity - u8(1))
                        slots[k] = np.int32(i)
                    size = np.int64(capacity // u8(2))
                    distinct, counts = grown(distinct, size), grown(counts, size)
                    k = ((u8(key) * _GOLDEN) >> u8(20)) & (capacity - u8(1))
                    continue
                slots[k] = np.int32(n)
                distinct[n] = key
                counts[n] = 1
                ids[t] = n
                n += u8(1)
                break
            if distinct[u8(c)] == key:
                ids[t] = c
                counts[u8(c)] += 1
                break
            k = (k + u8(1)) & (capacity - u8(1))
    return distinct[:n].copy(), counts[:n].copy()


@kernel("i8[] i4[]")
def fill_key_slots(keys, slots):
    """Hash table from key to its position in ``keys``; slots all -1, a power of two ≥ 2·len(keys)."""
    mask = u8(slots.shape[0] - 1)
    for i in range(u8(keys.shape[0])):
        k = ((u8(keys[i]) * _GOLDEN) >> u8(20)) & mask
        while slots[k] >= 0:
            k = (k + u8(1)) & mask
        slots[k] = np.int32(i)


@kernel("i4[] i8[] i8[] int i4[]")
def find_keys(slots, keys, wanted, base, ids):
    """ids[i] = base + position of wanted[i] in keys, or -1."""
    mask = u8(slots.shape[0] - 1)
    for i in range(u8(wanted.shape[0])):
        key = wanted[i]
        ids[i] = -1
        if key < 0:
            continue
        k = ((u8(key) * _GOLDEN) >> u8(20)) & mask
        while slots[k] >= 0:
            if keys[u8(slots[k])] == key:
                ids[i] = slots[k] + np.int32(base)
                break
            k = (k + u8(1)) & mask


@kernel("int int i4[,] i8[] (i8[] i8[] i8[] int) (i8[] i8[] i8[]) (i8[] i8[] i4[] i4[] i8[] i8[] i8[]) int i4[,]")
def find_attributes(s_begin, s_end, columns, offsets, places, templates, tables, column, ids):
    """ids[t, column + j] = attribute of template j at token t, or -1, for the sentences s_begin … s_end − 1.

    places: view, offset, size of every place that items look at, and the number of boundary symbols;
    templates: where each one's items begin, their places and radices; tables: for each template where its
    hash table begins and its mask, the hash tables of the model file and those made since (these begin at −1 − the
    number), where its keys begin, the keys, and its first attribute. As ``template_keys`` followed by ``find_keys``,
    for all templates at once.
    """
    view, offset, size, reach = places
    item_ptr, item_place, radix = templates
    starts, masks, slots, made, key_starts, keys, bases = tables
    codes = np.empty(max(view.shape[0], 1), np.int64)
    for s in range(s_begin, s_end):
        first, last = offsets[s], offsets[s + 1]
        for t in range(first, last):
            for i in range(view.shape[0]):
                p = t + offset[i]
                if p < first:
                    codes[i] = size[i] + min(first - p, reach) - 1
                elif p >= last:
                    codes[i] = size[i] + reach + min(p - last, reach - 1)
                else:
                    codes[i] = columns[view[i], p]
            for j in range(starts.shape[0]):
                key = np.int64(0)
                for i in range(u8(item_ptr[j]), u8(item_ptr[j + 1])):
                    code = codes[u8(item_place[i])]
                    if code < 0:
                        key = np.int64(-1)
                        break
                    key = key * radix[i] + code
                found = np.int32(-1)
                if key >= 0:
                    mask, start = u8(masks[j]), starts[j]
                    k = ((u8(key) * _GOLDEN) >> u8(20)) & mask
                    while True:
                        found = slots[u8(start) + k] if start >= 0 else made[u8(-1 - start) + k]
                        if found < 0 or keys[u8(key_starts[j] + found)] == key:
                            break
                        k = (k + u8(1)) & mask
                ids[t, column + j] = found + np.int32(bases[j]) if found >= 0 else -1


@kernel("i4[] i8[] i8[] int int i4[,] int i4[,]")
def gather_values(codes, offsets, shifts, size, reach, of_values, column, out):
    """out[t, column + f] = of_values[v, f], v being the value at t + shifts[f]."""
    for s in range(offsets.shape[0] - 1):
        first, last = offsets[s], offsets[s + 1]
        for t in range(first, last):
            for f in range(shifts.shape[0]):
                out[t, column + f] = of_values[value_at(codes, t + shifts[f], first, last, size, reach), f]


@kernel("i8[] i4[] u1[,] u1[,]")
def observed_labels(ptr, ids, label_bits, bits):
    """bits[a] |= label_bits[t] for every attribute a of every token t; both are rows of bytes."""
    for t in range(ptr.shape[0] - 1):
        for q in range(u8(ptr[t]), u8(ptr[t + 1])):
            a = u8(ids[q])
            for k in range(u8(bits.shape[1])):
                bits[a, k] |= label_bits[t, k]


@kernel("u1[,] i8[]")
def count_bits(bits, ptr):
    """ptr[a + 1] = ptr[a] + number of bits set in row a."""
    for a in range(bits.shape[0]):
        n = 0
        for k in range(bits.shape[1]):
            b = bits[a, k]
            while b:
                b &= b - 1
                n += 1
        ptr[a + 1] = ptr[a] + n


@kernel("u1[,] u2[]")
def list_bits(bits, labels):
    """The numbers of the bits that are set, row after row."""
    q = u8(0)
    for a in range(bits.shape[0]):
        for k in range(bits.shape[1]):
            b = bits[a, k]
            for j in range(8):
                if (b >> j) & 1:
                    labels[q] = 8 * k + j
                    q += u8(1)


@kernel("i4[,] i8[] i4[]")
def compact(matrix, ptr, ids):
    """Rows of attribute numbers per template (K, N), -1 for none, to a list per token: ids[ptr[t]:ptr[t+1]]."""
    k = u8(0)
    for t in range(u8(matrix.shape[1])):
        ptr[t] = k
        for j in range(u8(matrix.shape[0])):
            if matrix[j, t] >= 0:
                ids[k] = matrix[j, t]
                k += u8(1)
    ptr[u8(matrix.shape[1])] = k
    return np.int64(k)


@kernel("i8[] i4[] f8[] i8[] i4[] f8[]")
def drop_unknown(ptr, ids, values, new_ptr, new_ids, new_values):
    """Lists without their negative ids; values may be empty."""
    k = u8(0)
    new_ptr[0] = 0
    for t in range(u8(ptr.shape[0] - 1)):
        for q in range(u8(ptr[t]), u8(ptr[t + u8(1)])):
            if ids[q] >= 0:
                new_ids[k] = ids[q]
                if values.shape[0]:
                    new_values[k] = values[q]
                k += u8(1)
        new_ptr[t + u8(1)] = k


@kernel("const i8[] const K[] const i8[] i8[] K[]", K="i4 f8")
def copy_lists(ptr, numbers, which, starts, out):
    """out[starts[i]:] = the list number which[i]."""
    for i in range(which.shape[0]):
        begin, size, start = ptr[which[i]], ptr[which[i] + 1] - ptr[which[i]], starts[i]
        for q in range(size):
            out[start + q] = numbers[begin + q]


@kernel("i8[] i4[] i4[,] i8[] i4[] i8[] i4[]")
def unfold(ptr, ids, heads, head_ptr, head_ids, out_ptr, out_ids):
    """Lists of tokens with the attributes of their heads appended; out_ids of size 0: only count."""
    q = u8(0)
    fill = out_ids.shape[0] > 0
    for t in range(ptr.shape[0] - 1):
        out_ptr[t] = q
        if not fill:
            q += u8(ptr[t + 1] - ptr[t])
            for h in heads[t]:
                q += u8(head_ptr[h + 1] - head_ptr[h])
            continue
        for p in range(u8(ptr[t]), u8(ptr[t + 1])):
            out_ids[q] = ids[p]
            q += u8(1)
        for h in heads[t]:
            for p in range(u8(head_ptr[h]), u8(head_ptr[h + 1])):
                out_ids[q] = head_ids[p]
                q += u8(1)
    out_ptr[ptr.shape[0] - 1] = q


@kernel("i8[] i4[]|u4[] F[] int i8[] u4[] F[]")
def transpose(ptr, ids, values, first, out_ptr, out_ids, out_values):
    """Add the lists ids[ptr[t]:ptr[t+1]] to the inverse lists; entry t is written as first + t.

    out_ptr[a] is where the next entry of a goes, and has moved behind the last one afterwards.
    """
    weighted = values.shape[0] > 0
    for t in range(ptr.shape[0] - 1):
        for q in range(u8(ptr[t]), u8(ptr[t + 1])):
            a = u8(ids[q])
            p = u8(out_ptr[a])
            out_ids[p] = np.uint32(first + t)
            if weighted:
                out_values[p] = values[q]
            out_ptr[a] = np.int64(p + u8(1))


@kernel("i4[]|u4[] i8[]")
def count(ids, counts):
    for q in range(u8(ids.shape[0])):
        counts[u8(ids[q])] += 1


@kernel("i8[] i4[] i4[,] i8[] i4[] i8[] i8[]")
def count_scored(ptr, ids, heads, feature_ptr, row_of, row_ptr, entry_ptr):
    """Lengths of each token's two lists: rows of the table (its heads included) and single weights."""
    rows, entries = 0, 0
    for t in range(ptr.shape[0] - 1):
        row_ptr[t], entry_ptr[t] = rows, entries
        rows += heads.shape[1]
        for q in range(u8(ptr[t]), u8(ptr[t + 1])):
            a = u8(ids[q])
            if row_of[a] >= 0:
                rows += 1
            else:
                entries += feature_ptr[a + u8(1)] - feature_ptr[a]
    row_ptr[ptr.shape[0] - 1], entry_ptr[ptr.shape[0] - 1] = rows, entries


@kernel("i8[] i4[] f8[] i4[,] int i8[] u2[] i4[] u4[] F[] u4[] u2[] F[]")
def fill_scored(
    ptr,
    ids,
    values,
    heads,
    first_head,
    feature_ptr,
    labels,
    row_of,
    row_ids,
    row_values,
    entry_ids,
    entry_labels,
    entry_values,
):
    """Fill the lists that count_scored measured."""
    rows, entries = u8(0), u8(0)
    weighted = values.shape[0] > 0
    for t in range(ptr.shape[0] - 1):
        for h in range(heads.shape[1]):
            row_ids[rows] = first_head + heads[t, h]
            if weighted:
                row_values[rows] = 1
            rows += u8(1)
        for q in range(u8(ptr[t]), u8(ptr[t + 1])):
            a = u8(ids[q])
            if row_of[a] >= 0:
                row_ids[rows] = row_of[a]
                if weighted:
                    row_values[rows] = values[q]
                rows += u8(1)
            else:
                for f in range(u8(feature_ptr[a]), u8(feature_ptr[a + u8(1)])):
                    entry_ids[entries] = f
                    entry_labels[entries] = labels[f]
                    if weighted:
                        entry_values[entries] = values[q]
                    entries += u8(1)
