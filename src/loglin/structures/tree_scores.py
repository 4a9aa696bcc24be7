"""Log-linear scores of trees: which weight belongs to what, what sentences show, and the scores that follow.

weights = [ rules (R) | roots (N) | span attributes × rules or symbols | split attributes × rules
          | token attributes × tags ]

index, base, design, weights ──► Scores of kernels/forest_scores.py
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from loglin.features.design import Design
from loglin.features.index import FeatureIndex
from loglin.features.span_index import SpanIndex
from loglin.features.spans import cell_number
from loglin.features.words import positions
from loglin.grammars.grammar import Grammar
from loglin.grammars.uses import TreeUses
from loglin.kernels.forest_scores import Scores
from loglin.structures.forest import Totals, scores_of


@dataclass(frozen=True, eq=False)
class TreeIndex:
    """Which weight belongs to what."""

    grammar: Grammar
    tags: np.ndarray  # (K,) symbols of the leaves' columns
    spans: SpanIndex
    tokens: FeatureIndex  # over the K tags

    @property
    def sizes(self) -> tuple[int, int, int, int, int]:
        spans = self.spans
        pairs = len(spans.targets), len(spans.split_rules), len(self.tokens.labels)
        return self.grammar.n_rules, self.grammar.n_symbols, *pairs

    @property
    def n_features(self) -> int:
        return sum(self.sizes)

    def split(self, weights: np.ndarray) -> list[np.ndarray]:
        """Views of the five kinds."""
        return np.split(weights, np.cumsum(self.sizes)[:-1])


@dataclass(frozen=True, eq=False)
class TreeDesign:
    """The attributes of sentences: of their tokens, of their cells, of their states."""

    tokens: sp.csr_matrix  # (rows, token attributes); a row is a token, or a word that arcs read
    spans: np.ndarray  # (cells, templates) int32, -1: none
    splits: np.ndarray  # (states, templates) int32
    leaves: np.ndarray  # (rows, K) fixed scores, -inf: the word cannot have this tag


@dataclass(frozen=True, eq=False)
class Base:
    """Fixed scores to which weights add: of rules (R,) and roots (N,); -inf forbids."""

    rules: np.ndarray
    roots: np.ndarray


def token_matrix(design: Design) -> sp.csr_matrix:
    """Token attributes as a matrix, (tokens, attributes), without those that training did not see."""
    lists = design.unfolded()
    lists = lists.with_ids(lists.ids)
    values = lists.values if lists.values.size else np.ones(len(lists.ids))
    return sp.csr_matrix((values, lists.ids.astype(np.int64), lists.ptr), (design.n_tokens, design.n_attributes))


def scores_with(index: TreeIndex, base: Base, design: TreeDesign, weights: np.ndarray, local: int = 0) -> Scores:
    """What a tree's score is made of."""
    rules, roots, spans, splits, tokens = index.split(np.asarray(weights, np.float64))
    table = np.zeros((design.tokens.shape[1], len(index.tags)))
    table[_attribute_of_pairs(index.tokens), index.tokens.labels] = tokens
    leaves = design.leaves + design.tokens @ table if len(tokens) else design.leaves
    return scores_of(
        leaves,
        base.roots + roots,
        base.rules + rules,
        spans=(design.spans, index.spans.ptr, index.spans.targets, spans),
        splits=(design.splits, index.spans.split_ptr, index.spans.split_rules, splits),
        local=local,
        expansions=index.grammar.expansions,
    )


def _attribute_of_pairs(index: FeatureIndex) -> np.ndarray:
    return np.repeat(np.arange(len(index.ptr) - 1), np.diff(index.ptr))


def gradient_of(index: TreeIndex, design: TreeDesign, totals: Totals) -> np.ndarray:
    """Expected uses by weight."""
    attribute, labels = _attribute_of_pairs(index.tokens), index.tokens.labels
    tokens = (design.tokens.T @ totals.leaves)[attribute, labels] if len(labels) else np.empty(0)
    return np.concatenate([totals.rules, totals.roots, totals.pairs, totals.splits, tokens])


def features_of(index: TreeIndex, design: TreeDesign, uses: TreeUses) -> sp.csr_matrix:
    """How often every tree has every feature: (trees, features). Trees and design have the same sentences."""
    R, N, n_pairs, n_splits, _ = index.sizes
    nodes, spans, n_trees = uses.nodes, index.spans, len(uses.lengths)
    cells = np.concatenate([[0], np.cumsum(uses.lengths * (uses.lengths + 1) // 2)])[nodes.sentences]
    cells = cells + cell_number(nodes.begins, nodes.ends)
    states = np.concatenate([[0], np.cumsum(uses.lengths + 1)])[nodes.sentences] + nodes.splits
    trees, columns = [nodes.sentences, np.arange(n_trees)], [nodes.rules, R + uses.roots]
    for t in range(design.spans.shape[1]):
        for target in (nodes.rules, R + nodes.symbols):
            place = _pairs(design.spans[cells, t], target, spans.ptr, spans.targets, R + N)
            trees.append(nodes.sentences[place >= 0])
            columns.append(R + N + place[place >= 0])
    for t in range(design.splits.shape[1]):
        place = _pairs(design.splits[states, t], nodes.rules, spans.split_ptr, spans.split_rules, R + N)
        trees.append(nodes.sentences[place >= 0])
        columns.append(R + N + n_pairs + place[place >= 0])
    if len(index.tokens.labels):
        tokens = design.tokens.tocoo()
        place = _pairs(tokens.col, uses.tags[tokens.row], index.tokens.ptr, index.tokens.labels, len(index.tags))
        trees.append(np.repeat(np.arange(n_trees), uses.lengths)[tokens.row[place >= 0]])
        columns.append(R + N + n_pairs + n_splits + place[place >= 0])
    row, column = np.concatenate(trees), np.concatenate(columns)
    return sp.csr_matrix((np.ones(len(row)), (row, column)), shape=(n_trees, index.n_features))


def _pairs(attributes: np.ndarray, targets: np.ndarray, ptr: np.ndarray, listed: np.ndarray, most: int) -> np.ndarray:
    """Where the pairs (attribute, target) stand in lists that rise, -1: nowhere."""
    keys = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr)) * most + listed
    wanted = np.where(attributes >= 0, attributes.astype(np.int64) * most + targets, -1)
    return positions(keys, wanted)
