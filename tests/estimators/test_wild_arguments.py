"""Arguments of kinds that nobody expects: a sentence, not an exception of whatever meets them first."""

from __future__ import annotations

import numpy as np
import pytest

from fuzz import calls, prepared
from loglin import Chain, Forest, Lattice, LoglinError, Parser, Tagger
from loglin.structures import Local


@pytest.mark.parametrize("value", [[], {}, np.array([]), np.array([1, 2]), object()])
@pytest.mark.parametrize("estimator", calls.GOOD)
def test_parameters(estimator, value):
    settings, data = calls.GOOD[estimator]
    with pytest.raises(LoglinError, match="threads is"):
        estimator(**settings | {"threads": value}).fit(*data)


@pytest.mark.parametrize("number", [-1, 1.5, None, "3", [1], np.nan, 2**70])
def test_numbers_of_answers(number):
    chain, local = Chain(np.zeros((2, 2)), np.zeros((2, 2))), Local(np.zeros((2, 2)))
    draw = np.random.default_rng(0)
    for call in (
        lambda: chain.nbest(number),
        lambda: chain.sample(number, draw),
        lambda: local.nbest(number),
        lambda: local.sample(number, draw),
        lambda: prepared.tagger().predict_nbest(prepared.SENTENCES, number),
        lambda: prepared.parser().parse_nbest([["the", "dog"]], number),
        lambda: prepared.parser().sample(["the", "dog"], number),
        lambda: prepared.language_model().sample(number),
    ):
        with pytest.raises(LoglinError, match="Cannot list"):
            call()


@pytest.mark.parametrize("span", [0, (), (1,), (0, 1, 2), ("a", "b"), (0.5, 1), None])
def test_spans(span):
    with pytest.raises(LoglinError, match="give two whole numbers"):
        prepared.parser().explain(["the", "dog"], span)


def test_what_structures_refuse():
    chain = Chain(np.zeros((2, 2)), np.zeros((2, 2)))
    for call, words in (
        (lambda: chain.restrict(3), "Cannot restrict to 3"),
        (lambda: chain.restrict({"a": 1}), "Cannot restrict position 'a'"),
        (lambda: chain.restrict({0: "a"}), "Cannot restrict position 0 to 'a'"),
        (lambda: chain.score(None), "Cannot score None"),
        (lambda: Local([[10**400]]), "must be an array of numbers"),
        (lambda: Lattice(1, 2, np.zeros((1, 3, 3)), np.zeros(1)), "give WordLattices and Sites"),
        (lambda: Forest({}, np.zeros((1, 1)), np.zeros(1)), "give a Grammar"),
        (lambda: prepared.parser().predict(3), "give a list of sentences"),
        (lambda: Parser([]).fit(prepared.TREES), "no criterion is called"),
    ):
        with pytest.raises(LoglinError, match=words):
            call()


@pytest.mark.parametrize("l2", [1e20, 1e30, 1e300])
def test_penalties_that_leave_no_weights(l2):
    tagger = Tagger(l2=l2, threads=1).fit(prepared.SENTENCES, prepared.LABELS)
    assert np.abs(tagger.model_.weights).max() < 1e-6
