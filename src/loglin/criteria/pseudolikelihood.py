"""Pseudolikelihood: every label given its sentence and the true labels around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from loglin.criteria.criterion import Way
from loglin.criteria.memm import true_steps
from loglin.criteria.minimizing import Initialized, minimizing, whole_sentences
from loglin.criteria.settings import choice
from loglin.errors import LoglinError
from loglin.problems.request import ALL_PAIRS, OBSERVED, FeatureRequest

if TYPE_CHECKING:
    from loglin.optimize.run import Run
    from loglin.problems.chains import ChainProblem


@dataclass(frozen=True)
class Pseudolikelihood(Initialized):
    """Σ log p(y_t | all other labels, x), the gold label at a site against all labels there."""

    name = "pseudolikelihood"
    line = "every label given its true neighbors on both sides (Besag 1975)"
    structures = ("chain",)
    nota: str = choice("none", "all", "one", help="none-of-the-above instances: none, for all wrong neighbors, or one")

    def features(self) -> FeatureRequest:
        return OBSERVED if self.nota == "none" else ALL_PAIRS

    def way(self, problem: ChainProblem, run: Run) -> Way:
        if self.nota == "none":
            return minimizing(problem, true_steps(problem, behind=True))
        if problem.order == 2:
            raise LoglinError(
                "pseudolikelihood with nota works on chains of order 1; take T out of the template and order=1, "
                "or nota=none"
            )
        kind = {"all": "all-neighbors", "one": "one-neighbor"}[self.nota]
        return minimizing(problem, whole_sentences(problem, kind))
