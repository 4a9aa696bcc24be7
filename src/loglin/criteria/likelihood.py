"""Conditional likelihood of single decisions: maximum entropy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from loglin.criteria.criterion import Way
from loglin.criteria.decisions import decision_way
from loglin.criteria.minimizing import Initialized, likelihood
from loglin.problems.request import Annotation

if TYPE_CHECKING:
    from loglin.optimize.run import Run
    from loglin.problems.chains import ChainProblem


@dataclass(frozen=True)
class Likelihood(Initialized):
    """Σ log p(y | x), the right class against all classes, or of label sets each label against its absence."""

    name = "likelihood"
    line = "conditional likelihood of classes: maximum entropy, logistic regression"
    structures = ("local",)
    needs = Annotation.PARTIAL
    takes_label_sets: ClassVar[bool] = True
    takes_candidates: ClassVar[bool] = True
    link: ClassVar[str] = "logistic"
    threshold: ClassVar[float] = 0.5

    def way(self, problem: ChainProblem, run: Run) -> Way:
        start = problem.class_shares() if run.optimizer == "auto" else None
        return decision_way(self, problem, likelihood, start)
