"""From a criterion to weights: each by the optimizer that suits it, followed by a watch."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from loglin.corpus.labels import Choices, LabelSets
from loglin.criteria.likelihood import ConditionalLikelihood
from loglin.criteria.penalties import Penalized
from loglin.criteria.stochastic import StochasticLearner
from loglin.errors import LoglinError
from loglin.features.transfer import transferred_weights
from loglin.methods.choices import method_for
from loglin.methods.m_estimation import base_model, m_estimation
from loglin.methods.problem import Method, Problem
from loglin.methods.settings import checked_settings
from loglin.optimize.fit import SINGLE_PRECISION_TOL, fit_weights
from loglin.optimize.newton import minimize_newton
from loglin.optimize.record import Iteration, Result, StopTraining
from loglin.watch import Watch


def initial_weights(settings: dict, problem: Problem, options: Any, interrupted) -> np.ndarray | None:
    """Weights to start from: those of another criterion on the same problem."""
    init = settings.get("init")
    if init is None or init == "":
        return None
    if not isinstance(init, str):  # a model, or the estimator that holds one
        return transferred_weights(getattr(init, "model_", init), problem.extractor, problem.labels, problem.index)
    if init == options.criterion or init == "hmm":
        raise LoglinError(f"init is {init!r}, which gives no weights to start {options.criterion} from; choose another")
    other = checked_settings(init, None, options.task) | {"init": None}
    problem.require_labels(init)
    base = base_model(other, problem) if init == "m-estimation" else None
    rough = replace(options, criterion=init, settings=None, max_iter=min(options.max_iter, 100), tol=1e-3)
    silent = Watch(rough, None, lambda w: None, None)  # type: ignore[arg-type, return-value]
    return solve(other, problem, rough, base, None, silent, interrupted).weights


def solve(settings, problem: Problem, options: Any, base, first, watch: Watch, interrupted) -> Result:
    """Weights by the criterion's own way."""
    p = problem
    if options.criterion == "perceptron" and not isinstance(p.gold, LabelSets | Choices):
        criterion = ConditionalLikelihood(p.design, p.gold, p.index, p.weight, np.float32, p.threads)
        return _perceptron(criterion, first, options, watch, interrupted)
    l1, l2 = p.l1, p.l2
    if options.criterion == "m-estimation":
        method = m_estimation(settings, problem, base)
        method.start = first
        if settings["input_features"]:
            more = np.ones(p.design.n_attributes)
            l1, l2 = np.concatenate([l1, options.l1 * more]), np.concatenate([l2, options.l2 * more])
            method.start = None if first is None else np.concatenate([first, 0 * more])
        uniform = not np.any(l1) and np.all(l2 == l2[0]) and l2[0] > 0
        optimizer = settings["optimizer"]
        if optimizer == "newton":
            return _newton(method, l1, l2, options, watch, interrupted)
        if optimizer == "dual" and not uniform:
            raise LoglinError("dual ascent needs one l2 above 0 for all weights and no l1; set optimizer to lbfgs")
        if optimizer == "dual" or (optimizer == "auto" and uniform and first is None):
            return _dual_ascent(method, float(l2[0]), options, watch, interrupted)
    else:
        method = method_for(options.criterion, settings, problem, first)
    return fit_weights(
        method.make,
        l1=l1,
        l2=l2,
        start=method.start,
        warm_start=options.warm_start,
        scaled=options.scaled,
        dtype=options.dtype,
        max_iter=options.max_iter,
        tol=options.tol,
        seed=options.seed,
        callback=watch,
        stop=interrupted,
    )


def _dual_ascent(method: Method, l2: float, options: Any, watch: Watch, interrupted) -> Result:
    """M-estimation by one number per sentence; the duality gap decides convergence."""
    criterion = method.make(_precision(options))
    began, history, best = time.perf_counter(), [], [np.zeros(criterion.n_features)]

    def report(epoch: int, value: float, gap: float, weights: np.ndarray) -> None:
        seconds, active = time.perf_counter() - began, int(np.count_nonzero(weights))
        history.append(Iteration(epoch, value, gap, active, epoch, seconds))
        best[0] = weights
        watch(history[-1], weights)
        if reason := interrupted():
            raise StopTraining(reason)

    try:
        weights, value, converged = criterion.dual_ascent(l2, options.tol, options.max_iter, options.seed, report)
    except StopTraining as stop:
        return Result(best[0].astype(np.float64), history[-1].value, str(stop), False, history, len(history))
    gap = history[-1].gradient_norm / max(abs(value), 1e-300)
    stopped = f"the optimum is at most {gap:.1g} of the objective away: the duality gap is below tol = {options.tol:g}"
    if not converged:
        stopped = f"max_iter = {options.max_iter} epochs were reached before convergence"
    return Result(weights, value, stopped, converged, history, len(history))


def _newton(method: Method, l1, l2, options: Any, watch: Watch, interrupted) -> Result:
    if np.any(l1):
        raise LoglinError("Newton's method has no l1 penalty; set l1 to 0 or optimizer to lbfgs")
    criterion = method.make(np.float64)
    start = np.zeros(criterion.n_features) if method.start is None else method.start

    def report(iteration: Iteration, weights: np.ndarray) -> None:
        watch(iteration, weights)
        if reason := interrupted():
            raise StopTraining(reason)

    return minimize_newton(
        Penalized(criterion, l2),
        lambda w, v: criterion.hessian_product(w, v) + l2 * v,
        start,
        scale=1 / (criterion.curvature(start).astype(np.float64) + l2 + 1e-12),
        max_iter=options.max_iter,
        tol=options.tol,
        callback=report,
    )


def _perceptron(criterion, start, options: Any, watch: Watch, interrupted) -> Result:
    learner = StochasticLearner(criterion, options.seed)
    if start is not None:
        learner.reset(start)
    began, history = time.perf_counter(), []
    epochs = min(options.max_iter, 10) if options.max_iter == type(options).max_iter else options.max_iter
    stopped = f"max_iter = {epochs} epochs were done"

    def report(epoch: int, mistakes: int, weights: Callable[[], np.ndarray]) -> bool:
        nonlocal stopped
        seconds = time.perf_counter() - began
        iteration = Iteration(epoch, float(mistakes), 0.0, 0, epoch, seconds)
        history.append(iteration)
        try:
            watch(iteration, weights() if watch.development is not None else np.empty(0))
            reason = interrupted()
        except StopTraining as stop:
            reason = str(stop)
        if mistakes == 0:
            reason = "every training sentence is tagged without a mistake"
        if reason:
            stopped = reason
        return bool(reason)

    weights = learner.perceptron(epochs, report)
    return Result(weights, history[-1].value, stopped, True, history, len(history))


def _precision(options: Any) -> type:
    if options.dtype == "auto":
        return np.float32 if options.tol >= SINGLE_PRECISION_TOL else np.float64
    return np.dtype(options.dtype).type
