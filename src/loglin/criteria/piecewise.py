"""Piecewise training: local steps with none-of-the-above instances for wrong labels before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loglin.criteria.criterion import Way
from loglin.criteria.memm import true_steps
from loglin.criteria.settings import choice, number, whole
from loglin.criteria.steps import DECODING, StepByStep, plain_likelihood
from loglin.problems.request import ALL_PAIRS, FeatureRequest

if TYPE_CHECKING:
    import numpy as np

    from loglin.criteria.steps import Prepared
    from loglin.optimize.run import Run
    from loglin.problems.chains import ChainProblem


@dataclass(frozen=True)
class Piecewise(StepByStep):
    """Σ log p(y_t | y_{t−1}, x) with none of the above as one more label, right after every wrong label before."""

    name = "piecewise"
    line = "local steps with none-of-the-above instances (Sutton & McCallum 2005)"
    structures = ("chain",)
    nota: str = choice("all", "sampled", "selected", "none", help="which wrong labels before become instances")
    rate: float = number(1.0, "of nota=sampled: wrong labels drawn for each token")
    threshold: float = number(0.2, "of nota=selected: the marginal probability from which a wrong label is a mistake")
    iterations: int = whole(20, "of nota=selected: iterations of the MEMM whose mistakes they are")
    decoding: str = choice("auto", "local", "global", "nota", "scaled", help=f"{DECODING}; auto goes by nota")

    def features(self) -> FeatureRequest:
        return ALL_PAIRS

    def steps(self) -> str:
        """All wrong sources make a global model, some of them a local one."""
        if self.decoding != "auto":
            return self.decoding
        return "global" if self.nota == "all" else "nota"

    def way(self, problem: ChainProblem, run: Run) -> Way:
        import numpy as np

        from loglin.objectives.local import LocalLikelihood, true_instances, wrong_instances, wrong_sources

        p = problem

        def prepared(first: np.ndarray | None, run: Run) -> Prepared:
            true, L = true_instances(p.design, p.gold, p.order, p.weight), p.index.n_labels
            if self.nota == "selected":
                first = _partly_trained(self.iterations, p, run) if first is None else first
                wrong = _likely_mistakes(p, true, first, self.threshold)
            elif self.nota == "none":
                wrong = np.zeros((len(true.tokens), L**p.order), bool)
            else:
                wrong = wrong_sources(true, L)
            if self.nota == "sampled":
                share = min(1.0, self.rate / max(wrong.shape[1] - 1, 1))
                wrong &= np.random.default_rng(run.seed).random(wrong.shape) < share
            instances = true.joined(wrong_instances(true, wrong, L))
            return lambda dtype: LocalLikelihood(p.design, p.index, instances, True, dtype, p.threads), first

        return self.step_way(problem, prepared, run)


def _partly_trained(iterations: int, p: ChainProblem, run: Run) -> np.ndarray:
    """The weights of an MEMM after a few iterations."""
    from loglin.optimize.fit import fit_weights
    from loglin.optimize.run import Run

    few = Run(warm_start=False, dtype="float32", max_iter=max(iterations, 1), reporter=run.reporter.quietly())
    return fit_weights(true_steps(p), p.penalties, few).weights


def _likely_mistakes(p: ChainProblem, true: Any, weights: np.ndarray, threshold: float) -> np.ndarray:
    """Wrong labels (or pairs) before a token whose marginal probability exceeds the threshold."""
    import numpy as np

    from loglin.objectives.sentences import local_marginals

    L = p.index.n_labels
    marginals, chain = np.full((1, 1), np.nan), plain_likelihood(p)
    if p.order == 1:
        marginals = chain.step_marginals(weights)
    if not np.isfinite(marginals).all():  # second order, or out of the range of numbers
        marginals = local_marginals(chain, weights)
    likely = marginals > threshold
    likely[np.arange(len(likely)), p.gold.codes] = False
    before = np.zeros_like(likely)
    has = np.flatnonzero(true.before[:, -1] >= 0)
    before[has] = likely[has - 1]
    if p.order == 1:
        return before
    wrong = np.zeros((len(before), L, L), bool)
    token, label = np.nonzero(before)
    wrong[token, np.maximum(true.before[token, 0], 0), label] = True
    return wrong.reshape(len(before), -1)
