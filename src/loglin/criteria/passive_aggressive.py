"""Passive-aggressive learning: a mistake moves the weights just as far as it takes to be right by a margin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loglin.criteria.criterion import Defaults, Way
from loglin.criteria.minimizing import Initialized, likelihood
from loglin.criteria.perceptron import AVERAGED, EPOCHS, SETTLED, epochs
from loglin.criteria.settings import choice, number
from loglin.problems.request import Annotation

if TYPE_CHECKING:
    import numpy as np

    from loglin.objectives.aggressive import Rule
    from loglin.optimize.run import Run
    from loglin.problems.chains import ChainProblem


def aggressive_way(problem: ChainProblem, rule: Rule, averaged: bool, settled: bool) -> Way:
    """The way of a criterion whose mistakes move the weights by a rule."""
    import numpy as np

    from loglin.objectives.aggressive import course

    def solve(first: np.ndarray | None, run: Run) -> Any:
        learner = likelihood(problem, np.float64).learner(run.seed)
        if first is not None:
            learner.reset(first)
        return epochs(course(learner, rule, settled), averaged, run)

    return Way(solve, problem.model)


@dataclass(frozen=True)
class PassiveAggressive(Initialized):
    """w ← w + τ·(f(gold) − f(best)), τ the least with which gold scores a margin above best, or less for a price."""

    name = "passive-aggressive"
    line = "passive-aggressive learning on whole sequences (Crammer et al. 2006)"
    structures = ("chain",)
    needs = Annotation.PARTIAL
    defaults = Defaults(max_iter=EPOCHS)
    optimizes = False
    gives_probabilities = False
    takes_vectors = False
    slack: str = choice("linear", "squared", "none", help="the price of a margin that is not reached: PA-I, PA-II, PA")
    c: float = number(1.0, "aggressiveness, the weight of that price")
    margin: str = choice("root", "one", help="the margin: the square root of the number of wrong labels, or 1")
    averaged: bool = AVERAGED
    settled: bool = SETTLED

    def way(self, problem: ChainProblem, run: Run) -> Way:
        from loglin.objectives.aggressive import Rule

        most = self.c if self.slack == "linear" else math.inf
        slack = 0.5 / max(self.c, 1e-300) if self.slack == "squared" else 0.0
        rule = Rule(0.5 if self.margin == "root" else 0.0, most, slack)
        return aggressive_way(problem, rule, self.averaged, self.settled)
