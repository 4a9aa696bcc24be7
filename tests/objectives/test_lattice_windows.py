"""Templates that look at neighboring words where labels are hidden: lattices of windows, their features, taggers."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import oracle
from loglin import LoglinError, Tagger
from loglin.corpus.columns import from_sentences
from loglin.decoding.chains import Decoder
from loglin.neighborhoods import WordLattices, neighborhood
from loglin.neighborhoods.windows import widened
from loglin.problems import readings
from loglin.problems.hidden import lattice_text, unlabeled_value
from loglin.problems.lattices import TokenTypes, features_and_contrasts
from support.hidden_labels import PARTLY, SENTENCES, WORDS, criterion_of, untrained

N_WORDS = 4
SYMBOLS = st.lists(st.lists(st.integers(0, N_WORDS - 1), min_size=1, max_size=6), min_size=1, max_size=3)
REACH = st.integers(0, 2)


def turned(sentence):
    """A neighborhood by a function: shorter, longer and turned."""
    return [sentence[::-1], sentence[:2], [*sentence, 0], [3]]


DEFINITIONS = {
    "trans1": lambda x: oracle.exchanged(x, 1),
    "del1word": oracle.del1word,
    "delortrans1": lambda x: oracle.del1word(x) | oracle.exchanged(x, 1),
    "del1subseq": oracle.del1subseq,
    "turned": lambda x: {x, *(tuple(y) for y in turned(list(x)))},
}


def lattices_of(name, sentences):
    return neighborhood(turned if name == "turned" else name).lattices(sentences, N_WORDS)


def check_form(wide, i, observed):
    """Deterministic, in topological order, without dead states, the observed sentence on states of its own."""
    first, last = wide.states[i : i + 2]
    arcs = [
        (q - first, int(wide.symbols[a]), int(wide.targets[a]))
        for q in range(first, last)
        for a in range(wide.arcs[q], wide.arcs[q + 1])
    ]
    final = wide.final[first:last].tolist()
    assert [a[:2] for a in arcs] == sorted({a[:2] for a in arcs})
    assert all(q < r < last - first for q, _, r in arcs)
    assert {r for *_, r in arcs} == set(range(1, last - first))
    assert all(final[q] or any(a[0] == q for a in arcs) for q in range(last - first))
    assert final[0] == 0
    if observed is None:
        assert set(final) <= {0, 1}
        return
    assert final.count(2) == 1
    q = 0
    for symbol in observed:
        (r,) = [r for p, read, r in arcs if (p, read) == (q, symbol)]
        assert [a for a in arcs if a[2] == r] == [(q, symbol, r)]
        q = r
    assert final[q] == 2


@pytest.mark.without_jit
@pytest.mark.parametrize("name", DEFINITIONS)
@settings(max_examples=60, deadline=None)
@given(sentences=SYMBOLS, left=REACH, right=REACH)
@example(sentences=[[0]], left=2, right=2)
@example(sentences=[[1, 1, 1, 1, 1, 1], [1]], left=1, right=2)
def test_windows_of_a_neighborhood_are_those_of_its_strings(name, sentences, left, right):
    words = lattices_of(name, sentences)
    wide, windows = widened(words, left, right)
    rows = [tuple(row) for row in windows.tolist()]
    assert len(rows) == len(set(rows)) == wide.n_symbols
    assert set(wide.symbols.tolist()) == set(range(len(rows)))
    assert wide.of.tolist() == words.of.tolist()
    for i, sentence in enumerate(sentences):
        strings = list(wide.strings(i))
        found = [tuple(rows[k] for k in string) for string in strings]
        expected = [oracle.windows(x, left, right) for x in DEFINITIONS[name](tuple(sentence))]
        assert sorted(found) == sorted(expected)
        own = [rows.index(window) for window in oracle.windows(tuple(sentence), left, right)]
        check_form(wide, i, own)


@settings(max_examples=60, deadline=None)
@given(sentences=SYMBOLS, left=REACH, right=REACH)
def test_chains_and_shared_sets_know_the_same_windows(sentences, left, right):
    near, windows = widened(lattices_of("trans1", sentences), left, right)
    chains, more = widened(WordLattices.chains(sentences, N_WORDS), left, right, windows)
    assert more.tolist() == windows.tolist()  # every sentence is its own neighbor
    together, more = widened(neighborhood("observed").lattices(sentences, N_WORDS), left, right, windows)
    assert more.tolist() == windows.tolist()
    assert together.separate
    for i, sentence in enumerate(sentences):
        (string,) = chains.strings(i)
        assert tuple(tuple(windows[k].tolist()) for k in string) == oracle.windows(tuple(sentence), left, right)
        assert string in set(near.strings(i))
        assert string in set(together.strings(0))
        check_form(chains, i, string)
    check_form(together, 0, None)
    other, more = widened(WordLattices.chains([[3, 3, 3]], N_WORDS), left, right, windows)
    assert more[: len(windows)].tolist() == windows.tolist()
    assert tuple(tuple(more[k].tolist()) for k in next(other.strings(0))) == oracle.windows((3, 3, 3), left, right)


def test_windows_of_nothing_and_of_pools():
    wide, windows = widened(WordLattices.chains([], 3), 1, 2)
    assert len(wide) == 0
    assert windows.shape == (0, 4)
    with pytest.raises(LoglinError, match="pools of words have no windows"):
        widened(neighborhood("length").lattices([[0]], 1), 1, 0)


# ---------------------------------------------------------------------- the criterion, feature by feature


CONTEXT = [  # template, order
    ("U:%x[0,0]\nU1:%x[-1,0]\nB", 1),
    ("U:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nU2:%x[0,0]/%x[1,0]\nB\nT", 2),
    ("U:%x[0,0]\nU1:%suffix[1,0,2]\nU2:%lower[2,0]\nT", 2),
    ("U:%x[0,0]\nU1:%edge[-1,0]/%x[0,0]\nU2:%edge[-1,0]\nU3:%edge[1,0]\nB1:%edge[-2,0]\nT", 2),
    ("U:%x[0,0]\nU1:%edge[-3,0]\nU2:%edge[2,0]\nU3:%edge[-1,0]/%edge[1,0]\nB", 1),
    ("U:%x[0,0]\nU1:%edge[-3,0]\nU2:%edge[2,0]\nU3:%edge[-1,0]/%edge[1,0]\nB2:%edge[1,0]\nT", 2),
    ('U:%x[0,0]\nU1:%rare[-1,0,3]/%x[0,0]\nU2:%if[1,0,"e"]\nU3:%rare[1,0,3]\nB', 1),
    ("U:%x[0,0]\nU1:%ngrams[-1,0,1,2]\nU2:%x[-2,0]/%x[-1,0]\nB", 1),
    ("#! boundary=distance\nU:%x[0,0]\nU1:%x[-2,0]\nU2:%x[2,0]/%x[-1,0]\nB", 1),
    ("#! boundary=distance\nU:%x[0,0]\nU1:%edge[-2,0]\nU2:%edge[-1,0]\nB1:%edge[-2,0]\nB2:%edge[1,0]\nT", 2),
]
AROUND = {
    "trans1": lambda x: oracle.exchanged(x, 1),
    "del1word": oracle.del1word,
    "delortrans1": lambda x: oracle.del1word(x) | oracle.exchanged(x, 1),
    "del1subseq": oracle.del1subseq,
    "observed": lambda x: {tuple(s) for s in SENTENCES},
    "reversed": lambda x: {x, x[::-1]},
}


def reversed_too(sentence):
    return [sentence[::-1]]


def around_of(name):
    return reversed_too if name == "reversed" else name


def named_weights(model):
    """The weights of a model by attribute and labels, as the oracle wants them."""
    index, extractor, L, weights = model.index, model.extractor, model.index.n_labels, {}
    parts = index.split(model.weights)
    for a, (begin, end) in enumerate(itertools.pairwise(index.ptr)):
        name = extractor.attribute_name(a)
        weights |= {(name, (int(index.labels[f]),)): parts[0][f] for f in range(begin, end)}
    for a, (begin, end) in enumerate(itertools.pairwise(index.bigram_ptr)):
        name = extractor.attribute_name(a, "bigram")
        weights |= {(name, divmod(int(index.bigram_pairs[f]), L)): parts[1][f] for f in range(begin, end)}
    weights |= {("B", divmod(int(p), L)): w for p, w in zip(index.pairs, parts[2], strict=True)}
    triples = [(int(t) // L // L, int(t) // L % L, int(t) % L) for t in index.triples]
    return weights | {("T", triple): w for triple, w in zip(triples, parts[3], strict=True)}


class ByHand:
    """log Σ_y u(x, y) with features that the oracle finds."""

    def __init__(self, tagger, template, words=WORDS, sentences=SENTENCES):
        self.lines = [line for line in template.splitlines() if not line.startswith("#")]
        self.weights = named_weights(tagger.model_)
        self.labels_of = {w: [tagger.classes_.index(y) for y in labels] for w, labels in words.items()}
        every = [w for s in sentences for w in s]
        self.given = {"distance": "distance" in template, "common": {w for w in every if every.count(w) >= 3}}

    def scores(self, x):
        tokens = [w if isinstance(w, tuple) else (w,) for w in x]
        for labels in itertools.product(*(self.labels_of[w[0]] for w in tokens)):
            yield labels, oracle.template_score(self.lines, tokens, labels, self.weights, **self.given)

    def log_sum(self, strings):
        return oracle.log_sum([score for x in strings for _, score in self.scores(x)])


@pytest.mark.parametrize("name", AROUND)
@pytest.mark.parametrize(("template", "order"), CONTEXT)
def test_criterion_with_context_is_its_definition(name, template, order):
    tagger = untrained(template, order)
    truth = ByHand(tagger, template)
    expected = [truth.log_sum([s]) - truth.log_sum(AROUND[name](tuple(s))) for s in SENTENCES]
    found = unlabeled_value(tagger.model_, from_sentences(SENTENCES), around_of(name))
    assert found == pytest.approx(math.fsum(expected), abs=1e-8)


def test_several_columns():
    sentences = [[("a", "P"), ("b", "Q"), ("c", "P")], [("c", "P"), ("b", "P"), ("d", "Q"), ("a", "P")]]
    template = "U:%x[0,0]\nU1:%x[-1,1]/%x[1,0]\nU2:%x[1,1]\nB\nT"
    tagger = untrained(template, sentences=sentences)
    truth = ByHand(tagger, template)
    expected = [truth.log_sum([s]) - truth.log_sum(oracle.exchanged(tuple(s), 1)) for s in sentences]
    found = unlabeled_value(tagger.model_, from_sentences(sentences), "trans1")
    assert found == pytest.approx(math.fsum(expected), abs=1e-8)


@pytest.mark.parametrize(
    ("template", "order", "given"),
    [
        *((template, order, {"neighborhood": "delortrans1"}) for template, order in CONTEXT),
        (*CONTEXT[1], {"neighborhood": "del1subseq", "labels": PARTLY}),
        (*CONTEXT[1], {"neighborhood": "observed"}),
        (*CONTEXT[2], {"neighborhood": "observed", "labels": PARTLY}),
        (*CONTEXT[0], {"criterion": "mixture", "labels": PARTLY, "settings": {"weight": 0.3}}),
        (*CONTEXT[3], {"criterion": "mixture", "labels": PARTLY, "settings": {"weight": 0.3}}),
        (*CONTEXT[1], {"beta": 0.4}),
        (*CONTEXT[1], {"dictionary": 0, "settings": {"labels": 3}}),
    ],
)
def test_gradients_with_context(template, order, given):
    given = dict(given)
    beta, labels = given.pop("beta", 1.0), given.pop("labels", None)
    criterion = criterion_of(labels, order=order, template=template, **given)
    criterion.beta = beta
    rng = np.random.default_rng(3)
    w = rng.standard_normal(criterion.n_features)
    _, gradient = criterion(w)
    assert np.abs(gradient).max() > 1e-2
    np.testing.assert_allclose(gradient, oracle.numeric_gradient(lambda x: criterion(x)[0], w), atol=2e-6)


def test_annotated_tokens_have_the_same_context():
    """A mixture whose labelled sentences are a conditional random field: the chain's own score of the labels."""
    template, order = CONTEXT[1]
    labels = [["X", "Y", "Z", "X"], None, None, None, None, None, None]
    mixed = criterion_of(labels, "mixture", order, template, settings={"weight": 0.25})
    tagger = untrained(template, order)
    w = tagger.model_.weights
    values = [c.totals(*mixed.features.scores(w), 1.0, mixed.threads)[0] for c in mixed.contrasts]
    truth = ByHand(tagger, template)
    scores = dict(truth.scores(SENTENCES[0]))
    gold = tuple(tagger.classes_.index(y) for y in labels[0])
    assert values[0].tolist() == pytest.approx([scores[gold] - truth.log_sum(SENTENCES[:1])], abs=1e-8)
    rest = unlabeled_value(tagger.model_, from_sentences(SENTENCES[1:]), "trans1")
    assert values[1].sum() == pytest.approx(0.25 * rest, abs=1e-8)


# ---------------------------------------------------------------------- taggers


def observed_sums(model, sentences, name="trans1"):
    """log Σ_y u of the sentences as training sees them, alone and on their paths among their neighbors."""
    corpus = from_sentences(sentences)
    text = lattice_text(TokenTypes.of(corpus), corpus.offsets, model.dictionary, None, len(model.labels))
    n = len(sentences)
    features, (contrast,) = features_and_contrasts(
        text, model.extractor, model.index, model.order, neighborhood(name), np.zeros(n, bool), np.ones(n), model.labels
    )
    W, E = features.scores(model.weights)
    return contrast.observed.totals(W, E).partitions, contrast.against.lattices.totals(W, E).partitions[::2]


@pytest.mark.parametrize(("template", "order"), [*CONTEXT, ("#! oov=first\nU:%x[0,0]\nU1:%x[-1,0]/%x[1,0]\nB", 1)])
def test_learns_saves_and_decodes_what_it_was_trained_on(template, order, tmp_path):
    tagger = Tagger("contrastive", template=template, order=order, dictionary=WORDS, l2=0.1, dev=SENTENCES[:3])
    tagger.fit(SENTENCES)
    assert tagger.model_.record["converged"]
    held = unlabeled_value(tagger.model_, from_sentences(SENTENCES[:3]))
    assert tagger.model_.record["held_criterion"] == pytest.approx(held)
    tagger.save(tmp_path / "m")
    again = Tagger.load(tmp_path / "m")
    others = [*SENTENCES, ["new", "b", "see"], ["d"], ["b", "new", "new", "c", "a"]]
    decoder = Decoder(again.model_)
    chains = list(decoder.chains(decoder.design(from_sentences(others))))
    for found in observed_sums(again.model_, others):
        np.testing.assert_allclose(found, [chain.partition() for chain in chains], atol=1e-8)
    predicted = [[again.classes_[y] for y in chain.best()[0]] for chain in chains]
    assert again.predict(others) == tagger.predict(others) == predicted
    assert again.predict_marginals(others)[0][0].keys() == set(again.classes_)


def test_context_is_learnt():
    """What a word is follows from the word before it, which label bigrams alone cannot tell: both are any."""
    rng = np.random.default_rng(0)
    sentences = [["p" if rng.random() < 0.5 else "q", "z", "r"] for _ in range(40)]
    labels = [["N", "X" if s[0] == "p" else "Y", "N"] for s in sentences]
    dictionary = {"p": ["N"], "q": ["N"], "z": ["X", "Y"], "r": ["N"]}
    template = "U:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nB"
    given = [*labels[:6], *[None] * 34]
    tagger = Tagger("mixture", template=template, order=1, dictionary=dictionary).fit(sentences, given)
    assert tagger.predict(sentences) == labels


def test_templates_without_context_read_words(monkeypatch):
    monkeypatch.setattr(readings, "widened", lambda *_: pytest.fail("nothing looks at neighboring words"))
    for template in ("trigram-spelling", "bigram", "U:%x[0,0]\nU1:%edge[-2,0]\nU2:%edge[1,0]\nB\nT"):
        untrained(template, 1 if template == "bigram" else 2)
    with pytest.raises(pytest.fail.Exception, match="neighboring words"):
        untrained("U:%x[0,0]\nU1:%edge[-2,0]\nB", 1)


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ({"neighborhood": "length"}, ["U1:%x[-1,0]", "neighborhood length", "trans1"]),
        ({"criterion": "marginal-likelihood"}, ["U1:%x[-1,0]", "neighborhood everything", "trans1"]),
        ({"template": "U:%x[0,0]\nU3:%edge[2,0]\nB", "neighborhood": "length"}, ["U3:%edge[2,0]", "length"]),
        ({"template": "U:%x[0,0]\nB1:%x[0,0]\nB"}, ["B1:%x[0,0]", "two labels", "write U"]),
        ({"template": "U:%x[0,0]\nB1:%edge[-3,0]\nB"}, ["B1:%edge[-3,0]", "two labels"]),
        ({"template": "U:%x[0,0]\nB1:%edge[-1,0]/%x[0,0]\nB"}, ["B1:%edge[-1,0]/%x[0,0]", "two labels"]),
    ],
)
def test_refused(given, parts):
    given = {"criterion": "contrastive", "template": "U:%x[0,0]\nU1:%x[-1,0]\nB", "order": 1} | given
    with pytest.raises(LoglinError) as caught:
        Tagger(dictionary=WORDS, **given).fit(SENTENCES)
    assert all(part in str(caught.value) for part in parts), caught.value


def test_pools_of_columns_are_refused():
    sentences = [[("a", "P"), ("b", "Q")], [("c", "P")]]
    tagger = Tagger("contrastive", template="U:%x[0,0]\nU1:%x[1,0]\nB", dictionary=WORDS, neighborhood="conditional:1")
    with pytest.raises(LoglinError, match=r"U1:%x\[1,0\] .* neighborhood conditional:1"):
        tagger.fit(sentences)
