"""From a criterion to weights: each by the optimizer that suits it, followed by a watch."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from loglin.corpus.labels import Choices, LabelSets
from loglin.criteria.choices import method_for
from loglin.criteria.m_estimation import base_model, m_estimation
from loglin.criteria.settings import LATENT, PARTIAL, checked_settings
from loglin.errors import LoglinError
from loglin.features.transfer import transferred_weights
from loglin.objectives.likelihood import ConditionalLikelihood
from loglin.optimize.fit import SINGLE_PRECISION_TOL, fit_weights
from loglin.optimize.record import Iteration, Result, StopTraining
from loglin.optimize.separation import SEPARABLE, recession, separated, unbounded
from loglin.optimize.solvers import DOUBLE, SCALING, decisions_of, solve_by
from loglin.problems.problem import Method, Problem
from loglin.training.watch import Watch


def initial_weights(settings: dict, problem: Problem, options: Any, interrupted) -> np.ndarray | None:
    """Weights to start from: those of another criterion on the same problem."""
    init = settings.get("init")
    if init is None or init == "":
        return None
    if not isinstance(init, str):  # a model, or the estimator that holds one
        return transferred_weights(getattr(init, "model_", init), problem.extractor, problem.labels, problem.index)
    if init in (options.criterion, "hmm", *LATENT):
        raise LoglinError(f"init is {init!r}, which gives no weights to start {options.criterion} from; choose another")
    other = checked_settings(init, None, options.task) | {"init": None}
    if init not in PARTIAL:
        problem.require_labels(init)
    base = base_model(other, problem) if init == "m-estimation" else None
    rough = replace(
        options, criterion=init, optimizer="auto", settings=None, max_iter=min(options.max_iter, 100), tol=1e-3
    )
    silent = Watch(rough, None, lambda w: None, None)  # type: ignore[arg-type, return-value]
    return solve(other, problem, rough, base, None, silent, interrupted).weights


def solve(settings, problem: Problem, options: Any, base, first, watch: Watch, interrupted) -> Result:
    """Weights by the criterion's own way."""
    p = problem
    if options.criterion == "perceptron" and not isinstance(p.gold, LabelSets | Choices):
        criterion = ConditionalLikelihood(p.design, p.gold, p.index, p.weight, np.float32, p.threads)
        return _perceptron(criterion, first, settings["averaged"], options, watch, interrupted)
    l1, l2, optimizer = p.l1, p.l2, options.optimizer
    if options.criterion == "m-estimation":
        method = m_estimation(settings, problem, base)
        method.start = first
        if settings["input_features"]:
            more = np.ones(p.design.n_attributes)
            l1, l2 = np.concatenate([l1, options.l1 * more]), np.concatenate([l2, options.l2 * more])
            method.start = None if first is None else np.concatenate([first, 0 * more])
        uniform = not np.any(l1) and np.all(l2 == l2[0]) and l2[0] > 0
        if optimizer == "auto":  # the setting's lbfgs is the default without its dual ascent
            optimizer = settings["optimizer"]
        if optimizer == "dual" and not uniform:
            raise LoglinError("dual ascent needs one l2 above 0 for all weights and no l1; set optimizer to lbfgs")
        if optimizer == "dual" or (optimizer == "auto" and uniform and first is None):
            return _dual_ascent(method, float(l2[0]), options, watch, interrupted)
        if optimizer == "lbfgs" and options.optimizer == "auto":
            optimizer = "auto"
    else:
        method = method_for(options.criterion, settings, problem, first)
    return _fitted(optimizer, method, l1, l2, problem, options, watch, interrupted)


def _fitted(optimizer: str, method: Method, l1, l2, problem: Problem, options: Any, watch: Watch, interrupted):
    """Weights by a general optimizer; without any penalty, separable classes end it."""
    made: list = [None]

    def make(dtype: type) -> Any:
        made[0] = method.make(dtype)
        return made[0]

    no_prior = not np.any(l1) and not np.any(l2)

    def follow(iteration: Iteration, weights: np.ndarray) -> None:
        watch(iteration, weights)
        if no_prior and separated(made[0]):
            raise StopTraining(SEPARABLE)

    limits: dict[str, Any] = {"max_iter": options.max_iter, "tol": options.tol, "seed": options.seed}
    limits |= {"l1": l1, "l2": l2, "callback": follow, "stop": interrupted}
    if optimizer in ("auto", "lbfgs"):
        plain = optimizer == "lbfgs"
        result = fit_weights(
            make,
            start=method.start,
            warm_start=options.warm_start and not plain,
            scaled=options.scaled and not plain,
            dtype=options.dtype,
            **limits,
        )
    else:
        criterion = make(np.float64 if optimizer in DOUBLE else _precision(options))
        if optimizer in SCALING:
            _refuse_negative(optimizer, decisions_of(optimizer, criterion), problem)
        result = solve_by(optimizer, criterion, method.start, **limits)
    free = (l1 == 0) & (l2 == 0)
    if result.stopped == SEPARABLE:
        result.unbounded = SEPARABLE
    elif free.any():
        _report_unbounded(result, made[0], problem, free)
    return result


def _refuse_negative(optimizer: str, decisions: Any, problem: Problem) -> None:
    found = decisions.negative()
    if found is not None:
        raise LoglinError(
            f"optimizer {optimizer} needs values of at least 0, and the attribute {_name(problem, found)[0]} has a "
            "negative one; shift its values, split it into a positive and a negative attribute, or use optimizer auto"
        )


def _report_unbounded(result: Result, criterion: Any, problem: Problem, free: np.ndarray) -> None:
    """Add to the result what proves that no finite weights are best."""
    decisions = getattr(criterion, "decisions", None)
    if decisions is None:
        return
    growing = unbounded(decisions, free)
    remedy = "give l2 above 0" if free.all() else "give them a penalty too, or data in which other classes have them"
    if len(growing):
        attribute, label = _name(problem, int(growing[0]))
        result.unbounded = (
            f"{len(growing):,} of {len(free):,} weights have no finite optimum without a prior, such as that of "
            f"{attribute}{label}; {remedy}"
        )
    elif free.all() and recession(decisions, free):
        result.unbounded = f"some classes are separable from others: without a prior weights grow without end; {remedy}"
    if result.unbounded:
        result.converged = False
        result.stopped += f"; {result.unbounded}"


def _name(problem: Problem, feature: int) -> tuple[str, str]:
    """The attribute of a feature, and its label where it has one, as people know them."""
    index = problem.index
    if feature >= len(index.labels):
        return "a label bigram", ""
    attribute = int(np.searchsorted(index.ptr, feature, side="right")) - 1
    label = "" if isinstance(problem.gold, Choices) else f" for {problem.labels[index.labels[feature]]}"
    return problem.extractor.attribute_name(attribute), label


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


def _perceptron(criterion, start, averaged: bool, options: Any, watch: Watch, interrupted) -> Result:
    learner = criterion.learner(options.seed)
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
            reason = "an epoch went over all training data without a mistake"
        if reason:
            stopped = reason
        return bool(reason)

    weights = learner.perceptron(epochs, report, averaged)
    return Result(weights, history[-1].value, stopped, True, history, len(history))


def _precision(options: Any) -> type:
    if options.dtype == "auto":
        return np.float32 if options.tol >= SINGLE_PRECISION_TOL else np.float64
    return np.dtype(options.dtype).type
