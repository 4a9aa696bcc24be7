"""Conditional random fields: the likelihood of whole label sequences, or trees, given their sentences."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from loglin.criteria.criterion import Way
from loglin.criteria.minimizing import Initialized, likelihood, minimizing
from loglin.criteria.trees import BASE, FromTrees, likelihood_of_trees, minimizing_trees
from loglin.problems.request import Annotation

if TYPE_CHECKING:
    from loglin.objectives.forest import ForestCriterion
    from loglin.optimize.run import Run
    from loglin.problems.chains import ChainProblem
    from loglin.problems.trees import TreeProblem
    from loglin.structures.tree_scores import Base


@dataclass(frozen=True)
class CRF(Initialized):
    """Σ log p(y | x), the gold sequence against all sequences; partial labels sum over what they allow."""

    name = "crf"
    line = "conditional likelihood of whole label sequences (Lafferty, McCallum & Pereira 2001)"
    structures = ("chain",)
    by_parts = True
    needs = Annotation.PARTIAL

    def way(self, problem: ChainProblem, run: Run) -> Way:
        return minimizing(problem, likelihood)


@dataclass(frozen=True)
class CRFTrees(FromTrees):
    """Σ log p(tree | sentence), the annotated tree against all trees: CRF-CFG."""

    name = "crf"
    line = "conditional likelihood of whole trees: CRF-CFG"
    by_parts = True
    base: str = BASE

    def way(self, problem: TreeProblem, run: Run) -> Way:
        base = problem.base(self.base)
        return minimizing_trees(problem, partial(_likelihood_of_trees, base=base), base)


def _likelihood_of_trees(problem: TreeProblem, dtype: type, base: Base) -> ForestCriterion:
    return likelihood_of_trees(problem, base)
