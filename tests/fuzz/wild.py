"""Wild values and damaged text, drawn from a random number generator."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

STRINGS = [
    "", " ", "\t", "\n", "\r", "\0", "a", "The", "é", "e\u0301", "中文", "😀", "\ud800", "\ufeff", "\u2028", "\x85", "\x1c", "_",  # noqa: E501
    "#", "#!", "%x[0,0]", "U00:%x[0,0]", "B", "O", "B-X", "I-X", "-DOCSTART-", "1", "-1", "1e400", "nan", "inf", "1:2", "a:b",  # noqa: E501
    "\\", "\\:", "\"", "'", "(", ")", "[", "]", "{", "}", "(S (A a))", "<unk>", "<oov>", "_x-1", "A|B", "a/b", "/", "=", "x" * 300,  # noqa: E501
    "9" * 400, "0x10", "1_0", "True", "None", "\u0660", "²",
]  # fmt: skip
NUMBERS: list[Any] = [
    0, 1, -1, 2, 3, 10, 255, 65_536, 2**31, 2**63, 2**70, -(2**63), 10**400, 0.0, -0.0, 0.5, 1e-300, 1e30, 1e308, -1e308,  # noqa: E501
    math.nan, math.inf, -math.inf, True, False, np.float32(1), np.int64(3), np.nan, 1j,
]  # fmt: skip


def value(rng: random.Random, depth: int = 0) -> Any:
    """Any value that Python has and nobody expects."""
    kind = rng.randrange(12 if depth < 2 else 5)
    if kind < 2:
        return rng.choice(STRINGS)
    if kind < 4:
        return rng.choice(NUMBERS)
    if kind == 4:
        return rng.choice([None, b"a", object(), len, ..., {"a"}, range(3)])
    inside = [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind < 8:
        return inside
    if kind == 8:
        return tuple(inside)
    if kind == 9:
        return {rng.choice(STRINGS): one for one in inside}
    if kind == 10:
        return iter(inside)
    return np.array(rng.choice([[], [1.0, math.nan], [[1, 2], [3, 4]], ["a", "b"], [None, 1]]))


def damaged(rng: random.Random, text: str, pieces: Sequence[str] = ()) -> bytes:
    """A text after one to four changes: pieces put in, left out, doubled, moved; bytes that are no UTF-8."""
    for _ in range(rng.randrange(1, 5)):
        at, end = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
        end = min(end, at + rng.choice([0, 1, 1, 3, 10]))
        wild = rng.choice([*STRINGS, *pieces, *pieces])
        change = rng.randrange(5)
        if change < 2:
            text = text[:at] + wild + text[end:]
        elif change == 2:
            text = text[:at] + text[end:]
        elif change == 3:
            text = text[:at] + text[at:end] * rng.choice([2, 3, 50]) + text[end:]
        else:
            text = text[:at] + "".join(rng.sample(text[at:end], end - at)) + text[end:]
    content = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.05:
        at = rng.randrange(len(content) + 1)
        content = content[:at] + bytes([rng.randrange(256)]) + content[at:]
    return content
