"""Count cut-offs against a plain count of what fires where."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from loglin import LoglinError, MaxEnt, Tagger
from loglin.corpus.labels import gold_of_sequences
from loglin.features.attributes import AttributeExtractor
from loglin.features.cutoff import cut_off
from loglin.features.index import build_index


@pytest.mark.parametrize("cutoff", [1, 2, 3])
def test_counts_are_those_of_a_plain_loop(cutoff):
    rng = np.random.default_rng(0)
    sentences = [[[f"a{k}" for k in set(rng.integers(0, 4, 3))] for _ in range(rng.integers(0, 6))] for _ in range(30)]
    labels = [[("x", "y", "z")[k] for k in rng.integers(0, 3, len(s))] for s in sentences]
    extractor = AttributeExtractor()
    design = extractor.fit(sentences)
    names, gold = gold_of_sequences(labels, [len(s) for s in sentences])
    index = cut_off(build_index(design, gold, False, True, 2), design, gold.allowed(), cutoff)
    L, unigrams, grams = len(names), Counter(), Counter()
    for sentence, tags in zip(sentences, labels, strict=True):
        codes = [names.index(tag) for tag in tags]
        unigrams.update((name, code) for token, code in zip(sentence, codes, strict=True) for name in token)
        grams.update(itertools.pairwise(codes))
        grams.update(zip(codes, codes[1:], codes[2:], strict=False))
    attribute = np.repeat(np.arange(design.n_attributes), np.diff(index.ptr))
    found = {(extractor.attribute_name(a), int(y)) for a, y in zip(attribute, index.labels, strict=True)}
    assert found == {key for key, count in unigrams.items() if count >= cutoff}
    pairs = {tuple(divmod(int(p), L)) for p in index.pairs}
    assert pairs == {gram for gram, count in grams.items() if len(gram) == 2 and count >= cutoff}
    triples = {(int(t) // L**2, int(t) // L % L, int(t) % L) for t in index.triples}
    assert triples == {gram for gram, count in grams.items() if len(gram) == 3 and count >= cutoff}


def test_observed_bigrams_are_cut_off_too():
    template = "U:%x[0,0]\nB\nB01:%x[0,0]\n"
    X, y = [["a", "b"], ["a", "b"], ["a", "c"]], [["P", "Q"], ["P", "Q"], ["P", "Q"]]
    few = Tagger(template=template, cutoff=3).fit([[[w] for w in s] for s in X], y).model_
    assert few.index.sizes == (1, 0, 1, 0)  # a/P; P→Q


def test_cutoff_of_a_classifier_is_by_class():
    X, y = [["a"], ["a"], ["a"], ["b"]], ["p", "p", "q", "q"]
    votes = MaxEnt(cutoff=2).fit(X, y).explain(["a", "b"])
    assert {v.feature: set(v.votes) for v in votes} == {"a": {"p"}, "(intercept)": {"p", "q"}}
    with pytest.raises(LoglinError, match="cutoff is 0"):
        MaxEnt(cutoff=0).fit(X, y)


def test_variances_by_group():
    X, y = [["w=a", "s=x"], ["w=b", "s=y"]] * 3, ["p", "q"] * 3
    model = MaxEnt(variances={"w=*": 10.0, "s=*": 0.01}).fit(X, y)
    votes = {v.feature: max(v.votes.values()) for v in model.explain(["w=a", "s=x"])}
    assert votes["w=a"] > 50 * votes["s=x"] > 0
    with pytest.raises(LoglinError, match="no attribute is left"):
        MaxEnt(variances={"z*": 1.0}).fit(X, y)
    with pytest.raises(LoglinError, match="is -1; give a number above 0"):
        MaxEnt(variances={"w=*": -1}).fit(X, y)


def test_numbers_of_numpy_are_numbers():
    X, y = [["w=a", "s=x"], ["w=b", "s=y"]] * 3, ["p", "q"] * 3
    plain = MaxEnt(l2=0.5, cutoff=2, variances={"w=*": 4}).fit(X, y)
    model = MaxEnt(l2=np.float32(0.5), cutoff=np.int64(2), variances={"w=*": np.int64(4)}).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    with pytest.raises(LoglinError, match="cutoff is True"):
        MaxEnt(cutoff=True).fit(X, y)
