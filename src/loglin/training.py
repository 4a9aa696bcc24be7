"""From a design and its labels to a model: features, penalties, optimizer, development data, record."""

from __future__ import annotations

import math
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

import numpy as np

from loglin.corpus.labels import Gold
from loglin.criteria.likelihood import ConditionalLikelihood
from loglin.criteria.stochastic import StochasticLearner
from loglin.decode import Decoder
from loglin.errors import LoglinError
from loglin.evaluate import evaluate
from loglin.features.design import Design
from loglin.features.index import FeatureIndex, build_index
from loglin.features.transfer import transferred_weights
from loglin.model import Model
from loglin.optimize.fit import fit_weights
from loglin.optimize.record import Iteration, Result, StopTraining
from loglin.parallel.threads import Threads


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


@dataclass
class Development:
    """Held-out data that decides when to stop."""

    design: Design
    gold: Gold  # codes may be -1 for labels never seen in training
    label_names: list

    def score(self, model: Model, metric: str, threads: int | None) -> float:
        decoder = Decoder(model, threads)
        if metric == "f1":
            predicted = decoder.best(self.design)
            names = [str(name) for name in self.label_names]
            result = evaluate(
                self.gold.codes, predicted, names, self.design.offsets, tokens_only=model.task == "classify"
            )
            return result.f1
        total, offsets = 0.0, self.design.offsets
        for s, chain in enumerate(decoder.chains(self.design)):
            labels = self.gold.codes[offsets[s] : offsets[s + 1]]
            if (labels < len(model.labels)).all():
                total += chain.score(labels) - chain.partition()
        return total


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
    began = time.perf_counter()
    threads = Threads(options.threads)
    templates = getattr(getattr(extractor, "templates", None), "templates", ())
    transitions = task == "tag" and (not templates or any(t.kind == "bigram" and not t.items for t in templates))
    order = 2 if any(t.kind == "trigram" for t in templates) else options.order
    index = build_index(design, gold, options.all_features, transitions, order)
    if index.n_features == 0:
        raise LoglinError("no feature is left to learn; lower min_count or give the tokens attributes")
    weight = _instance_weights(design, gold, labels, options)
    l1, l2 = _penalties(extractor, index, options, unpenalized)
    first = transferred_weights(start, extractor, labels, index) if start is not None else None
    watch = _Watch(options, development, labels, extractor, index, task, order, callback)
    with _interruptible() as interrupted:
        if options.criterion == "perceptron":
            criterion = ConditionalLikelihood(design, gold, index, weight, np.float32, threads)
            result = _perceptron(criterion, first, options, watch, interrupted)
        else:
            result = fit_weights(
                lambda dtype: ConditionalLikelihood(design, gold, index, weight, dtype, threads),
                l1=l1,
                l2=l2,
                start=first,
                warm_start=options.warm_start,
                dtype=options.dtype,
                max_iter=options.max_iter,
                tol=options.tol,
                seed=options.seed,
                callback=watch,
                stop=interrupted,
            )
    if not math.isfinite(result.value):
        raise LoglinError(
            "the objective is no finite number: some attribute values or penalties are too large; lower them"
        )
    weights, stopped = watch.choose(result)
    record = {
        "criterion": options.criterion,
        "objective": result.value,
        "iterations": len(result.iterations),
        "evaluations": result.evaluations,
        "stopped": stopped,
        "converged": result.converged,
        "n_features": index.n_features,
        "active_features": int(np.count_nonzero(weights)),
        "sentences": design.n_sentences,
        "tokens": design.n_tokens,
        "options": {k: v for k, v in asdict(options).items() if k != "instance_weights"},
        "train_seconds": time.perf_counter() - began,
        "threads": threads.n,
        "peak_memory_mb": peak_memory_mb(),
        "history": [i.as_dict() for i in watch.history],
    }
    return Model(task, labels, extractor, index, weights.astype(_stored(options)), order, record)


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


def _perceptron(criterion, start, options: Options, watch: _Watch, interrupted) -> Result:
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


class _Watch:
    """Follows training: scores the development data, keeps the best weights, asks for a stop."""

    def __init__(self, options, development, labels, extractor, index, task, order, callback):
        self.options, self.development, self.callback = options, development, callback
        self.make = lambda w: Model(task, labels, extractor, index, w, order)
        self.history: list[Iteration] = []
        self.best: tuple[float, np.ndarray, int] | None = None

    def __call__(self, iteration: Iteration, weights: np.ndarray) -> None:
        if self.development is not None:
            score = self.development.score(
                self.make(weights.astype(np.float32)), self.options.dev_metric, self.options.threads
            )
            iteration = Iteration(**{**iteration.as_dict(), "score": score})
            if self.best is None or score > self.best[0]:
                self.best = (score, weights.copy(), iteration.number)
        self.history.append(iteration)
        if self.callback is not None:
            self.callback(iteration)
        if self.best is not None and iteration.number - self.best[2] >= self.options.patience:
            raise StopTraining(
                f"the development data's {self.options.dev_metric} has not risen for {self.options.patience} "
                f"iterations; the weights of iteration {self.best[2]} ({self.best[0]:.4f}) are kept"
            )

    def choose(self, result: Result) -> tuple[np.ndarray, str]:
        """The weights to keep, and why training ended."""
        if self.best is None:
            return result.weights, result.stopped
        stopped = result.stopped
        if "are kept" not in stopped:
            stopped += f"; the best on the development data, of iteration {self.best[2]}, are kept"
        return self.best[1], stopped


@contextmanager
def _interruptible() -> Iterator[Callable[[], str | None]]:
    """Ctrl-C and SIGTERM ask training to end with what it has; a second one ends the program."""
    asked: list[str] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return

    def handle(number: int, frame) -> None:
        if asked:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        asked.append(f"interrupted by {signal.Signals(number).name}; the best weights so far are kept")

    old = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: asked[0] if asked else None
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
