"""What criteria of single steps share: weights learnt step by step can be decoded in several ways."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loglin.criteria.criterion import Way
from loglin.criteria.minimizing import Initialized
from loglin.criteria.settings import choice, whole

if TYPE_CHECKING:
    import numpy as np

    from loglin.optimize.run import Make, Run
    from loglin.problems.chains import ChainProblem

    Prepared = tuple[Make, np.ndarray | None]  # an objective, and where to start

DECODING = "how steps score: each normalized, as they are, normalized with none of the above, or scaled to one chain"


@dataclass(frozen=True)
class StepByStep(Initialized):
    decoding: str = choice("local", "global", "nota", "scaled", help=DECODING)
    beam: int = whole(0, "search with this many states at each step; 0: exactly")

    def steps(self) -> str:
        """How steps score when the model decodes."""
        return self.decoding

    def step_way(self, problem: ChainProblem, prepared: Callable[[np.ndarray | None, Run], Prepared], run: Run) -> Way:
        """The way of an objective that may depend on its start; scale factors are fitted at the end, if asked for."""
        from loglin.optimize.minimize import minimize

        steps, beam = self.steps(), {"beam": self.beam} if self.beam else {}
        scaled = steps == "scaled"
        plain = beam if scaled or steps == "global" else {"steps": steps} | beam

        def finished(weights: np.ndarray) -> Any:
            scale = {"steps": steps, "scale": scale_factors(problem, weights).tolist()} if scaled else {}
            return problem.model(weights, None, scale | plain)

        def solve(first: np.ndarray | None, run: Run) -> Any:
            make, first = prepared(first, run)
            return minimize(make, problem.penalties, run, first, problem.feature_name)

        def model(weights: np.ndarray) -> Any:
            return problem.model(weights, None, plain)

        return Way(solve, model, finished, lambda dtype: prepared(None, run)[0](dtype))


def scale_factors(problem: ChainProblem, weights: np.ndarray, strength: float = 10.0, steps: int = 10) -> np.ndarray:
    """α per label before (the last: START) that make the steps one chain: a few steps of global training.

    On separable data the likelihood has no finite optimum, hence a prior ½·strength·Σ(α − 1)² and few steps.
    """
    import numpy as np

    from loglin.objectives.sentences import scaled_likelihood
    from loglin.optimize.lbfgs import minimize

    chain = plain_likelihood(problem)

    def function(alpha: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = scaled_likelihood(chain, weights, alpha)
        return value + 0.5 * strength * float(((alpha - 1) ** 2).sum()), slope + strength * (alpha - 1)

    return minimize(function, np.ones(problem.index.n_labels + 1), max_iter=steps, tol=1e-6).weights


def plain_likelihood(problem: ChainProblem) -> Any:
    """The likelihood in single precision, in which all sentences count the same."""
    import numpy as np

    from loglin.objectives.likelihood import ConditionalLikelihood

    return ConditionalLikelihood(problem.design, problem.gold, problem.index, None, np.float32, problem.threads)
