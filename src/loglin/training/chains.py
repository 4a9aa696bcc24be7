"""From a design and its labels to a model: features, penalties, optimizer, development data, record."""

from __future__ import annotations

import math
import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from loglin.corpus.columns import Corpus
from loglin.corpus.labels import Choices, Gold, LabelSets
from loglin.criteria.chain import scale_factors
from loglin.criteria.em import expectation_maximization
from loglin.criteria.m_estimation import base_model, counted_hmm
from loglin.criteria.settings import BASES, LATENT, NEIGHBORHOODS, PARTIAL, checked_settings
from loglin.errors import LoglinError
from loglin.features.coverage import Coverage
from loglin.features.cutoff import cut_off
from loglin.features.design import Design
from loglin.features.dictionary import TagDictionary
from loglin.features.index import Everything, FeatureIndex, build_index
from loglin.features.transfer import transferred_weights
from loglin.generative.hmm import HMM
from loglin.models.chain import Model
from loglin.optimize.fit import FAR_TOL
from loglin.optimize.record import Iteration, Result
from loglin.problems.lattices import TokenTypes
from loglin.problems.penalties import instance_weights, penalties
from loglin.problems.problem import Problem
from loglin.structures.automaton import Divergence
from loglin.threads import Threads
from loglin.training.latent import (
    check_held,
    corpus_of,
    lattice_text,
    neighborhood_of,
    possible_labels,
    solve_latent,
    unlabeled_value,
)
from loglin.training.options import Options
from loglin.training.solving import initial_weights, solve
from loglin.training.watch import Development, Watch, interruptible

SMALL = 200_000  # examples times classes
# of label sets, by criterion: how scores are read, and from where on a label is given
DECISIONS = {
    "likelihood": {"steps": "independent", "link": "logistic", "threshold": 0.5},
    "margin": {"steps": "independent", "link": "identity", "threshold": 0.0},
    "least-squares": {"steps": "independent", "link": "identity", "threshold": 0.5},
}


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
    held: Corpus | None = None,
) -> Model:
    """Train a model. ``unpenalized`` marks attributes without a penalty (an intercept).

    ``held`` is text without labels, on which the criterion of a model with hidden labels is reported.
    """
    began, settings = time.perf_counter(), checked_settings(options.criterion, options.settings, options.task)
    options = _with_precision(options, design.n_tokens * len(labels), gold)
    latent = options.task == "tag" and options.criterion in LATENT
    dictionary = _dictionary(design, labels, gold, options)
    if latent:
        hidden, gold = gold, possible_labels(corpus_of(design), dictionary, len(labels))
        if held is not None:
            check_held(held, corpus_of(design), dictionary)
    problem = _problem(design, extractor, labels, gold, options, unpenalized, hidden if latent else None)
    if options.task == "tag" and not latent and options.criterion not in PARTIAL:
        problem.require_labels(options.criterion)
    if options.criterion == "em" and start is not None:
        raise LoglinError(
            "em starts as its setting start says, from no other model; leave out --continue and warm_start"
        )
    if options.criterion in ("hmm", "em"):
        counted = _expected_model if latent else _counted_model
        model = replace(counted(settings, problem, options, began, dictionary, held, callback), dictionary=dictionary)
    else:
        starts = _Start(start, unpenalized)
        model = _weighted_model(settings, problem, options, began, dictionary, starts, development, callback)
    return _with_held(model, design.corpus, held, options)


class _Start(NamedTuple):
    """What is known before training: a model whose weights to begin with, and attributes that are intercepts."""

    model: Model | None
    intercepts: np.ndarray | None

    def weights(self, settings: dict, problem: Problem, options: Options, interrupted) -> np.ndarray | None:
        """Weights to begin with, if any are better than the optimizer's own start."""
        first = None
        if self.model is not None:
            first = transferred_weights(self.model, problem.extractor, problem.labels, problem.index)
        first = initial_weights(settings, problem, options, interrupted) if first is None else first
        if first is None and options.criterion == "likelihood" and options.optimizer == "auto":
            first = _class_shares(problem, self.intercepts)
        return first


def _weighted_model(
    settings: dict,
    problem: Problem,
    options: Options,
    began: float,
    dictionary: TagDictionary | None,
    start: _Start,
    development: Development | None,
    callback: Callable[[Iteration], None] | None,
) -> Model:
    """A model with weights, by the criterion's own way."""
    if options.criterion == "m-estimation":
        settings["base"] = _loaded_base(settings["base"])
    base = base_model(settings, problem) if options.criterion == "m-estimation" else None
    kept = base if settings.get("keep_base") else None
    decoding = DECISIONS.get(options.criterion, {}) if isinstance(problem.gold, LabelSets) else _decoding(settings)
    index = problem.index

    def make(weights: np.ndarray, decoding: dict = decoding) -> Model:
        about = (options.task, problem.labels, problem.extractor, index)
        return Model(*about, weights[: index.n_features], problem.order, {}, kept, decoding, dictionary)

    unscaled = {k: v for k, v in decoding.items() if v != "scaled"}  # the factors come at the end
    watch = Watch(options, development, partial(make, decoding=unscaled), callback)
    with interruptible() as interrupted:
        first = start.weights(settings, problem, options, interrupted)
        if problem.hidden is not None:
            result = solve_latent(settings, problem, options, dictionary, first, watch, interrupted)
        else:
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


def _with_held(model: Model, corpus: Corpus | None, held: Corpus | None, options: Options) -> Model:
    """Record a contrastive model's neighborhood, doubts about its dictionary, and the criterion on held-out text."""
    if options.criterion in LATENT and options.criterion != "em":
        model.record["neighborhood"] = neighborhood_of(options).name
    if options.criterion in LATENT and model.dictionary is not None and corpus is not None:
        coverage = Coverage.of(model.dictionary, model.labels, corpus.columns[0])
        model.record["warnings"] = coverage.warnings()
    if held is not None:
        around = neighborhood_of(options) if options.criterion in NEIGHBORHOODS else None
        try:
            model.record["held_criterion"] = unlabeled_value(model, held, around, options.threads)
        except Divergence as error:  # new words may bring the sum over all sentences beyond its limit
            model.record["held_criterion"] = -math.inf
            model.record.setdefault("warnings", []).append(f"no criterion on {held.source}: {error}")
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


def _problem(design, extractor, labels, gold, options: Options, unpenalized, hidden: Gold | None = None) -> Problem:
    """What is learnt from; ``hidden`` is what annotation says where labels are hidden, and gold what may be."""
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
    weight = instance_weights(design, gold if hidden is None else hidden, labels, options)
    l1, l2 = penalties(extractor, index, options, unpenalized)
    if hidden is None:
        order = 2 if len(index.triples) else 1
    threads = Threads(options.threads)
    return Problem(design, gold, index, labels, order, weight, l1, l2, threads, options.seed, extractor, hidden)


def _everything(design: Design, extractor, templates, options: Options) -> Everything:
    """Where weights for all labels are wanted: everywhere, or for the templates that say so.

    None-of-the-above instances speak against every step from a wrong label, so label bigrams need all pairs.
    """
    wanted = Everything.of(design, options.all_features)
    if options.criterion in LATENT:  # neighbors have label n-grams that no sentence has
        wanted.bigrams[:] = wanted.pairs = wanted.triples = True
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
        column = design.corpus.columns[0]
        if options.criterion in LATENT:  # of the labelled tokens alone: others would allow their words everything
            certain = np.flatnonzero(gold.codes >= 0)
            column, gold = (
                replace(column, codes=column.codes[certain]),
                Gold.certain(gold.codes[certain], gold.n_labels),
            )
        return TagDictionary.of(column, gold, options.dictionary)
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


def _counted_model(settings: dict, problem: Problem, options: Options, began: float, *_) -> Model:
    """A hidden Markov model: a base model without features."""
    hmm = counted_hmm(settings, problem, options.order)
    losses = -hmm.log_probability(problem.design.corpus, problem.gold.codes)
    zeros = int(np.isinf(losses).sum())
    stopped = "an HMM is counted, not optimized; the objective is −log q(x, y)"
    if zeros:
        stopped += f" without {zeros} sentences, which are impossible: a value's first occurrence counted as <oov>"
    found = Result(np.empty(0), float(losses[np.isfinite(losses)].sum()), stopped, True, [], 1)
    return _hmm_model(hmm, problem, options, began, found)


def _expected_model(
    settings: dict, problem: Problem, options: Options, began: float, dictionary, held: Corpus | None, callback
) -> Model:
    """A hidden Markov model by EM; the words of held-out text are known to it."""
    assert problem.hidden is not None
    corpus = corpus_of(problem.design)
    types = TokenTypes.of(corpus, *([] if held is None else [held]))
    text = lattice_text(types, corpus.offsets, dictionary, problem.hidden, len(problem.labels))
    with interruptible() as interrupted:
        found = expectation_maximization(
            text,
            problem.labels,
            problem.order,
            settings,
            options.seed,
            problem.threads,
            problem.weight,
            None if callback is None else (lambda iteration, hmm: callback(iteration)),
            interrupted,
            options.max_iter,
            options.tol * FAR_TOL,
        )
    result = Result(np.empty(0), -found.log_likelihood, found.stopped, found.converged, found.iterations)
    model = _hmm_model(found.model, problem, options, began, result)
    model.record |= {"log_likelihood": found.log_likelihood, "map": found.map_value, "starts": found.starts}
    return model


def _hmm_model(hmm: HMM, problem: Problem, options: Options, began: float, found: Result) -> Model:
    L, n, nothing = problem.index.n_labels, hmm.extractor.n_attributes, np.empty(0, np.int32)
    index = FeatureIndex(
        L, np.zeros(n + 1, np.int64), nothing.astype(np.uint16), np.zeros(1, np.int64), nothing, nothing,
        np.empty(0, np.int64),
    )  # fmt: skip
    record = _record(options, problem, began) | {
        "objective": found.value,
        "iterations": len(found.iterations),
        "evaluations": max(found.evaluations, len(found.iterations)),
        "stopped": found.stopped,
        "converged": found.converged,
        "n_features": sum(e.size for e in hmm.emissions) + hmm.transition.size,
        "active_features": 0,
        "history": [i.as_dict() for i in found.iterations],
    }
    return Model("tag", problem.labels, hmm.extractor, index, np.empty(0, np.float32), 1, record, hmm)


def _record(options: Options, problem: Problem, began: float) -> dict:
    given = {f.name: _plain(getattr(options, f.name)) for f in fields(options) if f.name != "instance_weights"}
    given["neighborhood"] = getattr(options.neighborhood, "name", None)
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
