"""A training that is cut off and begun again: the same weights to the last bit, and the same record but for seconds."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loglin import LanguageModel, MaxEnt, NaiveBayes, Parser, Tagger
from loglin.errors import LoglinError
from loglin.estimators.selection import select_tagger
from loglin.optimize.checkpoint import Checkpoint, packed, unpacked
from support.estimators import LINES, SENTENCES, TREES, X, Y

WORDS, LABELS = SENTENCES
FEW = WORDS[:20], LABELS[:20]
TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]\nB"
SECOND = "U0:%x[0,0]\nB\nT"
PLAIN = [["dogs", "bark"], ["cats", "see", "dogs", "with", "cats"], ["cats", "see", "dogs"]]
SETS = [{y, str(x["length"] % 2)} for x, y in zip(X, Y, strict=True)]
TIMES = ("seconds", "train_seconds", "peak_memory_mb", "expectation_seconds")
AHEAD = 3  # times that the state is written before a training is cut off


class Crash(Exception):
    """In the place of kill -9."""


def crashing(monkeypatch: pytest.MonkeyPatch, times: int = AHEAD) -> None:
    """From now on a training ends without a word after the state was written so many times."""
    left, write = [times], Checkpoint.write

    def then_crash(self: Checkpoint, running: dict[str, Any]) -> None:
        write(self, running)
        left[0] -= 1
        if not left[0]:
            raise Crash

    monkeypatch.setattr(Checkpoint, "write", then_crash)


def until_it_ends(train: Callable[[], Any], monkeypatch: pytest.MonkeyPatch, times: int = AHEAD) -> tuple[Any, int]:
    """What a training comes to that is cut off again and again, and how often it was."""
    for crashes in range(300):
        with monkeypatch.context() as patch:
            crashing(patch, times)
            try:
                return train(), crashes
            except Crash:
                continue
    raise AssertionError("it never ended")


def timeless(value: Any) -> Any:
    """A record without the seconds that it took."""
    if isinstance(value, dict):
        return {k: timeless(v) for k, v in value.items() if k not in TIMES}
    return [timeless(v) for v in value] if isinstance(value, list) else value


def known(estimator: Any) -> tuple[list[bytes], Any]:
    """All numbers that were learned, as bytes, and the record."""
    model = estimator.model_
    record = estimator.record_ if isinstance(estimator, LanguageModel) else model.record
    if isinstance(estimator, LanguageModel):
        arrays = [getattr(model, "weights", None), getattr(model, "theta", None), estimator.scores(LINES[:4])]
    elif isinstance(estimator, Parser):
        arrays = [model.weights, model.base.rules, model.base.roots, model.lexicon.log_p]
    else:
        base = model.base
        arrays = [model.weights, *([] if base is None else [base.transition, *base.emissions])]
    return [np.asarray(a, float).tobytes() for a in arrays if a is not None], timeless(record)


def tagged(criterion: str = "crf", data: Any = FEW, **given: Any) -> Callable[[Any], Any]:
    given = {"template": TEMPLATE, "max_iter": 12, "tol": 1e-9} | given
    return lambda checkpoint: Tagger(criterion, checkpoint=checkpoint, checkpoint_every=0, **given).fit(*data)


def classified(data: Any = (X, Y), **given: Any) -> Callable[[Any], Any]:
    given = {"max_iter": 12, "tol": 1e-9} | given
    return lambda checkpoint: MaxEnt(checkpoint=checkpoint, checkpoint_every=0, **given).fit(*data)


def parsed(criterion: str, trees: Any = TREES, **given: Any) -> Callable[[Any], Any]:
    given = {"max_iter": 10, "tol": 1e-9} | given
    return lambda checkpoint: Parser(criterion, checkpoint=checkpoint, checkpoint_every=0, **given).fit(trees)


def told(**given: Any) -> Callable[[Any], Any]:
    given = {"max_iter": 10, "tol": 1e-9} | given
    return lambda checkpoint: LanguageModel(checkpoint=checkpoint, checkpoint_every=0, **given).fit(LINES)


HIDDEN = {"data": (WORDS[:12],), "dictionary": {w: ["A", "B"] for s in WORDS for w in s}, "order": 1, "template": None}
CASES = {
    "crf": tagged(),
    "crf, both precisions": tagged(tol=1e-10, max_iter=60),
    "crf, l1": tagged(l1=0.1),
    "crf, no penalty": tagged(l2=0.0, max_iter=30),
    "crf, order 2": tagged(template=SECOND, order=2),
    "crf, certify": tagged(certify=True, tol=1e-4, max_iter=60),
    "crf, held out": tagged(dev=(WORDS[20:40], LABELS[20:40]), max_iter=40),
    "crf, l2 auto": tagged(l2="auto", data=SENTENCES, max_iter=8),
    **{f"crf, {name}": tagged(optimizer=name) for name in ("lbfgs", "gradient", "conjugate-gradient", "sgd")},
    "crf, averaged-sgd": tagged(optimizer="averaged-sgd"),
    "memm": tagged("memm"),
    **{f"memm, {name}": tagged("memm", optimizer=name) for name in ("newton", "gis", "iis")},
    "pseudolikelihood": tagged("pseudolikelihood"),
    "piecewise": tagged("piecewise", settings={"nota": "selected"}),
    "label-likelihood": tagged("label-likelihood"),
    "accuracy": tagged("accuracy"),
    "expected-accuracy": tagged("expected-accuracy"),
    "boosting": tagged("boosting"),
    "margin": tagged("margin"),
    "perceptron": tagged("perceptron"),
    "perceptron, held out": tagged("perceptron", dev=(WORDS[20:40], LABELS[20:40])),
    "m-estimation": tagged("m-estimation"),
    "m-estimation, lbfgs": tagged("m-estimation", settings={"optimizer": "lbfgs"}),
    "contrastive": tagged("contrastive", **HIDDEN, settings={"starts": 2, "annealing": 0.5}),
    "em": tagged("em", **HIDDEN, settings={"starts": 3, "annealing": 0.6}),
    "marginal-likelihood": tagged("marginal-likelihood", **HIDDEN),
    "classes": classified(),
    "classes, float32": classified(dtype="float32"),
    "classes, held out": classified(dev=(X[:20], Y[:20])),
    "classes, perceptron": classified(criterion="perceptron"),
    "classes, newton": classified(optimizer="newton"),
    "classes, far scales": classified(data=([x | {"big": 1e4 * x["length"]} for x in X], Y)),
    "label by label": classified(criterion="margin", data=([x | {"n": n % 7} for n, x in enumerate(X)], Y)),
    "least squares": classified(criterion="least-squares", data=([x | {"n": n % 7} for n, x in enumerate(X)], Y)),
    "label sets, out of fold": classified(data=(X, SETS), multi_label=True, threshold="out-of-fold"),
    "naive Bayes": lambda checkpoint: NaiveBayes(
        objective="conditional", max_iter=15, checkpoint=checkpoint, checkpoint_every=0
    ).fit(X, Y),
    **{f"trees, {name}": parsed(name) for name in ("crf", "mecfg", "piecewise", "perceptron", "m-estimation")},
    "trees, em": parsed("em", settings={"starts": 2, "annealing": 0.5}),
    "trees, em, held out": parsed("em", PLAIN * 3, dev=TREES[:3], settings={"symbols": 3, "starts": 2}),
    "trees, contrastive": parsed("contrastive", settings={"starts": 2}),
    "trees, held out": parsed("crf", dev=TREES[:3]),
    "words": told(),
    "words, lbfgs": told(optimizer="lbfgs"),
    "words, cache": told(features=("bigram", "cache"), dev=LINES[:10]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_training_that_is_cut_off_again_and_again_ends_as_if_it_never_was(name, tmp_path, monkeypatch):
    train, file = CASES[name], tmp_path / "state"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = known(train(None))
        resumed, crashes = until_it_ends(lambda: train(file), monkeypatch)
    weights, record = known(resumed)
    assert crashes >= 1
    assert weights == whole[0]
    assert record == whole[1]
    assert not list(tmp_path.iterdir())
