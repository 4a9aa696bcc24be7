"""Functions of words over their bytes: what templates ask of every distinct word, without a Python string.

Words are slices of a UTF-8 byte array, as in text.py. A character is looked up by its code point in two tables that
features/spelling.py fills from Python's own methods: ``flags`` (bits, below) and ``lower`` (its lower-case character).
"""

from __future__ import annotations

import numpy as np

from loglin.kernels.compile import kernel
from loglin.kernels.growing import grown
from loglin.kernels.text import hash_bytes, same_bytes

u8 = np.uint64

POINTS = 1 << 21  # entries of the tables: all that four bytes of UTF-8 can say
UPPER, ALPHA, DIGIT, PUNCTUATION = 1, 2, 4, 8
SMALL = 16  # cased, but not upper case
CHANGES = 32  # its lower case is another character
IRREGULAR = 64  # its lower case is several characters, or depends on those around it
KNOWN = 128  # the tables have been filled in

# the functions of features/functions.py that are compiled, by number
X, PREFIX, SUFFIX, LOWER, SHAPE, SHORT_SHAPE, LENGTH_CLASS = 0, 1, 2, 3, 4, 5, 6
IS_TITLE, IS_UPPER, HAS_UPPER, HAS_DIGIT, HAS_HYPHEN, IS_PUNCTUATION = 7, 8, 9, 10, 11, 12
FIRST_QUESTION = IS_TITLE  # from here on the values are false and true

_UNKNOWN = -1
ASK = -2  # the code of a value that Python has to find: the word has an irregular character

_ANSWERS = np.frombuffer(b"falsetrue", np.uint8)
_LENGTHS = np.frombuffer(b"5-67-910+", np.uint8)


@kernel(inline=True)
def _character(text, i, end):
    """The code point that begins at byte i and the number of its bytes; bytes that are no UTF-8 give some number."""
    a = np.uint32(text[i])
    if a < 0x80:
        return a, u8(1)
    length = u8(2) if a < 0xE0 else u8(3) if a < 0xF0 else u8(4)
    if i + length > end:
        return a, u8(1)
    point = a & (np.uint32(0x7F) >> np.uint32(length))
    for k in range(u8(1), length):
        point = (point << np.uint32(6)) | (np.uint32(text[i + k]) & np.uint32(0x3F))
    return point, length


@kernel(allocates=False)
def next_new(text, i, flags):
    """The first byte from i on of a character that the tables do not know; the text's size if there is none."""
    size = u8(text.shape[0])
    while i < size:
        point, length = _character(text, i, size)
        if not flags[point] & KNOWN:
            break
        i += length
    return min(i, size)


@kernel("u1[] u1[]")
def new_characters(text, flags):
    """The code points of a text that the tables do not know, some of them several times."""
    found, n, size = np.empty(16, np.int64), 0, u8(text.shape[0])
    i = next_new(text, u8(0), flags)  # a loop of its own: where an array may grow, each step counts references to it
    while i < size:
        point, length = _character(text, i, size)
        found = grown(found, n + 1)
        found[n] = point
        n += 1
        i = next_new(text, i + length, flags)
    return found[:n]


@kernel(inline=True)
def _spell(text, begin, end, flags, at, points, kinds):
    """Take a word apart: at[k] and points[k] are the byte and the code point of its k-th character, kinds[k] its flags.

    at has the end behind the last one. Returns the number of characters, all flags that some character has and those
    that every one has.
    """
    n, some, every = u8(0), np.uint8(0), np.uint8(255)
    i, stop = u8(begin), u8(end)
    while i < stop:
        point, length = _character(text, i, stop)
        at[n], points[n] = i, point
        kind = flags[point]
        kinds[n] = kind
        some |= kind
        every &= kind
        i += length
        n += u8(1)
    at[n] = i
    return n, some, every


@kernel(inline=True)
def _copy(text, begin, end, out, k):
    for i in range(u8(begin), u8(end)):
        out[k] = text[i]
        k += u8(1)
    return k


@kernel(inline=True)
def _write(point, out, k):
    """Write a code point as UTF-8 from out[k] on; returns where the next one goes."""
    if point < 0x80:
        out[k] = point
        return k + u8(1)
    if point < 0x800:
        out[k] = 0xC0 | (point >> 6)
    else:
        if point < 0x10000:
            out[k] = 0xE0 | (point >> 12)
        else:
            out[k] = 0xF0 | (point >> 18)
            k += u8(1)
            out[k] = 0x80 | ((point >> 12) & 0x3F)
        k += u8(1)
        out[k] = 0x80 | ((point >> 6) & 0x3F)
    out[k + u8(1)] = 0x80 | (point & 0x3F)
    return k + u8(2)


@kernel(inline=True)
def _shape_of(kind, point):
    """X, x or d for upper case, other letters and digits, else the character itself."""
    if kind & UPPER:
        return np.uint32(88)
    if kind & ALPHA:
        return np.uint32(120)
    if kind & DIGIT:
        return np.uint32(100)
    return point


@kernel(inline=True)
def _answer(function, n, some, every, points, kinds):
    """Whether what a question asks is true of the word."""
    if function == HAS_UPPER:
        return some & UPPER != 0
    if function == HAS_DIGIT:
        return some & DIGIT != 0
    if function == IS_UPPER:
        return some & UPPER != 0 and some & SMALL == 0
    if function == IS_PUNCTUATION:
        return n > 0 and every & PUNCTUATION != 0
    if function == IS_TITLE:
        if n == 0 or not kinds[0] & UPPER:
            return False
        for k in range(u8(1), n):
            if kinds[k] & CHANGES:
                return False
        return True
    for k in range(n):  # HAS_HYPHEN
        if points[k] == 45:
            return True
    return False


@kernel(inline=True)
def _value(function, argument, text, word, at, points, kinds, lower, out, first):
    """Write a function's value of a word (n, some, every: see _spell) to out[first:]; returns the value's end."""
    n, some, every = word
    k = u8(first)
    if function == PREFIX:
        return _copy(text, at[0], at[min(n, u8(argument))], out, k)
    if function == SUFFIX:
        return _copy(text, at[n - min(n, u8(argument))], at[n], out, k)
    if function == X:
        return _copy(text, at[0], at[n], out, k)
    if function == LOWER:
        for c in range(n):
            k = _write(lower[points[c]], out, k) if kinds[c] & CHANGES else _copy(text, at[c], at[c + u8(1)], out, k)
        return k
    if function == SHAPE or function == SHORT_SHAPE:
        before = np.uint32(10)
        for c in range(n):
            point = _shape_of(kinds[c], points[c])
            if function == SHAPE or point != before or point == 10:  # in "(.)\1+" the dot stands for no newline
                k = _write(point, out, k)
            before = point
        return k
    if function == LENGTH_CLASS:
        if n < 5:
            out[k] = u8(48) + n
            return k + u8(1)
        which = 0 if n < 7 else 3 if n < 10 else 6
        return _copy(_LENGTHS, which, which + 3, out, k)
    if _answer(function, n, some, every, points, kinds):
        return _copy(_ANSWERS, 5, 9, out, k)
    return _copy(_ANSWERS, 0, 5, out, k)


@kernel(inline=True)
def _longest(starts):
    longest = 0
    for w in range(starts.shape[0] - 1):
        longest = max(longest, starts[w + 1] - starts[w])
    return longest


@kernel("u1[] i8[] int int u1[] u4[] i8[]")
def word_values(text, starts, function, argument, flags, lower, out_starts):
    """The values of one function of all words, one after another; out_starts says where each begins.

    Returns the bytes, or fewer values and False where a word has an irregular character.
    """
    longest = _longest(starts)
    at, points, kinds = np.empty(longest + 1, np.uint64), np.empty(longest, np.uint32), np.empty(longest, np.uint8)
    out = np.empty(text.shape[0] + 64, np.uint8)
    k = u8(0)
    for w in range(u8(starts.shape[0] - 1)):
        out_starts[w] = k
        word = _spell(text, starts[w], starts[w + u8(1)], flags, at, points, kinds)
        if function == LOWER and word[1] & IRREGULAR:
            return out[:k], False
        out = grown(out, np.int64(k + u8(4) * word[0] + u8(8)))
        k = _value(function, argument, text, word, at, points, kinds, lower, out, k)
    out_starts[u8(starts.shape[0] - 1)] = k
    return out[:k], True


@kernel(inline=True)
def _find(text, begin, end, blob, begins, first, slots, slot_start, mask):
    """The number of text[begin:end] in the vocabulary whose strings and hash table begin at first and slot_start."""
    k = hash_bytes(text, begin, end) & mask
    found = np.int32(_UNKNOWN)
    while slots[slot_start + k] >= 0:
        code = u8(slots[slot_start + k])
        start = begins[first + code]
        length = end - begin
        if u8(begins[first + code + u8(1)] - start) == length and same_bytes(blob, start, text, begin, length):
            found = np.int32(code)
            break
        k = (k + u8(1)) & mask
    return found


@kernel("u1[] i8[] i8[] i8[] i4[,] u1[] u4[] (u1[] i8[] i8[] i4[] i8[] i8[]) i4[,]")
def word_codes(text, starts, functions, arguments, answers, flags, lower, vocabularies, codes):
    """codes[v, w] = the number that the value of function v of word w has in v's vocabulary; −1: none, −2: ask Python.

    answers[v]: the numbers of false and true. vocabularies: the strings of all of them one after another, where each
    string begins, where each vocabulary's strings begin among those, the hash tables (see text.py), where each begins,
    and their sizes less 1.
    """
    longest = _longest(starts)
    at, points, kinds = np.empty(longest + 1, np.uint64), np.empty(longest, np.uint32), np.empty(longest, np.uint8)
    room = at, points, kinds, np.empty(4 * longest + 8, np.uint8)
    code_words(text, starts, functions, arguments, answers, flags, lower, vocabularies, codes, room)


@kernel(allocates=False)
def code_words(text, starts, functions, arguments, answers, flags, lower, vocabularies, codes, room):
    """``word_codes`` in the room that was made for it."""
    blob, begins, firsts, slots, slot_starts, masks = vocabularies
    at, points, kinds, out = room
    for w in range(u8(starts.shape[0] - 1)):
        word = _spell(text, starts[w], starts[w + u8(1)], flags, at, points, kinds)
        n, some, every = word
        for v in range(u8(functions.shape[0])):
            function = functions[v]
            if function >= FIRST_QUESTION:
                codes[v, w] = answers[v, u8(_answer(function, n, some, every, points, kinds))]
                continue
            if function == LOWER and some & IRREGULAR:
                codes[v, w] = ASK
                continue
            mask, slot_start, first = u8(masks[v]), u8(slot_starts[v]), u8(firsts[v])
            if function <= SUFFIX or (function == LOWER and not some & CHANGES):  # a part of the word as it stands
                m = min(n, u8(arguments[v])) if function == PREFIX or function == SUFFIX else n
                begin, end = at[n - m if function == SUFFIX else u8(0)], at[n if function == SUFFIX else m]
                codes[v, w] = _find(text, begin, end, blob, begins, first, slots, slot_start, mask)
                continue
            end = _value(function, arguments[v], text, word, at, points, kinds, lower, out, 0)
            codes[v, w] = _find(out, u8(0), end, blob, begins, first, slots, slot_start, mask)


@kernel("u1[] i8[] int int u1[] i8[]")
def ngrams(text, starts, shortest, longest, marked, ptr):
    """The n-grams of all words with their ends marked: (begin, end) in ``marked``, those of word w from ptr[w] on.

    marked has room for two more bytes a word. An n-gram that a word has several times is there as often.
    """
    room = _longest(starts) + 3
    at = np.empty(room, np.int64)
    begin, end = np.empty(1024, np.int64), np.empty(1024, np.int64)
    k, total = 0, 0
    for w in range(starts.shape[0] - 1):
        ptr[w] = total
        n = 0
        at[n] = k
        n += 1
        marked[k] = 60
        k += 1
        for i in range(starts[w], starts[w + 1]):
            if text[i] & 0xC0 != 0x80:  # not within a character
                at[n] = k
                n += 1
            marked[k] = text[i]
            k += 1
        at[n] = k
        n += 1
        marked[k] = 62
        k += 1
        at[n] = k
        for size in range(shortest, min(longest, n) + 1):
            begin, end = grown(begin, total + n), grown(end, total + n)
            for i in range(n - size + 1):
                begin[total] = at[i]
                end[total] = at[i + size]
                total += 1
    ptr[starts.shape[0] - 1] = total
    return begin[:total], end[:total]


@kernel("i8[] i4[] int i8[]")
def distinct_in_lists(ptr, codes, size, out_ptr):
    """The lists of codes below ``size`` without repetitions and without −1, in their order; overwrites codes."""
    seen = np.full(size, -1, np.int64)
    n = 0
    for w in range(ptr.shape[0] - 1):
        out_ptr[w] = n
        for q in range(ptr[w], ptr[w + 1]):
            code = codes[q]
            if code >= 0 and seen[code] != w:
                seen[code] = w
                codes[n] = code
                n += 1
    out_ptr[ptr.shape[0] - 1] = n
    return n
