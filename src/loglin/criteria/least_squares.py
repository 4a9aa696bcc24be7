"""Least squares: each class against all others as a regression on 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from loglin.criteria.criterion import Criterion, Way
from loglin.criteria.decisions import decision_way

if TYPE_CHECKING:
    from loglin.optimize.run import Run
    from loglin.problems.chains import ChainProblem


@dataclass(frozen=True)
class LeastSquares(Criterion):
    """Σ (score − [class is right])² over all classes."""

    name = "least-squares"
    line = "squared errors, each class against all others"
    structures = ("local",)
    by_parts = True
    gives_probabilities = False
    label_by_label = True
    takes_label_sets: ClassVar[bool] = True
    link: ClassVar[str] = "identity"
    threshold: ClassVar[float] = 0.5

    def way(self, problem: ChainProblem, run: Run) -> Way:
        return decision_way(self, problem, None)
