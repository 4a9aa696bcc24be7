"""Attributes taken in sentence by sentence: the same as looking at every token by itself."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from loglin import LoglinError, Tagger
from loglin.features import attributes
from loglin.features.attributes import AttributeExtractor, AttributeReader, attributes_of
from support.weather import weather

X, Y = weather(50, seed=3)
PLAIN = [
    [{"a": "x", "n": 0, "t": True}, {"a": "x", "n": False, "t": 1}, {"a": "x", "n": 0.0, "t": 1.0}],
    [{"n": True, "t": np.float64(2.5)}, {"n": np.int64(0)}, {}],
    [["p", "q"], [], ("p",)],
    [{"n": 1e-300, "a": "", "": "x"}, {"n": -0.0}],
]


def listed(reader):
    """(name, value) pairs of every token, of sentences."""
    lists = reader.lists()
    tokens = lists.tokens
    values = tokens.values if tokens.values.size else np.ones(len(tokens.ids))
    rows = [
        [(lists.names[a], v) for a, v in zip(tokens.ids[b:e].tolist(), values[b:e].tolist(), strict=True) if a >= 0]
        for b, e in itertools.pairwise(tokens.ptr.tolist())
    ]
    return [rows[b:e] for b, e in itertools.pairwise(lists.offsets.tolist())]


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("most", [0, 3, 10_000], ids="at most {} numbers as keys".format)
@pytest.mark.parametrize("sentences", [X, PLAIN, PLAIN[::-1]], ids=["nested", "plain", "backwards"])
def test_what_is_taken_in(sentences, most, zeros, monkeypatch):
    monkeypatch.setattr(attributes, "MOST_VALUES", most)
    reader = AttributeReader(zeros)
    for sentence in sentences:
        reader.add(sentence)
    assert listed(reader) == [[list(attributes_of(token, zeros=zeros)) for token in s] for s in sentences]


def test_chosen_sentences():
    reader = AttributeReader()
    for sentence in PLAIN:
        reader.add(sentence)
    chosen = reader.lists().select(np.array([3, 0]))
    design = AttributeExtractor()
    again = AttributeExtractor()
    assert design.fit(chosen).tokens.values.tolist() == again.fit([PLAIN[3], PLAIN[0]]).tokens.values.tolist()
    assert sorted(design.names.strings) == sorted(again.names.strings)


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), 10**400])
def test_a_sentence_that_is_refused_leaves_nothing(value, monkeypatch):
    for most in (0, 10_000):
        monkeypatch.setattr(attributes, "MOST_VALUES", most)
        for zeros in (False, True):
            reader = AttributeReader(zeros)
            reader.add([{"a": "x", "n": 2.0}])
            with pytest.raises(LoglinError, match=r"sentence 1, token 1: attribute 'n' has the value"):
                reader.add([{"a": "y", "n": 3.0}, {"n": value}])
            reader.add([{"a": "z"}])
            assert listed(reader) == [[[("a:x", 1.0), ("n", 2.0)]], [[("a:z", 1.0)]]]


def test_what_is_false_is_seen_with_its_label_as_in_crfsuite():
    X = [[{"d": True, "b": 1}, {"d": False, "b": 1}]] * 2
    Y = [["yes", "no"]] * 2
    features = {}
    for like in (None, "crfsuite"):
        model = Tagger(like=like, features=lambda s: s).fit(X, Y).model_
        index = model.index
        d = model.extractor.names.code("d")
        features[like] = [model.labels[y] for y in index.labels[index.ptr[d] : index.ptr[d + 1]]]
        assert not (model.extractor.transform(X).tokens.values == 0).any()
    assert features == {None: ["yes"], "crfsuite": ["yes", "no"]}
