"""Forests over word lattices against enumeration of their strings; right-linear grammars against Chain and Lattice."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from loglin.errors import LoglinError
from loglin.grammars.grammar import Grammar
from loglin.neighborhoods import WordLattices, neighborhood
from loglin.structures import Chain, Forest, Forests
from loglin.structures.forest import scores_of
from loglin.structures.lattice import Lattice, Lattices, Sites
from support.forests import CLOSE, INF, Case, check_forest, lattice_paths, sprinkle

N_WORDS = 3
SENTENCE = st.lists(st.integers(0, N_WORDS - 1), min_size=1, max_size=4)
LOCAL = {
    "del1word": oracle.del1word,
    "trans1": lambda x: oracle.exchanged(x, 1),
    "delortrans1": lambda x: oracle.del1word(x) | oracle.exchanged(x, 1),
    "del1subseq": oracle.del1subseq,
}


@pytest.mark.parametrize("name", LOCAL)
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    sentence=SENTENCE,
    scale=st.sampled_from([0.0, 1.0, 30.0, 1e4]),
    forbidden=st.sampled_from([0.0, 0.0, 0.3]),
    per_cell=st.booleans(),
    splits=st.booleans(),
)
def test_forest_of_a_neighborhood_equals_enumeration(name, seed, sentence, scale, forbidden, per_cell, splits):
    words = neighborhood(name).lattices([sentence], N_WORDS)
    paths = lattice_paths(words)
    assert {read for _, read in paths} == LOCAL[name](tuple(sentence))
    case = Case(seed, 0, 2, 3, 1, scale, forbidden, per_cell, splits, len(words.final), N_WORDS)
    check_forest(case.forest(words), case.listed(paths))


@pytest.mark.parametrize("name", LOCAL)
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    sentences=st.lists(SENTENCE, min_size=1, max_size=2),
    scale=st.sampled_from([0.0, 1.0, 30.0, 1e4]),
    forbidden=st.sampled_from([0.0, 0.0, 0.3]),
)
def test_the_observed_sentence_against_all(name, seed, sentences, scale, forbidden):
    """Both goals of every lattice, and expectations of the one minus those of the other, as contrast needs them."""
    check_goals(name, seed, sentences, scale, forbidden)


def check_goals(name, seed, sentences, scale, forbidden):
    case = Case(seed, 0, 2, 3, 1, scale, forbidden, rows=N_WORDS, states=1)
    words = neighborhood(name).lattices(sentences, N_WORDS)
    forests = Forests(case.grammar, np.arange(2), words, words.symbols)
    scores, n = scores_of(case.leaves, case.roots, case.rules), len(sentences)
    found = forests.totals(scores, np.tile([1.0, -1.0], (n, 1)), dense=True, spans=True)
    truth = {"leaves": 0.0, "roots": 0.0, "rules": 0.0}
    for s, sentence in enumerate(sentences):
        observed, everything = (case.listed(lattice_paths(words, s, least)) for least in (2, 1))
        assert [read for _, read in lattice_paths(words, s, 2)] == [tuple(sentence)]
        partitions = observed.partition(), everything.partition()
        np.testing.assert_allclose(found.partitions[s], partitions, **CLOSE)
        for weight, listed in ((1.0, observed), (-1.0, everything)):
            uses = listed.expected()
            truth = {part: total + weight * uses[part] for part, total in truth.items()}
    for part, value in truth.items():
        np.testing.assert_allclose(getattr(found, part), value, err_msg=part, **CLOSE)
    np.testing.assert_allclose(found.dense.sum(axis=0), found.rules, **CLOSE)


@pytest.mark.without_jit
def test_plain_neighborhoods():
    check_goals("delortrans1", 1, [[0, 1, 2], [2, 1]], 1.0, 0.0)
    check_goals("delortrans1", 1, [[0, 1, 2], [2, 1]], 1e4, 0.2)


def test_samples_of_a_lattice_reach_all_its_sentences():
    case = Case(3, 0, 2, 4, 0, rows=N_WORDS, states=1)
    words = neighborhood("del1word").lattices([[0, 1, 2]], N_WORDS)
    listed, forest = case.listed(lattice_paths(words)), case.forest(words)
    drawn = forest.sample(4000, np.random.default_rng(0))
    assert {listed.told(d.nodes, forest._forests.layout.row)[0] for d in drawn} == {
        at for at, _ in lattice_paths(words)
    }


def test_what_a_forest_of_a_lattice_refuses():
    case = Case(0, 0, 2, 3, 1, rows=N_WORDS, states=1)
    words = neighborhood("trans1").lattices([[0, 1], [1, 0]], N_WORDS)
    with pytest.raises(LoglinError, match="words are 2 lattices"):
        case.forest(words)
    with pytest.raises(LoglinError, match="reads the 3 rows of leaves"):
        case.forest(WordLattices.chains([[0, 3]]))
    with pytest.raises(LoglinError, match="A lattice has no spans of words"):
        case.forest(neighborhood("trans1").lattices([[0, 1]], N_WORDS)).max_recall()


# ---------------------------------------------------------------- right-linear grammars are chains


def right_linear(L, stop=True):
    """Q_a → T_a Q_b, label a before label b; Q_a → T_a, label a at the end. T_a are the tags of words.

    Symbols: T_0 … T_{L−1}, then Q_0 … Q_{L−1}. Without ``stop`` the last word is itself a Q_a.
    """
    tags, suffixes = [f"T{a}" for a in range(L)], [f"Q{a}" for a in range(L)]
    rules = [(suffixes[a], tags[a], suffixes[b]) for a, b in itertools.product(range(L), repeat=2)]
    rules += [(suffixes[a], tags[a]) for a in range(L)] if stop else []
    grammar = Grammar.of(rules, [*tags, *suffixes])
    step = np.array([[grammar.rule_number[(suffixes[a], tags[a], suffixes[b])] for b in range(L)] for a in range(L)])
    end = np.array([grammar.rule_number[(suffixes[a], tags[a])] for a in range(L)] if stop else [], np.int64)
    return grammar, step, end


CHAINS = {
    "seed": st.integers(0, 10**6),
    "T": st.integers(1, 8),
    "L": st.integers(1, 4),
    "scale": st.sampled_from([0.0, 1.0, 30.0, 1e4]),
    "forbidden": st.sampled_from([0.0, 0.1, 0.4]),
}


@pytest.mark.parametrize("stop", [False, True])
@settings(max_examples=60, deadline=None)
@given(**CHAINS, per_step=st.booleans())
def test_right_linear_forests_equal_chains(stop, seed, T, L, scale, forbidden, per_step):
    rng = np.random.default_rng(seed)
    scores, transitions, _ = oracle.random_chain(rng, T, L, 1, per_step)
    scores, transitions = (sprinkle(rng, scale * x, forbidden) for x in (scores, transitions))
    grammar, step, end = right_linear(L, stop)
    leaves, rules = np.full((T, 2 * L), -INF), np.zeros((T * (T + 1) // 2, grammar.n_rules))
    leaves[:, :L] = scores
    if not stop:
        leaves[-1, :L], leaves[-1, L:] = -INF, scores[-1]
    for i in range(T - 1):  # the step from word i to the next is made by the rule over words i … T − 1
        rules[T * (T - 1) // 2 + i, step] = transitions[i] if per_step else transitions
    roots = np.repeat([-INF, 0.0], L)
    forest, chain = Forest(grammar, leaves, rules, roots), Chain(scores, transitions)
    np.testing.assert_allclose(forest.partition(), chain.partition(), **CLOSE)
    if chain.partition() == -INF:
        return
    tagged = forest.leaf_marginals()
    np.testing.assert_allclose(tagged[:, :L] + tagged[:, L:], chain.marginals(), **CLOSE)
    made = forest.marginals()[0][T * (T - 1) // 2 :]
    for i in range(T - 1):
        np.testing.assert_allclose(made[i, step], chain.transition_marginals()[i], **CLOSE)
    best = forest.best()
    labels = [A % L for A, _, _, rule in best.nodes.tolist() if rule < 0]
    np.testing.assert_allclose(best.score, chain.best()[1], **CLOSE)
    np.testing.assert_allclose(chain.score(labels), chain.best()[1], **CLOSE)
    listed = [d.score for d in forest.nbest(6)]
    np.testing.assert_allclose(listed, [score for _, score in chain.nbest(6)], **CLOSE)
    np.testing.assert_allclose(made[:, end].sum(), stop, **CLOSE)


@pytest.mark.parametrize("name", LOCAL)
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    sentence=st.lists(st.integers(0, 4), min_size=1, max_size=7),
    L=st.integers(1, 3),
    scale=st.sampled_from([0.0, 1.0, 30.0, 1e4]),
)
def test_right_linear_forests_of_lattices_equal_lattices(name, seed, sentence, L, scale):
    """START → a is the root's score, a → STOP that of Q_a → T_a."""
    rng = np.random.default_rng(seed)
    W, E = scale * rng.normal(size=(1, L + 2, L + 2)), scale * rng.normal(size=(5, L))
    words, sites = neighborhood(name).lattices([sentence], 5), Sites.of(np.ones((5, L), bool))
    grammar, step, end = right_linear(L)
    rules = np.empty(grammar.n_rules)
    rules[step], rules[end] = W[0, :L, :L], W[0, :L, L + 1]
    leaves, roots = np.column_stack([E, np.full((5, L), -INF)]), np.append(np.full(L, -INF), W[0, L, :L])
    forest, lattice = Forest(grammar, leaves, rules, roots, words=words), Lattice(words, sites, W, E.reshape(-1))
    np.testing.assert_allclose(forest.partition(), lattice.partition(), **CLOSE)
    steps, entries = lattice.expectations()
    np.testing.assert_allclose(forest.expectations()[step], steps[0, :L, :L], **CLOSE)
    np.testing.assert_allclose(forest.expectations()[end], steps[0, :L, L + 1], **CLOSE)
    np.testing.assert_allclose(forest.leaf_marginals()[:, :L], entries.reshape(5, L), **CLOSE)
    np.testing.assert_allclose(forest.best().score, lattice.best().score, **CLOSE)
    np.testing.assert_allclose([d.score for d in forest.nbest(5)], [p.score for p in lattice.nbest(5)], **CLOSE)
    both = Forests(grammar, np.arange(2 * L), words, words.symbols)
    found = both.totals(scores_of(leaves, roots, rules), np.array([[1.0, -1.0]]))
    truth = Lattices(words, sites, np.arange(5), 1, "observed").totals(W, E.reshape(-1), np.array([1.0, -1.0]))
    np.testing.assert_allclose(found.partitions[0], truth.partitions, **CLOSE)
    np.testing.assert_allclose(found.rules[step], truth.steps[0, :L, :L], **CLOSE)
    np.testing.assert_allclose(found.roots[L:], truth.steps[0, L, :L], **CLOSE)
    np.testing.assert_allclose(found.leaves[:, :L], truth.entries.reshape(5, L), **CLOSE)
