"""Attributes looked up once per value are those that are looked up at every token."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loglin import Tagger
from loglin.corpus.columns import from_sentences
from loglin.features import places
from loglin.features.extract import TemplateExtractor
from loglin.features.template import parse_templates

TEMPLATES = {
    "words": "U0:%x[0,0]\nU1:%lower[0,0]\nU2:%suffix[0,0,1]\nU3:%shape[-1,0]\nU4:%prefix[-1,0,1]\nU5:%x[1,0]/%x[0,0]",
    "two columns": "U0:%x[0,1]\nU1:%lower[0,1]\nU2:%x[0,0]\nU3:%shape[0,0]\nU4:%x[2,1]\nU5:%suffix[2,1,2]\nB:%x[0,1]",
    "distance": "#! boundary=distance\nU0:%x[-2,0]\nU1:%lower[-2,0]\nU2:%x[2,0]\nU3:%shape[2,0]\nU4:%x[3,0]\n",
    "n-grams": "U0:%ngrams[0,0,1,3]\nU1:%ngrams[-1,0,2,2]\nU2:%ngrams[-1,0,1,1]\nU3:%x[-1,0]\nU4:%edge[-1,0]\nB\n",
    "unknown": "#! oov=first\nU0:%x[0,0]\nU1:%suffix[0,0,1]\nU2:%ngrams[0,0,2,2]\nU3:%x[-1,0]/%x[0,1]\nB\n",
    "windows": "U0:%x[-1,1]/%x[0,1]\nU1:%x[0,1]/%x[2,1]\nU2:%lower[0,1]\nU3:%x[-2,1]/%x[-1,1]/%lower[0,1]\nU4:%x[1,0]",
    "wide": "U0:%x[-2,1]/%x[2,1]\nU1:%edge[1,1]/%x[0,1]\nU2:%x[0,0]/%suffix[0,0,1]\nU3:%x[-3,0]/%shape[0,0]",
    "far": "#! boundary=distance\nU0:%x[-3,1]/%x[-2,1]\nU1:%x[-2,1]/%x[2,1]\nU2:%x[4,1]/%x[0,1]\nU3:%x[-1,0]\nB",
    "some": '#! min_count=2\nU0:%if[0,0,"a"]\nU1:%rare[0,0,2]\nU2:%t[0,0,"^A"]\nU3:%m[0,0,"b+"]\n*5:%lower[0,0]',
}
tokens = st.tuples(st.text("abAB1-İ", max_size=3), st.sampled_from(["N", "V", "n"]))
corpora = st.lists(st.lists(tokens, max_size=5), max_size=6)


def attributes(design):
    """For every token the sorted numbers of its attributes."""
    lists = design.unfolded()
    found = [lists.ids[b:e] for b, e in zip(lists.ptr[:-1], lists.ptr[1:], strict=True)]
    return [sorted(ids[ids >= 0].tolist()) for ids in found]


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("long", [False, True])
@given(train=corpora, other=corpora)
@settings(max_examples=40, deadline=None)
def test_attributes_by_value_are_those_by_token(name, long, train, other):
    extractor = TemplateExtractor(parse_templates(TEMPLATES[name]))
    extractor.fit(from_sentences([*train, [("aB", "N"), ("b", "V")]]))
    text = from_sentences(other)
    with pytest.MonkeyPatch.context() as patch:
        for constant in ("LONG", "SHARED", "REPEATED") if long else ():  # as if every value occurred often
            patch.setattr(places, constant, 0)
        by_value, by_token = extractor.transform_by_value(text, 10**6), extractor.transform(text)
    assert attributes(by_value) == attributes(by_token)
    assert by_value.bigrams.ids.tolist() == by_token.bigrams.ids.tolist()
    if text.n_tokens and (long or name not in ("windows", "wide", "far")):
        assert by_value.heads is not None


def test_windows_of_few_values_are_heads():
    rng = np.random.default_rng(0)
    template = parse_templates("U0:%x[-1,1]/%x[0,1]/%x[1,1]\nU1:%x[0,1]\nU2:%x[0,0]/%x[1,0]\nU3:%x[0,0]")
    rows = [[(f"w{rng.integers(800)}", "NVA"[rng.integers(3)]) for _ in range(20)] for _ in range(150)]
    extractor = TemplateExtractor(template)
    extractor.fit(from_sentences(rows))
    text = from_sentences(rows[::-1])
    design = extractor.transform_by_value(text, 10**6)
    assert design.heads.of_token.shape == (3000, 1)  # the trigram stands for the tag too
    assert design.heads.attributes.n_lists == 27 + 9 + 9
    assert np.diff(design.tokens.ptr).max() == 2  # pairs of words, and words by value
    assert attributes(design) == attributes(extractor.transform(text))
    short = extractor.transform_by_value(from_sentences(rows[:9]), 10**6)
    assert short.heads is None


def test_too_many_values_are_looked_up_by_token():
    extractor = TemplateExtractor(parse_templates(TEMPLATES["words"]))
    text = from_sentences([["a", "b", "c"]])
    extractor.fit(text)
    assert extractor.transform_by_value(text, 5).heads is None
    assert extractor.transform_by_value(text, 20).heads is not None


def test_labels_are_those_of_the_best_chains():
    rng = np.random.default_rng(0)
    words = ["walks", "Walk", "run", "Runs", "up", "Rome", "1-2", "x1"]
    sentences = [[words[i] for i in rng.integers(0, 8, n)] for n in rng.integers(1, 9, 60)]
    labels = [[f"{w[-1]}{w[:1].isupper()}{rng.integers(0, 2)}" for w in s] for s in sentences]
    template = TEMPLATES["words"] + "\nU6:%ngrams[0,0,2,3]\n"
    tagger = Tagger(template=template, max_iter=20, threads=1).fit(sentences[:30], labels[:30])
    decoder = tagger._decoder
    chains = decoder.chains(decoder.design(from_sentences(sentences)))
    assert tagger.predict(sentences) == [[tagger.classes_[y] for y in chain.best()[0]] for chain in chains]
    assert [tagger.predict([s])[0] for s in sentences] == tagger.predict(sentences)
