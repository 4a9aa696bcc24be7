"""Counted n-gram models: interpolated Kneser–Ney smoothing, plain or modified (Chen and Goodman 1998).

With h′ the context h without its first word, n(h, w) a count and N₁₊ a number of different words,

    p(w | h) = (n(h, w) − D(n(h, w))) / n(h)  +  Σ_w′ D(n(h, w′)) / n(h) · p(w | h′)

At the highest order n(h, w) are occurrences; below, the number of different words that stand before h w. The
last distribution is uniform over the vocabulary, so that the probabilities of all words sum to one.

    plain      D = Y for every count,     Y = n₁ / (n₁ + 2 n₂),     nᵢ the number of n-grams counted i times
    modified   D(1) = 1 − 2 Y n₂/n₁,      D(2) = 2 − 3 Y n₃/n₂,     D(3 or more) = 3 − 4 Y n₄/n₃
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loglin.corpus.sections import Section
from loglin.errors import LoglinError
from loglin.features.words import Contexts, RunningText, Words, positions
from loglin.generative.predictor import Vote

FALLBACK = np.array([0.0, 0.5, 1.0, 1.5])  # discounts where a text is too small to estimate them


@dataclass(frozen=True)
class _Level:
    """n-grams of one order: contexts of order − 1 words and the word behind them."""

    keys: np.ndarray  # (n-grams,) int64, sorted: number of the context · n_symbols + word
    counts: np.ndarray  # (n-grams,) int64
    totals: np.ndarray  # (contexts,): n(h)
    freed: np.ndarray  # (contexts,): Σ_w D(n(h, w))
    discounts: np.ndarray  # (4,): D of the counts 0, 1, 2, 3 or more


class NGramModel:
    """p(w | the order − 1 words before), by Kneser–Ney."""

    reach = 0  # known words before the sentence that matter

    def __init__(
        self, words: Words, order: int, contexts: Contexts, keys: np.ndarray, counts: np.ndarray, modified: bool
    ):
        self.words, self.order, self.contexts, self.modified = words, order, contexts, modified
        self.keys, self.counts = keys, counts  # of the highest order: see _Level
        self._levels: list[_Level] = []
        for length in range(order - 1, 0, -1):  # of contexts
            level = self._level(keys, counts, contexts.size(length))
            self._levels.insert(0, level)
            context, word = np.divmod(keys, words.n_symbols)
            shorter = contexts.shorter(length)[context] if length > 1 else 0 * context
            keys, counts = np.unique(shorter * words.n_symbols + word, return_counts=True)
        self._levels.insert(0, self._level(keys, counts, 1))
        every = np.bincount(keys, counts, words.n_predicted)
        lowest = self._levels[0]
        discounted = every - lowest.discounts[np.minimum(every, 3).astype(int)]
        self._unigram = (discounted + lowest.freed[0] / words.n_predicted) / lowest.totals[0]

    @classmethod
    def count(cls, running: RunningText, words: Words, order: int = 3, modified: bool = False) -> NGramModel:
        if order < 1:
            raise LoglinError(f"order is {order!r}; an n-gram model has an order of at least 1")
        contexts = Contexts.seen(running, words.n_symbols, order - 1)
        context = contexts.numbers(running)[-1] if order > 1 else 0 * running.place
        keys, counts = np.unique(context * words.n_symbols + running.words, return_counts=True)
        return cls(words, order, contexts, keys, counts, modified)

    def _level(self, keys: np.ndarray, counts: np.ndarray, n_contexts: int) -> _Level:
        discounts, context = _discounts(counts, self.modified), keys // self.words.n_symbols
        freed = np.bincount(context, discounts[np.minimum(counts, 3)], n_contexts)
        return _Level(keys, counts, np.bincount(context, counts, n_contexts), freed, discounts)

    @property
    def n_features(self) -> int:
        """The number of n-grams that are kept, of all orders."""
        return sum(len(level.keys) for level in self._levels)

    def log_probabilities(self, running: RunningText, ptr: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """log p(target | history of its token): token t has targets[ptr[t]:ptr[t + 1]]."""
        return np.log(self._by_order(running, np.diff(ptr), targets)[-1])

    def votes(self, running: RunningText, token: int, word: int) -> list[Vote]:
        """The votes of the orders for a word: log(p with the longer context / p with the shorter)."""
        per_token = np.zeros(len(running), np.int64)
        per_token[token] = 1
        log_p = np.log([p[0] for p in self._by_order(running, per_token, np.array([word]))])
        before = [self.words.strings[int(running.before(d)[token])] for d in range(1, self.order)]
        names = ["unigram"] + [f"{d + 1}-gram={' '.join(before[:d][::-1])}" for d in range(1, self.order)]
        return [Vote(name, float(vote)) for name, vote in zip(names, np.diff(log_p, prepend=0.0), strict=True)]

    def _by_order(self, running: RunningText, per_token: np.ndarray, targets: np.ndarray) -> list[np.ndarray]:
        """Probabilities of every target with contexts of 0, 1, … words."""
        found = [self._unigram[targets]]
        contexts = self.contexts.numbers(running) if self.order > 1 else []
        for level, number in zip(self._levels[1:], contexts, strict=True):
            found.append(self._interpolated(level, np.repeat(number, per_token), targets, found[-1]))
        return found

    def _interpolated(self, level: _Level, context: np.ndarray, targets: np.ndarray, lower: np.ndarray) -> np.ndarray:
        place = positions(level.keys, context * self.words.n_symbols + targets)
        counts = np.where(place >= 0, level.counts[place], 0)
        totals = level.totals[context]
        known = (context >= 0) & (totals > 0)
        discounted = counts - level.discounts[np.minimum(counts, 3)]
        return np.where(known, (discounted + level.freed[context] * lower) / np.where(known, totals, 1.0), lower)

    # ------------------------------------------------------------------ the model file

    def to_section(self) -> Section:
        arrays = self.contexts.to_arrays() | {"keys": self.keys, "counts": self.counts}
        return Section({"order": self.order, "modified": self.modified}, arrays)

    @classmethod
    def from_section(cls, section: Section, words: Words) -> NGramModel:
        order, modified = section.whole("order"), section.value("modified", bool)
        contexts = Contexts.from_section(section, words.n_symbols, order - 1)
        longest = contexts.size(order - 1) if order > 1 else 1
        keys = section.rising("keys", np.int64, longest * words.n_symbols)
        section.require(len(keys) > 0, "keys", "is empty")
        section.require(int((keys % words.n_symbols).max()) < words.n_predicted, "keys", "predicts no word")
        return cls(words, order, contexts, keys, section.numbers("counts", np.int64, least=1, size=len(keys)), modified)


def _discounts(counts: np.ndarray, modified: bool) -> np.ndarray:
    """D of the counts 0, 1, 2, 3 or more; the fallback where the estimate takes nothing or more than there is."""
    once, twice, thrice, often = (float((counts == i).sum()) for i in (1, 2, 3, 4))
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.divide(once, once + 2 * twice)
        found = np.array([0, y, y, y])
        if modified:
            found = np.array(
                [
                    0,
                    *(
                        i - (i + 1) * y * np.divide(b, a)
                        for i, a, b in ((1, once, twice), (2, twice, thrice), (3, thrice, often))
                    ),
                ]
            )
    fallback = FALLBACK if modified else np.minimum(FALLBACK, 0.5)
    fine = bool((found[1:] > 0).all() and (found[1:] < (np.arange(1, 4) if modified else 1)).all())
    return found if fine else fallback
