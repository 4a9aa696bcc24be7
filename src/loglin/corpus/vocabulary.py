"""Distinct strings and their numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from functools import cached_property

import numpy as np

from loglin.kernels import text as kernels


class Vocabulary:
    """Strings numbered from 0, kept as UTF-8 bytes; ``codes_of`` finds numbers, indexing finds strings."""

    def __init__(self, blob: np.ndarray, starts: np.ndarray):
        self.blob = blob  # (bytes,) uint8
        self.starts = starts  # (size + 1,) int64

    @classmethod
    def of(cls, strings: Iterable[str]) -> Vocabulary:
        encoded = [s.encode("utf-8", "surrogatepass") for s in strings]
        starts = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(s) for s in encoded], out=starts[1:])
        return cls(np.frombuffer(bytearray(b"".join(encoded)), np.uint8), starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, code: int) -> str:
        return bytes(self.blob[self.starts[code] : self.starts[code + 1]]).decode("utf-8", "surrogatepass")

    def is_text(self) -> bool:
        """Whether the bytes are UTF-8, halves of characters included, and every string begins with a character."""
        starts = self.starts[self.starts < len(self.blob)]
        if ((self.blob[starts] & 0xC0) == 0x80).any():
            return False
        try:
            bytes(self.blob).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return False
        return True

    @cached_property
    def strings(self) -> list[str]:
        text, starts = bytes(self.blob), self.starts.tolist()
        pairs = itertools.pairwise(starts)
        return [text[b:e].decode("utf-8", "surrogatepass") for b, e in pairs]

    @cached_property
    def slots(self) -> np.ndarray:
        """The hash table that kernels find strings with: (power of two,) int32."""
        size = 1 << max(3, int(2 * len(self)).bit_length())
        slots = np.full(size, -1, np.int32)
        kernels.fill_slots(self.blob, self.starts, slots)
        return slots

    def codes_of(self, other: Vocabulary) -> np.ndarray:
        """For each string of ``other`` its number here, or -1: (len(other),) int32."""
        codes = np.empty(len(other), np.int32)
        if len(other):
            kernels.find(self.blob, self.starts, self.slots, other.blob, other.starts[:-1], other.starts[1:], codes)
        return codes

    def code(self, string: str) -> int:
        return int(self.codes_of(Vocabulary.of([string]))[0])

    def merged(self, other: Vocabulary) -> tuple[Vocabulary, np.ndarray]:
        """This vocabulary with the new strings of ``other`` behind it, and other's codes in it."""
        codes = self.codes_of(other)
        new = np.flatnonzero(codes < 0)
        codes[new] = len(self) + np.arange(len(new), dtype=np.int32)
        lengths = np.diff(other.starts)[new]
        blob = np.empty(len(self.blob) + int(lengths.sum()), np.uint8)
        blob[: len(self.blob)] = self.blob
        starts = np.empty(len(new) + 1, np.int64)
        kernels.gather_strings(other.blob, other.starts[:-1], other.starts[1:], new, blob[len(self.blob) :], starts)
        return Vocabulary(blob, np.concatenate([self.starts, starts[1:] + len(self.blob)])), codes


EMPTY = Vocabulary(np.empty(0, np.uint8), np.zeros(1, np.int64))
