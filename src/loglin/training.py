"""From a design and its labels to a model: features, penalties, optimizer, development data, record."""

from __future__ import annotations

import math
import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

import numpy as np

from loglin.corpus.labels import Gold
from loglin.criteria.likelihood import ConditionalLikelihood
from loglin.criteria.penalties import Penalized
from loglin.criteria.stochastic import StochasticLearner
from loglin.errors import LoglinError
from loglin.features.design import Design
from loglin.features.index import Everything, FeatureIndex, build_index
from loglin.features.transfer import transferred_weights
from loglin.methods.chain import make_method, scale_factors
from loglin.methods.m_estimation import base_model, counted_hmm, m_estimation
from loglin.methods.problem import Method, Problem
from loglin.methods.settings import checked_settings
from loglin.model import Model
from loglin.optimize.fit import SINGLE_PRECISION_TOL, fit_weights
from loglin.optimize.newton import minimize_newton
from loglin.optimize.record import Iteration, Result, StopTraining
from loglin.parallel.threads import Threads
from loglin.watch import Development, Watch, interruptible


@dataclass(frozen=True)
class Options:
    """How to train. The defaults end within 0.1 % of the optimum."""

    criterion: str = "crf"
    l1: float = 0.0
    l2: float = 1.0
    order: int = 1
    all_features: bool = False
    max_iter: int = 1000  # iterations, or epochs of the perceptron
    tol: float = 5e-4
    threads: int | None = None
    seed: int = 0
    dtype: str = "auto"
    warm_start: bool = True  # stochastic epochs before L-BFGS
    scaled: bool = True  # L-BFGS in variables scaled by a guess of the Hessian
    patience: int = 10  # iterations without a better score on the development data
    dev_metric: str = "f1"
    label_weights: Mapping | None = None
    settings: Mapping | None = None  # of the criterion, see methods.CRITERIA
    instance_weights: np.ndarray | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        checked_settings(self.criterion, self.settings)
        for name in ("l1", "l2", "tol"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
                raise LoglinError(f"{name} is {value!r}; give a number of at least 0")
        if self.order not in (1, 2):
            raise LoglinError(f"order is {self.order!r}; a chain is of order 1 or 2")
        if self.max_iter < 1:
            raise LoglinError(f"max_iter is {self.max_iter!r}; give a whole number of at least 1")
        if self.threads is not None and self.threads < 1:
            raise LoglinError(f"threads is {self.threads!r}; give a whole number of at least 1")
        if isinstance(self.seed, int) and self.seed < 0:
            raise LoglinError(f"seed is {self.seed!r}; give a whole number of at least 0")
        if self.dev_metric not in ("f1", "likelihood"):
            raise LoglinError(f"dev_metric is {self.dev_metric!r}; choose f1 or likelihood")


def train(
    design: Design,
    extractor,
    labels: list,
    gold: Gold,
    options: Options,
    *,
    task: str = "tag",
    start: Model | None = None,
    development: Development | None = None,
    callback: Callable[[Iteration], None] | None = None,
    unpenalized: np.ndarray | None = None,
) -> Model:
    """Train a model. ``unpenalized`` marks attributes without a penalty (an intercept)."""
    began, settings = time.perf_counter(), checked_settings(options.criterion, options.settings)
    problem = _problem(design, extractor, labels, gold, options, task, unpenalized)
    problem.require_labels(options.criterion)
    if options.criterion == "hmm":
        return _counted_model(settings, problem, options, began)
    base = base_model(settings, problem) if options.criterion == "m-estimation" else None
    kept = base if settings.get("keep_base") else None
    decoding = _decoding(settings)
    index = problem.index

    def make(weights: np.ndarray, decoding: dict = decoding) -> Model:
        weights = weights[: index.n_features]
        return Model(task, labels, extractor, index, weights, problem.order, {}, kept, decoding)

    unscaled = {k: v for k, v in decoding.items() if k != "scale"}
    watch = Watch(options, development, partial(make, decoding=_without_scale(unscaled)), callback)
    with interruptible() as interrupted:
        first = transferred_weights(start, extractor, labels, index) if start is not None else None
        first = _initial_weights(settings, problem, options, interrupted) if first is None else first
        result = _optimized(settings, problem, options, base, first, watch, interrupted)
    if not math.isfinite(result.value):
        raise LoglinError(
            "the objective is no finite number: some attribute values or penalties are too large; lower them"
        )
    weights, stopped = watch.choose(result)
    weights = weights[: index.n_features]
    if decoding.get("steps") == "scaled":
        decoding = decoding | {"scale": scale_factors(problem, weights).tolist()}
    model = make(weights.astype(_stored(options)), decoding)
    model.record = _record(options, problem, began) | {
        "objective": result.value,
        "iterations": len(result.iterations),
        "evaluations": result.evaluations,
        "stopped": stopped,
        "converged": result.converged,
        "active_features": int(np.count_nonzero(weights)),
        "history": [i.as_dict() for i in watch.history],
    }
    return model


def _problem(design, extractor, labels, gold, options: Options, task: str, unpenalized) -> Problem:
    templates = getattr(getattr(extractor, "templates", None), "templates", ())
    transitions = task == "tag" and (not templates or any(t.kind == "bigram" and not t.items for t in templates))
    order = 2 if any(t.kind == "trigram" for t in templates) else options.order
    index = build_index(design, gold, _everything(design, extractor, templates, options), transitions, order)
    if index.n_features == 0:
        raise LoglinError("no feature is left to learn; lower min_count or give the tokens attributes")
    weight = _instance_weights(design, gold, labels, options)
    l1, l2 = _penalties(extractor, index, options, unpenalized)
    order = 2 if len(index.triples) else 1
    threads = Threads(options.threads)
    return Problem(design, gold, index, labels, order, weight, l1, l2, threads, options.seed, extractor)


def _everything(design: Design, extractor, templates, options: Options) -> Everything:
    """Where weights for all labels are wanted: everywhere, or for the templates that say so.

    None-of-the-above instances speak against every step from a wrong label, so label bigrams need all pairs.
    """
    wanted = Everything.of(design, options.all_features)
    wanted.pairs |= options.criterion == "piecewise"
    for t in templates:
        if t.labels == "all" and not t.items:
            wanted.pairs |= t.kind == "bigram"
            wanted.triples |= t.kind == "trigram"
    observed = [t for t in templates if t.kind == "unigram" or (t.kind == "bigram" and t.items)]
    if any(t.labels == "all" for t in observed):
        asked = np.array([t.labels == "all" for t in observed])
        wanted.attributes |= asked[extractor.template_of("unigram")]
        wanted.bigrams |= asked[extractor.template_of("bigram")]
    return wanted


def _optimized(settings, problem: Problem, options: Options, base, first, watch: Watch, interrupted) -> Result:
    """Weights by the criterion's own way."""
    p = problem
    if options.criterion == "perceptron":
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
        method = make_method(options.criterion, settings, problem, first)
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


def _dual_ascent(method: Method, l2: float, options: Options, watch: Watch, interrupted) -> Result:
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


def _precision(options: Options) -> type:
    if options.dtype == "auto":
        return np.float32 if options.tol >= SINGLE_PRECISION_TOL else np.float64
    return np.dtype(options.dtype).type


def _newton(method: Method, l1, l2, options: Options, watch: Watch, interrupted) -> Result:
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


def _initial_weights(settings: dict, problem: Problem, options: Options, interrupted) -> np.ndarray | None:
    """Weights to start from: those of another criterion on the same problem."""
    init = settings.get("init")
    if init is None or init == "":
        return None
    if not isinstance(init, str):  # a model, or the estimator that holds one
        return transferred_weights(getattr(init, "model_", init), problem.extractor, problem.labels, problem.index)
    if init == options.criterion or init == "hmm":
        raise LoglinError(f"init is {init!r}, which gives no weights to start {options.criterion} from; choose another")
    other = checked_settings(init, None) | {"init": None}
    problem.require_labels(init)
    base = base_model(other, problem) if init == "m-estimation" else None
    rough = replace(options, criterion=init, settings=None, max_iter=min(options.max_iter, 100), tol=1e-3)
    silent = Watch(rough, None, lambda w: None, None)  # type: ignore[arg-type, return-value]
    return _optimized(other, problem, rough, base, None, silent, interrupted).weights


def _decoding(settings: dict) -> dict:
    """How a model of this criterion decodes, beyond plainly."""
    steps, beam = settings.get("decoding", "global"), settings.get("beam", 0)
    if steps == "auto":  # of pieces: all wrong sources make a global model, some of them a local one
        steps = "global" if settings["nota"] == "all" else "nota"
    return ({"steps": steps} if steps != "global" else {}) | ({"beam": beam} if beam else {})


def _without_scale(decoding: dict) -> dict:
    """While training goes on there are no scale factors yet."""
    return {k: v for k, v in decoding.items() if v != "scaled"}


def _counted_model(settings: dict, problem: Problem, options: Options, began: float) -> Model:
    """A hidden Markov model: a base model without features."""
    hmm = counted_hmm(settings, problem, options.order, settings["transition_smoothing"])
    L, n, nothing = problem.index.n_labels, hmm.extractor.n_attributes, np.empty(0, np.int32)
    index = FeatureIndex(
        L, np.zeros(n + 1, np.int64), nothing.astype(np.uint16), np.zeros(1, np.int64), nothing, nothing,
        np.empty(0, np.int64),
    )  # fmt: skip
    loss = -float(hmm.log_probability(problem.design.corpus, problem.gold.codes).sum())
    record = _record(options, problem, began) | {
        "objective": loss,
        "iterations": 0,
        "evaluations": 1,
        "stopped": "an HMM is counted, not optimized; the objective is −log q(x, y)",
        "converged": True,
        "n_features": sum(e.size for e in hmm.emissions) + hmm.transition.size,
        "active_features": 0,
        "history": [],
    }
    return Model("tag", problem.labels, hmm.extractor, index, np.empty(0, np.float32), 1, record, hmm)


def _record(options: Options, problem: Problem, began: float) -> dict:
    return {
        "criterion": options.criterion,
        "n_features": problem.index.n_features,
        "sentences": problem.design.n_sentences,
        "tokens": problem.design.n_tokens,
        "options": {f.name: _plain(getattr(options, f.name)) for f in fields(options) if f.name != "instance_weights"},
        "train_seconds": time.perf_counter() - began,
        "threads": problem.threads.n,
        "peak_memory_mb": peak_memory_mb(),
    }


def _plain(value: Any) -> Any:
    """Options as JSON can hold them; what it cannot, by name."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    return value if value is None or isinstance(value, str | int | float | bool | list) else type(value).__name__


def _stored(options: Options) -> type:
    return np.float64 if options.dtype == "float64" else np.float32


def peak_memory_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def _instance_weights(design: Design, gold: Gold, labels: list, options: Options) -> np.ndarray | None:
    """Weights of sentences: as given, times the mean weight of their labels."""
    weight = options.instance_weights
    if weight is not None:
        weight = np.asarray(weight, np.float64)
        if weight.shape != (design.n_sentences,) or not np.isfinite(weight).all() or (weight < 0).any():
            raise LoglinError(
                f"instance weights must be {design.n_sentences} finite numbers of at least 0, one per sentence"
            )
        if not weight.any():
            raise LoglinError("all instance weights are zero, so there is nothing to learn from; raise some")
    if options.label_weights:
        unknown = [label for label in options.label_weights if label not in labels]
        if unknown:
            raise LoglinError(f"label_weights names {unknown[0]!r}, which is no label of the data")
        by_label = np.array([float(options.label_weights.get(label, 1.0)) for label in labels])
        by_token = np.where(gold.codes >= 0, by_label[np.maximum(gold.codes, 0)], 1.0)
        sums = np.add.reduceat(np.append(by_token, 0.0), np.minimum(design.offsets[:-1], len(by_token)))
        mean = sums / np.maximum(np.diff(design.offsets), 1)
        weight = mean if weight is None else weight * mean
    return weight


def _penalties(extractor, index: FeatureIndex, options: Options, unpenalized) -> tuple[np.ndarray, np.ndarray]:
    """Strengths per weight: l2 is 1 / variance, with a variance per template where one is given."""
    l1, l2 = np.full(index.n_features, float(options.l1)), np.full(index.n_features, float(options.l2))
    templates = getattr(getattr(extractor, "templates", None), "templates", ())
    if any(t.variance is not None for t in templates):
        observed = [t for t in templates if t.kind == "unigram" or (t.kind == "bigram" and t.items)]
        strength = np.array([options.l2 if t.variance is None else 1 / t.variance for t in observed])
        unigram, bigram, pair, triple = index.split(l2)
        unigram[:] = np.repeat(strength[extractor.template_of("unigram")], np.diff(index.ptr))
        bigram[:] = np.repeat(strength[extractor.template_of("bigram")], np.diff(index.bigram_ptr))
        for t in templates:
            if not t.items and t.variance is not None:
                (pair if t.kind == "bigram" else triple)[:] = 1 / t.variance
    if unpenalized is not None:
        free = np.repeat(unpenalized, np.diff(index.ptr))
        l1[: len(free)][free] = 0.0
        l2[: len(free)][free] = 0.0
    return l1, l2


def _perceptron(criterion, start, options: Options, watch: Watch, interrupted) -> Result:
    learner = StochasticLearner(criterion, options.seed)
    if start is not None:
        learner.reset(start)
    began, history = time.perf_counter(), []
    epochs = min(options.max_iter, 10) if options.max_iter == Options.max_iter else options.max_iter
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
