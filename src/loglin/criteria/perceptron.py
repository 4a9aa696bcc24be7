"""The averaged structured perceptron: mistakes on whole sequences or trees correct the weights, one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from loglin.criteria.criterion import Defaults, Way
from loglin.criteria.decisions import require_decisions
from loglin.criteria.minimizing import Initialized, likelihood
from loglin.criteria.settings import flag
from loglin.criteria.trees import BASE, FromTrees
from loglin.problems.request import Annotation

if TYPE_CHECKING:
    import numpy as np

    from loglin.optimize.run import Run
    from loglin.problems.chains import ChainProblem
    from loglin.problems.trees import TreeProblem

EPOCHS = 10
AVERAGED = flag(True, "keep the average of all weights that were passed through, not the last ones")
SETTLED = flag(False, "average over max_iter epochs, also over those behind one without a mistake")


@dataclass(frozen=True)
class Perceptron(Initialized):
    """Weights move by f(gold) − f(best) of every sentence whose best sequence is wrong."""

    name = "perceptron"
    line = "the averaged perceptron (Collins 2002)"
    structures = ("chain", "local")
    needs = Annotation.PARTIAL
    defaults = Defaults(max_iter=EPOCHS)
    optimizes = False
    gives_probabilities = False
    averaged: bool = AVERAGED
    settled: bool = SETTLED

    def way(self, problem: ChainProblem, run: Run) -> Way:
        import numpy as np

        require_decisions(self, problem)

        def solve(first: np.ndarray | None, run: Run) -> Any:
            learner = likelihood(problem, np.float32).learner(run.seed)
            if first is not None:
                learner.reset(first)
            return epochs(partial(learner.perceptron, settled=self.settled), self.averaged, run)

        return Way(solve, problem.model)


def epochs(perceptron: Callable, averaged: bool, run: Run, what: str = "training data") -> Any:
    """Run perceptron(epochs, report, averaged, stage) to its end; the value is the last epoch's mistakes, or loss.

    It has converged only where an epoch met no mistake: from then on weights would never move.
    """
    import numpy as np

    from loglin.optimize.record import CONVERGED, LIMIT, Result, Stop, StopTraining

    reporter, first, mistakes_met = run.reporter, len(run.reporter.iterations), 0.0
    stage = reporter.stage()
    if stage.ended:
        return stage.outcome
    stop = Stop(LIMIT, f"max_iter = {run.max_iter} epochs were done")

    def report(epoch: int, mistakes: float, weights: Callable[[], np.ndarray]) -> bool:
        nonlocal stop, mistakes_met
        mistakes_met, asked = float(mistakes), None
        try:
            found = weights() if reporter.judge is not None or reporter.looks else np.empty(0)
            reporter.note(mistakes_met, 0.0, found, epoch, active=0)
        except StopTraining as request:
            asked = request.stop
        if mistakes == 0 and asked is None:  # an epoch that was cut short proves nothing
            asked = Stop(CONVERGED, f"an epoch went over all {what} without a mistake")
        stop = asked or stop
        return asked is not None

    weights = perceptron(run.max_iter, report, averaged, stage)
    iterations = reporter.since(first)
    return stage.end(Result(weights, mistakes_met, stop, stop.kind == CONVERGED, iterations, len(iterations)))


@dataclass(frozen=True)
class PerceptronTrees(FromTrees):
    """Weights move by f(annotated tree) − f(best tree) of every sentence whose best tree is wrong."""

    name = "perceptron"
    line = "the averaged perceptron on whole trees (Collins 2002)"
    defaults = Defaults(template="spans", max_iter=EPOCHS)
    optimizes = False
    base: str = BASE
    averaged: bool = AVERAGED

    def way(self, problem: TreeProblem, run: Run) -> Way:
        from loglin.objectives.tree_perceptron import TreePerceptron

        base = problem.base(self.base)

        def solve(first: np.ndarray | None, run: Run) -> Any:
            about = (problem.design, problem.uses, problem.features, problem.weight)
            learner = TreePerceptron(problem.index, base, *about, first)
            course = learner.course(run.seed, lambda: run.reporter.asked is not None)
            return epochs(course, self.averaged, run, "trees")

        return Way(solve, lambda weights: problem.model(weights, base))
