"""A cache on top of a language model, fitted on text that the model below has not seen.

On its own training text a model knows too well what comes next, and a cache would learn to be silent. So the last
tenth of the text is held out, a second model of the rest is fitted, and the cache is fitted on the last tenth under it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from loglin.criteria.criterion import Criterion
from loglin.errors import LoglinError
from loglin.models.cache import N_FEATURES, CacheModel, cached_mass
from loglin.models.language import PredictorModel
from loglin.objectives.cache import CacheLikelihood
from loglin.optimize.lbfgs import minimize
from loglin.optimize.penalties import Penalized
from loglin.optimize.reporter import Reporter
from loglin.optimize.run import Run
from loglin.problems.histories import CACHE, HistoryProblem
from loglin.training.fit import HeldOut, fit, was_interrupted

SHARE = 10  # every tenth part of the text decides about the cache
TOL = 1e-9


def require_sentences(problem: HistoryProblem) -> None:
    """Refuse a text of which no sentence can be held out for the cache."""
    if problem.options.cached and problem.text.corpus.n_sentences < 2:
        raise LoglinError("a cache is fitted on held-out sentences, and there is only one sentence; give more text")


def with_cache(
    model: PredictorModel, problem: HistoryProblem, criterion: Criterion, run: Run, held_out: HeldOut | None = None
) -> PredictorModel:
    """The model with a cache over it; where training was interrupted, the cache has no weights."""
    window = problem.options.window
    theta, told = np.zeros(N_FEATURES), f"without weights: {model.record['stopped']}"
    if not was_interrupted(model.record):
        try:
            theta, told = _fitted(problem, criterion, run, held_out)
        except KeyboardInterrupt:
            if run.reporter.asked is None:
                raise
            told = f"without weights: {run.reporter.asked.text}"
    cached = CacheModel(model.predictor, window, theta)
    return PredictorModel(cached, model.record | {"cache": told, "n_features": cached.n_features})


def _fitted(
    problem: HistoryProblem, criterion: Criterion, run: Run, held_out: HeldOut | None
) -> tuple[np.ndarray, str]:
    """The weights of the cache, fitted on the last part of the text with a model of the rest, and how."""
    text = problem.text
    n = text.corpus.n_sentences
    last = max(1, n // SHARE)
    rest = replace(problem, text=text.part(0, n - last), parts=None)
    again = replace(run, reporter=Reporter(run.reporter.callback, checkpoint=run.reporter.checkpoint))
    base = fit(rest, criterion, again, held_out=held_out).predictor
    mass, hit = cached_mass(base, problem.options.window, problem.words.encode(text.part(n - last, n)))
    penalized = Penalized(CacheLikelihood(mass, hit), 1 / problem.options.variance(CACHE))
    fitted = minimize(penalized, np.zeros(N_FEATURES), tol=TOL)
    return fitted.weights, f"fitted on the last {last:,} sentences: {fitted.stopped}"
