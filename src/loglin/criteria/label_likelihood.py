"""The likelihood of every label by itself, summed over the labels around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loglin.criteria.criterion import Way
from loglin.criteria.minimizing import minimizing
from loglin.criteria.of_probability import FromCRF

if TYPE_CHECKING:
    from loglin.optimize.run import Run
    from loglin.problems.chains import ChainProblem


@dataclass(frozen=True)
class LabelLikelihood(FromCRF):
    """Σ log p(y_t | x), the marginal probability of every gold label."""

    name = "label-likelihood"
    line = "marginal probabilities of single labels (Kakade, Teh & Roweis 2002)"

    def way(self, problem: ChainProblem, run: Run) -> Way:
        return minimizing(problem, label_likelihood)


def label_likelihood(problem: ChainProblem, dtype: type) -> Any:
    """The objective: −Σ_t log p(y_t | x)."""
    from loglin.objectives.sentences import LabelLikelihood

    p = problem
    return LabelLikelihood(p.design, p.gold, p.index, p.weight, dtype, p.threads)
