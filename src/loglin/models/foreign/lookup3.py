"""Bob Jenkins' hash lookup3 of many strings at once, by which CRFsuite's databases find them.

Three registers take twelve bytes at a time, and the last twelve or fewer at the end (burtleburtle.net/bob/c/lookup3.c,
hashlittle). Strings of equally many blocks go through together.
"""

from __future__ import annotations

import numpy as np

Register = np.ndarray  # (strings,) uint32


def _turned(x: Register, bits: int) -> Register:
    return (x << np.uint32(bits)) | (x >> np.uint32(32 - bits))


def hashes(blob: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The hash of every string blob[starts[i]:starts[i + 1]] and one zero byte behind it: (strings,) uint32."""
    sizes = np.diff(starts) + 1
    found = np.empty(len(sizes), np.uint32)
    blocks = -(-sizes // 12)
    text = np.append(blob, np.zeros(12, np.uint8))
    for n in np.unique(blocks).tolist():
        which = np.flatnonzero(blocks == n)
        places = starts[:-1][which][:, None] + np.arange(12 * n)
        inside = np.arange(12 * n) < sizes[which][:, None] - 1
        bytes_of = np.where(inside, text[np.where(inside, places, 0)], 0).astype(np.uint8)
        found[which] = _hash(bytes_of.view("<u4").astype(np.uint32), sizes[which].astype(np.uint32))
    return found


def _hash(words: np.ndarray, sizes: np.ndarray) -> Register:
    """The hash of strings as rows of words, filled up with zeros: (strings, 3·blocks) uint32."""
    a = np.uint32(0xDEADBEEF) + sizes
    b, c = a.copy(), a.copy()
    last = words.shape[1] - 3
    for k in range(0, last, 3):
        a, b, c = a + words[:, k], b + words[:, k + 1], c + words[:, k + 2]
        for bits in (4, 6, 8, 16, 19, 4):
            a = (a - c) ^ _turned(c, bits)
            c = c + b
            a, b, c = b, c, a
    a, b, c = a + words[:, last], b + words[:, last + 1], c + words[:, last + 2]
    for bits in (14, 11, 25, 16, 4, 14, 24):
        c = (c ^ b) - _turned(b, bits)
        a, b, c = b, c, a
    return b
