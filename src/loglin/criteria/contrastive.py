"""Contrastive estimation: an observed sentence against its neighborhood, labels or trees summed out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from loglin.criteria.criterion import Defaults, Way
from loglin.criteria.hidden import OnLattices, WithNeighborhood
from loglin.criteria.settings import number
from loglin.criteria.trees import DEVIATION, FromSentences, best_of_random_starts

if TYPE_CHECKING:
    import numpy as np

    from loglin.objectives.forest import ForestCriterion
    from loglin.optimize.record import Result
    from loglin.optimize.run import Run
    from loglin.problems.trees import TreeProblem


@dataclass(frozen=True)
class Contrastive(WithNeighborhood, OnLattices):
    """Σ log Σ_y u(x, y) − log Σ_{x′ ∈ N(x)} Σ_y u(x′, y)."""

    name = "contrastive"
    line = "the observed sentence against its neighbors, labels summed out (Smith & Eisner 2005)"


# ---------------------------------------------------------------------- trees

WORDS = "U00:%x[0,0]\n"  # all that can be seen of the neighbors of a sentence


@dataclass(frozen=True)
class ContrastiveTrees(WithNeighborhood, FromSentences):
    """Σ log Σ_T u(x, T) − log Σ_{x′ ∈ N(x)} Σ_T u(x′, T) of a weighted grammar."""

    name = "contrastive"
    line = "the observed sentence against its neighbors, trees summed out (Smith & Eisner 2005, Eq. 7)"
    defaults = Defaults(template=WORDS, max_iter=200)
    concave = False
    ALIKE: ClassVar[float] = 0.05  # weights of all rules within so much: symbols are not told apart
    deviation: float = number(1.0, DEVIATION)

    def objective(self, problem: TreeProblem) -> ForestCriterion:
        """Σ log Z(neighbors) − log Z(sentence)."""
        import numpy as np

        from loglin.objectives.forest import ForestCriterion
        from loglin.problems.word_types import contrast, refuse_underivable

        base, terms = problem.base("pcfg"), contrast(problem, self.around)
        refuse_underivable(terms[0], problem, base)
        observed = np.zeros(problem.index.n_features)
        return ForestCriterion(problem.index, base, terms, observed, threads=problem.threads)

    def way(self, problem: TreeProblem, run: Run) -> Way:
        import numpy as np

        objective = self.objective(problem)

        def solve(first: np.ndarray | None, run: Run) -> Result:
            how = (self.starts, self.deviation, self.symbols > 0)
            result = best_of_random_starts(objective, problem, first, run, *how)
            if self.symbols > 1 and np.ptp(problem.index.split(result.weights)[0]) < self.ALIKE:
                more = "all rules ended alike, so trees are a matter of chance: give a smaller l2"
                result.stop = result.stop.also(more)
            result.more = {"neighborhood": self.around.name, "left_out": problem.left_out}
            return result

        return Way(solve, lambda weights: problem.model(weights, objective.base))
