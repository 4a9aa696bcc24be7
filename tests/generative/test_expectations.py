"""Expected feature counts: against enumeration of all sentences, against samples, and the note's answers."""

import itertools

import numpy as np
import pytest

from loglin.corpus.columns import from_sentences
from loglin.corpus.labels import Gold
from loglin.features.extract import TemplateExtractor
from loglin.features.index import build_index
from loglin.features.template import parse_templates
from loglin.generative import expectations as module
from loglin.generative.expectations import expectations
from loglin.generative.hmm import HMM
from loglin.reproduce import np_chunks as reproduced
from support.errors import refused
from support.hmms import LABELS, counted, np_chunks, small

TEMPLATE = r"""
U
U00:%x[0,0]
U01:%x[-1,0]
U02:%x[2,0]/%x[1,1]
U03:%x[-1,0]/%x[0,0]/%x[1,0]
U04:%x[-3,0]
U05:%x[-2,0]/%x[1,1]
U06:%x[3,0]/%x[-3,1]
U07:%x[0,0]/%suffix[0,0,1]/%x[0,1]
U08:%suffix[-1,0,1]/%has-digit[-1,0]/%prefix[1,0,1]
U09:%ngrams[0,0,1,2]
U10:%ngrams[-2,0,2,2]
U11:%edge[-1,0]
U12:%edge[-1,0]/%x[0,0]
U13:%edge[-1,0]/%edge[1,0]
U14:%edge[-3,0]/%x[-1,1]/%edge[2,0]
U15:%x[-1,0]/%edge[-2,1]
U16:%edge[1,0]/%x[-3,0]/%x[-2,0]
B00:%x[0,0]
B01:%x[-1,0]/%x[0,1]
B02:%edge[-2,0]
B03:%edge[1,0]
B04:%x[2,1]/%x[-3,0]
B05:%edge[-1,0]
*06:%x[-2,1]/%x[-1,1]/%x[2,1]
T
"""


def forward_only(order, seed, L=4):
    """Labels only rise, so there are finitely many sentences: START → 0 … L − 1 → STOP with gaps."""
    rng = np.random.default_rng(seed)
    S = L + 1
    t = rng.random((S, S, S) if order == 2 else (1, S, S)) + 0.1
    t[:, :L, :L] *= np.triu(np.ones((L, L)), 1)
    t[:, :, L] *= 0.3
    if order == 2:
        t[:L, L] = 0
    t /= np.maximum(t.sum(axis=-1, keepdims=True), 1e-9)
    tables = [rng.dirichlet(np.ones(4), L), rng.dirichlet(np.ones(2), L)]
    return HMM.of(list(range(L)), t[0] if order == 1 else t, tables, [["a", "ba", "b1"], ["X"]])


def all_sentences(hmm):
    """Every sentence with rising labels: corpus, codes and q0."""
    tokens = list(itertools.product(*(v.strings for v in hmm.values)))
    pairs = [
        (list(words), labels)
        for n in range(len(hmm.labels) + 1)
        for labels in itertools.combinations(range(len(hmm.labels)), n)
        for words in itertools.product(tokens, repeat=n)
    ]
    corpus = from_sentences([words for words, _ in pairs])
    codes = np.array([c for _, labels in pairs for c in labels])
    return corpus, codes, np.exp(hmm.log_probability(corpus, codes))


def prepared(hmm, text, n=150, order=2, seed=0, all_features=True):
    corpus, codes = hmm.sample(n, np.random.default_rng(seed))
    extractor = TemplateExtractor(parse_templates(text))
    design = extractor.fit(corpus)
    L = len(hmm.labels)
    return corpus, codes, extractor, build_index(design, Gold.certain(codes, L), all_features, True, order)


@pytest.mark.parametrize("boundary", ["side", "distance"])
@pytest.mark.parametrize("oov", ["first", "unseen"])
@pytest.mark.parametrize("order", [1, 2])
def test_against_every_sentence(order, oov, boundary):
    text = TEMPLATE + f"#! boundary={boundary}\n" + ("#! oov=first\n" if oov == "first" else "")
    truth = forward_only(order, seed=order)
    training, codes, extractor, index = prepared(truth, text, n=600)
    hmm = HMM.fit(training, codes, truth.labels, order=order, oov=oov)
    corpus, labels, weights = all_sentences(hmm)
    assert weights.sum() == pytest.approx(1)
    expected, of_attributes = counted(extractor, index, corpus, labels, weights)
    found, attributes = expectations(hmm, extractor, index, input_only=True)
    np.testing.assert_allclose(found, expected, atol=1e-13, rtol=1e-9)
    np.testing.assert_allclose(attributes, of_attributes, atol=1e-13, rtol=1e-9)
    for part in index.split(found):
        assert (part > 0).mean() > 0.04  # or the test shows little
    assert (expectations(hmm, extractor, index) == found).all()


@pytest.mark.parametrize("order", [1, 2])
def test_against_every_short_sentence_of_labels_that_recur(order):
    """Sentences of up to 6 tokens; longer ones have the probability 0.1⁷ and at most 1e-6 tokens in all."""
    hmm = small(order, seed=order, V=1, stop=0.9)
    hmm = HMM(hmm.labels, order, hmm.extractor, hmm.transition, [hmm.emissions[0], np.tile([1.0, 0.0], (2, 1))])
    _, _, extractor, index = prepared(hmm, TEMPLATE, n=3000)
    tokens = [(word, "X") for word in hmm.values[0].strings]
    pairs = [
        (list(words), labels)
        for n in range(7)
        for labels in itertools.product(range(2), repeat=n)
        for words in itertools.product(tokens, repeat=n)
    ]
    corpus, codes = from_sentences([w for w, _ in pairs]), np.array([c for _, y in pairs for c in y])
    weights = np.exp(hmm.log_probability(corpus, codes))
    assert weights.sum() == pytest.approx(1 - 0.1**7, abs=1e-12)
    expected, _ = counted(extractor, index, corpus, codes, weights)
    found = expectations(hmm, extractor, index)
    missing = found - expected
    assert missing.min() > -1e-12
    assert missing.max() < 1e-6


@pytest.mark.parametrize("order", [1, 2])
def test_against_samples(order):
    hmm = small(order, seed=8, L=3, V=3, stop=0.15)
    _, _, extractor, index = prepared(hmm, TEMPLATE, n=200, all_features=False)
    found = expectations(hmm, extractor, index)
    corpus, codes = hmm.sample(5000, np.random.default_rng(9))
    n = corpus.n_sentences
    mean, _ = counted(extractor, index, corpus, codes, np.full(n, 1 / n))
    frequent = found * n > 30
    z = (mean - found)[frequent] / np.sqrt(found[frequent] / n)
    assert frequent.sum() > 500
    assert np.abs(z).max() < 7  # counts of one sentence go together, so that the variance exceeds the mean
    assert abs(z.mean()) < 0.5


def test_a_first_order_model_seen_as_one_of_second_order():
    hmm = small(1, seed=10, L=3, V=3)
    _, _, extractor, index = prepared(hmm, TEMPLATE)
    t = np.repeat(hmm.transition, 4, axis=0)
    t[:3, 3] = 0
    second = HMM(hmm.labels, 2, hmm.extractor, t, hmm.emissions)
    np.testing.assert_allclose(
        expectations(second, extractor, index), expectations(hmm, extractor, index), rtol=1e-10, atol=1e-15
    )


def test_chunks_change_nothing(monkeypatch):
    hmm = small(2, seed=11, L=3, V=3)
    _, _, extractor, index = prepared(hmm, TEMPLATE)
    whole = expectations(hmm, extractor, index)
    monkeypatch.setattr(module, "CHUNK", 1000)
    np.testing.assert_allclose(expectations(hmm, extractor, index), whole, rtol=1e-12)


def test_answers_of_the_note():
    hmm = small()
    _, _, extractor, index = prepared(hmm, "U0:%x[0,0]\nU3:%x[3,0]\n", n=50)
    found = expectations(hmm, extractor, index)
    value = {
        (extractor.attribute_name(a), label): found[2 * a + label]
        for a in range(extractor.n_attributes)
        for label in range(2)
    }
    assert value["U0:a", 0] == pytest.approx(1.6)
    assert value["U3:b", 0] == pytest.approx(0.750171, abs=1e-6)
    assert index.split(found)[2].reshape(2, 2)[0, 1] == pytest.approx(0.685714, abs=1e-6)


def test_mistakes():
    corpus = from_sentences([[("a", "X"), ("b", "Y")]] * 2)
    codes = np.array([0, 1, 0, 1])
    hmm = HMM.fit(corpus, codes, ["P", "Q"], columns=[0])

    def features(text, n_labels=2):
        extractor = TemplateExtractor(parse_templates(text, "my.tpl"))
        return extractor, build_index(extractor.fit(corpus), Gold.certain(codes, n_labels), False, True, 1)

    refused(
        lambda: expectations(hmm, *features("U:%x[0,1]\n#! oov=first\n")), "column 1", "'U:%x[0,1]'", "fit the base"
    )
    refused(lambda: expectations(hmm, *features("U:%x[0,0]\n")), "my.tpl", "oov=none", "oov='first'", "oov='unseen'")
    refused(lambda: expectations(hmm, *features("U:%x[0,0]\n#! oov=first\n", 3)), "2 labels", "3")
    edges = expectations(hmm, *features("U:%edge[-1,1]\n#! oov=first\n"))  # asks for no value of column 1
    assert edges[0] == pytest.approx(1)


# ---------------------------------------------------------------------- the paper's features

WORDS = ["%x[0,0]", "%x[-1,0]", "%x[1,0]", "%x[-2,0]", "%x[2,0]", "%x[-1,0]/%x[0,0]", "%x[0,0]/%x[1,0]"]
TAGS = [[0], [-1], [1], [-2], [2], [-1, 0], [0, 1], [-2, -1], [1, 2], [-2, -1, 0], [-1, 0, 1], [0, 1, 2]]
PREDICATES = WORDS + ["/".join(f"%x[{o},1]" for o in offsets) for offsets in TAGS]
ENDS = [
    "U",
    "B",
    "U1:%edge[-1,0]",
    "T",
    "U2:%edge[-1,0]",
    "B3:%edge[-2,0]",
    "B4:%edge[1,0]",
    "U5:%edge[-1,0]/%edge[1,0]",
]
EXTENDED = "\n".join(
    [f"*{i}:{p}\nUs{i}:%edge[-1,0]/{p}" for i, p in enumerate(PREDICATES)] + ENDS + ["#! oov=first", ""]
)


def test_the_extended_features_are_those_of_the_reproduction():
    assert set(EXTENDED.splitlines()) == set(reproduced.EXTENDED.splitlines())


def test_the_extended_features_of_np_chunking(conll2000):
    corpus, codes = np_chunks(conll2000 / "train.txt")
    chosen = np.arange(corpus.n_sentences - 900)
    corpus, codes = corpus.select(chosen), codes[: corpus.offsets[len(chosen)]]
    hmm = HMM.fit(corpus, codes, LABELS)
    extractor = TemplateExtractor(parse_templates(EXTENDED))
    index = build_index(extractor.fit(corpus), Gold.certain(codes, 3), False, True, 2)
    assert index.n_features == 616_088
    found, attributes = expectations(hmm, extractor, index, input_only=True)
    assert found.min() > 0  # whatever was seen is possible
    names = {extractor.attribute_name(a): a for a in extractor.template_of("unigram").argsort(kind="stable")[-400:]}
    assert attributes[names["U"]] == pytest.approx(hmm.expected_length())
    assert attributes[names["U1:_B-1"]] == pytest.approx(1)
    # the label transitions are relative frequencies, so that their expectations are the training means
    pairs = counted_pairs(codes, corpus.offsets)[index.pairs] / corpus.n_sentences
    np.testing.assert_allclose(index.split(found)[2], pairs, rtol=1e-9)
    sample, labels = hmm.sample(2000, np.random.default_rng(0))
    mean, _ = counted(extractor, index, sample, labels, np.full(2000, 1 / 2000))
    frequent = found * 2000 > 20
    z = (mean - found)[frequent] / np.sqrt(found[frequent] / 2000)
    assert frequent.sum() > 5000
    assert abs(z.mean()) < 0.5
    assert np.abs(z).max() < 7


def counted_pairs(codes, offsets):
    inner = np.setdiff1d(np.arange(1, len(codes)), offsets)
    return np.bincount(codes[inner - 1] * 3 + codes[inner], minlength=9)
