"""Maximum-entropy Markov models: every label given its sentence and the true label before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loglin.criteria.criterion import Way
from loglin.criteria.steps import StepByStep

if TYPE_CHECKING:
    from loglin.optimize.run import Run
    from loglin.problems.chains import ChainProblem


@dataclass(frozen=True)
class MEMM(StepByStep):
    """Σ log p(y_t | y_{t−1}, x), the gold step against all steps from the gold label before."""

    name = "memm"
    line = "local steps, each normalized by itself (McCallum, Freitag & Pereira 2000)"
    structures = ("chain",)
    by_parts = True

    def way(self, problem: ChainProblem, run: Run) -> Way:
        make = problem.objective(true_steps)
        return self.step_way(problem, lambda first, run: (make, first), run)


def true_steps(problem: ChainProblem, dtype: type, behind: bool = False) -> Any:
    """The likelihood of every label given its true neighbors: those before, or those ``behind`` too."""
    from loglin.objectives.local import LocalLikelihood, true_instances

    p = problem
    true = true_instances(p.design, p.gold, p.order, p.weight, behind=behind)
    return LocalLikelihood(p.design, p.index, true, False, dtype, p.threads)
