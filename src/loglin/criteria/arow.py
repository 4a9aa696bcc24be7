"""Adaptive regularization of weights: passive-aggressive learning in which often corrected weights move less."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from loglin.criteria.criterion import Defaults, Way
from loglin.criteria.minimizing import Initialized
from loglin.criteria.passive_aggressive import aggressive_way
from loglin.criteria.perceptron import EPOCHS
from loglin.criteria.settings import number
from loglin.errors import LoglinError
from loglin.problems.request import Annotation

if TYPE_CHECKING:
    from loglin.optimize.run import Run
    from loglin.problems.chains import ChainProblem


@dataclass(frozen=True)
class AROW(Initialized):
    """Every weight has a variance, by which mistakes move it and which they make smaller."""

    name = "arow"
    line = "adaptive regularization of weights on whole sequences (Crammer, Kulesza & Dredze 2009)"
    structures = ("chain",)
    needs = Annotation.PARTIAL
    defaults = Defaults(max_iter=EPOCHS)
    optimizes = False
    gives_probabilities = False
    takes_vectors = False
    variance: float = number(1.0, "of every weight in the beginning, above 0")
    # of 0.1 to 1,000 on five corpora the best or nearly so; with CRFsuite's 1, F1 is 1 to 3 points lower
    gamma: float = number(10.0, "how slowly variances fall, and weights move; above 0")

    def check(self) -> None:
        for name in ("variance", "gamma"):
            if getattr(self, name) == 0:
                raise LoglinError(f"arow's setting {name} is 0; give a number above 0")

    def way(self, problem: ChainProblem, run: Run) -> Way:
        from loglin.objectives.aggressive import Rule

        rule = Rule(slack=self.gamma, variance=self.variance, gamma=self.gamma)
        return aggressive_way(problem, rule, averaged=False, settled=False)
