"""Calls of the five estimators with wild arguments."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from fuzz import prepared, wild
from loglin import LanguageModel, MaxEnt, NaiveBayes, Parser, Tagger
from loglin.structures.local import MOST

# how each estimator is made quick, what it learns from, and what its methods are given
GOOD: dict[type, tuple[dict, tuple]] = {
    Tagger: ({"max_iter": 2, "threads": 1}, (prepared.SENTENCES, prepared.LABELS)),
    MaxEnt: ({"max_iter": 2, "threads": 1}, (prepared.ATTRIBUTES, prepared.CLASSES)),
    NaiveBayes: ({"threads": 1}, (prepared.ATTRIBUTES[:2], prepared.CLASSES[:2])),
    Parser: ({"criterion": "pcfg", "threads": 1}, (prepared.TREES,)),
    LanguageModel: ({"max_iter": 2, "threads": 1}, (["the dog barks", "a cat"],)),
}
METHODS: dict[type, list[str]] = {
    Tagger: ["predict", "predict_proba", "predict_nbest", "entities", "score", "explain", "evaluate"],
    MaxEnt: ["predict", "predict_proba", "decision_function", "score", "explain"],
    NaiveBayes: ["predict", "predict_proba", "predict_joint_log_proba", "score"],
    Parser: ["predict", "parse", "parse_nbest", "marginals", "sample", "score", "explain"],
    LanguageModel: ["perplexity", "scores", "score", "evaluate", "sample"],
}
MADE = {Tagger: prepared.tagger, MaxEnt: prepared.maxent, NaiveBayes: prepared.naive_bayes, Parser: prepared.parser,
        LanguageModel: prepared.language_model}  # fmt: skip


def _spoilt(rng: random.Random, value: Any) -> Any:
    """A good value with something wild in one place of it, or in its place."""
    if isinstance(value, list | tuple) and value and rng.random() < 0.75:
        items = list(value)
        at = rng.randrange(len(items))
        if rng.random() < 0.2:
            del items[at]
        else:
            items[at] = _spoilt(rng, items[at])
        return items
    if isinstance(value, dict) and rng.random() < 0.7:
        return value | {rng.choice(wild.STRINGS): wild.value(rng, 1)}
    return rng.choice([value, wild.value(rng)]) if rng.random() < 0.2 else wild.value(rng)


def _fit(estimator: type, rng: random.Random) -> None:
    settings, data = GOOD[estimator]
    names = [n for n in estimator().get_params() if n not in ("max_iter", "callbacks") and "__" not in n]
    settings = dict(settings)
    for _ in range(rng.randrange(2)):
        settings[rng.choice(names)] = wild.value(rng, 1)
    given = [_spoilt(rng, one) if rng.random() < 0.6 else one for one in data]
    made = estimator(**settings).fit(*given)
    made.predict(data[0]) if hasattr(made, "predict") else made.perplexity(data[0])


def _required(method: Callable) -> int:
    given = inspect.signature(method).parameters.values()
    return sum(p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD for p in given)


def _use(estimator: type, rng: random.Random) -> None:
    made, data = MADE[estimator](), GOOD[estimator][1]
    name = rng.choice([m for m in METHODS[estimator] if hasattr(made, m)])
    given = [_spoilt(rng, data[0])]
    if name in ("score", "evaluate") and len(data) > 1:
        given.append(_spoilt(rng, data[1]) if rng.random() < 0.5 else data[1])
    elif name in ("explain", "parse_nbest", "predict_nbest", "sample", "marginals") or rng.random() < 0.1:
        given += [wild.value(rng, 1)] if rng.random() < 0.5 else []
    method = getattr(made, name)
    takes = sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in inspect.signature(method).parameters.values())
    given = [*given, 0, 0][: max(len(given), _required(method))][:takes]
    if name == "sample" and given and type(given[0]) is int and given[0] > 100:
        given[0] = min(given[0], 100) if given[0] <= MOST else given[0]  # so many would be drawn, in minutes
    try:
        found = method(*given)
        if name == "predict_proba":
            for rows in found if estimator is Tagger else [found]:
                if len(rows) and not isinstance(rows[0], dict):
                    prepared.check_probabilities(np.asarray(rows))
    except Exception as error:
        error.add_note(f"{estimator.__name__}.{name}(*{given!r})"[:2000])
        raise


def case(estimator: type, rng: random.Random) -> None:
    (_fit if rng.random() < 0.15 else _use)(estimator, rng)


KINDS: dict[str, Callable[[random.Random], None]] = {e.__name__.lower(): partial(case, e) for e in GOOD}
