"""Objectives on trees: Σ_terms Σᵢ goalᵢ · log Σ_trees u − observed·w, to be minimized.

    CRF-CFG       all trees of sentence i, +1;  observed: the features of its tree
    partial       all trees, +1;  the trees that keep to its brackets, −1
    contrastive   all trees of all neighbors, +1;  all trees of the sentence, −1        (Smith, Eisner 2005, Eq. 7)
    mixture       terms and observed trees of several                                   (ibid. §6)

u is log-linear over what kernels/forest.py sums, on top of fixed scores (a base model) where there are any; the
layout of the weights is that of structures/tree_scores.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp

from loglin.errors import LoglinError
from loglin.structures.forest import Forests
from loglin.structures.tree_scores import Base, TreeDesign, TreeIndex, gradient_of, scores_with
from loglin.threads import Threads

CERTAIN = 1e-9  # −log p of the only tree that a sentence has, up to rounding


@dataclass(frozen=True, eq=False)
class Term:
    """Forests, and how much log Z of each of their goals counts: the observed sentence, all sentences."""

    forests: Forests
    design: TreeDesign
    goals: np.ndarray  # (forests, 2)


@dataclass(frozen=True, eq=False)
class Annotated:
    """The trees of the first term's forests: their features, and what the base gives to each."""

    features: sp.csr_matrix  # (trees, features)
    rules: np.ndarray  # (trees,) by rules and roots
    words: np.ndarray  # (trees,) by the lexicon


@dataclass(eq=False)
class ForestCriterion:
    """Value and gradient of the sum of terms."""

    index: TreeIndex
    base: Base
    terms: Sequence[Term]
    observed: np.ndarray  # (features,) of annotated trees
    fixed: float = 0.0  # what the base gives to them
    threads: Threads = field(default_factory=lambda: Threads(1))
    annotated: Annotated | None = None  # where the only term compares trees with all others
    evaluations: int = 0
    n_features: int = field(init=False)
    _partitions: np.ndarray = field(default_factory=lambda: np.empty(0), init=False, repr=False)
    _last: tuple[np.ndarray, np.ndarray] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self.n_features = self.index.n_features

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        self.evaluations += 1
        value, expected = self._sums(weights)
        if self.annotated is not None:
            self._last = weights.copy(), self._partitions
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
            self._partitions = totals.partitions[:, 1]
            value += float(term.goals[counted] @ totals.partitions[counted])
            expected += gradient_of(self.index, term.design, totals)
        return value, expected

    def all_right(self) -> bool:
        """Whether the last weights and the base's rules separate every annotated tree from all others.

        They do if it has more than half of the probability when all words that the lexicon allows score alike: rules
        and roots have weights of their own, so that the weights could go on in this direction for ever.
        """
        if self.annotated is None or self._last is None:
            return False
        (term,), (weights, partitions) = self.terms, self._last
        rules = self.annotated.features @ weights + self.annotated.rules
        if not _are_likely(rules + self.annotated.words - partitions, term):
            return False
        alike = replace(term.design, leaves=np.where(term.design.leaves > -math.inf, 0.0, -math.inf))
        scores = scores_with(self.index, self.base, alike, weights)
        return _are_likely(rules - term.forests.totals(scores, threads=self.threads).partitions[:, 1], term)

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        """A guess of the Hessian's diagonal: half of what is expected, as of few, large probabilities p·(1 − p)."""
        _, expected = self._sums(weights)
        return np.abs(expected) / 2


def _are_likely(log_p: np.ndarray, term: Term) -> bool:
    """Whether every tree that counts is likelier than all others together, and some tree has others at all."""
    log_p = log_p[term.goals[:, 1] > 0]
    return bool((log_p > -math.log(2)).all() and (log_p < -CERTAIN).any())
