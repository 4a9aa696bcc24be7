"""Probabilistic context-free grammars, counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from loglin.criteria.criterion import Defaults, Way
from loglin.criteria.trees import FromTrees

if TYPE_CHECKING:
    import numpy as np

    from loglin.optimize.record import Result
    from loglin.optimize.run import Run
    from loglin.problems.trees import TreeProblem


@dataclass(frozen=True)
class PCFGTrees(FromTrees):
    """Σ log q(tree), whose maximum are relative frequencies."""

    name = "pcfg"
    line = "joint likelihood of words and trees: a probabilistic grammar, counted"
    defaults = Defaults(max_iter=200)
    optimizes = False
    counts = True
    takes_template = False
    takes_weights = False

    def way(self, problem: TreeProblem, run: Run) -> Way:
        import numpy as np

        from loglin.optimize.record import COUNTED, Result, Stop

        base = problem.base("pcfg")

        def solve(first: np.ndarray | None, run: Run) -> Result:
            loss = -float(sum(problem.pcfg.log_probability(tree) for tree in problem.trees))
            return Result(np.zeros(problem.index.n_features), loss, Stop(COUNTED, "rules were counted"), True)

        return Way(solve, lambda weights: problem.model(weights, base))
