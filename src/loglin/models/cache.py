"""A cache over any model of the next word: words that came up lately come up again.

    q(w | h) = p(w | h)·e^{θ(w, h)} / Z,      Z = 1 + Σ_{w cached} p(w | h)·(e^{θ(w, h)} − 1)

θ is one weight for all words that were seen as often among the last words of the document, as recently, and are
about as frequent in general; a word that is not cached has none. The sum runs over cached words only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from loglin.features.triggers import recent
from loglin.features.words import RunningText, Words
from loglin.generative.predictor import Predictor, Vote
from loglin.kernels import window as kernels

TIMES = np.array([2, 3])  # occurrences among the recent words: 1, 2, 3 or more
AGES = np.array([10, 50, 200])  # known words since the last: below 10, 50, 200, or more
RANKS = np.array([50, 200, 1000, 3000])  # the word's rank by frequency
N_FEATURES = (len(TIMES) + 1) * (len(AGES) + 1) * (len(RANKS) + 1)
BLOCK = 10_000  # tokens at a time: their cached words are listed


def cache_features(words: np.ndarray, counts: np.ndarray, ages: np.ndarray) -> np.ndarray:
    """Which weight a cached word has."""
    times, age, rank = (np.searchsorted(c, x, side="right") for c, x in ((TIMES, counts), (AGES, ages), (RANKS, words)))
    return (times * (len(AGES) + 1) + age) * (len(RANKS) + 1) + rank


@dataclass(frozen=True)
class _Block:
    """Consecutive tokens with their cached words, and the probabilities that the model below gives these."""

    begin: int
    end: int
    ptr: np.ndarray  # (tokens + 1,)
    found: np.ndarray
    feature: np.ndarray
    log_p: np.ndarray
    log_targets: np.ndarray  # of the targets asked for


def _blocks(
    base: Predictor, window: int, running: RunningText, ptr: np.ndarray, targets: np.ndarray
) -> Iterator[_Block]:
    """Whole sentences at a time; what they need of the text before them is read again."""
    n, n_names = len(running), len(base.words.names)
    starts = np.append(np.flatnonzero(running.place == 0), n)
    known, reach = np.concatenate([[0], np.cumsum(running.words < n_names)]), max(window, base.reach)
    cuts = np.unique(starts[np.searchsorted(starts, np.append(np.arange(0, n, BLOCK), n))])
    for begin, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        lead = np.searchsorted(known, known[begin] - reach, side="right") - 1  # where enough known words begin
        lead = int(starts[np.searchsorted(starts, max(lead, 0), side="right") - 1])
        part = running.part(lead, end)
        near, found, counts, ages = recent(part, np.ones(n_names, bool), window, begin - lead, end - lead)
        asked, cached = np.diff(ptr[begin : end + 1]), np.diff(near)
        cuts_of_both = np.concatenate([[0], np.cumsum(asked + cached)])
        is_target = np.zeros(int(cuts_of_both[-1]), bool)
        mine = targets[ptr[begin] : ptr[end]]
        is_target[np.arange(len(mine)) + np.repeat(near[:-1], asked)] = True
        both = np.empty(len(is_target), np.int32)
        both[is_target], both[~is_target] = mine, found
        before = np.zeros(begin - lead, np.int64)
        log_p = base.log_probabilities(part, np.concatenate([before, cuts_of_both]), both)
        feature = cache_features(found, counts, ages)
        yield _Block(begin, end, near, found, feature, log_p[~is_target], log_p[is_target])


def cached_mass(base: Predictor, window: int, running: RunningText) -> tuple[np.ndarray, np.ndarray]:
    """For every token the probability of the cached words by feature, and the feature of the word that came, or −1."""
    mass, hit = np.zeros((len(running), N_FEATURES)), np.empty(len(running), np.int64)
    for b in _blocks(base, window, running, np.arange(len(running) + 1), running.words):
        rows = slice(b.begin, b.end)
        kernels.cached_mass(b.ptr, b.feature, b.log_p, running.words[rows], b.found, mass[rows], hit[rows])
    return mass, hit


@dataclass(frozen=True, eq=False)
class CacheModel:
    base: Predictor
    window: int  # known words
    theta: np.ndarray  # (N_FEATURES,) float64

    @property
    def words(self) -> Words:
        return self.base.words

    @property
    def n_features(self) -> int:
        return self.base.n_features + len(self.theta)

    @property
    def reach(self) -> int:
        return max(self.window, self.base.reach)

    def log_probabilities(self, running: RunningText, ptr: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """log q(target | history of its token): token t has targets[ptr[t]:ptr[t + 1]]."""
        out = np.empty(len(targets))
        for b in _blocks(self.base, self.window, running, ptr, targets):
            first, last = ptr[b.begin], ptr[b.end]
            cuts = ptr[b.begin : b.end + 1] - first
            kernels.reweigh(b.ptr, b.found, b.feature, b.log_p, self.theta, cuts, targets[first:last], b.log_targets)
            out[first:last] = b.log_targets
        return out

    def votes(self, running: RunningText, token: int, word: int) -> list[Vote]:
        """What speaks for a word at a token: the model's votes, the cache's, and its normalizer."""
        ptr = np.zeros(len(running) + 1, np.int64)
        ptr[token + 1 :] = 1
        log_q = float(self.log_probabilities(running, ptr, np.array([word]))[0])
        votes = self.base.votes(running, token, word)
        wanted = np.ones(len(self.words.names), bool)
        _, found, counts, ages = recent(running, wanted, self.window, token, token + 1)
        if word in found.tolist():
            theta = self.theta[cache_features(found, counts, ages)[found == word][0]]
            votes.append(Vote(f"cache: seen {counts[found == word][0]} times lately", float(theta)))
        return [*votes, Vote("−log Z of the cache", log_q - sum(v.weight for v in votes))]
