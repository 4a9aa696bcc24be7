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
from dataclasses import dataclass, field

import numpy as np

from loglin.errors import LoglinError
from loglin.structures.forest import Forests
from loglin.structures.tree_scores import Base, TreeDesign, TreeIndex, gradient_of, scores_with
from loglin.threads import Threads


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
