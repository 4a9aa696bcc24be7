"""Pseudolikelihood: every label given its sentence and the true labels around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from loglin.criteria.criterion import Defaults, Way
from loglin.criteria.memm import true_steps
from loglin.criteria.minimizing import Initialized, minimizing, whole_sentences
from loglin.criteria.settings import choice, number
from loglin.errors import LoglinError
from loglin.problems.request import ALL_PAIRS, OBSERVED, FeatureRequest

if TYPE_CHECKING:
    import numpy as np

    from loglin.optimize.penalties import Penalties
    from loglin.optimize.run import Run
    from loglin.problems.chains import ChainProblem


@dataclass(frozen=True)
class Pseudolikelihood(Initialized):
    """Σ log p(y_t | all other labels, x), the gold label at a site against all labels there."""

    name = "pseudolikelihood"
    line = "every label given its true neighbors on both sides (Besag 1975)"
    structures = ("chain",)
    by_parts = True
    defaults = Defaults(tol=0.0025)  # labels have settled before
    nota: str = choice("none", "all", "one", help="none-of-the-above instances: none, for all wrong neighbors, or one")
    bigram_penalty: float = number(
        0.0005, "l2 of label n-grams for every token, where that is more than l2 and nota is none; 0: l2"
    )

    def features(self) -> FeatureRequest:
        return OBSERVED if self.nota == "none" else ALL_PAIRS

    def way(self, problem: ChainProblem, run: Run) -> Way:
        if self.nota == "none":
            return self._way_of_true_neighbors(problem)
        if problem.order == 2:
            raise LoglinError(
                "pseudolikelihood with nota works on chains of order 1; take T out of the template and order=1, "
                "or nota=none"
            )
        kind = {"all": "all-neighbors", "one": "one-neighbor"}[self.nota]
        return minimizing(problem, partial(whole_sentences, kind=kind))

    def _way_of_true_neighbors(self, problem: ChainProblem) -> Way:
        from loglin.optimize.minimize import minimize

        penalties, make = held_ngrams(problem, self.bigram_penalty), problem.objective(partial(true_steps, behind=True))

        def solve(first: np.ndarray | None, run: Run) -> Any:
            if first is None and run.warm_start and run.optimizer == "auto" and problem.parts is None:
                first = untied_start(make, penalties, run)
            return minimize(make, penalties, run, first, problem.feature_name)

        return Way(solve, problem.model, objective=make)


def held_ngrams(problem: ChainProblem, share: float) -> Penalties:
    """The problem's penalties, with an l2 of at least ``share`` · tokens for label n-grams.

    The true neighbors tell more of a label than its words do, the more so the stricter the sequences of labels are.
    Free weights of label n-grams then leave nothing for the words to learn, and when tagging the neighbors are not
    known. Templates that name a variance keep it.
    """
    from loglin.optimize.penalties import Penalties

    l1, l2 = problem.penalties
    l2 = l2.copy()
    templates = getattr(getattr(problem.extractor, "templates", None), "templates", ())
    given = {t.kind for t in templates if not t.items and t.variance is not None}
    _, _, pairs, triples = problem.index.split(l2)
    for kind, part in (("bigram", pairs), ("trigram", triples)):
        if kind not in given:
            part[:] = part.clip(min=share * problem.design.n_tokens) if (part > 0).all() else part
    return Penalties(l1, l2)


def untied_start(make: Callable[[type], Any], penalties: Penalties, run: Run) -> np.ndarray | None:
    """Weights near the optimum: those that neighbors before and behind would have if each had its own, averaged."""
    import numpy as np

    from loglin.optimize.record import StopTraining

    objective = make(np.float32)
    learner, tied = objective.model.learner(run.seed), objective.tied
    try:
        stage = run.reporter.stage()
        strengths, check = (penalties.l1[tied], penalties.l2[tied]), lambda epoch, loss: run.reporter.check()
        found = stage.outcome if stage.ended else stage.end(learner.warm_start(*strengths, check, stage=stage))
    except StopTraining:
        return None
    uses = np.bincount(tied, minlength=objective.n_features)
    return np.bincount(tied, found, minlength=objective.n_features) / np.maximum(uses, 1)
