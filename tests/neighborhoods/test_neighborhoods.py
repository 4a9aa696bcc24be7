"""Neighborhoods against their definitions, word for word."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from loglin.corpus.trees import read
from loglin.neighborhoods import Transducer, WordLattices, neighborhood
from loglin.neighborhoods.named import Everything
from support.corpora import corpus_folder
from support.errors import refused

SENTENCES = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=6), min_size=1, max_size=3)
DEFINITIONS = {
    "del1word": oracle.del1word,
    "trans1": lambda x: oracle.exchanged(x, 1),
    "TRANS2": lambda x: oracle.exchanged(x, 2),
    "trans4": lambda x: oracle.exchanged(x, 4),
    "DelOrTrans1": lambda x: oracle.del1word(x) | oracle.exchanged(x, 1),
    "del1word+trans1": lambda x: oracle.del1word(x) | oracle.exchanged(x, 1),
    "del1subseq": oracle.del1subseq,
    "trans2+del1subseq+trans1": lambda x: oracle.del1subseq(x) | oracle.exchanged(x, 2),
}


def check(lattices: WordLattices, i: int, observed: tuple) -> None:
    """The invariants that training relies on."""
    first, last = lattices.states[i : i + 2]
    arcs = [
        (q - first, int(lattices.symbols[a]), int(lattices.targets[a]))
        for q in range(first, last)
        for a in range(lattices.arcs[q], lattices.arcs[q + 1])
    ]
    final = lattices.final[first:last].tolist()
    assert [a[:2] for a in arcs] == sorted({a[:2] for a in arcs})  # deterministic and sorted
    assert all(q < r < last - first for q, _, r in arcs)
    assert {r for *_, r in arcs} == set(range(1, last - first))  # in topological order, so from the start
    assert all(final[q] or any(a[0] == q for a in arcs) for q in range(last - first))  # and to an end
    signatures = [(final[q], *[a[1:] for a in arcs if a[0] == q]) for q in range(last - first)]
    assert len(set(signatures)) == len(signatures)  # minimal
    assert final[0] == 0
    assert final.count(2) == 1
    q = 0
    for word in observed:
        (r,) = [r for p, symbol, r in arcs if (p, symbol) == (q, word)]
        assert [a for a in arcs if a[2] == r] == [(q, word, r)]  # a state of its own
        q = r
    assert final[q] == 2


@pytest.mark.parametrize("name", DEFINITIONS)
@settings(max_examples=60, deadline=None)
@given(sentences=SENTENCES)
def test_named_neighborhoods_by_definition(name, sentences):
    lattices = neighborhood(name).lattices(sentences, 3)
    assert len(lattices) == len(sentences)
    assert lattices.of.tolist() == list(range(len(sentences)))
    assert not lattices.separate
    for i, sentence in enumerate(sentences):
        check(lattices, i, tuple(sentence))
        found = list(lattices.strings(i))
        assert set(found) == DEFINITIONS[name](tuple(sentence))
        assert len(found) == len(set(found)) == lattices.size(i)


def test_every_sentence_of_two_words_and_three_by_closed_forms():
    sentences = [x for m in range(1, 6) for x in itertools.product(range(3), repeat=m)]
    sizes = {}
    for name in ("trans1", "del1word", "del1subseq"):
        lattices = neighborhood(name).lattices(sentences, 3)
        sizes[name] = [lattices.size(i) for i in range(len(lattices))]
    for x, trans, word, subseq in zip(sentences, *sizes.values(), strict=True):
        unequal = sum(a != b for a, b in itertools.pairwise(x))
        m = len(x)
        spans = [(i, j) for i in range(m) for j in range(i, m) if (i, j) != (0, m - 1)]
        assert trans == 1 + unequal
        assert word == 1 + (unequal + 1) * (m > 1)
        assert subseq == 1 + sum(j == m - 1 or x[i] != x[j + 1] for i, j in spans)


OPERATIONS = ["copy", "delete", "swap", "swap:2", "permute:3", "permute:1", "substitute:1", "substitute:[0 2]"]
OPERATIONS += ["insert:2", "insert:[0 1]", "epsilon"]
STATES = st.integers(0, 2)
ARCS = st.lists(st.tuples(STATES, st.sampled_from(OPERATIONS), STATES), max_size=6)


@settings(max_examples=400, deadline=None)
@given(arcs=ARCS, final=st.sets(STATES), sentence=st.lists(st.integers(0, 2), min_size=1, max_size=4))
def test_any_transducer_writes_what_its_ways_write(arcs, final, sentence):
    onwards = [a for a in arcs if a[0] < a[2] or not a[1].startswith(("insert", "epsilon"))]
    arcs, final = [(0, "copy", 0), (0, "delete", 1), (1, "copy", 2), *onwards], final | {2}
    transducer = Transducer.of(arcs, final)
    expected = oracle.transduced(arcs, final, tuple(sentence))
    if tuple(sentence) not in expected:
        refused(lambda: neighborhood(transducer).lattices([sentence], 3), "loses sentence 0 itself")
        return
    lattices = neighborhood(transducer).lattices([sentence], 3)
    check(lattices, 0, tuple(sentence))
    assert sorted(lattices.strings(0)) == sorted(expected)


@pytest.mark.without_jit
def test_silent_arcs_may_lead_to_lower_states():
    arcs = [(0, "copy", 3), (3, "copy", 3), (3, "epsilon", 2), (2, "insert:1", 1), (1, "epsilon", 0), (2, "delete", 1)]
    for x in itertools.product(range(2), repeat=4):
        lattices = neighborhood(Transducer.of(arcs, [3, 1])).lattices([x], 2)
        check(lattices, 0, x)
        assert sorted(lattices.strings(0)) == sorted(oracle.transduced(arcs, [3, 1], x))


def test_states_are_shared_by_edited_strings():
    lattices = neighborhood("del1subseq").lattices([list(range(20))], 20)
    assert lattices.size(0) == 1 + 20 * 21 // 2 - 1
    assert lattices.states[1] == 21 + 20 - 1  # the sentence, and one for what is left behind a deletion
    assert neighborhood("trans1").lattices([list(range(20))], 20).states[1] == 21 + 19 + 19


def test_a_transducer_file(tmp_path):
    path = tmp_path / "my.fst"
    path.write_text("# one word less, or an article too many\n\n0 copy 0\n0 delete 1\n 0 insert:[the a] 1\n1 copy 1\n")
    refused(lambda: neighborhood(str(path)), "my.fst", "no final state")
    path.write_text(path.read_text() + "final 0\nfinal 1\n")
    tokens = ["the", "dog", "runs", "a"]
    for name in (path, str(path)):
        found = neighborhood(name).lattices([[1, 2]], 4, tokens)
        words = {" ".join(tokens[w] for w in s) for s in found.strings(0)}
        assert words == {"dog runs", "dog", "runs"} | {
            f"{' '.join(w)}"
            for the in ("the", "a")
            for w in ([the, "dog", "runs"], ["dog", the, "runs"], ["dog", "runs", the])
        }
    assert neighborhood(str(path)).name == str(path)
    both = neighborhood(f"trans1+{path}").lattices([[1, 2]], 4, tokens)
    assert both.size(0) == 10
    columns = [("the", "D"), ("dog", "N"), ("a", "D")]
    edit = Transducer.of([(0, "substitute:the/D", 0), (0, "copy", 0)], [0])
    assert set(neighborhood(edit).lattices([[1]], 3, columns).strings(0)) == {(0,), (1,)}
    refused(lambda: neighborhood(str(path)).lattices([[0]], 1, ["the"]), "line 5", "'a' is no known word")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("0 copy 0\n0 remove 1\nfinal 0", ["t, line 2", "'remove'", "copy, delete, swap"]),
        ("0 copy\nfinal 0", ["t, line 1", "0 copy 0"]),
        ("0 copy x\nfinal 0", ["t, line 1", "'x' is no state"]),
        ("0 copy 0\nfinal 0 -1", ["t, line 2", "'-1' is no state"]),
        ("0 copy 0", ["t has no final state"]),
        ("0 copy 0\nfinal", ["t has no final state"]),
        ("0 copy 0\nfinal 0 3", ["final state 3 does not exist"]),
        ("0 copy 0\n2 copy 0\nfinal 0", ["t, line 2", "state 2 does not exist"]),
        ("0 copy 0\n2 copy 2\nfinal 0 2", ["final state 2 does not exist"]),
        ("0 copy 0\n0 delete 1\nfinal 0", ["t, line 2", "state 1 leads to no final state"]),
        ("0 copy 0\n0 insert:a 0\nfinal 0", ["t, line 2", "'insert:a'", "without end"]),
        ("0 copy 0\n0 insert:a 1\n1 epsilon 0\nfinal 0", ["t, line 2", "without end"]),
        ("0 swap:0 0\nfinal 0", ["t, line 1", "number of words"]),
        ("0 permute 0\nfinal 0", ["t, line 1", "no operation 'permute'"]),
        ("0 permute:11 0\nfinal 0", ["t, line 1", "at most 10"]),
        ("0 insert: 0\nfinal 0", ["t, line 1", "insert:WORD"]),
        ("0 substitute:a b 0\nfinal 0", ["t, line 1", "substitute:[WORD …]"]),
        ("0 substitute:[ ] 0\nfinal 0", ["t, line 1", "substitute:[WORD …]"]),
    ],
)
def test_mistakes_in_a_transducer_are_told_with_their_line(text, parts):
    refused(lambda: Transducer.parse(text, "t"), *parts)


def test_a_transducer_that_loses_the_sentence_is_refused():
    pairs = Transducer.of([(0, "swap", 0), (0, "permute:2", 0)], [0], "pairs")
    assert neighborhood(pairs).lattices([[0, 1], [0, 1, 1, 0]], 2).size(1) == 4
    refused(lambda: neighborhood(pairs).lattices([[0, 1], [0, 1, 1]], 2), "pairs", "sentence 1 itself", "3 words")
    refused(lambda: neighborhood(Transducer.of([], [0])).lattices([[0]], 1), "loses sentence 0")
    refused(lambda: Transducer.of([(0, "copy", 0)], []), "no final state")
    refused(lambda: Transducer.of([(0, "copy", 1.5)], [0]), "arc 0", "1.5 is no state")


@settings(max_examples=40, deadline=None)
@given(sentences=SENTENCES)
def test_length_is_one_chain_of_a_pool_for_each_length(sentences):
    lattices = neighborhood("LENGTH").lattices(sentences, 3)
    assert lattices.separate
    assert len(lattices) == len({len(s) for s in sentences})
    assert [p.tolist() for p in lattices.pools] == [[0, 1, 2]]
    assert set(lattices.symbols.tolist()) == {3}
    assert set(lattices.final.tolist()) == {0, 1}
    for s, i in zip(sentences, lattices.of.tolist(), strict=True):
        assert lattices.size(i) == 3 ** len(s)
        if len(s) < 4:
            assert list(lattices.strings(i)) == list(itertools.product(range(3), repeat=len(s)))
    few = neighborhood("length").lattices(sentences, 3, varying=[2, 0])
    assert few.pools[0].tolist() == [0, 2]
    assert few.size(0) == 2 ** len(sentences[0])


@settings(max_examples=40, deadline=None)
@given(sentences=SENTENCES)
def test_observed_is_the_set_of_all_sentences_once(sentences):
    lattices = neighborhood("observed").lattices(sentences, 3)
    assert lattices.separate
    assert lattices.of.tolist() == [0] * len(sentences)
    assert sorted(lattices.strings(0)) == sorted({tuple(s) for s in sentences})
    assert set(lattices.final.tolist()) == {0, 1}
    assert len(neighborhood("observed").lattices([], 3).of) == 0


def test_conditional_keeps_some_columns():
    tokens = [("the", "D"), ("a", "D"), ("dog", "N"), ("cat", "N"), ("runs", "V")]
    sentences = [[0, 2, 4], [1, 3, 4], [4]]
    lattices = neighborhood("conditional:1").lattices(sentences, 5, tokens)
    assert lattices.separate
    assert lattices.of.tolist() == [0, 0, 1]
    assert set(lattices.strings(0)) == set(itertools.product([0, 1], [2, 3], [4]))
    assert list(lattices.strings(1)) == [(4,)]
    assert neighborhood("conditional: -1").lattices(sentences, 5, tokens).size(0) == 4
    assert neighborhood("conditional:0").lattices(sentences, 5, tokens).size(0) == 1
    assert neighborhood("conditional:1").lattices(sentences, 5, tokens, varying=[0, 2, 4]).size(0) == 1
    refused(lambda: neighborhood("conditional:2").lattices(sentences, 5, tokens), "keeps column 2", "only 2")
    refused(lambda: neighborhood("conditional:1,0").lattices(sentences, 5, tokens), "keeps all columns")
    refused(lambda: neighborhood("conditional:0").lattices([[0]], 1, ["a"]), "keeps all columns")
    for name in ("conditional", "conditional:", "conditional:x"):
        refused(lambda name=name: neighborhood(name), "which columns", "conditional:1,2")


def test_a_function_lists_neighbors():
    tokens = [("the", "D"), ("dog", "N"), ("dogs", "N"), ("run", "V")]

    def plural(sentence):
        assert all(token in tokens for token in sentence)
        yield [("dogs", "N") if word == "dog" else (word, tag) for word, tag in sentence]
        yield [list(token) for token in sentence[1:]]
        yield sentence[1:]
        yield []

    lattices = neighborhood(plural).lattices([[0, 1, 3], [3]], 4, tokens)
    assert set(lattices.strings(0)) == {(0, 1, 3), (0, 2, 3), (1, 3)}
    assert list(lattices.strings(1)) == [(3,)]
    assert neighborhood(plural).name == "plural"
    for i, sentence in enumerate([(0, 1, 3), (3,)]):
        check(lattices, i, sentence)


@settings(max_examples=60, deadline=None)
@given(sentences=SENTENCES)
def test_a_function_makes_the_lattice_that_a_transducer_makes(sentences):
    listed = neighborhood(lambda x: oracle.del1subseq(tuple(x))).lattices(sentences, 3)
    written = neighborhood("del1subseq").lattices(sentences, 3)
    assert listed.states.tolist() == written.states.tolist()
    assert len(listed.symbols) == len(written.symbols)
    for i in range(len(sentences)):
        assert list(listed.strings(i)) == list(written.strings(i))


def test_functions_that_go_wrong():
    words = ["a", "b"]
    for function, parts in (
        (lambda x: [["c"]], ["sentence 0", "'c' is no known word"]),
        (lambda x: ["ab"], ["sentence 0 holds 'ab'", "lists of tokens"]),
        (lambda x: "ab", ["sentence 0 is 'ab'", "list of sentences"]),
        (lambda x: None, ["sentence 0 is None", "list of sentences"]),
        (lambda x: [[{"w": 1}]], ["symbol_of"]),
    ):
        refused(lambda function=function: neighborhood(function).lattices([[0]], 2, words), *parts)
    numbers = {"c": 1}
    known = neighborhood(lambda x: [["c"]]).lattices([[0]], 2, words, symbol_of=numbers.get)
    assert list(known.strings(0)) == [(0,), (1,)]
    refused(lambda: neighborhood(lambda x: [["d"]]).lattices([[0]], 2, words, symbol_of=numbers.get), "'d'")


@settings(max_examples=40, deadline=None)
@given(sentences=SENTENCES)
def test_chains_hold_the_sentences_alone(sentences):
    chains = WordLattices.chains(sentences)
    assert chains.n_symbols == 1 + max(map(max, sentences))
    for i, sentence in enumerate(sentences):
        check(chains, i, tuple(sentence))
        assert list(chains.strings(i)) == [tuple(sentence)]
    assert WordLattices.chains(sentences, 7).n_symbols == 7


@pytest.mark.parametrize("name", ["trans1", "length", "observed"])
def test_bad_sentences_are_named(name):
    hood = neighborhood(name)
    refused(lambda: hood.lattices([[0], [], [1]], 2), "sentence 1 has no words")
    refused(lambda: hood.lattices([[0], [1, 2]], 2), "sentence 1, word 1", "symbol 2", "0 to 1")
    refused(lambda: hood.lattices([[0, -1]], 2), "sentence 0, word 1", "symbol -1")
    refused(lambda: hood.lattices([[0.5]], 2), "symbol 0.5")
    refused(lambda: hood.lattices([[0]], 2, ["a"]), "2 symbols but 1 tokens")
    refused(lambda: hood.lattices([[0]], 2, varying=[2]), "from 0 to 1")
    assert len(hood.lattices([], 2).of) == 0
    refused(lambda: WordLattices.chains([[0], []]), "sentence 1 has no words")


def test_names_that_are_none():
    for name in ("trans0", "trans", "del2word", "no such file"):
        refused(lambda name=name: neighborhood(name), repr(name), "del1word, trans1", "del1word+trans1")
    refused(lambda: neighborhood("trans1+nothing"), "'nothing'")
    refused(lambda: neighborhood("length+trans1"), "'length' cannot be part of a union")
    refused(lambda: neighborhood(7), "7 is no neighborhood")
    everything = neighborhood("everything")
    assert isinstance(everything, Everything)
    assert neighborhood(everything) is everything
    refused(lambda: everything.lattices([[0]], 1), "partition function")


def test_the_treebank_has_the_known_numbers_of_neighbors():
    """Objectives at weights of zero, over 24,020 words (one label a word)."""
    corpus = read(corpus_folder("treebank"))
    n = int(np.searchsorted(corpus.offsets, 24_000))
    assert corpus.offsets[n] == 24_020
    sentences = np.split(corpus.columns[0].codes, corpus.offsets[1:])[:n]
    n_symbols = len(corpus.columns[0].vocabulary)
    lattices = neighborhood("trans1").lattices(sentences, n_symbols)
    assert sum(math.log(lattices.size(i)) for i in range(n)) == pytest.approx(3109.4844, abs=1e-4)
    assert neighborhood("del1subseq").lattices(sentences, n_symbols).states[-1] < 60_000
