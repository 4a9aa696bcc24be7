"""Criteria on trees: Σ_terms Σᵢ goalᵢ · log Σ_trees u − observed·w, to be minimized.

    CRF-CFG       all trees of sentence i, +1;  observed: the features of its tree
    partial       all trees, +1;  the trees that keep to its brackets, −1
    contrastive   all trees of all neighbors, +1;  all trees of the sentence, −1        (Smith, Eisner 2005, Eq. 7)
    mixture       terms and observed trees of several                                   (ibid. §6)

u is log-linear over what kernels/forest.py sums, on top of fixed scores (a base model) where there are any:

    weights = [ rules (R) | roots (N) | span attributes × rules or symbols | split attributes × rules
              | token attributes × tags ]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from loglin.errors import LoglinError
from loglin.features.design import Design
from loglin.features.index import FeatureIndex
from loglin.features.span_index import SpanIndex
from loglin.features.spans import cell_number
from loglin.grammars.grammar import Grammar
from loglin.grammars.uses import TreeUses
from loglin.kernels.forest_scores import Scores
from loglin.parallel.threads import Threads
from loglin.structures.forest import Forests, Totals, scores_of


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
    if not len(keys):
        return np.full(len(wanted), -1)
    place = np.searchsorted(keys, wanted)
    place[place == len(keys)] = 0
    return np.where(keys[place] == wanted, place, -1)


@dataclass(frozen=True, eq=False)
class Term:
    """Forests, and how much log Z of each of their goals counts: the observed sentence, all sentences."""

    forests: Forests
    design: TreeDesign
    goals: np.ndarray  # (forests, 2)


@dataclass(eq=False)
class ForestCriterion:
    """Value and gradient of the sum of terms."""

    index: TreeIndex
    base: Base
    terms: Sequence[Term]
    observed: np.ndarray  # (features,) of annotated trees
    fixed: float = 0.0  # what the base gives to them
    threads: Threads = field(default_factory=lambda: Threads(1))
    stochastic: None = None
    evaluations: int = 0

    @property
    def n_features(self) -> int:
        return self.index.n_features

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        self.evaluations += 1
        value, expected = self._sums(weights)
        return value - self.fixed - float(self.observed @ weights), expected - self.observed

    def _sums(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        value, expected = 0.0, np.zeros(self.n_features)
        for term in self.terms:
            scores = scores_with(self.index, self.base, term.design, weights)
            totals = term.forests.totals(scores, term.goals, self.threads)
            counted = term.goals != 0
            impossible = np.flatnonzero((counted & (totals.partitions == -math.inf)).any(axis=1))
            if len(impossible):
                raise LoglinError(
                    f"sentence {impossible[0]} has no tree in this grammar; leave it out, or add rules or tags for it"
                )
            value += float(term.goals[counted] @ totals.partitions[counted])
            expected += gradient_of(self.index, term.design, totals)
        return value, expected

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        """A guess of the Hessian's diagonal: half of what is expected, as of few, large probabilities p·(1 − p)."""
        _, expected = self._sums(weights)
        return np.abs(expected) / 2
