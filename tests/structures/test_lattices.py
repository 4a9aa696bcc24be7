"""Lattices of words with hidden labels against enumeration: sums, expectations, best, n-best, samples."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import oracle
from loglin.corpus.columns import from_sentences
from loglin.errors import LoglinError
from loglin.kernels import lattice_logs
from loglin.neighborhoods import WordLattices, neighborhood
from loglin.problems.lattices import LatticeText, TokenTypes, comparisons, contrast_of
from loglin.structures import Chain
from loglin.structures.lattice import Lattice, Lattices, Sites
from loglin.threads import Threads

CLOSE = {"rtol": 1e-9, "atol": 1e-8}
N_WORDS = 3
LOCAL = {
    "del1word": oracle.del1word,
    "trans1": lambda x: oracle.exchanged(x, 1),
    "trans2": lambda x: oracle.exchanged(x, 2),
    "delortrans1": lambda x: oracle.del1word(x) | oracle.exchanged(x, 1),
    "del1subseq": oracle.del1subseq,
}
SENTENCE = st.lists(st.integers(0, N_WORDS - 1), min_size=1, max_size=6)
SCALES = st.sampled_from([0.0, 1.0, 30.0, 500.0, 1e5])
MANY = 400  # enumerate n-best lists of at most so many paths


class Weighted:
    """Random words, labels and weights, as the package takes them and as the oracle does."""

    def __init__(self, seed, L, order, scale=1.0, forbidden=0.0, n_words=N_WORDS, per_word=2):
        rng, S = np.random.default_rng(seed), L + 2
        self.order = order
        self.allowed = np.zeros((n_words, L), bool)
        for row in self.allowed:
            row[rng.permutation(L)[: rng.integers(1, per_word + 1)]] = True
        self.sites = Sites.of(self.allowed)
        self.pairs = [tuple(pair) for pair in np.argwhere(self.allowed).tolist()]
        W = scale * rng.normal(size=(S if order == 2 else 1, S, S))
        self.W = np.where(rng.random(W.shape) < forbidden, -np.inf, W)
        E = scale * rng.normal(size=len(self.pairs))
        self.E = np.where(rng.random(E.shape) < forbidden, -np.inf, E)

    def listing(self, strings):
        labels_of = [np.flatnonzero(row).tolist() for row in self.allowed]
        return oracle.labeled_strings(strings, labels_of, self.W, dict(zip(self.pairs, self.E, strict=True)))

    def uses(self, listing):
        steps, entries = oracle.expected_uses(listing, self.W.shape)
        return steps, np.array([entries.get(pair, 0.0) for pair in self.pairs])

    def lattices(self, words, goals="one"):
        return Lattices(words, self.sites, np.arange(self.sites.n_sites), self.order, goals)

    def lattice(self, words):
        return Lattice(words, self.sites, self.W, self.E)


def check_totals(weighted, lattices, sets, seed=0):
    """Partitions, and expectations summed with weights of either sign: one set of strings for each goal."""
    listings = [weighted.listing(strings) for strings in sets]
    weight = np.random.default_rng(seed).normal(size=len(sets))
    found = lattices.totals(weighted.W, weighted.E, weight)
    np.testing.assert_allclose(found.partitions, [oracle.log_partition(x) for x in listings], **CLOSE)
    np.testing.assert_array_equal(lattices.totals(weighted.W, weighted.E).partitions, found.partitions)
    uses = [weighted.uses(x) for x in listings]
    np.testing.assert_allclose(found.steps, sum(w * s for w, (s, _) in zip(weight, uses, strict=True)), **CLOSE)
    np.testing.assert_allclose(found.entries, sum(w * e for w, (_, e) in zip(weight, uses, strict=True)), **CLOSE)
    return listings


def told(path):
    return tuple(path.sites.tolist()), tuple(path.labels.tolist())


def check_lattice(weighted, words, listing):
    """One lattice as a distribution: partition, expectations, best, n-best, support of samples."""
    lattice, scores = weighted.lattice(words), dict(listing)
    np.testing.assert_allclose(lattice.partition(), oracle.log_partition(listing), **CLOSE)
    if not listing:
        for impossible in (
            lattice.best,
            lattice.expectations,
            lambda: lattice.nbest(3),
            lambda: lattice.sample(1, np.random.default_rng(0)),
        ):
            with pytest.raises(LoglinError, match="No labels are possible"):
                impossible()
        return
    for found, expected in zip(lattice.expectations(), weighted.uses(listing), strict=True):
        np.testing.assert_allclose(found, expected, **CLOSE)
    assert told(lattice.best()) in oracle.best_set(listing)
    for k in (1, 4, *([len(listing) + 3] if len(listing) <= MANY else [])):
        ranked, paths = oracle.ranked(listing)[:k], lattice.nbest(k)
        found = [path.score for path in paths]
        assert len({told(path) for path in paths}) == len(paths) == len(ranked)
        assert all(a >= b for a, b in itertools.pairwise(found))
        np.testing.assert_allclose(found, [score for _, score in ranked], **CLOSE)
        np.testing.assert_allclose(found, [scores[told(path)] for path in paths], **CLOSE)
    assert {told(path) for path in lattice.sample(20, np.random.default_rng(0))} <= set(scores)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", LOCAL)
@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    sentences=st.lists(SENTENCE, min_size=1, max_size=2),
    L=st.integers(1, 3),
    scale=SCALES,
    forbidden=st.sampled_from([0.0, 0.0, 0.2, 0.6]),
)
@example(seed=0, sentences=[[0], [1, 1]], L=1, scale=1.0, forbidden=0.0)
@example(seed=1, sentences=[[0, 1, 2], [2]], L=2, scale=1.0, forbidden=1.0)
def test_local_neighborhoods_equal_enumeration(name, order, seed, sentences, L, scale, forbidden):
    weighted = Weighted(seed, L, order, scale, forbidden, per_word=min(L, 2))
    words = neighborhood(name).lattices(sentences, N_WORDS)
    sets = [LOCAL[name](tuple(x)) for x in sentences]
    listings = check_totals(weighted, weighted.lattices(words), sets, seed)
    both = [strings for x, own in zip(sentences, sets, strict=True) for strings in ({tuple(x)}, own)]
    check_totals(weighted, weighted.lattices(words, "observed"), both, seed)
    check_lattice(weighted, neighborhood(name).lattices(sentences[:1], N_WORDS), listings[0])


@pytest.mark.parametrize("order", [1, 2])
@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    sentences=st.lists(SENTENCE, min_size=1, max_size=4),
    L=st.integers(1, 3),
    scale=SCALES,
    forbidden=st.sampled_from([0.0, 0.0, 0.2, 0.6]),
)
def test_all_observed_sentences_as_one_lattice_and_end_by_end(order, seed, sentences, L, scale, forbidden):
    weighted = Weighted(seed, L, order, scale, forbidden, per_word=min(L, 2))
    words, everything = neighborhood("observed").lattices(sentences, N_WORDS), {tuple(x) for x in sentences}
    (listing,) = check_totals(weighted, weighted.lattices(words), [everything], seed)
    check_lattice(weighted, words, listing)
    tree, goal = WordLattices.chains(sentences, N_WORDS).prefix_tree()
    ends = weighted.lattices(tree, "ends")
    assert ends.n_goals == len(everything)
    at = {g: {tuple(x)} for g, x in zip(goal.tolist(), sentences, strict=True)}
    check_totals(weighted, ends, [at[g] for g in range(len(everything))], seed)


POOLED = {
    "length": lambda x: set(itertools.product(range(4), repeat=len(x))),
    "conditional:1": lambda x: set(itertools.product(*([0, 1] if w < 2 else [2, 3] for w in x))),
    "observed": None,
}


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", POOLED)
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    sentences=st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4), min_size=1, max_size=3),
    L=st.integers(1, 3),
    scale=st.sampled_from([0.0, 1.0, 30.0, 500.0]),
)
def test_sets_that_sentences_share(name, order, seed, sentences, L, scale):
    """Pools of words through the criterion's sums, in which a pool's score is the sum of its words'."""
    tokens = [("a", "X"), ("b", "X"), ("a", "Y"), ("b", "Y")]
    weighted = Weighted(seed, L, order, scale, n_words=4, per_word=1 + (L > 1))
    text = text_of([[0, 1, 2, 3], *sentences], tokens, weighted.allowed)
    contrast = contrast_without_labels(text, name, order)
    sentences = [[0, 1, 2, 3], *sentences]
    everything = {tuple(x) for x in sentences}
    define = POOLED[name] or (lambda x: everything)
    check_totals(weighted, contrast.observed, [{tuple(x)} for x in sentences], seed)
    check_totals(weighted, contrast.against, [define(x) for x in sentences], seed)


def text_of(sentences, tokens, allowed):
    """The sentences as a text whose types are the symbols, which must occur in their order."""
    corpus = from_sentences([[tokens[w] for w in x] for x in sentences])
    types = TokenTypes.of(corpus)
    assert types.tokens == tokens[: types.n]
    return LatticeText.of(types, corpus.offsets, allowed)


def contrast_without_labels(text, name, order):
    n = text.n_sentences
    (compared,) = comparisons(text, neighborhood(name), np.zeros(n, bool), np.ones(n))
    return contrast_of(compared, text.readings, text.types.n, order, list(range(text.sites.n_labels)))


# ---------------------------------------------------------------- chains


def as_chain(weighted, sentence):
    """The sentence as a chain of all labels: START and STOP become scores of first and last steps."""
    L, T, W = weighted.allowed.shape[1], len(sentence), weighted.W
    E = np.full(weighted.allowed.shape, -np.inf)
    E[weighted.allowed] = weighted.E
    scores, start, stop = E[sentence], L, L + 1
    if weighted.order == 1:
        scores[0] += W[0, start, :L]
        scores[-1] += W[0, :L, stop]
        return Chain(scores, W[0, :L, :L])
    scores[0] += W[start, start, :L]
    transitions = np.zeros((T - 1, L, L))
    if T == 1:
        scores[0] += W[start, :L, stop]
        return Chain(scores, transitions, W[:L, :L, :L])
    transitions[0] += W[start, :L, :L]
    transitions[-1] += W[:L, :L, stop]
    return Chain(scores, transitions, W[:L, :L, :L])


@pytest.mark.parametrize("order", [1, 2])
@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    T=st.integers(1, 9),
    L=st.integers(1, 5),
    scale=SCALES,
    forbidden=st.sampled_from([0.0, 0.1, 0.4]),
)
def test_chains_equal_the_chain_structure(order, seed, T, L, scale, forbidden):
    weighted = Weighted(seed, L, order, scale, forbidden, n_words=T, per_word=L)
    words = WordLattices.chains([list(range(T))])
    chain, lattice = as_chain(weighted, np.arange(T)), weighted.lattice(words)
    np.testing.assert_allclose(lattice.partition(), chain.partition(), **CLOSE)
    if chain.partition() == -math.inf:
        return
    marginals = np.zeros(weighted.allowed.shape)
    marginals[weighted.allowed] = lattice.expectations()[1]
    np.testing.assert_allclose(marginals, chain.marginals(), **CLOSE)
    _, score = chain.best()
    np.testing.assert_allclose(lattice.best().score, score, **CLOSE)
    np.testing.assert_allclose(chain.score(lattice.best().labels), score, **CLOSE)


@pytest.mark.parametrize("order", [1, 2])
def test_of_equal_labelings_the_first_comes_first(order):
    """As in a chain, so that decoding by either gives the same labels."""
    for seed in range(30):
        weighted = Weighted(seed, 3, order, 0.0, n_words=4, per_word=3)
        rng = np.random.default_rng(seed)
        weighted.W, weighted.E = (np.floor(2 * rng.random(x.shape)) for x in (weighted.W, weighted.E))
        chain, lattice = as_chain(weighted, np.arange(4)), weighted.lattice(WordLattices.chains([[0, 1, 2, 3]]))
        assert lattice.best().labels.tolist() == chain.best()[0].tolist()
    weighted.W[:] = weighted.E[:] = 0.0
    listed = [path.labels.tolist() for path in lattice_of_zeros(weighted).nbest(100)]
    assert listed == sorted(listed)
    assert len(listed) == weighted.allowed.sum(axis=1).prod()


def lattice_of_zeros(weighted):
    return Lattice(WordLattices.chains([[0, 1, 2, 3]]), weighted.sites, 0 * weighted.W, 0 * weighted.E)


@pytest.mark.parametrize("order", [1, 2])
def test_long_sentences_of_many_labels_neither_overflow_nor_vanish(order):
    n, L = 260, 40
    sites, words = Sites.of(np.ones((n, L), bool)), WordLattices.chains([np.arange(n)])
    lattices = Lattices(words, sites, np.arange(n), order)
    for shift in (0.0, -3.0, 700.0):
        W, E = np.full(lattices.shape, shift / 2), np.full(n * L, shift / 2)
        found = lattices.totals(W, E, np.ones(1))
        expected = n * math.log(L) + n * shift + shift / 2
        np.testing.assert_allclose(found.partitions, expected, rtol=1e-10, atol=1e-8)
        np.testing.assert_allclose(found.entries, 1 / L, rtol=1e-9)
        np.testing.assert_allclose(found.steps.sum(), n + 1, rtol=1e-9)


# ---------------------------------------------------------------- numbers at their limits


def careful(lattices, monkeypatch, *given):
    """Totals by the log domain alone."""
    scaled = Lattices._scaled
    with monkeypatch.context() as patch:
        patch.setattr(Lattices, "_scaled", lambda self, W, E: (*scaled(self, W, E)[:-1], False))
        return lattices.totals(*given)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("goals", ["one", "observed"])
@pytest.mark.parametrize("name", [*LOCAL, "observed"])
def test_scaled_and_log_domain_sums_agree(order, goals, name, monkeypatch):
    rng = np.random.default_rng(5)
    sentences = [rng.integers(0, 6, n) for n in (1, 2, 5, 9, 14)]
    words = neighborhood(name).lattices(sentences, 6)
    for seed, (scale, forbidden) in enumerate(itertools.product((0.0, 1.0, 3.0), (0.0, 0.1))):
        weighted = Weighted(seed, 4, order, scale, forbidden, n_words=6, per_word=4)
        lattices = weighted.lattices(words, goals)
        weight = rng.normal(size=lattices.n_goals)
        slow = careful(lattices, monkeypatch, weighted.W, weighted.E, weight)
        with monkeypatch.context() as patch:
            patch.setattr(lattice_logs, "careful_sums", lambda *given: pytest.fail("not by the quick kernel"))
            quick = lattices.totals(weighted.W, weighted.E, weight)
        for part in ("partitions", "steps", "entries"):
            np.testing.assert_allclose(getattr(quick, part), getattr(slow, part), **CLOSE)


def test_a_path_that_ends_dead_does_not_hide_a_living_one():
    """Words of very different scores, the likelier of which no sentence can end with."""
    sites = Sites.of(np.eye(3, dtype=bool)[[0, 1, 2]])
    for order, (high, low) in itertools.product((1, 2), ((1e3, -1e3), (1e5, -1e5), (200.0, -200.0))):
        W = np.zeros((5 if order == 2 else 1, 5, 5))
        W[..., 0, 2] = -np.inf  # label 0, of word 0, cannot stand before label 2
        words = neighborhood(lambda x: [[0, 2], [1, 2]]).lattices([[0, 2]], 3)
        lattices = Lattices(words, sites, np.arange(3), order)
        found = lattices.totals(W, np.array([high, low, 0.0]), np.ones(1))
        np.testing.assert_allclose(found.partitions, low)
        np.testing.assert_allclose(found.entries, [0.0, 1.0, 1.0])


def test_states_that_nothing_reaches_leave_expectations_finite():
    """Label 1 follows itself at no cost but cannot begin; what can begin costs much at every step."""
    T, sites = 30, Sites.of(np.ones((30, 2), bool))
    for order in (1, 2):
        W = np.full((4 if order == 2 else 1, 4, 4), -140.0)
        W[..., 1, 1] = 0.0
        W[..., 2, 1] = W[..., 0, 1] = -np.inf
        lattices = Lattices(WordLattices.chains([np.arange(T)]), sites, np.arange(T), order)
        found = lattices.totals(W, np.zeros(2 * T), np.ones(1))
        np.testing.assert_allclose(found.partitions, -140.0 * (T + 1))
        np.testing.assert_allclose(found.entries, np.tile([1.0, 0.0], T))
        assert found.steps.sum() == pytest.approx(T + 1)


@pytest.mark.parametrize("order", [1, 2])
def test_any_number_of_threads_gives_the_same_numbers(order):
    rng = np.random.default_rng(0)
    sentences = [rng.integers(0, 20, rng.integers(1, 15)) for _ in range(60)]
    weighted = Weighted(1, 4, order, n_words=20, per_word=3)
    lattices = weighted.lattices(neighborhood("delortrans1").lattices(sentences, 20), "observed")
    assert len(lattices.chunks) > 4
    weight = rng.normal(size=lattices.n_goals)
    first, *others = (lattices.totals(weighted.W, weighted.E, weight, Threads(n)) for n in (1, 2, 3))
    for part, other in itertools.product(("partitions", "steps", "entries"), others):
        np.testing.assert_array_equal(getattr(first, part), getattr(other, part))
    paths = [[told(p) for p in lattices.nbest(weighted.W, weighted.E, 1, Threads(n))[9]] for n in (1, 3)]
    assert paths[0] == paths[1]


def test_no_sentences_at_all():
    weighted = Weighted(0, 2, 2)
    lattices = weighted.lattices(WordLattices.chains([], N_WORDS))
    found = lattices.totals(weighted.W, weighted.E, np.empty(0))
    assert len(found.partitions) == 0
    assert not found.steps.any()
    assert lattices.nbest(weighted.W, weighted.E) == []


@pytest.mark.parametrize(("order", "name"), [(1, "delortrans1"), (2, "del1subseq"), (2, "trans1")])
def test_samples_come_as_often_as_they_should(order, name):
    weighted = Weighted(1, 3, order)
    listing = weighted.listing(LOCAL[name]((0, 1, 0, 2)))
    lattice = weighted.lattice(neighborhood(name).lattices([[0, 1, 0, 2]], N_WORDS))
    n, outcomes = 40_000, [outcome for outcome, _ in listing]
    drawn = Counter(told(path) for path in lattice.sample(n, np.random.default_rng(1)))
    assert set(drawn) <= set(outcomes)
    expected = n * np.array(oracle.probabilities(listing))
    seen = np.array([drawn[outcome] for outcome in outcomes])
    rare = expected < 5
    expected, seen = (np.append(x[~rare], x[rare].sum() + 1e-9) for x in (expected, seen))
    free = len(expected) - 1
    assert free > 8
    assert ((seen - expected) ** 2 / np.maximum(expected, 1e-3)).sum() < free + 5 * math.sqrt(2 * free)


# ---------------------------------------------------------------- answers that are known


LETTERS = {"a": [0], "b": [0, 1], "c": [1, 2], "d": [0, 1, 2]}
KNOWN = {
    "trans1": (-1.569978679, -1.186136810, -1.581904764),
    "del1word": (-1.292444767, -1.253675365, -1.394032184),
    "delortrans1": (-2.007975675, -1.753988706, -2.066265558),
    "del1subseq": (-1.756761554, -1.520405726, -1.510551027),
    "length": (-7.748546552, -8.025404143, -9.598960067),
}


@pytest.fixture(scope="module")
def toy():
    """Letters with labels 0–2, START 3, STOP 4: weights by formula."""
    allowed = np.array([[label in labels for label in range(3)] for labels in LETTERS.values()])
    a, b, c = np.ogrid[:5, :5, :5]
    return allowed, np.sin(1 + a + 2 * b + 3 * c), np.cos(np.arange(8))


def toy_contrast(toy, name, *sentences):
    """Each sentence's criterion; a first sentence shows all letters in order and is left out."""
    allowed, W, E = toy
    text = text_of([[0, 1, 2, 3], *([*map("abcd".index, x)] for x in sentences)], list("abcd"), allowed)
    contrast = contrast_without_labels(text, name, 2)
    return contrast.values(W, E, Threads(1))[1:], contrast.totals(W, E, 1.0, Threads(1))[0][1:]


@pytest.mark.without_jit
@pytest.mark.parametrize("name", KNOWN)
def test_known_criteria(toy, name):
    for values in toy_contrast(toy, name, "abcd", "bbcb", "cdcdc"):
        np.testing.assert_allclose(values, KNOWN[name], rtol=0, atol=1e-8)


@pytest.mark.without_jit
def test_known_criteria_of_one_word_and_of_one_word_twice(toy):
    for name in ("trans1", "del1word", "delortrans1", "del1subseq"):
        np.testing.assert_allclose(toy_contrast(toy, name, "d"), 0.0, atol=1e-12)
    np.testing.assert_allclose(toy_contrast(toy, "trans1", "dd"), 0.0, atol=1e-12)
    np.testing.assert_allclose(toy_contrast(toy, "del1word", "dd"), -0.109601932, rtol=0, atol=1e-8)


def test_known_sum_best_labels_and_derivative(toy):
    allowed, W, E = toy
    lattice = Lattice(WordLattices.chains([[0, 1, 2, 3]]), Sites.of(allowed), W, E)
    assert lattice.partition() == pytest.approx(2.917511974, abs=1e-8)
    assert lattice.best().labels.tolist() == [0, 0, 2, 1]
    assert lattice.best().score == pytest.approx(1.230952719, abs=1e-8)
    words = neighborhood("trans1").lattices([[0, 1, 2, 3]], 4)
    found = Lattices(words, Sites.of(allowed), np.arange(4), 2, "observed").totals(W, E, np.array([1.0, -1.0]))
    assert found.steps[3, 3, 0] == pytest.approx(0.171944584, abs=1e-8)


def test_what_is_refused():
    weighted, words = Weighted(0, 2, 2), WordLattices.chains([[0, 1]], N_WORDS)
    for call, part in (
        (lambda: Lattices(words, weighted.sites, np.arange(3), 3), "order is 3"),
        (lambda: Lattice(words, weighted.sites, weighted.W[:, :, :3], weighted.E), "steps must have shape (4, 4, 4)"),
        (lambda: Lattice(words, weighted.sites, weighted.W, weighted.E[1:]), "scores must have shape"),
        (lambda: Lattice(words, weighted.sites, weighted.W * np.nan, weighted.E), "steps[0, 0, 0] is nan"),
        (lambda: weighted.lattice(words).nbest(0), "Cannot list 0 paths"),
        (lambda: Sites.of(np.zeros((1, 2), bool)), "site 0 has no label"),
    ):
        with pytest.raises(LoglinError) as caught:
            call()
        assert part in str(caught.value)


def test_a_lattice_is_one():
    sites = Sites.of(np.ones((2, 2), bool))
    with pytest.raises(LoglinError, match="words are 2 lattices; give one"):
        Lattice(WordLattices.chains([[0, 1], [1]], 2), sites, np.zeros((1, 4, 4)), np.zeros(4))
