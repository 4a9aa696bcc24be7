"""Coarse to fine with a bound: a small grammar tells what no tree of a large one can score, and so what to leave out.

A projection merges symbols. A coarse rule scores the highest of the rules merged into it, cell by cell, and so do
tags, roots and splits. The best coarse tree through an item then scores no less than any tree through the symbols
merged into it:

    keep the items with   best coarse tree through them ≥ best coarse tree − margin

No tree that is left out scores more than best coarse tree − margin. So a tree found among the others is the best of
all if it scores as much; if not, keeping what reaches its score makes sure.

fine scores ──► merged scores ──► coarse chart ──► kept items ──► masked forests, best trees with a certificate
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from loglin.errors import LoglinError
from loglin.grammars.grammar import Grammar
from loglin.grammars.symbols import chain_of, escape, is_intermediate
from loglin.kernels import forest_bounds as bounds
from loglin.kernels import forest_logs as kernels
from loglin.kernels.forest_scores import Scores, Tables
from loglin.structures.best_chart import BestChart
from loglin.structures.forest import Derivation, Forests, own_attributes, scores_of, tables_of
from loglin.threads import Threads

ROUNDING = 1e-11  # relative: sums in another order differ by less


def without_context(symbol: str) -> str:
    """NP+NNP of "NP^S+NNP", and @NP of every "@NP^S|DT,JJ": a symbol without annotations, parents and sisters."""
    return "@" * is_intermediate(symbol) + "+".join(map(escape, chain_of(symbol)))


@dataclass(frozen=True, eq=False)
class Projection:
    """The symbols of a grammar merged into those of a coarse one, and with them the rules."""

    coarse: Grammar
    symbols: np.ndarray  # (N,) int64
    rules: np.ndarray  # (R,) int64

    @classmethod
    def of(cls, grammar: Grammar, name_of: Callable[[str], str] = without_context) -> Projection:
        """Symbols of the same name become one; unary rules must not go in a circle then."""
        names = [name_of(symbol) for symbol in grammar.symbols]
        merged = [tuple(names[grammar.number[s]] for s in rule) for rule in grammar.rules]
        try:
            coarse = Grammar.of(merged, dict.fromkeys(names))
        except LoglinError as problem:
            raise LoglinError(f"the symbols cannot be merged like this: {problem}, or tell its symbols apart") from None
        symbols = np.array([coarse.number[name] for name in names], np.int64)
        return cls(coarse, symbols, np.array([coarse.rule_number[rule] for rule in merged], np.int64))


@dataclass(frozen=True, eq=False)
class Certified:
    """A best tree among those that were kept, and by how much another one may score more at most."""

    best: Derivation | None
    lost: float  # 0: none does


class _Bounds:
    """The coarse chart of one forest."""

    def __init__(self, merged: _Merged, f: int):
        self.chart, self.projection = merged.chart(f), merged.projection
        finals = np.flatnonzero(self.chart.layout.final > 0)
        ends = finals[finals > 0]
        tops = self.chart.chart[ends * (ends - 1) // 2] + self.chart.scores.roots
        self.best = float(tops.max(initial=-math.inf))
        self.largest = float(np.abs(self.chart.chart).max(initial=0.0, where=np.isfinite(self.chart.chart)))

    def kept(self, least: float) -> np.ndarray:
        """Coarse symbols of each cell through which a tree may score ``least`` or more: (cells, coarse N) bool."""
        c = self.chart
        kept = np.zeros(c.chart.shape, np.bool_)
        if self.best > -math.inf:
            if math.isfinite(least):
                least -= ROUNDING * (1 + abs(self.best) + abs(least) + self.largest)
            bounds.kept_items(0, c.layout, c.tables, c.scores, c.chart, c.splits, least, kept)
        return kept


class _Merged:
    """Forests, their scores and a projection: makes the coarse charts."""

    def __init__(self, forests: Forests, scores: Scores, projection: Projection):
        if len(projection.rules) != forests.grammar.n_rules or len(projection.symbols) != forests.grammar.n_symbols:
            raise LoglinError(
                f"the projection is of {len(projection.symbols)} symbols and {len(projection.rules)} rules, the "
                f"grammar has {forests.grammar.n_symbols} and {forests.grammar.n_rules}; make it from this grammar"
            )
        self.forests, self.scores, self.projection = forests, scores, projection
        self.roots = _highest(scores.roots[None], projection.symbols, projection.coarse.n_symbols)[0]
        tags, self.tag_of = np.unique(projection.symbols[forests.tables.tags], return_inverse=True)
        self.tables: Tables = tables_of(projection.coarse, tags)
        self.n_tags = len(tags)
        varies = scores.attributes.shape[1] > 0 or scores.dense.shape[0] > 0 or scores.local > 0
        self.rules = None if varies else _highest(scores.rules[None], projection.rules, projection.coarse.n_rules)[0]

    def chart(self, f: int) -> BestChart:
        layout, coarse = self.forests.layout, self.projection.coarse
        a, b = layout.arcs[f : f + 2]
        first, last = layout.states[f : f + 2]
        alone = layout._replace(
            states=np.array([0, last - first]),
            cells=np.array([0, layout.cells[f + 1] - layout.cells[f]]),
            arcs=np.array([0, b - a]),
            source=layout.source[a:b],
            target=layout.target[a:b],
            row=np.arange(b - a, dtype=np.int32),
            final=layout.final[first:last],
            mask_of=np.empty(0, np.int32),
            masks=np.empty((0, coarse.n_symbols), np.bool_),
        )
        leaves = _highest(self.scores.leaves[layout.row[a:b]], self.tag_of, self.n_tags)
        rules = self.rules
        if rules is None:
            rules = np.empty((layout.cells[f + 1] - layout.cells[f], coarse.n_rules))
            bounds.merged_rows(layout.cells[f], self.forests.tables, self.scores, self.projection.rules, rules)
        if self.scores.splits.shape[1] == 0:
            return BestChart(0, coarse, alone, self.tables, scores_of(leaves, self.roots, rules))
        splits = np.empty((last - first, len(coarse.binary)))
        bounds.merged_splits(first, self.forests.tables, self.scores, self.projection.rules, splits)
        scores = scores_of(leaves, self.roots, rules, splits=own_attributes(splits))
        return BestChart(0, coarse, alone, self.tables, scores)


def _highest(scores: np.ndarray, group: np.ndarray, n_groups: int) -> np.ndarray:
    """(rows, columns) → (rows, groups): the highest of the columns of each group."""
    highest = np.full((len(scores), n_groups), -math.inf)
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    if len(starts):
        highest[:, group[order][starts]] = np.maximum.reduceat(scores[:, order], starts, axis=1)
    return highest


def prune(
    forests: Forests, scores: Scores, projection: Projection, margin: float, threads: Threads | None = None
) -> tuple[Forests, np.ndarray]:
    """The forests without the items whose bound is more than ``margin`` below the best coarse tree, and the score of
    that tree, which no tree exceeds, for every forest: (forests,). What is left out scores less than it − margin.
    """
    _check_margin(margin)
    merged = _Merged(forests, scores, projection)

    def chunk(begin: int, end: int) -> tuple[list[float], list[np.ndarray]]:
        made = [_Bounds(merged, f) for f in range(begin, end)]
        return [b.best for b in made], [b.kept(b.best - margin) for b in made]

    parts = (threads or Threads(1)).map(chunk, forests.chunks)
    best = np.array([score for scores, _ in parts for score in scores])
    kept = np.concatenate(
        [np.empty((0, projection.coarse.n_symbols), np.bool_), *(k for _, part in parts for k in part)]
    )
    own = forests.layout.mask_of if len(forests.layout.mask_of) else np.full(forests.n_cells, -1, np.int32)
    _, first, mask_of = np.unique(
        np.column_stack([np.packbits(kept, axis=1), own]), axis=0, return_index=True, return_inverse=True
    )
    return forests.masked(mask_of.reshape(-1), _masks(forests, projection, kept[first], own[first])), best


def _masks(forests: Forests, projection: Projection, kept: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Symbols that project to what is kept (cells, coarse N) and that the forests' own masks, by number, allow."""
    masks = kept[:, projection.symbols]
    masks[own >= 0] &= forests.layout.masks[own[own >= 0]]
    return np.ascontiguousarray(masks)


def best_pruned(
    forests: Forests,
    scores: Scores,
    projection: Projection,
    margin: float,
    widen: bool = True,
    threads: Threads | None = None,
) -> list[Certified]:
    """The best tree of every forest among what ``prune`` keeps. With ``widen``, where that may not be the best of all,
    once more among all that could score as much: then the trees are those of ``Forests.best``.
    """
    _check_margin(margin)
    merged = _Merged(forests, scores, projection)

    def chunk(begin: int, end: int) -> list[Certified]:
        mask_of = np.full(forests.n_cells, -1, np.int32)
        return [_certified(merged, f, margin, widen, mask_of) for f in range(begin, end)]

    return [found for part in (threads or Threads(1)).map(chunk, forests.chunks) for found in part]


def _certified(merged: _Merged, f: int, margin: float, widen: bool, mask_of: np.ndarray) -> Certified:
    found = _Bounds(merged, f)
    if found.best == -math.inf:
        return Certified(None, 0.0)
    least = found.best - margin
    best = _best_among(merged, f, found.kept(least), mask_of)
    score = best.score if best is not None else -math.inf
    if score >= least:
        return Certified(best, 0.0)
    return (
        Certified(_best_among(merged, f, found.kept(score), mask_of), 0.0) if widen else Certified(best, least - score)
    )


def _best_among(merged: _Merged, f: int, kept: np.ndarray, mask_of: np.ndarray) -> Derivation | None:
    """The best tree of one forest whose items project to those kept; mask_of (all cells) is −1 before and after."""
    forests = merged.forests
    cells = slice(*forests.layout.cells[f : f + 2])
    mask_of[cells] = np.arange(len(kept))
    own = forests.layout.mask_of[cells] if len(forests.layout.mask_of) else np.full(len(kept), -1)
    layout = forests.layout._replace(mask_of=mask_of, masks=_masks(forests, merged.projection, kept, own))
    best, n_nodes = np.empty(1), np.empty(1, np.int64)
    nodes = np.empty((1, forests.most_nodes(f, f + 1), 4), np.int32)
    kernels.best_trees(f, f + 1, layout, forests.tables, merged.scores, best, n_nodes, nodes)
    mask_of[cells] = -1
    return Derivation(nodes[0, : n_nodes[0]].copy(), float(best[0])) if n_nodes[0] else None


def _check_margin(margin: float) -> None:
    if not margin >= 0:
        raise LoglinError(f"margin is {margin!r}; give a number of at least 0, or infinity to keep all")
