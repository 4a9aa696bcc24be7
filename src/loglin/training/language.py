"""From a text to a model of the next word: features, penalties, optimizer, cache."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from loglin.corpus.plaintext import Text
from loglin.errors import LoglinError
from loglin.features.histories import NO_CLASSES, Classes, HistoryExtractor, checked_kinds, distances_of, order_of
from loglin.features.triggers import Triggers
from loglin.features.words import RunningText, Words
from loglin.generative.ngram import NGramModel
from loglin.generative.predictor import Predictor
from loglin.models.cache import N_FEATURES, CacheModel, cached_mass
from loglin.models.next_word import NextWordModel
from loglin.objectives.cache import CacheLikelihood
from loglin.objectives.next_word import NextWordLikelihood
from loglin.optimize.lbfgs import minimize
from loglin.optimize.penalties import Penalized
from loglin.optimize.record import Iteration, Result, StopTraining
from loglin.threads import Threads
from loglin.training.watch import interruptible

CRITERIA = ("likelihood", "kneser-ney", "modified-kneser-ney")
CACHE = "cache"
# by kind: variance of the Gaussian prior, and the fewest occurrences of a feature; n-grams, skips, suffixes and classes
# were compared on held-out Brown text, prefixes, triggers, documents and the cache were not tuned
VARIANCES = {
    "unigram": 10.0, "bigram": 3.3, "n-gram": 1.0, "skip": 1.0, "suffix": 1.0, "prefix": 1.0, "class": 3.3,
    "class-pair": 1.0, "trigger": 1.0, "document": 1.0, "cache": 1.0,
}  # fmt: skip
MIN_COUNTS = {
    "bigram": 1, "trigram": 1, "n-gram": 2, "skip": 2, "suffix": 3, "prefix": 3, "class": 2, "class-pair": 2,
    "trigger": 5, "document": 5,
}  # fmt: skip
HELD_OUT = 10  # every tenth part of the text decides about the cache
SCALE_POWER = 0.8  # of count + 1 / variance, a guess of the curvature: lowest objective after 60 iterations on Brown


@dataclass(frozen=True)
class LanguageOptions:
    """How to train; see ``LanguageModel``."""

    criterion: str = "likelihood"
    features: Sequence[str] = ("bigram", "trigram")
    vocabulary: int = 10_000
    min_count: int | Mapping[str, int] | None = None
    variances: Mapping[str, float] | None = None
    window: int = 400
    trigger_window: int = 200
    trigger_pairs: int = 10_000
    max_iter: int = 100
    tol: float = 1e-5
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.criterion not in CRITERIA:
            raise LoglinError(f"no criterion is called {self.criterion!r}; choose {', '.join(CRITERIA)}")
        if isinstance(self.features, str):
            raise LoglinError(f"features is the string {self.features!r}; give a list of names")
        for name in ("vocabulary", "window", "trigger_window", "trigger_pairs", "max_iter"):
            _check_count(name, getattr(self, name))
        if self.threads is not None:
            _check_count("threads", self.threads)
        if not isinstance(self.tol, int | float) or not math.isfinite(self.tol) or self.tol < 0:
            raise LoglinError(f"tol is {self.tol!r}; give a number of at least 0")
        kinds = checked_kinds([k for k in self.features if k != CACHE], 3)
        if self.criterion != "likelihood":
            other = next((kind for kind in kinds if not order_of(kind)), None)
            if other:
                raise LoglinError(f"{self.criterion} counts n-grams and has no {other}; use criterion likelihood")
        self._check_settings(kinds)

    def _check_settings(self, kinds: tuple[str, ...]) -> None:
        counts = self.min_count if isinstance(self.min_count, Mapping) else {}
        if not isinstance(self.min_count, Mapping) and self.min_count is not None:
            _check_count("min_count", self.min_count)
        for kind, count in counts.items():
            _check_count(f"min_count of {kind}", count)
        for kind, variance in (self.variances or {}).items():
            if not isinstance(variance, int | float) or not math.isfinite(variance) or variance <= 0:
                raise LoglinError(f"the variance of {kind} is {variance!r}; give a number above 0")
        for kind in {*counts, *(self.variances or {})} - {*kinds, "unigram", *({CACHE} & {*self.features})}:
            raise LoglinError(f"{kind!r} has a setting but is none of the features; add it, or leave the setting out")

    @property
    def order(self) -> int:
        """Of the longest n-gram."""
        return max((order_of(kind) or 1 for kind in self.features), default=1)

    def variance(self, kind: str) -> float:
        return float((self.variances or {}).get(kind, VARIANCES[_family(kind, VARIANCES)]))

    def count(self, kind: str) -> int:
        usual = MIN_COUNTS[_family(kind, MIN_COUNTS)]
        if isinstance(self.min_count, Mapping):
            return int(self.min_count.get(kind, usual))
        return usual if self.min_count is None else int(self.min_count)


def _check_count(name: str, value: Any) -> None:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise LoglinError(f"{name} is {value!r}; give a whole number of at least 1")


def _family(kind: str, known: Mapping[str, Any]) -> str:
    """The name under which the usual settings of a kind are listed."""
    if kind in known:
        return kind
    return "n-gram" if order_of(kind) else "skip" if distances_of(kind) else kind


def train(
    text: Text,
    options: LanguageOptions,
    classes: Mapping[str, str] | None = None,
    callback: Callable[[Iteration], None] | None = None,
) -> tuple[Predictor, dict]:
    """A model and the record of its training."""
    began = time.perf_counter()
    words = Words.most_frequent(text, options.vocabulary)
    if CACHE in options.features and text.corpus.n_sentences < 2:
        raise LoglinError("a cache is fitted on held-out sentences, and there is only one sentence; give more text")
    running = words.encode(text)
    with interruptible() as interrupted:

        def follow(iteration: Iteration, weights: np.ndarray) -> None:
            if callback is not None:
                callback(iteration)
            if reason := interrupted():
                raise StopTraining(reason)

        model, record = _train(text, running, words, options, classes, follow)
        if CACHE in options.features:
            theta, more = _cache(text, words, options, classes, follow, interrupted)
            model, record = CacheModel(model, options.window, theta), record | more
    return model, record | {
        "criterion": options.criterion,
        "n_features": model.n_features,
        "vocabulary": len(words.names),
        "documents": text.n_documents,
        "sentences": text.corpus.n_sentences,
        "tokens": len(running),
        "train_seconds": time.perf_counter() - began,
    }


def _train(
    text: Text, running: RunningText, words: Words, options: LanguageOptions, classes, follow
) -> tuple[Any, dict]:
    if options.criterion != "likelihood":
        counted = NGramModel.count(running, words, options.order, options.criterion == "modified-kneser-ney")
        stopped = "n-grams are counted, not optimized"
        return counted, {"iterations": 0, "evaluations": 0, "stopped": stopped, "converged": True, "history": []}
    extractor, criterion = next_word_criterion(text, running, words, options, classes)
    result = fit_weights(criterion, penalties(extractor, options), options, follow)
    if not math.isfinite(result.value):
        raise LoglinError("the objective is no finite number; give smaller variances")
    return NextWordModel(extractor, result.weights), {
        "objective": result.value,
        "iterations": len(result.iterations),
        "evaluations": result.evaluations,
        "stopped": result.stopped,
        "converged": result.converged,
        "touches": criterion.touches,
        "history": [iteration.as_dict() for iteration in result.iterations],
    }


def next_word_criterion(
    text: Text, running: RunningText, words: Words, options: LanguageOptions, classes: Mapping[str, str] | None = None
) -> tuple[HistoryExtractor, NextWordLikelihood]:
    """The features of a text and its likelihood as a function of their weights."""
    extractor = _extractor(text, running, words, options, classes)
    observed = extractor.fit(running, {kind: options.count(kind) for kind in extractor.kinds})
    tree, _ = extractor.tree(running)
    threads = Threads(options.threads)
    return extractor, NextWordLikelihood(tree, extractor.ptr, extractor.targets, observed, threads)


def _extractor(text: Text, running: RunningText, words: Words, options: LanguageOptions, classes) -> HistoryExtractor:
    kinds = checked_kinds([kind for kind in options.features if kind != CACHE], words.n_symbols)
    found, triggers = NO_CLASSES, None
    if {"class", "class-pair"} & set(kinds):
        tagged = len(text.corpus.columns) > 1
        if classes is None and not tagged:
            raise LoglinError(
                "classes of words are neither given nor read from tags; "
                "give classes (--classes FILE), or tagged text (--tagged)"
            )
        found = Classes.of_tags(text) if classes is None else Classes.of(classes)
    if "trigger" in kinds:
        count = options.count("trigger")
        triggers = Triggers.choose(running, len(words.names), options.trigger_window, options.trigger_pairs, count)
    return HistoryExtractor(words, kinds, found, triggers)


def penalties(extractor: HistoryExtractor, options: LanguageOptions) -> np.ndarray:
    """1 / variance of every weight."""
    by_kind = np.array([1 / options.variance(kind) for kind in extractor.kinds])
    unigrams = np.full(extractor.words.n_predicted, 1 / options.variance("unigram"))
    return np.concatenate([unigrams, np.repeat(by_kind[extractor.kind_of()], np.diff(extractor.ptr))])


def fit_weights(criterion: NextWordLikelihood, l2: np.ndarray, options: LanguageOptions, follow) -> Result:
    """L-BFGS in variables scaled by the counts, from the words' own frequencies."""
    observed, n = criterion.observed, criterion.n_words
    start = np.zeros(len(observed))
    start[:n] = np.log(observed[:n] + 0.5) - np.log((observed[:n] + 0.5).sum())
    return minimize(
        Penalized(criterion, l2),
        start,
        scale=(observed + l2) ** -SCALE_POWER,
        max_iter=options.max_iter,
        tol=options.tol,
        callback=follow,
    )


def _cache(text: Text, words: Words, options: LanguageOptions, classes, follow, interrupted) -> tuple[np.ndarray, dict]:
    """The cache's weights, from the last tenth of the text under a model of the rest.

    On its own training text a model knows too well what comes next, and a cache would learn to be silent.
    """
    n = text.corpus.n_sentences
    held_out = max(1, n // HELD_OUT)
    if reason := interrupted():
        return np.zeros(N_FEATURES), {"cache": f"without weights: {reason}"}
    rest, last = text.part(0, n - held_out), text.part(n - held_out, n)
    model, _ = _train(rest, words.encode(rest), words, options, classes, follow)
    running = words.encode(last)
    mass, hit = cached_mass(model, options.window, running)
    fitted = minimize(
        Penalized(CacheLikelihood(mass, hit), 1 / options.variance(CACHE)), np.zeros(N_FEATURES), tol=1e-9
    )
    return fitted.weights, {"cache": f"fitted on the last {held_out:,} sentences: {fitted.stopped}"}
