"""Hidden Markov models, counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loglin.criteria.criterion import Way
from loglin.criteria.generative import Counted, problem_corpus
from loglin.criteria.settings import choice

if TYPE_CHECKING:
    import numpy as np

    from loglin.optimize.run import Run
    from loglin.problems.chains import ChainProblem


@dataclass(frozen=True)
class HiddenMarkovModel(Counted):
    """Σ log q(x, y), whose maximum are relative frequencies."""

    name = "hmm"
    line = "joint likelihood of words and labels: a hidden Markov model, counted"
    structures = ("chain",)
    optimizes = False
    counts = True
    oov: str = choice("auto", "first", "unseen", help="a value's first occurrence counts as unknown, or none does")

    def unknown_values(self, problem: ChainProblem) -> str:
        return super().unknown_values(problem) if self.oov == "auto" else self.oov

    def way(self, problem: ChainProblem, run: Run) -> Way:
        import numpy as np

        from loglin.optimize.record import COUNTED, Result, Stop

        def solve(first: np.ndarray | None, run: Run) -> Any:
            hmm = self.count(problem, problem.options.order)
            losses = -hmm.log_probability(problem_corpus(problem), problem.gold.codes)
            zeros = int(np.isinf(losses).sum())
            stop = Stop(COUNTED, "an HMM is counted, not optimized; the objective is −log q(x, y)")
            if zeros:
                more = f" without {zeros} sentences, which are impossible: a value's first occurrence counted as <oov>"
                stop = Stop(COUNTED, stop.text + more)
            value = float(losses[np.isfinite(losses)].sum())
            return Result(np.empty(0), value, stop, True, [], 1, counted=hmm)

        return Way(solve, problem.counted_model)
