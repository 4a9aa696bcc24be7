"""The chart of best trees of one forest: trees of any item, the k best of all, and the best cover where none is whole.

The k best are found lazily (Huang and Chiang, 2005, algorithm 3): an item asks its children for their next best trees
only when the ones it has are used up.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from loglin.errors import LoglinError
from loglin.grammars.grammar import Grammar
from loglin.kernels import forest_logs as kernels
from loglin.kernels.forest_scores import Best, Layout, Scores, Tables, cell, log_row

Item = tuple[int, int, int]  # symbol, i, j


class _Way(NamedTuple):
    """One way to make an item: a rule over its children's trees of given ranks. Ordered by score, best first."""

    cost: float
    rule: int
    split: int
    at_split: float = 0.0
    at_rule: float = 0.0
    left: int = 0
    right: int = 0

    def over(self, left: int, right: int, *costs: float) -> _Way:
        """The same rule over other trees. Added in the kernel's order, so that a worse child never makes a better way,
        not even in the last digit."""
        return self._replace(cost=sum(costs) - self.at_split - self.at_rule, left=left, right=right)


class BestChart:
    def __init__(self, forest: int, grammar: Grammar, layout: Layout, tables: Tables, scores: Scores):
        self.f, self.grammar, self.layout, self.tables, self.scores = forest, grammar, layout, tables, scores
        self.states = int(layout.states[forest + 1] - layout.states[forest])
        cells, N, n_binary = cell(0, self.states), grammar.n_symbols, len(grammar.binary)
        self.chart = np.empty((cells, N))  # log score of the best tree of every item
        self.rule, self.split = np.empty((cells, N), np.int32), np.empty((cells, N), np.int32)
        self.splits = np.zeros((self.states if scores.splits.shape[1] else 0, n_binary))
        self._row = np.empty(grammar.n_rules)
        active, n_active = np.empty((cells, N), np.int32), np.zeros(cells, np.int32)
        sums, places = np.empty(n_binary), np.empty(n_binary, np.int32)
        room = (active, n_active, self._row, sums, places, self.splits)
        kernels.best_chart(forest, layout, tables, scores, Best(self.chart, self.rule, self.split, *room))
        self._ways: dict[Item, list[_Way]] = {}  # heaps of those not yet used
        self._trees: dict[Item, list[_Way]] = {}  # those used, by rank

    # ------------------------------------------------------------------ the k best

    def nbest(self, k: int) -> list[tuple[list[tuple[int, int, int, int]], float]]:
        """The k best trees (fewer if fewer exist) as nodes in preorder with their scores."""
        if k < 1:
            raise LoglinError(f"Cannot list {k} trees; give a number of at least 1.")
        first, roots = int(self.layout.states[self.f]), self.scores.roots
        ends = [j for j in range(1, self.states) if self.layout.final[first + j] > 0]
        heap = [
            (-(self.chart[cell(0, j), A] + roots[A]), A, j, 0)
            for j in ends
            for A in np.flatnonzero((self.chart[cell(0, j)] > -math.inf) & (roots > -math.inf)).tolist()
        ]
        heapify(heap)
        found: list[tuple[list[tuple[int, int, int, int]], float]] = []
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, 6 * self.states * (1 + self.grammar.unary_depth) + 1000))
        try:
            while heap and len(found) < k:
                cost, A, j, rank = heappop(heap)
                found.append((list(self._nodes((A, 0, j), rank)), -float(cost)))
                following = self._tree((A, 0, j), rank + 1)
                if following is not None:
                    heappush(heap, (following.cost - roots[A], A, j, rank + 1))
        finally:
            sys.setrecursionlimit(limit)
        return found

    def _tree(self, item: Item, rank: int) -> _Way | None:
        """The tree of an item with this rank, 0 the best; None if it has fewer."""
        if item not in self._ways:
            self._ways[item], self._trees[item] = list(self._first_ways(item)), []
            heapify(self._ways[item])
        ways, trees = self._ways[item], self._trees[item]
        while len(trees) <= rank:
            if trees:
                self._push_followers(item, trees[-1])
            if not ways:
                return None
            trees.append(heappop(ways))
        return trees[rank]

    def _first_ways(self, item: Item) -> Iterator[_Way]:
        """Every way to make an item of the best trees of its children."""
        A, i, j = item
        g, n_binary, values = self.grammar, len(self.grammar.binary), self.chart
        first, last = int(self.layout.arcs[self.f]), int(self.layout.arcs[self.f + 1])
        for a in range(first, last):
            if self.layout.source[a] == i and self.layout.target[a] == j:
                for t in np.flatnonzero(self.tables.tags == A):
                    leaf = float(self.scores.leaves[self.layout.row[a], t])
                    if leaf > -math.inf:
                        yield _Way(-leaf, first - a - 1, 0)
        log_row(int(self.layout.cells[self.f]) + cell(i, j), self.tables, self.scores, self._row)
        begin, end = int(g.expansions[A]), int(g.expansions[A + 1])
        left, right = g.binary[begin:end, 1], g.binary[begin:end, 2]
        for k in range(i + 1, j):
            inner = values[cell(i, k), left] + values[cell(k, j), right]
            added = self.splits[k, begin:end] if len(self.splits) else np.zeros(end - begin)
            scores = inner + added + self._row[begin:end]
            for r in np.flatnonzero(scores > -math.inf).tolist():
                yield _Way(-float(scores[r]), begin + r, k, float(added[r]), float(self._row[begin + r]))
        for u in np.flatnonzero(g.unary[:, 0] == A).tolist():
            at_rule = float(self._row[n_binary + u])
            score = float(values[cell(i, j), g.unary[u, 1]]) + at_rule
            if score > -math.inf:
                yield _Way(-score, n_binary + u, 0, 0.0, at_rule)

    def _children(self, item: Item, way: _Way) -> list[Item]:
        _, i, j = item
        n_binary = len(self.grammar.binary)
        if way.rule < 0:
            return []
        if way.rule >= n_binary:
            return [(int(self.grammar.unary[way.rule - n_binary, 1]), i, j)]
        _, B, C = self.grammar.binary[way.rule].tolist()
        return [(B, i, way.split), (C, way.split, j)]

    def _push_followers(self, item: Item, way: _Way) -> None:
        """The ways that use a child's next best tree; the right child moves only while the left one is at its best."""
        children = self._children(item, way)
        for n in range(len(children)):
            if n == 0 and way.right > 0:  # reached from (left, 0), so that no way is pushed twice
                continue
            ranks = way.left + (n == 0), way.right + (n == 1)
            trees = [self._tree(child, rank) for child, rank in zip(children, ranks, strict=False)]
            if None not in trees:
                heappush(self._ways[item], way.over(*ranks, *(tree.cost for tree in trees if tree)))

    def _nodes(self, item: Item, rank: int) -> Iterator[tuple[int, int, int, int]]:
        ahead = [(item, rank)]
        while ahead:
            item, rank = ahead.pop()
            way = self._tree(item, rank)
            assert way is not None
            yield (*item, way.rule)
            ahead += [*zip(self._children(item, way), (way.left, way.right), strict=False)][::-1]

    # ------------------------------------------------------------------ where there is no whole tree

    def nodes(self, symbol: int, i: int, j: int) -> np.ndarray:
        """The best tree of an item in preorder: (nodes, 4)."""
        nodes = np.empty((2 * (j - i) * (1 + self.grammar.unary_depth), 4), np.int32)
        ahead = np.empty((len(nodes) + 1, 3), np.int32)
        n = kernels.unfold(symbol, i, j, self.tables, self.rule, self.split, ahead, nodes)
        return nodes[:n].copy()

    def cover(self, allowed: np.ndarray) -> list[Item]:
        """The fewest items of allowed symbols (N,) bool side by side from the first state to the last, among equally
        few the best; a word for which there is none stands as symbol −1."""
        n = self.states - 1
        best: list[tuple[int, int, float, Item]] = [(0, 0, 0.0, (-1, 0, 0))]  # pieces, those −1, −score, the last one
        for j in range(1, n + 1):
            pieces, unknown, cost, _ = best[j - 1]
            ways = [(pieces + 1, unknown + 1, cost, (-1, j - 1, j))]
            for i in range(j):
                values = np.where(allowed, self.chart[cell(i, j)], -math.inf)
                A = int(values.argmax())
                if values[A] > -math.inf:
                    pieces, unknown, cost, _ = best[i]
                    ways.append((pieces + 1, unknown, cost - float(values[A]), (A, i, j)))
            best.append(min(ways))
        found, j = [], n
        while j > 0:
            found.append(best[j][-1])
            j = found[-1][1]
        return found[::-1]
