"""Answers for many sentences at once against enumeration, and against the log domain a sentence at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import oracle
from loglin import Tagger
from loglin.corpus.columns import from_sentences
from loglin.decoding.chains import Decoder
from loglin.errors import LoglinError

LABELS = ["O", "B-X", "I-X", "B-Y", "I-Y"]
TEMPLATE = "U:%x[0,0]\nU:%x[-1,0]/%x[0,0]\nB\n"
WAYS = {
    "first": {},
    "second": {"order": 2},
    "legal": {"constrain": "bio"},
    "legal second": {"constrain": "bio", "order": 2},
    "dictionary": {"dictionary": 2},
    "dictionary second": {"dictionary": 2, "order": 2},
    "bigrams": {"template": TEMPLATE + "B1:%x[0,0]\n"},
    "memm": {"criterion": "memm"},
}


def sentences(rng, lengths):
    return [[str(rng.integers(6)) for _ in range(n)] for n in lengths]


def decoder_of(way: str, scale: float = 1.0) -> Decoder:
    """A decoder of a model that was trained on random labels, its weights times ``scale``."""
    rng, given = np.random.default_rng(3), dict(WAYS[way])
    inputs = sentences(rng, [4, 1, 6, 3, 5, 2, 7, 4])
    labels = [[LABELS[i] for i in rng.integers(5, size=len(s))] for s in inputs]
    constrain = given.pop("constrain", None)
    given = {"template": TEMPLATE, "l2": 0.1, "threads": 1} | given
    model = Tagger(**given).fit(inputs, labels).model_
    return Decoder(replace(model, weights=scale * model.weights), 1, constrain)


@pytest.mark.parametrize("scale", [1.0, 300.0])
@pytest.mark.parametrize("way", WAYS)
def test_answers_for_a_text_are_those_of_its_sentences(way, scale):
    decoder, rng = decoder_of(way, scale), np.random.default_rng(1)
    design = decoder.design(from_sentences(sentences(rng, [3, 0, 1, 4, 2])))
    best, marginals, ranked = decoder.best(design), decoder.marginals(design), list(decoder.nbest(design, 3))
    L = decoder.index.n_labels
    for s, chain in enumerate(decoder.chains(design)):
        here = slice(design.offsets[s], design.offsets[s + 1])
        listing = oracle.chain(chain.scores, chain.transitions, chain.trigrams)
        np.testing.assert_allclose(marginals[here], oracle.node_marginals(listing, len(chain.scores), L), atol=1e-6)
        assert tuple(best[here].tolist()) in oracle.best_set(listing, 1e-5)
        truth = oracle.ranked(listing)[:3]
        total = oracle.log_partition(listing)
        np.testing.assert_allclose([p for _, p in ranked[s]], [np.exp(x - total) for _, x in truth], atol=1e-6)
        scores = dict(listing)
        np.testing.assert_allclose([scores[tuple(y.tolist())] for y, _ in ranked[s]], [x for _, x in truth], rtol=1e-9)


@pytest.mark.parametrize("way", ["first", "second", "legal second", "bigrams"])
def test_entities_have_the_probability_of_their_spans(way):
    decoder, rng = decoder_of(way), np.random.default_rng(2)
    design = decoder.design(from_sentences(sentences(rng, [6, 1, 0, 5])))
    names, count = decoder.model.labels, 0
    for chain in decoder.chains(design):
        listing = oracle.chain(chain.scores, chain.transitions, chain.trigrams)
        T = len(chain.scores)
        labels = [names[i] for i in chain.best()[0]]
        for found in decoder.entities(chain, ["w"] * T):
            allowed = [[name == labels[t] for name in names] for t in range(found.start, found.stop)]
            if found.stop < T:
                allowed.append([name != f"I-{found.type}" for name in names])
            truth = oracle.span_probability(listing, found.start, np.array(allowed))
            np.testing.assert_allclose(found.probability, truth, atol=1e-9)
            count += 1
    assert count > 2


def test_nothing_to_decode():
    for way in WAYS:
        decoder = decoder_of(way)
        design = decoder.design(from_sentences([[], []]))
        assert decoder.best(design).shape == (0,)
        assert decoder.marginals(design).shape == (0, decoder.index.n_labels)
        assert [[(y.tolist(), p) for y, p in one] for one in decoder.nbest(design, 2)] == [[([], 1.0)], [([], 1.0)]]


@pytest.mark.parametrize("order", [1, 2])
def test_a_sentence_without_a_legal_sequence(order):
    model = Tagger(template=TEMPLATE, order=order, threads=1).fit([["a", "b"]], [["I-X", "I-X"]]).model_
    decoder = Decoder(model, 1, "bio")  # I-X begins no sentence
    design = decoder.design(from_sentences([["a", "b"], []]))
    assert next(decoder.nbest(design, 2)) == []
    with pytest.raises(LoglinError, match="no label sequence obeys"):
        decoder.best(design)
    with pytest.raises(LoglinError, match="No sequence"):
        decoder.marginals(design)
