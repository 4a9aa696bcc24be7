"""Criteria on lattices: −Σᵢ weightᵢ · ( log Σ_{Aᵢ} u − log Σ_{Bᵢ} u ), to be minimized.

    Aᵢ   sentence i with the labels that dictionary and annotation allow                     (Smith, Eisner 2005)
    Bᵢ   its neighborhood with all labels of the dictionary: contrastive estimation                        (Eq. 7)
         the sentence itself with all labels of the dictionary: conditional likelihood
         all observed sentences                                                         (Riezler 1999, Eq. 8)
         all sentences: marginal likelihood, where the sum converges                             (Eq. 1, 3)

u is log-linear: label n-grams score W = S·w, words with their labels E = F·w, so that the gradient is
Sᵀ·(E_A − E_B)[n-grams] + Fᵀ·(E_A − E_B)[words]                                                           (Eq. 10).

Annealed with β < 1 (Smith, Eisner 2004), Aᵢ counts as (1/β)·log Σ u^β: its hidden labels are flattened, to uniform at
β → 0, where the criterion is concave.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from loglin.errors import LoglinError
from loglin.structures.automaton import Automaton, Divergence
from loglin.structures.lattice import Lattices, Sites, Totals
from loglin.threads import Threads


@dataclass(frozen=True, eq=False)
class LatticeFeatures:
    """Which features label n-grams and the entries of sites have."""

    sites: Sites
    steps: sp.csr_matrix  # S: (cells of W, features)
    entries: sp.csr_matrix  # F: (entries, features)
    shape: tuple[int, int, int]  # of W

    @property
    def n_features(self) -> int:
        return self.steps.shape[1]

    def scores(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """W and E."""
        return (self.steps @ weights).reshape(self.shape), self.entries @ weights

    def gradient(self, cells: np.ndarray, entries: np.ndarray) -> np.ndarray:
        return self.steps.T @ cells.reshape(-1) + self.entries.T @ entries


class Sums(Protocol):
    """Something that sums u over one set for each sentence."""

    def totals(
        self, W: np.ndarray, E: np.ndarray, weight: np.ndarray | None = None, threads: Threads | None = None
    ) -> Totals: ...


@dataclass(frozen=True, eq=False)
class Shared:
    """Sets that sentences share, in which an arc may read any word of a pool: its E sums those of the pool's words."""

    lattices: Lattices  # of sites and, behind them, pools; a goal for every distinct set
    goal: np.ndarray  # (sentences,)
    ptr: np.ndarray  # (pool entries + 1,) int64
    members: np.ndarray  # (…,) int64: the entries that each pool entry sums

    def totals(self, W, E, weight=None, threads=None) -> Totals:
        pooled, share = _log_sums(E[self.members], self.ptr)
        goals = None if weight is None else np.bincount(self.goal, weight, self.lattices.n_goals)
        found = self.lattices.totals(W, np.concatenate([E, pooled]), goals, threads)
        entries = found.entries[: len(E)]
        if weight is not None:
            uses = np.repeat(found.entries[len(E) :], np.diff(self.ptr))
            entries = entries + np.bincount(self.members, share * uses, len(E))
        return Totals(found.partitions[self.goal], found.steps, entries)


def _log_sums(scores: np.ndarray, ptr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log Σ exp of every list, none of them empty, and the share of each of its members."""
    if len(ptr) < 2:
        return np.empty(0), np.empty(0)
    counts = np.diff(ptr)
    top = np.maximum.reduceat(scores, ptr[:-1])
    top = np.where(top > -math.inf, top, 0.0)
    share = np.exp(scores - np.repeat(top, counts))
    total = np.add.reduceat(share, ptr[:-1])
    with np.errstate(divide="ignore"):
        return top + np.log(total), share / np.repeat(np.maximum(total, 1e-300), counts)


@dataclass(frozen=True, eq=False)
class AllSentences:
    """Every sentence against all sentences over the words of the sites: Z of the label model as an automaton."""

    sites: Sites  # of the words that there are, the first of all
    n: int  # sentences
    names: list  # of labels, for messages

    def totals(self, W, E, weight=None, threads=None) -> Totals:
        L, H = self.sites.n_labels, len(W)
        pooled, share = self._pooled(E[: self.sites.n_entries])
        a, b, c = self._steps(W, pooled)
        score = W[a, b, c] + np.append(pooled, [0.0, 0.0])[c]
        inner, state = c < L, a * (L + 1) + b  # in order 1 a is 0
        target = (b if H > 1 else 0) * (L + 1) + c
        start, end = np.full((2, (L + 1) * (L + 1 if H > 1 else 1)), -math.inf)
        start[-1], end[state[~inner]] = 0.0, score[~inner]
        machine = Automaton(state[inner], target[inner], score[inner], start, end, lambda state: self._name(state, H))
        partitions = np.full(self.n, machine.partition())
        if weight is None:
            return Totals(partitions, np.empty((0, 0, 0)), np.empty(0))
        uses, total, cells, entries = machine.expectations(), float(np.sum(weight)), np.zeros(W.shape), np.zeros(len(E))
        cells[a[inner], b[inner], c[inner]] = total * uses.arcs
        cells[a[~inner], b[~inner], c[~inner]] = total * uses.ends[state[~inner]]
        entries[: self.sites.n_entries] = share * cells[:, :, :L].sum(axis=(0, 1))[self.sites.labels]
        return Totals(partitions, cells, entries)

    def _pooled(self, E: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log Σ_words exp E of every label, -inf of one without words, and each entry's share of it."""
        labels, L = self.sites.labels, self.sites.n_labels
        order = np.argsort(labels, kind="stable")
        present, first = np.unique(labels[order], return_index=True)
        sums, shares = _log_sums(E[order], np.append(first, len(order)))
        pooled, share = np.full(L, -math.inf), np.empty(len(E))
        pooled[present], share[order] = sums, shares
        return pooled, share

    @staticmethod
    def _steps(W: np.ndarray, pooled: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The label n-grams that a sentence can have; an empty sentence is none."""
        start, stop = W.shape[1] - 2, W.shape[1] - 1
        a, b, c = np.nonzero(np.isfinite(W))
        possible = (a != stop) & (b != stop) & (c != start) & ~((b == start) & (c == stop))
        possible &= (b != start) | (a == start) | (len(W) == 1)
        possible &= np.append(pooled, [0.0, 0.0])[c] > -math.inf
        return a[possible], b[possible], c[possible]

    def _name(self, state: int, H: int) -> str:
        names, (a, b) = [*map(str, self.names), "START"], divmod(state, self.sites.n_labels + 1)
        return f"{names[a]} {names[b]}" if H > 1 else names[b]


@dataclass(frozen=True, eq=False)
class Neighbors:
    """Neighborhoods in whose lattices the observed sentences have paths of their own, so that one pass sums both."""

    lattices: Lattices  # goals "observed"

    def totals(self, W, E, weight=None, threads=None) -> Totals:
        goals = None if weight is None else np.stack([0 * weight, weight], axis=1).reshape(-1)
        found = self.lattices.totals(W, E, goals, threads)
        return Totals(found.partitions[1::2], found.steps, found.entries)

    def contrast(self, W: np.ndarray, E: np.ndarray, weight: np.ndarray | None, threads: Threads) -> Totals:
        """log Σ_A − log Σ_B in place of partitions, and the difference of expectations."""
        goals = None if weight is None else np.stack([weight, -weight], axis=1).reshape(-1)
        found = self.lattices.totals(W, E, goals, threads)
        return Totals(found.partitions[::2] - found.partitions[1::2], found.steps, found.entries)


@dataclass(frozen=True, eq=False)
class Contrast:
    """Sentences, what each is compared with, and how much each counts."""

    observed: Lattices  # Aᵢ, one goal each
    against: Sums  # Bᵢ
    weight: np.ndarray  # (sentences,)

    def totals(self, W: np.ndarray, E: np.ndarray, beta: float, threads: Threads) -> tuple[np.ndarray, Totals]:
        """weightᵢ·(log Σ_A − log Σ_B) of each sentence, and the difference of expectations."""
        if isinstance(self.against, Neighbors) and beta == 1.0:
            found = self.against.contrast(W, E, self.weight, threads)
            return self.weight * found.partitions, found
        a = self.observed.totals(beta * W if beta != 1.0 else W, beta * E, self.weight, threads)
        b = self.against.totals(W, E, -self.weight, threads)
        values = self.weight * (a.partitions / beta - b.partitions)
        return values, Totals(a.partitions, a.steps + b.steps, a.entries + b.entries)

    def values(self, W: np.ndarray, E: np.ndarray, threads: Threads) -> np.ndarray:
        """log Σ_A − log Σ_B of each sentence, without weights or gradient."""
        if isinstance(self.against, Neighbors):
            return self.against.contrast(W, E, None, threads).partitions
        ours, theirs = (sums.totals(W, E, None, threads).partitions for sums in (self.observed, self.against))
        return ours - theirs


class LatticeCriterion:
    """The sum of contrasts, and its gradient."""

    def __init__(self, features: LatticeFeatures, contrasts: list[Contrast], threads: Threads | None = None):
        self.features, self.contrasts, self.threads = features, contrasts, threads or Threads(1)
        self.n_features, self.evaluations = features.n_features, 0
        self.beta = 1.0

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        self.evaluations += 1
        W, E = self.features.scores(np.asarray(weights, np.float64))
        value, cells, entries = 0.0, np.zeros(W.shape), np.zeros(len(E))
        for contrast in self.contrasts:
            try:
                values, totals = contrast.totals(W, E, self.beta, self.threads)
            except Divergence:
                if self.evaluations == 1:
                    raise
                return math.inf, np.zeros(self.n_features)  # a search that went too far turns back
            impossible = np.flatnonzero(np.isnan(values) | (values == -math.inf))
            if len(impossible) and np.isfinite(weights).all():
                raise LoglinError(
                    f"sentence {impossible[0]} has no possible labels: its annotation and the dictionary exclude one "
                    "another; allow more labels"
                )
            value += float(values.sum())
            cells += totals.steps
            entries += totals.entries
        return -value, -self.features.gradient(cells, entries)

    def value(self, weights: np.ndarray) -> float:
        """The criterion as people state it, to be maximized and without penalty or weights of sentences."""
        W, E = self.features.scores(np.asarray(weights, np.float64))
        return float(sum(contrast.values(W, E, self.threads).sum() for contrast in self.contrasts))
