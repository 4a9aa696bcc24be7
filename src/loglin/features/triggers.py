"""Words that announce others: pairs a → b such that b is likelier when a was among the recent words.

Of all pairs of content words that occur often enough together, those are chosen that tell most about the next
word, by average mutual information (Rosenfeld 1996),

    I(a, b) = Σ_{x ∈ {a, not a}} Σ_{y ∈ {b, not b}} p(x, y) log (p(x, y) / (p(x) p(y))).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from loglin.features.words import RunningText
from loglin.kernels import window as kernels

FUNCTION_WORDS = 20  # one word in this many, the most frequent ones, is left out
MOST_WORDS = 5000  # that take part: the table of pairs is their square
_BLOCK = 50_000  # tokens at a time


def recent(running: RunningText, wanted: np.ndarray, size: int, begin: int, end: int) -> tuple[np.ndarray, ...]:
    """For each token begin … end − 1 the wanted words among the last ``size`` known ones: ptr, words, counts, ages."""
    ptr = np.zeros(end - begin + 1, np.int64)
    size = min(size, len(running) + 1)  # no text is longer than itself
    arguments = running.words, running.documents, wanted, size, begin, end, ptr
    kernels.recent_words(*arguments, *(np.empty(0, np.int32) for _ in range(3)))
    lists = tuple(np.empty(ptr[-1], np.int32) for _ in range(3))
    if ptr[-1]:
        kernels.recent_words(*arguments, *lists)
    return ptr, *lists


def blocks(n: int, size: int = _BLOCK) -> Iterator[tuple[int, int]]:
    """Ranges of at most ``size`` numbers that cover 0 … n − 1."""
    return ((begin, min(begin + size, n)) for begin in range(0, n, size))


@dataclass(frozen=True, eq=False)
class Triggers:
    """Pairs of words, and how many known words back the first may stand from the second."""

    window: int
    n_names: int  # words of the vocabulary, without <unk>
    pairs: tuple[np.ndarray, np.ndarray, np.ndarray]  # a, b, times seen together; sorted by a, then b

    @classmethod
    def choose(cls, running: RunningText, n_names: int, window: int, n_pairs: int, min_count: int) -> Triggers:
        """The ``n_pairs`` pairs with the highest average mutual information, among those that attract each other."""
        occurrences = np.bincount(running.words, minlength=n_names)[:n_names]
        able = np.flatnonzero(occurrences >= min_count)
        able = able[able >= n_names // FUNCTION_WORDS][:MOST_WORDS]
        wanted, number = np.zeros(n_names, bool), np.full(n_names, -1, np.int32)
        wanted[able], number[able] = True, np.arange(len(able))
        together, present = np.zeros((len(able), len(able)), np.int32), np.zeros(len(able), np.int64)
        for begin, end in blocks(len(running)):
            ptr, found, *_ = recent(running, wanted, window, begin, end)
            kernels.count_pairs(running.words[begin:end], ptr, found, number, together, present)
        best: tuple[np.ndarray, ...] = (np.empty(0), *(np.empty(0, np.int64) for _ in range(3)))
        for a, row in enumerate(together):
            b = np.flatnonzero(row >= min_count)
            value = information(row[b], int(present[a]), occurrences[able[b]], len(running))
            b, value = b[value > 0], value[value > 0]
            found_here: tuple[np.ndarray, ...] = value, np.full(len(b), able[a]), able[b], row[b]
            best = tuple(np.concatenate(both) for both in zip(best, found_here, strict=True))
            if len(best[0]) > 4 * n_pairs or a == len(together) - 1:
                kept = np.argsort(-best[0], kind="stable")[:n_pairs]
                best = tuple(column[kept] for column in best)
        order = np.lexsort((best[2], best[1]))
        return cls(window, n_names, (best[1][order], best[2][order], best[3][order]))

    def active(self, running: RunningText) -> tuple[np.ndarray, np.ndarray]:
        """For every token its recent words that are the first of a pair: ptr and codes."""
        wanted = np.zeros(self.n_names, bool)
        wanted[self.pairs[0]] = True
        ptr, found, *_ = recent(running, wanted, self.window, 0, len(running))
        return ptr, found


def information(both: np.ndarray, a: int, b: np.ndarray, n: int) -> np.ndarray:
    """I(a, b) from counts among n events; negative where a and b shun each other."""
    cells = [(both, a, b), (a - both, a, n - b), (b - both, n - a, b), (n - a - b + both, n - a, n - b)]
    total = np.zeros(len(both))
    for count, x, y in cells:
        count = count.astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            total += np.where(count > 0, count / n * np.log(count * n / (np.float64(x) * y)), 0.0)
    return np.where(both * float(n) > a * b.astype(np.float64), total, -total)
