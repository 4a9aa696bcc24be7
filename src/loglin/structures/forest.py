"""Forests: all trees of a grammar over a sentence, or over every sentence of a word lattice.

    score(tree) = root(A) + Σ_words leaf(tag) + Σ_nodes rule(A → B C, i, j) + Σ_nodes split(A → B C, k)

Cell (i, j), 0 ≤ i < j < states, has the number j(j−1)/2 + i. Everything here is exact; kernels/forest.py sums in
scaled numbers, kernels/forest_logs.py where these could vanish.

grammar, word lattices ──► cells ──► sums and expectations (Totals), best trees and samples (Derivation)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from loglin.errors import LoglinError
from loglin.grammars.grammar import Grammar
from loglin.kernels import forest_logs as kernels
from loglin.kernels.forest_scores import Layout, Room, Scores, Tables, Uses
from loglin.structures.best_chart import BestChart
from loglin.structures.local import checked_count, checked_scores
from loglin.structures.word_lattices import WordLattices
from loglin.threads import Threads, chunks_by_size

NO_ATTRIBUTES = np.empty((0, 0), np.int32), np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0)


def cell(i: int, j: int) -> int:
    """The number of the cell over states i … j."""
    return j * (j - 1) // 2 + i


@dataclass(frozen=True, eq=False)
class Derivation:
    """A tree in preorder: (symbol, i, j, rule) of every node; the rule of a leaf is −1 − its arc."""

    nodes: np.ndarray  # (nodes, 4) int32
    score: float


@dataclass(frozen=True, eq=False)
class Totals:
    """log Z of each forest's two goals, the observed sentence and all sentences, and weighted expected uses."""

    partitions: np.ndarray  # (forests, 2)
    leaves: np.ndarray  # (rows, K)
    roots: np.ndarray  # (N,)
    rules: np.ndarray  # (R,)
    pairs: np.ndarray  # as Scores.weights
    splits: np.ndarray  # as Scores.split_weights
    dense: np.ndarray  # (cells, R) if asked for
    spans: np.ndarray  # (cells, N) if asked for


def scores_of(
    leaves: np.ndarray,
    roots: np.ndarray,
    rules: np.ndarray,
    *,
    spans: tuple = NO_ATTRIBUTES,
    splits: tuple = NO_ATTRIBUTES,
    local: int = 0,
    expansions: np.ndarray | None = None,
) -> Scores:
    """Scores for the kernels; ``rules`` is (R,), or (cells, R) with one row a cell."""
    rules = np.ascontiguousarray(rules, np.float64)
    dense, rules = (rules, np.zeros(rules.shape[1])) if rules.ndim == 2 else (np.empty((0, 0)), rules)
    settled = rules
    if local:
        assert expansions is not None
        settled = _settled(rules, expansions, local)
    leaves, roots = np.ascontiguousarray(leaves, np.float64), np.ascontiguousarray(roots, np.float64)
    return Scores._make([leaves, roots, rules, dense, *spans, *splits, local, settled])


def _settled(rules: np.ndarray, expansions: np.ndarray, local: int) -> np.ndarray:
    """Rules normalized over the binary rules of each parent, with e^0 added if ``local`` is 2."""
    settled = rules.copy()
    for begin, end in zip(expansions[:-1].tolist(), expansions[1:].tolist(), strict=True):
        if end > begin:
            nota = [0.0] if local == 2 else []
            total = np.logaddexp.reduce([*rules[begin:end], *nota])
            settled[begin:end] -= total if total > -math.inf else 0.0
    return settled


def own_attributes(scores: np.ndarray) -> tuple:
    """Attributes for ``scores_of`` that give every place (row) its own scores of all rules (columns)."""
    n_places, n_rules = scores.shape
    attributes, targets = np.arange(n_places, dtype=np.int32)[:, None], np.arange(n_rules, dtype=np.int32)
    return attributes, np.arange(n_places + 1) * n_rules, np.tile(targets, n_places), scores.reshape(-1)


def tables_of(grammar: Grammar, tags: np.ndarray) -> Tables:
    order = np.lexsort((np.arange(len(grammar.binary)), grammar.binary[:, 1])).astype(np.int32)
    by_left = grammar.binary[order]
    return Tables(
        np.searchsorted(by_left[:, 1], np.arange(grammar.n_symbols + 1)).astype(np.int64),
        order,
        np.ascontiguousarray(by_left[:, 0]),
        np.ascontiguousarray(by_left[:, 2]),
        grammar.binary,
        grammar.unary,
        grammar.expansions,
        np.ascontiguousarray(tags, np.int32),
    )


class ChartBytes(NamedTuple):
    """What one thread needs at most, in bytes; expectations by rule or symbol and cell are as large again."""

    best: int
    sums: int
    expectations: int


def chart_bytes(grammar: Grammar, n_words: int, splits: bool = False) -> ChartBytes:
    """Of a sentence, or of a lattice of n_words + 1 states; ``splits`` are scores of split points. Sums are counted
    with the charts that they need in logarithms, where scaled numbers would vanish."""
    n_binary, R, states = len(grammar.binary), grammar.n_rules, n_words + 1
    cells, at_splits = cell(0, states), 8 * states * n_binary * splits
    items = cells * grammar.n_symbols
    nodes = (2 * n_words - 1) * (1 + grammar.unary_depth)
    best = 20 * items + 4 * cells + 8 * R + 12 * n_binary + at_splits + 28 * nodes
    sums = 20 * items + 12 * cells + 44 * R + 12 * n_binary + 3 * at_splits
    return ChartBytes(best, sums, sums + 16 * items + 8 * R + at_splits)


class Forests:
    """A grammar over many sentences or word lattices, laid out for the kernels."""

    def __init__(
        self, grammar: Grammar, tags: np.ndarray, words: WordLattices, rows: np.ndarray, own_rows: bool = False
    ):
        """``rows`` gives for every arc the row of its leaf scores; ``own_rows``: no two forests share one."""
        self.grammar, self.n, self._own = grammar, len(words), own_rows
        self.tables = tables_of(grammar, tags)
        sizes = np.diff(words.states)
        cells = np.concatenate([[0], np.cumsum(sizes * (sizes - 1) // 2)]).astype(np.int64)
        source = np.repeat(np.arange(len(words.final)), np.diff(words.arcs))
        forest = np.repeat(np.arange(self.n), np.diff(words.arcs[words.states]))
        source = source - words.states[:-1][forest]
        by_cell = np.lexsort((-source, words.targets, forest))
        arcs = words.arcs[words.states].astype(np.int64)
        self.layout = Layout(
            words.states.astype(np.int64),
            cells,
            arcs,
            source[by_cell].astype(np.int32),
            words.targets[by_cell].astype(np.int32),
            np.asarray(rows)[by_cell].astype(np.int32),
            words.final,
            np.empty(0, np.int32),
            np.empty((0, grammar.n_symbols), np.bool_),
        )
        self.chunks = chunks_by_size(np.concatenate([[0], np.cumsum(sizes.astype(np.float64) ** 3)]))

    @classmethod
    def of_sentences(cls, grammar: Grammar, tags: np.ndarray, lengths: Sequence[int] | np.ndarray) -> Forests:
        """One forest a sentence, whose words have leaf rows one behind the other."""
        ends = np.cumsum(np.asarray(lengths, np.int64))
        rows = [np.arange(e - n, e) for n, e in zip(lengths, ends, strict=True)]
        words = WordLattices.chains(rows, int(ends.max(initial=0)))
        return cls(grammar, tags, words, words.symbols, own_rows=True)

    def masked(self, mask_of: np.ndarray, masks: np.ndarray) -> Forests:
        """With the symbols of each cell restricted: row mask_of[cell] of masks (masks, N), or all where it is −1."""
        other = object.__new__(Forests)
        other.__dict__.update(self.__dict__)
        other.layout = self.layout._replace(
            mask_of=np.ascontiguousarray(mask_of, np.int32), masks=np.ascontiguousarray(masks, np.bool_)
        )
        return other

    @property
    def n_cells(self) -> int:
        return int(self.layout.cells[-1])

    def _room(self, begin: int, end: int, scores: Scores, wanted: bool) -> Room:
        most = int(np.diff(self.layout.states[begin : end + 1]).max(initial=1))
        cells, N, R, n_binary = cell(0, most), self.grammar.n_symbols, self.grammar.n_rules, len(self.grammar.binary)
        splits = (most, n_binary) if scores.splits.shape[1] else (0, 0)
        place = np.empty(n_binary, np.int32)
        place[self.tables.order] = np.arange(n_binary)
        return Room(
            np.empty((cells, N)), np.empty((cells if wanted else 0, N)), np.empty((cells, N), np.int32),
            np.zeros(cells, np.int32), np.empty(cells), np.empty(n_binary), np.empty(R), np.empty(R), np.zeros(R),
            np.empty(R, np.int32), place, np.zeros(R), np.empty(splits), np.empty(splits),
        )  # fmt: skip

    def totals(
        self,
        scores: Scores,
        weights: np.ndarray | None = None,
        threads: Threads | None = None,
        dense: bool = False,
        spans: bool = False,
    ) -> Totals:
        """Partitions, and with weights (forests, 2) of the goals expectations."""
        n_pairs, n_splits, wanted = len(scores.weights), len(scores.split_weights), weights is not None
        N, R = self.grammar.n_symbols, self.grammar.n_rules
        log_z, w = np.empty((self.n, 2)), np.empty((0, 2)) if weights is None else np.asarray(weights, np.float64)
        leaves = np.zeros(scores.leaves.shape if wanted else (0, 0))
        rows, cells = np.zeros((self.n_cells * dense, R)), np.zeros((self.n_cells * spans, N))
        roots, rules, pairs, splits = (np.zeros(n * wanted) for n in (N, R, n_pairs, n_splits))

        def chunk(begin: int, end: int) -> Uses:
            own = leaves if self._own else np.zeros_like(leaves)
            sums = (np.zeros_like(roots), np.zeros_like(rules), np.zeros_like(pairs), np.zeros_like(splits))
            uses = Uses(own, *sums, rows)
            room = self._room(begin, end, scores, wanted)
            kernels.sums(begin, end, self.layout, self.tables, scores, room, w, log_z, uses, cells)
            return uses

        for parts in (threads or Threads(1)).map(chunk, self.chunks):
            if not self._own:
                leaves += parts.leaves
            for whole, part in zip((roots, rules, pairs, splits), parts[1:5], strict=True):
                whole += part
        return Totals(log_z, leaves, roots, rules, pairs, splits, rows, cells)

    def best(self, scores: Scores, threads: Threads | None = None) -> list[Derivation | None]:
        """The best tree of every forest; None where there is none."""

        def chunk(begin: int, end: int) -> list[Derivation | None]:
            n, longest = end - begin, self.most_nodes(begin, end)
            best, counts, nodes = np.empty(n), np.empty(n, np.int64), np.empty((n, longest, 4), np.int32)
            kernels.best_trees(begin, end, self.layout, self.tables, scores, best, counts, nodes)
            return [Derivation(nodes[f, : counts[f]].copy(), float(best[f])) if counts[f] else None for f in range(n)]

        return [d for part in (threads or Threads(1)).map(chunk, self.chunks) for d in part]

    def most_nodes(self, begin: int, end: int) -> int:
        """How many nodes a tree of these forests has at most."""
        states = int(np.diff(self.layout.states[begin : end + 1]).max(initial=2))
        return (2 * states - 3) * (1 + self.grammar.unary_depth)

    def sample(self, forest: int, n: int, scores: Scores, rng: np.random.Generator) -> list[Derivation]:
        """n independent draws of a tree."""
        longest = self.most_nodes(forest, forest + 1)
        counts, nodes = np.empty(n, np.int64), np.empty((n, longest, 4), np.int32)
        uniforms = rng.random((n, longest + 1))
        total = kernels.sample_trees(forest, self.layout, self.tables, scores, uniforms, counts, nodes)
        if total == -math.inf:
            raise LoglinError("No tree is possible; add rules, or allow the words more tags.")
        return [Derivation(nodes[s, : counts[s]].copy(), math.nan) for s in range(n)]

    def best_chart(self, forest: int, scores: Scores) -> BestChart:
        """The best tree of every item of one forest, and what can be read from them."""
        return BestChart(forest, self.grammar, self.layout, self.tables, scores)


@dataclass(frozen=True, eq=False)
class Forest:
    """One sentence, or one word lattice, with its scores: a distribution over trees, p = exp(score) / Z."""

    grammar: Grammar
    leaves: np.ndarray  # (words, N) log scores of every symbol over each word; in a lattice of every word it can read
    rules: np.ndarray  # (R,), or (cells, R) with a row for every cell
    roots: np.ndarray | None = None  # (N,); None: 0 for all symbols
    splits: np.ndarray | None = None  # (states, binary rules): added where a rule splits at a state
    words: WordLattices | None = None  # a single lattice that reads rows of leaves; None: the sentence itself

    def __post_init__(self) -> None:
        if not isinstance(self.grammar, Grammar):
            raise LoglinError(f"A forest has a grammar, not {self.grammar!r}; give a Grammar first.")
        N, R = self.grammar.n_symbols, self.grammar.n_rules
        leaves, rules = checked_scores("leaves", self.leaves), checked_scores("rules", self.rules)
        roots = np.zeros(N) if self.roots is None else checked_scores("roots", self.roots)
        if leaves.ndim != 2 or leaves.shape[1] != N or not len(leaves):
            raise LoglinError(f"leaves must have shape (words, {N}) with at least one word, not {leaves.shape}.")
        if self.words is not None and (len(self.words) != 1 or self.words.symbols.max(initial=0) >= len(leaves)):
            raise LoglinError(
                f"words are {len(self.words)} lattices that read up to symbol {self.words.symbols.max(initial=0)}; "
                f"give one that reads the {len(leaves)} rows of leaves."
            )
        states = len(leaves) + 1 if self.words is None else int(self.words.states[1])
        if rules.shape not in ((R,), (cell(0, states), R)):
            raise LoglinError(f"rules must have shape {(R,)} or {(cell(0, states), R)}, not {rules.shape}.")
        if roots.shape != (N,):
            raise LoglinError(f"roots must have shape {(N,)}, not {roots.shape}.")
        if self.splits is not None:
            splits = checked_scores("splits", self.splits)
            if splits.shape != (states, len(self.grammar.binary)):
                raise LoglinError(f"splits must have shape {(states, len(self.grammar.binary))}, not {splits.shape}.")
            object.__setattr__(self, "splits", splits)
        for name, value in (("leaves", leaves), ("rules", rules), ("roots", roots)):
            object.__setattr__(self, name, value)

    @cached_property
    def _forests(self) -> Forests:
        tags = np.arange(self.grammar.n_symbols)
        if self.words is None:
            return Forests.of_sentences(self.grammar, tags, [len(self.leaves)])
        return Forests(self.grammar, tags, self.words, self.words.symbols)

    @cached_property
    def _scores(self) -> Scores:
        assert self.roots is not None
        splits = NO_ATTRIBUTES if self.splits is None else own_attributes(self.splits)
        return scores_of(self.leaves, self.roots, self.rules, splits=splits)

    def partition(self) -> float:
        """log Z; -inf if no tree is possible."""
        return float(self._forests.totals(self._scores).partitions[0, 1])

    @cached_property
    def _totals(self) -> Totals:
        totals = self._forests.totals(self._scores, np.array([[0.0, 1.0]]), dense=True, spans=True)
        if totals.partitions[0, 1] == -math.inf:
            raise LoglinError(_IMPOSSIBLE)
        return totals

    def expectations(self) -> np.ndarray:
        """Expected uses of every rule: (R,)."""
        return self._totals.rules

    def marginals(self) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities: of a rule on top of every cell (cells, R), and of a symbol over every cell (cells, N)."""
        return self._totals.dense, self._totals.spans

    def leaf_marginals(self) -> np.ndarray:
        """Expected uses of every symbol as the tag of every word: (words, N)."""
        return self._totals.leaves

    def best(self) -> Derivation:
        """The best tree."""
        found = self._forests.best(self._scores)[0]
        if found is None:
            raise LoglinError(_IMPOSSIBLE)
        return found

    def nbest(self, k: int) -> list[Derivation]:
        """The k best trees, best first; fewer if fewer exist."""
        found = self._forests.best_chart(0, self._scores).nbest(checked_count(k, "trees", 1))
        if not found:
            raise LoglinError(_IMPOSSIBLE)
        return [Derivation(np.array(nodes, np.int32), score) for nodes, score in found]

    def sample(self, n: int, rng: np.random.Generator) -> list[Derivation]:
        """n independent draws."""
        return self._forests.sample(0, checked_count(n, "draws"), self._scores, rng)

    def max_recall(self, worth: np.ndarray | None = None) -> list[tuple[int, int, int]]:
        """The binary tree with the highest expected number of right spans; see ``max_recall``."""
        if self.words is not None:
            raise LoglinError("A lattice has no spans of words; decode it with best().")
        worth = np.ones(self.grammar.n_symbols) if worth is None else np.asarray(worth, np.float64)
        return max_recall(self._totals.spans, worth)


_IMPOSSIBLE = "No tree is possible; add rules, or allow the words more tags."


def max_recall(spans: np.ndarray, worth: np.ndarray) -> list[tuple[int, int, int]]:
    """(symbol, i, j) of the spans, in preorder, of the binary tree with the highest Σ worth(symbol) · p(symbol, i, j)
    (Goodman, 1996); −1 where the span is worth nothing. spans (cells, N), worth (N,) such as how many labels a symbol
    stands for.
    """
    n = int((math.isqrt(8 * len(spans) + 1) - 1) // 2)
    gains = spans * worth
    symbols, gain = gains.argmax(axis=1), gains.max(axis=1)
    total, split = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1), np.int64)
    for j in range(1, n + 1):
        for i in range(j - 1, -1, -1):
            total[i, j] = gain[cell(i, j)]
            if j - i > 1:
                ways = total[i, i + 1 : j] + total[i + 1 : j, j]
                split[i, j] = i + 1 + int(ways.argmax())
                total[i, j] += ways.max()
    found, ahead = [], [(0, n)]
    while ahead:
        i, j = ahead.pop()
        c = cell(i, j)
        found.append((int(symbols[c]) if gain[c] > 0 else -1, i, j))
        if j - i > 1:
            ahead += [(int(split[i, j]), j), (i, int(split[i, j]))]
    return found
