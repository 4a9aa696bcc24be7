"""From a design and its labels to a model: features, penalties, optimizer, development data, record."""

from __future__ import annotations

import fnmatch
import math
import re
import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np

from loglin.corpus.labels import Choices, Gold, LabelSets
from loglin.errors import LoglinError
from loglin.features.cutoff import cut_off
from loglin.features.design import Design
from loglin.features.dictionary import TagDictionary, given_dictionary
from loglin.features.index import Everything, FeatureIndex, build_index
from loglin.features.transfer import transferred_weights
from loglin.methods.chain import scale_factors
from loglin.methods.m_estimation import base_model, counted_hmm
from loglin.methods.problem import Problem
from loglin.methods.settings import BASES, check_optimizer, checked_settings
from loglin.model import Model
from loglin.optimize.record import Iteration
from loglin.parallel.threads import Threads
from loglin.solving import initial_weights, solve
from loglin.watch import Development, Watch, interruptible

SMALL = 200_000  # examples times classes
# of label sets, by criterion: how scores are read, and from where on a label is given
DECISIONS = {
    "likelihood": {"steps": "independent", "link": "logistic", "threshold": 0.5},
    "margin": {"steps": "independent", "link": "identity", "threshold": 0.0},
    "least-squares": {"steps": "independent", "link": "identity", "threshold": 0.5},
}


@dataclass(frozen=True)
class Options:
    """How to train. The defaults end within 0.1 % of the optimum; with observed label bigrams 0.2, pieces 0.4 %."""

    criterion: str = "crf"
    task: str = "tag"  # or "classify": each example alone; "rank": each among candidates of its own
    l1: float = 0.0
    l2: float = 1.0
    optimizer: str = "auto"  # see methods.settings.OPTIMIZERS
    order: int = 1
    all_features: bool = False
    cutoff: int = 1  # features (attribute and label together) seen less often are left out
    variances: Mapping | None = None  # pattern of attribute names (or a column) → variance of its Gaussian prior
    dictionary: Any = 0  # what given_dictionary takes; kept as a count, or (label names, TagDictionary)
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
        settings = checked_settings(self.criterion, self.settings, self.task)
        for name in ("l1", "l2", "tol"):
            value = getattr(self, name)
            if not isinstance(value, Real) or not math.isfinite(value) or value < 0:
                raise LoglinError(f"{name} is {value!r}; give a number of at least 0")
        check_optimizer(self.optimizer, self.criterion, settings, self.l1)
        if self.order not in (1, 2):
            raise LoglinError(f"order is {self.order!r}; a chain is of order 1 or 2")
        if not isinstance(self.cutoff, Integral) or isinstance(self.cutoff, bool) or self.cutoff < 1:
            raise LoglinError(f"cutoff is {self.cutoff!r}; give a whole number of at least 1, the fewest occurrences")
        for name, value in (self.variances or {}).items():
            if not isinstance(value, Real) or not value > 0:
                raise LoglinError(f"the variance of {name!r} is {value!r}; give a number above 0")
        names, dictionary = given_dictionary(self.dictionary)
        object.__setattr__(self, "dictionary", dictionary if names is None else (names, dictionary))
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
    gold: Gold | LabelSets | Choices,
    options: Options,
    *,
    start: Model | None = None,
    development: Development | None = None,
    callback: Callable[[Iteration], None] | None = None,
    unpenalized: np.ndarray | None = None,
) -> Model:
    """Train a model. ``unpenalized`` marks attributes without a penalty (an intercept)."""
    began, settings = time.perf_counter(), checked_settings(options.criterion, options.settings, options.task)
    options = _with_precision(options, design.n_tokens * len(labels), gold)
    problem = _problem(design, extractor, labels, gold, options, unpenalized)
    if options.task == "tag":
        problem.require_labels(options.criterion)
    dictionary = _dictionary(design, labels, gold, options)
    if options.criterion == "hmm":
        return replace(_counted_model(settings, problem, options, began), dictionary=dictionary)
    if options.criterion == "m-estimation":
        settings["base"] = _loaded_base(settings["base"])
    base = base_model(settings, problem) if options.criterion == "m-estimation" else None
    kept = base if settings.get("keep_base") else None
    decoding = DECISIONS.get(options.criterion, {}) if isinstance(gold, LabelSets) else _decoding(settings)
    index = problem.index

    def make(weights: np.ndarray, decoding: dict = decoding) -> Model:
        weights = weights[: index.n_features]
        return Model(options.task, labels, extractor, index, weights, problem.order, {}, kept, decoding, dictionary)

    unscaled = {k: v for k, v in decoding.items() if v != "scaled"}  # the factors come at the end
    watch = Watch(options, development, partial(make, decoding=unscaled), callback)
    with interruptible() as interrupted:
        first = transferred_weights(start, extractor, labels, index) if start is not None else None
        first = initial_weights(settings, problem, options, interrupted) if first is None else first
        if first is None and options.criterion == "likelihood" and options.optimizer == "auto":
            first = _class_shares(problem, unpenalized)
        result = solve(settings, problem, options, base, first, watch, interrupted)
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
        "unbounded": result.unbounded,
        "active_features": int(np.count_nonzero(weights)),
        "history": [i.as_dict() for i in watch.history],
    }
    return model


def _with_precision(options: Options, size: int, gold: Any) -> Options:
    """A classifier is trained in double precision where single gains nothing: a small one, or label by label."""
    apart = isinstance(gold, LabelSets) or options.criterion in ("margin", "least-squares")
    if options.dtype != "auto" or options.task == "tag" or not (apart or size < SMALL):
        return options
    return replace(options, dtype="float64")


def _class_shares(problem: Problem, intercept: np.ndarray | None) -> np.ndarray | None:
    """Weights that say nothing but how frequent the classes are, nearer than zero; None without an intercept."""
    if intercept is None or not problem.gold.all_certain:
        return None
    has = problem.gold.allowed().astype(np.float64)
    weight = np.ones(len(has)) if problem.weight is None else problem.weight
    share = np.clip(weight @ has / weight.sum(), 0.5 / len(has), 1 - 0.5 / len(has))
    bias = np.log(share) - (np.log(1 - share) if isinstance(problem.gold, LabelSets) else 0.0)
    weights = np.zeros(problem.index.n_features)
    feature = np.repeat(intercept, np.diff(problem.index.ptr))
    weights[: len(feature)][feature] = bias[problem.index.labels[feature]]
    return weights


def _problem(design, extractor, labels, gold, options: Options, unpenalized) -> Problem:
    templates = getattr(getattr(extractor, "templates", None), "templates", ())
    transitions = options.task == "tag" and (
        not templates or any(t.kind == "bigram" and not t.items for t in templates)
    )
    order = 2 if any(t.kind == "trigram" for t in templates) else options.order
    index = build_index(design, gold, _everything(design, extractor, templates, options), transitions, order)
    if options.cutoff > 1:
        index = cut_off(index, design, gold.allowed(), options.cutoff, unpenalized)
    if index.n_features == 0:
        raise LoglinError("no feature is left to learn; lower min_count or cutoff, or give the tokens attributes")
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
    wanted.pairs |= options.criterion == "piecewise" or (options.settings or {}).get("nota", "none") != "none"
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


def labels_together(labels: list, gold: Gold, options: Options) -> tuple[list, Gold]:
    """The labels of the data, then those that only a given dictionary has."""
    if isinstance(options.dictionary, int):
        return labels, gold
    together = list(dict.fromkeys([*labels, *options.dictionary[0]]))
    return together, gold.widened(len(together))


def _dictionary(
    design: Design, labels: list, gold: Gold | LabelSets | Choices, options: Options
) -> TagDictionary | None:
    """The dictionary that decoding will heed; the labels of the data must not contradict a given one."""
    if not options.dictionary:
        return None
    if design.corpus is None or not isinstance(gold, Gold):
        raise LoglinError(
            "a tag dictionary needs words, but the tokens are attributes; give a template, or dictionary 0"
        )
    if isinstance(options.dictionary, int):
        return TagDictionary.of(design.corpus.columns[0], gold, options.dictionary)
    names, dictionary = options.dictionary
    dictionary = dictionary.relabeled(names, labels)
    dictionary.refuse_conflicts(design.corpus, gold, labels)
    return dictionary


def _loaded_base(base: Any) -> Any:
    """The base model of a model file, where the setting names one."""
    if not isinstance(base, str) or base in BASES:
        return base
    found = Model.load(base).base
    if found is None:
        raise LoglinError(f"{base} has no base model; train one with criterion hmm")
    return found


def _decoding(settings: dict) -> dict:
    """How a model of this criterion decodes, beyond plainly."""
    steps, beam = settings.get("decoding", "global"), settings.get("beam", 0)
    if steps == "auto":  # of pieces: all wrong sources make a global model, some of them a local one
        steps = "global" if settings["nota"] == "all" else "nota"
    return ({"steps": steps} if steps != "global" else {}) | ({"beam": beam} if beam else {})


def _counted_model(settings: dict, problem: Problem, options: Options, began: float) -> Model:
    """A hidden Markov model: a base model without features."""
    hmm = counted_hmm(settings, problem, options.order)
    L, n, nothing = problem.index.n_labels, hmm.extractor.n_attributes, np.empty(0, np.int32)
    index = FeatureIndex(
        L, np.zeros(n + 1, np.int64), nothing.astype(np.uint16), np.zeros(1, np.int64), nothing, nothing,
        np.empty(0, np.int64),
    )  # fmt: skip
    losses = -hmm.log_probability(problem.design.corpus, problem.gold.codes)
    zeros = int(np.isinf(losses).sum())
    stopped = "an HMM is counted, not optimized; the objective is −log q(x, y)"
    if zeros:
        stopped += f" without {zeros} sentences, which are impossible: a value's first occurrence counted as <oov>"
    record = _record(options, problem, began) | {
        "objective": float(losses[np.isfinite(losses)].sum()),
        "iterations": 0,
        "evaluations": 1,
        "stopped": stopped,
        "converged": True,
        "n_features": sum(e.size for e in hmm.emissions) + hmm.transition.size,
        "active_features": 0,
        "history": [],
    }
    return Model("tag", problem.labels, hmm.extractor, index, np.empty(0, np.float32), 1, record, hmm)


def _record(options: Options, problem: Problem, began: float) -> dict:
    given = {f.name: _plain(getattr(options, f.name)) for f in fields(options) if f.name != "instance_weights"}
    if not isinstance(options.dictionary, int):
        given["dictionary"] = "given"  # it stands in the model
    return {
        "criterion": options.criterion,
        "n_features": problem.index.n_features,
        "sentences": problem.design.n_sentences,
        "tokens": problem.design.n_tokens,
        "options": given,
        "train_seconds": time.perf_counter() - began,
        "threads": problem.threads.n,
        "peak_memory_mb": peak_memory_mb(),
    }


def _plain(value: Any) -> Any:
    """Options as JSON can hold them; what it cannot, by name."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    value = value.item() if isinstance(value, np.generic) else value
    return value if value is None or isinstance(value, str | int | float | bool | list) else type(value).__name__


def _stored(options: Options) -> type:
    """Taggers are stored in single precision unless asked; a classifier as exactly as it was trained."""
    exact = options.dtype == "float64" or (options.task != "tag" and options.dtype == "auto")
    return np.float64 if exact else np.float32


def peak_memory_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def _instance_weights(design: Design, gold: Any, labels: list, options: Options) -> np.ndarray | None:
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
        if not isinstance(gold, Gold):
            raise LoglinError("weights of classes need one class an example; weigh the examples with sample_weight")
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
    if options.variances:
        unigram = index.split(l2)[0]
        unigram[:] = np.repeat(_group_strengths(extractor, options), np.diff(index.ptr))
    if unpenalized is not None:
        free = np.repeat(unpenalized, np.diff(index.ptr))
        l1[: len(free)][free] = 0.0
        l2[: len(free)][free] = 0.0
    return l1, l2


def _group_strengths(extractor, options: Options) -> np.ndarray:
    """1 / variance of every attribute: of the first group whose pattern its name matches, else l2."""
    n = extractor.n_attributes
    strength = np.full(n, float(options.l2))
    names = [extractor.attribute_name(a) for a in range(n)]
    waiting = np.ones(n, bool)
    for group, variance in (options.variances or {}).items():
        matches = re.compile(fnmatch.translate(str(group))).match
        found = waiting & np.fromiter((matches(name) is not None for name in names), bool, n)
        if not found.any():
            raise LoglinError(
                f"no attribute is left for the variance of {group!r}; write a name, or a pattern such as w*"
            )
        strength[found], waiting[found] = 1 / float(variance), False
    return strength
