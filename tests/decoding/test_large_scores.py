"""Probabilities sum to one or are refused, however large weights and values are."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from loglin import LoglinError, MaxEnt, Tagger

X = [[{"a": 1.0, "b": 2.0}, {"c": 1.0}, {"a": -1.0, "c": 3.0}], [{"b": 1.0}, {"a": 2.0, "b": -3.0}]]
Y = [["A", "B", "A"], ["C", "A"]]


def scaled(factor: float) -> list:
    return [[{name: value * factor for name, value in token.items()} for token in sentence] for sentence in X]


@pytest.mark.parametrize("factor", [1e5, 1e9, 1e12, 1e15, 1e30, 1e100, 1e200, 1e300])
def test_values(factor):
    for criterion in ("perceptron", "crf", "memm"):
        tagger = Tagger(criterion, max_iter=3).fit(X, Y)
        tagger.model_.weights *= 3.7
        check(tagger, scaled(factor))


@pytest.mark.parametrize("factor", [1e5, 1e9, 1e12, 1e30, 1e150, 1e300])
@pytest.mark.parametrize("order", [1, 2])
def test_weights(factor, order):
    text = [["x", "y", "z"], ["y", "x"]]
    tagger = Tagger(template="U:%x[0,0]\nB\n" + "T\n" * (order == 2), order=order, max_iter=3).fit(text, Y)
    tagger.model_.weights = tagger.model_.weights.astype(float) * factor
    check(Tagger.from_model(tagger.model_), text)


def check(tagger, text) -> None:
    with contextlib.suppress(LoglinError):
        assert [len(y) for y in tagger.predict(text)] == [len(x) for x in text]
    with contextlib.suppress(LoglinError):
        for rows in tagger.predict_proba(text):
            assert np.allclose(rows.sum(axis=1), 1, atol=1e-6)
    with contextlib.suppress(LoglinError):
        for best in tagger.predict_nbest(text, 100):
            assert sum(p for _, p in best) == pytest.approx(1, abs=1e-5)
    with contextlib.suppress(LoglinError):
        for found in tagger.entities(text):
            assert all(0 <= e.probability <= 1 for e in found)


@pytest.mark.parametrize("factor", [1e5, 1e15, 1e100, 1e300])
def test_classes(factor):
    model = MaxEnt(max_iter=3).fit(X[0], ["A", "B", "C"])
    with contextlib.suppress(LoglinError):
        assert np.allclose(model.predict_proba(scaled(factor)[0]).sum(axis=1), 1)


def test_large_values_keep_their_digits():
    """As large as they are, differences decide: the same labels and probabilities as of a hard choice."""
    tagger = Tagger(max_iter=3).fit(X, Y)
    labels, large = tagger.model_.labels, scaled(1e30)
    for rows, found in zip(tagger.predict_proba(large), tagger.predict(large), strict=True):
        assert [labels[i] for i in rows.argmax(axis=1)] == found
        assert rows.max(axis=1).min() > 0.3
