"""Ctrl-C while an estimator is fitted: what it has learned is kept, the program hears of it, its handlers come back."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from loglin import LanguageModel, MaxEnt, Parser, Tagger
from support.estimators import LINES, SENTENCES, TREES, X, Y


def interrupt(iteration) -> None:
    if iteration.number == 3:
        os.kill(os.getpid(), signal.SIGINT)


LONG = {"callbacks": [interrupt], "tol": 0, "max_iter": 10_000}
CASES = {
    "Tagger": (lambda **how: Tagger(**LONG, **how), SENTENCES, lambda e: e.predict(SENTENCES[0])),
    "perceptron": (
        lambda **how: Tagger("perceptron", callbacks=[interrupt], **how), SENTENCES, lambda e: e.predict(SENTENCES[0]),
    ),
    "MaxEnt": (lambda **how: MaxEnt(**LONG, **how), (X, Y), lambda e: list(e.predict(X))),
    "Parser": (lambda **how: Parser(**LONG, **how), (TREES,), lambda e: e.predict([["dogs", "bark"]])),
    "LanguageModel": (lambda **how: LanguageModel(**LONG, **how), (LINES,), lambda e: e.perplexity(LINES)),
    "cache": (
        lambda **how: LanguageModel(features=("bigram", "cache"), **LONG, **how), (LINES,),
        lambda e: e.perplexity(LINES),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_best_weights_are_kept_and_the_program_hears_of_it(case):
    make, data, use = CASES[case]
    estimator, before = make(threads=1), signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(*data)
    assert signal.getsignal(signal.SIGINT) is before
    assert use(estimator)
    record = estimator.record_ if isinstance(estimator, LanguageModel) else estimator.model_.record
    assert "interrupted" in record["stopped"]
    assert record["iterations"] < 10


def test_a_loop_around_fit_stops():
    rounds = []

    def loop() -> None:
        for seed in range(5):
            rounds.append(seed)
            Tagger(seed=seed, **LONG).fit(*SENTENCES)

    with pytest.raises(KeyboardInterrupt):
        loop()
    assert rounds == [0]


def test_handlers_of_the_program_are_called_and_restored():
    heard = []

    def own(number, frame):
        heard.append(number)

    before = signal.signal(signal.SIGINT, own)
    try:
        with pytest.raises(KeyboardInterrupt):
            MaxEnt(**LONG).fit(X, Y)
        assert signal.getsignal(signal.SIGINT) is own
        assert heard == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


def test_sigterm_is_the_programs():
    heard = []

    def terminate(iteration) -> None:
        if iteration.number == 3:
            os.kill(os.getpid(), signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    try:
        model = MaxEnt(callbacks=[terminate], max_iter=6, tol=0).fit(X, Y).model_
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [signal.SIGTERM]
    assert model.record["iterations"] > 3


def test_before_anything_is_learned_an_interrupt_is_an_interrupt():
    def features(example, candidate):
        os.kill(os.getpid(), signal.SIGINT)
        return [candidate]

    model = MaxEnt(features=features)
    with pytest.raises(KeyboardInterrupt):
        model.fit(["a", "b"], ["x", "y"], candidates=[["x", "y"]] * 2)
    assert not hasattr(model, "model_")


@pytest.mark.parametrize("case", CASES)
def test_other_threads_touch_no_handlers(case, monkeypatch):
    make, data, _ = CASES[case]
    estimator = make(threads=2).set_params(callbacks=None, max_iter=3)
    done, set_ = [], []
    monkeypatch.setattr(signal, "signal", lambda *given: set_.append(given))
    thread = threading.Thread(target=lambda: done.append(estimator.fit(*data)))
    thread.start()
    thread.join()
    assert done
    assert not set_
