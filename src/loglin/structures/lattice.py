"""Lattices of words whose labels are hidden: every path through the words, every labelling of each.

    score(path, labels) = Σ_t E[word_t, label_t] + Σ_t W[label_{t-2}, label_{t-1}, label_t]        order 2
                                                 + Σ_t W[0, label_{t-1}, label_t]                  order 1

W has L + 2 labels, the last two being START and STOP: a sentence reads START START … STOP. A word may only have the
labels that its *site* lists; E holds one number for each of them. Everything here is exact; kernels/lattice.py sums.

word lattices ──► nodes (state, labels before, word) and their blocks of labels ──► sums, expectations, best, samples
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from loglin.corpus.shown import Shown
from loglin.errors import LoglinError
from loglin.kernels import lattice as kernels
from loglin.kernels import lattice_logs as logs
from loglin.structures.local import checked_count, checked_scores
from loglin.structures.word_lattices import WordLattices
from loglin.threads import Threads, chunks_by_size

ARCS_PER_CELL = 1.5  # a chunk has at least so many label arcs for every cell of W, which it must sum apart


@dataclass(frozen=True, eq=False)
class Sites:
    """Words and the labels that each may have: the labels of site s are labels[ptr[s] : ptr[s + 1]], rising."""

    ptr: np.ndarray  # (sites + 1,) int64
    labels: np.ndarray  # (entries,) int32
    n_labels: int

    @classmethod
    def of(cls, allowed: np.ndarray) -> Sites:
        """From (sites, labels) bool."""
        empty = np.flatnonzero(~allowed.any(axis=1))
        if len(empty):
            raise LoglinError(f"site {empty[0]} has no label; give it at least one")
        ptr = np.concatenate([[0], np.cumsum(allowed.sum(axis=1))]).astype(np.int64)
        return cls(ptr, np.nonzero(allowed)[1].astype(np.int32), allowed.shape[1])

    def select(self, chosen: np.ndarray) -> Sites:
        """The chosen sites, in the order given."""
        counts = np.diff(self.ptr)[chosen]
        ptr = np.concatenate([[0], np.cumsum(counts)])
        place = np.repeat(self.ptr[chosen] - ptr[:-1], counts) + np.arange(ptr[-1])
        return Sites(ptr, self.labels[place], self.n_labels)

    @cached_property
    def rows(self) -> np.ndarray:
        """For every site, START and STOP the first site with the same labels: (sites + 2,) int32."""
        seen: dict[bytes, int] = {}
        labels, cuts = self.labels.tobytes(), (self.ptr * self.labels.itemsize).tolist()
        rows = [seen.setdefault(labels[b:e], s) for s, (b, e) in enumerate(pairwise(cuts))]
        return np.array([*rows, self.n_sites, self.n_sites + 1], np.int32)

    @property
    def n_sites(self) -> int:
        return len(self.ptr) - 1

    @property
    def n_entries(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class Totals:
    """log Z of every goal, and Σ_goals weight · E[uses] of label n-grams and of entries, if asked for."""

    partitions: np.ndarray  # (goals,)
    steps: np.ndarray  # (H, L + 2, L + 2)
    entries: np.ndarray  # (entries,)


class Lattices:
    """Word lattices times a label model of order 1 or 2, laid out for the kernels.

    A lattice has one goal, all its sentences; with ``goals`` "observed" two, its observed sentence and all of them;
    with "ends" one for every final state.
    """

    def __init__(self, words: WordLattices, sites: Sites, site_of: np.ndarray, order: int = 2, goals: str = "one"):
        if order not in (1, 2):
            raise LoglinError(f"order is {order!r}; a label model is of order 1 or 2")
        self._rooms: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self.sites, self.order, self.n = sites, order, len(words.states) - 1
        L, n = sites.n_labels, sites.n_sites
        kinds = {"one": 1, "observed": 2, "ends": 0}[goals]
        ends = np.concatenate([[0], np.cumsum(words.final > 0)])
        self.goals = ends[words.states] if goals == "ends" else np.arange(self.n + 1) * kinds
        # START, STOP and the single row of order 1 are sites behind all others
        first = np.concatenate([sites.ptr[:-1], sites.n_entries + np.arange(3)])
        count = np.concatenate([np.diff(sites.ptr), np.ones(3, np.int64)])
        self._spans = first, count  # where the entries of every site begin, and how many there are
        self.labels = np.concatenate([sites.labels, [L, L + 1, 0]]).astype(np.int32)
        self.lattices, read, self.arcs, self.sources = kernels.expand(
            words.states, words.arcs, words.targets, words.symbols, words.final,
            np.asarray(site_of, np.int32), sites.rows, order, n + 1, kinds,
        )  # fmt: skip
        before = read[:, 0] if order == 2 else np.full(len(read), n + 2)
        size = count[before] * count[read[:, 1]]
        place = np.concatenate([[0], np.cumsum(size)])
        place = place[:-1] - np.repeat(place[self.lattices[:-1]], np.diff(self.lattices))
        columns = (first[before], count[before], first[read[:, 1]], count[read[:, 1]], place, read[:, 2])
        self.nodes = np.stack(columns, axis=1).astype(np.int32)
        self.longest = int(np.diff(words.states).max(initial=1))
        target = np.repeat(np.arange(len(read)), np.diff(self.arcs))
        work = size[self.sources] * count[read[target, 1]]
        self.n_arcs = int(work.sum())  # of labels
        total = np.concatenate([[0], np.cumsum(work)])[self.arcs][self.lattices]
        cells = self.shape[0] * self.shape[1] * self.shape[2]
        self.chunks = chunks_by_size(total, int(np.clip(self.n_arcs / (ARCS_PER_CELL * cells), 1, 16)))

    @property
    def n_goals(self) -> int:
        return int(self.goals[-1])

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of W."""
        S = self.sites.n_labels + 2
        return (S if self.order == 2 else 1), S, S

    @property
    def _graph(self) -> kernels.Graph:
        second = int(self.order == 2)
        return kernels.Graph(self.lattices, self.nodes, self.arcs, self.sources, self.labels, second)

    def totals(
        self, W: np.ndarray, E: np.ndarray, weight: np.ndarray | None = None, threads: Threads | None = None
    ) -> Totals:
        """Partitions, and with a weight for each goal expectations; W and E are logarithms."""
        threads = threads or Threads(1)
        W, E = np.ascontiguousarray(W, np.float64), np.append(E, np.zeros(3))
        scaled, step, shares, shift, safe = self._scaled(W, E)
        forbids = not (scaled.all() and shares.all())
        factors = kernels.Factors(self.shape[1], scaled.reshape(-1), shares, shift, step, forbids)
        logz, unsafe = np.full(self.n_goals, -math.inf), np.full(self.n, not safe)
        wanted = weight is not None
        w = np.asarray(weight, np.float64) if wanted else np.empty(0)
        cells, entries = np.zeros(W.shape if wanted else (0, 0, 0)), np.zeros(len(E) if wanted else 0)

        def chunk(begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
            gW, gE = self._room(begin) if wanted else (cells, entries)
            kernels.sums(begin, end, self._graph, factors, w, logz, unsafe, wanted, gW.reshape(-1), gE)
            return gW, gE

        if safe:
            for gW, gE in threads.map(chunk, self.chunks):
                if wanted:
                    cells += gW
                    entries += gE
            if wanted:
                cells *= scaled
        careful = np.flatnonzero(unsafe)
        if len(careful):
            logs.careful_sums(careful, self._graph, W, E, w, self.goals, logz, wanted, cells, entries)
        return Totals(logz, cells, entries[: self.sites.n_entries])

    def _room(self, begin: int) -> tuple[np.ndarray, np.ndarray]:
        """Zeros for the expectations of the chunk that begins there, kept from pass to pass."""
        if begin not in self._rooms:
            self._rooms[begin] = np.empty(self.shape), np.empty(self.sites.n_entries + 3)
        for part in self._rooms[begin]:
            part[:] = 0.0
        return self._rooms[begin]

    def _scaled(self, W: np.ndarray, E: np.ndarray) -> tuple[np.ndarray, float, np.ndarray, np.ndarray, bool]:
        """exp of W and E, each shifted by its largest (E by site), the shifts, and whether nothing can vanish."""
        step, least = float(W.max()), float(W.min())
        if not (math.isfinite(step) and math.isfinite(least)):
            finite = np.isfinite(W)
            step, least = (float(f(W[finite])) if finite.any() else 0.0 for f in (np.max, np.min))
        starts, counts = self._spans
        peak = np.maximum.reduceat(E, starts)
        peak = np.where(peak > -math.inf, peak, 0.0)
        shift = np.zeros(len(E))
        shift[starts] = peak
        relative = E - np.repeat(peak, counts)
        lowest = float(relative.min(initial=0.0, where=relative > -math.inf))
        safe = min(least - step, lowest) >= math.log(kernels.VANISHING)
        return np.exp(W - step), step, np.exp(relative), shift, safe

    def nbest(self, W: np.ndarray, E: np.ndarray, k: int = 1, threads: Threads | None = None) -> list[list[Path]]:
        """The k best paths of every lattice, each with its labels and score; fewer where fewer exist."""
        if k < 1:
            raise LoglinError(f"Cannot list {k} paths; give a number of at least 1.")
        W, E = np.ascontiguousarray(W, np.float64), np.append(E, np.zeros(3))
        entries = np.empty((self.n, k, self.longest), np.int64)
        lengths, scores = np.empty((self.n, k), np.int64), np.empty((self.n, k))
        (threads or Threads(1)).map(
            lambda b, e: logs.best_paths(
                b, e, self._graph, W, E, self.goals, k, entries[b:e], lengths[b:e], scores[b:e]
            ),
            self.chunks,
        )
        return [
            [
                self._path(entries[i, r, : lengths[i, r]], float(scores[i, r]))
                for r in range(k)
                if scores[i, r] > -math.inf
            ]
            for i in range(self.n)
        ]

    def sample(self, lattice: int, n: int, W: np.ndarray, E: np.ndarray, rng: np.random.Generator) -> list[Path]:
        """n independent draws of a path and its labels."""
        W, E = np.ascontiguousarray(W, np.float64), np.append(E, np.zeros(3))
        if self.totals(W, E[:-3]).partitions[self.goals[lattice + 1] - 1] == -math.inf:
            raise LoglinError("No labels are possible along any path; allow more labels or transitions.")
        uniforms = rng.random((n, self.longest + 2))
        entries, lengths = np.empty((n, self.longest), np.int64), np.empty(n, np.int64)
        logs.sample_paths(lattice, self._graph, W, E, self.goals, uniforms, entries, lengths)
        return [self._path(row[self.longest - m :], math.nan) for row, m in zip(entries, lengths.tolist(), strict=True)]

    def _path(self, entries: np.ndarray, score: float) -> Path:
        sites = np.searchsorted(self.sites.ptr, entries, side="right") - 1
        return Path(sites, self.labels[entries].astype(np.int64), score)


@dataclass(frozen=True, eq=False)
class Path:
    sites: np.ndarray  # (T,) what is read
    labels: np.ndarray  # (T,)
    score: float


@dataclass(frozen=True, eq=False)
class Lattice(Shown):
    """One lattice with its weights: a distribution over paths and labels, p = exp(score) / Z."""

    words: WordLattices  # a single one
    sites: Sites
    steps: np.ndarray  # W: (L + 2, L + 2, L + 2), or (1, L + 2, L + 2) in order 1
    scores: np.ndarray  # E: (entries,)

    def __post_init__(self) -> None:
        steps, scores = checked_scores("steps", self.steps), checked_scores("scores", self.scores)
        if not isinstance(self.words, WordLattices) or not isinstance(self.sites, Sites):
            raise LoglinError("A lattice has words and sites; give WordLattices and Sites first.")
        S = self.sites.n_labels + 2
        if len(self.words) != 1:
            raise LoglinError(f"words are {len(self.words)} lattices; give one, or take Lattices for many")
        if steps.shape not in ((S, S, S), (1, S, S)):
            raise LoglinError(f"steps must have shape {(S, S, S)}, or {(1, S, S)} in order 1, not {steps.shape}.")
        if scores.shape != (self.sites.n_entries,):
            raise LoglinError(f"scores must have shape {(self.sites.n_entries,)}, not {scores.shape}.")
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "scores", scores)

    @cached_property
    def _lattices(self) -> Lattices:
        order = 1 if self.steps.shape[0] == 1 else 2
        return Lattices(self.words, self.sites, np.arange(self.sites.n_sites), order)

    def partition(self) -> float:
        """log Z; -inf if nothing is possible."""
        return float(self._lattices.totals(self.steps, self.scores).partitions[0])

    def expectations(self) -> tuple[np.ndarray, np.ndarray]:
        """Expected uses of every label n-gram, shaped as ``steps``, and of every entry (entries,)."""
        totals = self._lattices.totals(self.steps, self.scores, np.ones(1))
        if totals.partitions[0] == -math.inf:
            raise LoglinError("No labels are possible along any path; allow more labels or transitions.")
        return totals.steps, totals.entries

    def best(self) -> Path:
        """The best path with its labels."""
        return self.nbest(1)[0]

    def nbest(self, k: int) -> list[Path]:
        """The k best paths with their labels, best first; fewer if fewer exist."""
        found = self._lattices.nbest(self.steps, self.scores, checked_count(k, "paths", 1))[0]
        if not found:
            raise LoglinError("No labels are possible along any path; allow more labels or transitions.")
        return found

    def sample(self, n: int, rng: np.random.Generator) -> list[Path]:
        """n independent draws."""
        return self._lattices.sample(0, checked_count(n, "draws"), self.steps, self.scores, rng)
