"""The lexicon: the recipe by hand, what it does with words it does not know, and that every tag's words sum to one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loglin.errors import LoglinError
from loglin.features import signatures
from loglin.generative.lexicon import Lexicon
from loglin.grammars.files import Word

NUMBER = {"S": 0, "NN": 3, "DT": 1, "VB": 2}
SENTENCES = [
    [("the", "DT"), ("run", "NN")],
    [("the", "DT"), ("walk", "NN")],
    [("run", "VB"), ("the", "DT"), ("run", "NN")],
    [("the", "DT"), ("walks", "VB")],
]


def test_the_recipe_by_hand():
    """the 4 and run 3 are known; walk is UNK, walks UNK-s."""
    lexicon = Lexicon.count(SENTENCES, NUMBER)
    assert lexicon.terminals == [Word("run"), Word("the"), Word("UNK", True), Word("UNK-s", True)]
    assert lexicon.tags.tolist() == [1, 2, 3]  # DT, VB, NN
    unknown = np.array([0, 0.5, 0.5])  # of two rare words, one is VB and one NN
    unk = (np.array([0, 0, 1]) + unknown) / 2
    unk_s = (np.array([0, 1, 0]) + unknown) / 2
    run = (np.array([0, 1, 2]) + 0.1 * unk) / 3.1
    the = (np.array([4, 0, 0]) + 0.1 * unk) / 4.1
    joint = np.array([3 * run, 4 * the, unk, unk_s])
    with np.errstate(divide="ignore"):
        wanted = np.log(joint / joint.sum(axis=0))
    np.testing.assert_allclose(lexicon.scores(["run", "the", "<UNK>", "<UNK-s>"]), wanted)
    # Bayes: p(w | t) / p(w' | t) p(w') / p(w) = p(t | w) / p(t | w'), with the recipe's p(t | w)
    ratio = np.exp(lexicon.scores(["run", "the"]))
    np.testing.assert_allclose(ratio[0, 1:] / ratio[1, 1:] * 4 / 3, run[1:] / the[1:])


def test_sentences_as_they_are_read():
    lexicon = Lexicon.count(SENTENCES, NUMBER)
    read = lexicon.read(["Walks", "the", "cats", "run"])
    assert read == ["<UNK>", "the", "<UNK-s>", "run"]
    assert lexicon.read(read) == read
    known = Lexicon.table({("DT", Word("the")): 1.0}, NUMBER)
    assert known.read(["the", "cats"]) == ["the", "cats"]  # impossible


def test_words_that_are_not_known():
    lexicon = Lexicon.count(SENTENCES, NUMBER)
    unk, unk_s, the = lexicon.scores(["<UNK>", "<UNK-s>", "the"])
    for word, row in [("walk", unk), ("walks", unk_s), ("Cats", unk), ("1980", unk), ("the", the), ("The", unk)]:
        np.testing.assert_array_equal(lexicon.scores([word])[0], row)
    assert lexicon.text(0) == "run"
    assert lexicon.text(3) == "<UNK-s>"
    assert lexicon.scores([]).shape == (0, 3)


def test_where_a_sentence_begins(monkeypatch):
    """Only the first word of a sentence is looked up as one, unless the caller says which are."""
    monkeypatch.setattr(
        "loglin.generative.lexicon.signature", lambda _, first, kind: "UNK-first" if first else "UNK-later"
    )
    entries = {("A", Word("UNK-first", True)): 0.25, ("A", Word("UNK-later", True)): 0.75}
    lexicon = Lexicon.table(entries, {"A": 0})
    np.testing.assert_allclose(np.exp(lexicon.scores(["x", "y", "z"]))[:, 0], [0.25, 0.75, 0.75])
    np.testing.assert_allclose(np.exp(lexicon.scores(["x", "y"], [False, True]))[:, 0], [0.75, 0.25])
    counted = Lexicon.count([[("x", "A"), ("y", "A")]], {"A": 0})
    assert counted.terminals == [Word("UNK", True), Word("UNK-first", True), Word("UNK-later", True)]


def test_a_known_word_has_the_signature_of_most_of_its_tokens():
    """Dog is known; begun with it, sentences make it UNK-C0, as which the rare Ah is X; inside, UNK-C as Bob is NN."""
    number = {"X": 0, "NN": 1, "VB": 2}
    rare = [[("Ah", "X"), ("Bob", "NN")]]
    begins = Lexicon.count([*rare, *[[("Dog", "VB"), ("runs", "VB"), ("runs", "VB")]] * 3], number)
    inside = Lexicon.count([*rare, *[[("runs", "VB"), ("Dog", "VB"), ("runs", "VB")]] * 3], number)
    one, two = begins.scores(["Dog"])[0], inside.scores(["Dog"])[0]
    # (1 + 1/2) / 2 and (1/2) / 2 of the two tags, whose totals differ a little
    assert one[0] - one[1] == pytest.approx(math.log(3), abs=0.1)
    assert two[0] - two[1] == pytest.approx(-math.log(3), abs=0.1)


def test_table():
    entries = {("B", Word("b")): 0.5, ("A", Word("b")): 0.25, ("B", Word("a")): 0.125}
    lexicon = Lexicon.table(entries, {"A": 7, "B": 5})
    assert lexicon.tags.tolist() == [5, 7]
    wanted = [[math.log(0.125), -math.inf], [math.log(0.5), math.log(0.25)], [-math.inf, -math.inf]]
    np.testing.assert_allclose(lexicon.scores(["a", "b", "c"]), wanted)
    np.testing.assert_allclose(lexicon.mass, [0.625, 0.25])
    np.testing.assert_allclose(lexicon.matrix.toarray(), np.exp(wanted[:2]))
    np.testing.assert_allclose(lexicon.scaled(np.log([2, 4])).mass, [1.25, 1])


def test_a_table_with_one_class_of_unknown_words():
    lexicon = Lexicon.table({("A", Word("a")): 0.5, ("A", Word("UNK", True)): 0.5}, {"A": 0})
    np.testing.assert_allclose(np.exp(lexicon.scores(["a", "Running", "12"])), 0.5)
    assert lexicon.n_known == 1


def test_a_word_that_looks_like_a_signature():
    entries = {("A", Word("<UNK>")): 0.25, ("A", Word("UNK", True)): 0.5, ("A", Word("UNK")): 0.125}
    lexicon = Lexicon.table(entries, {"A": 0})
    np.testing.assert_allclose(np.exp(lexicon.scores(["<UNK>", "UNK", "other", "<x>"]))[:, 0], [0.25, 0.125, 0.5, 0.5])


def test_nothing_is_rare():
    """Then an unknown word has the tags of all words, and counts as one token."""
    lexicon = Lexicon.count([[("a", "A"), ("b", "B"), ("b", "B")]] * 2, {"A": 0, "B": 1})
    assert lexicon.terminals == [Word("a"), Word("b"), Word("UNK", True)]
    np.testing.assert_allclose(lexicon.mass, 1)
    joint = np.array([[2.1 - 0.1 * 2 / 3, 0.1 * 2 / 3], [0.1 / 3, 4.1 - 0.1 / 3], [1 / 3, 2 / 3]])
    joint[0] *= 2 / 2.1
    joint[1] *= 4 / 4.1
    np.testing.assert_allclose(np.exp(lexicon.scores(["a", "b", "c"])), joint / joint.sum(axis=0))


@given(
    st.sampled_from([0, 1, 2, 100]),
    st.sampled_from([0.0, 0.1, 5.0]),
    st.lists(st.lists(st.tuples(st.sampled_from("Abc1ds"), st.sampled_from(list(NUMBER))), min_size=1), min_size=1),
)
def test_every_tag_writes_something(rare, smoothing, sentences):
    lexicon = Lexicon.count(sentences, NUMBER, smoothing, rare)
    np.testing.assert_allclose(lexicon.mass, 1)
    assert lexicon.tags.tolist() == sorted({NUMBER[tag] for s in sentences for _, tag in s})
    column = {tag: k for k, tag in enumerate(lexicon.tags.tolist())}
    for sentence in sentences:
        scores = lexicon.scores([word for word, _ in sentence])
        assert all(scores[t, column[NUMBER[tag]]] > -math.inf for t, (_, tag) in enumerate(sentence))


def test_tags_of_negligible_share():
    """Left out where a word was never seen with them; what was seen stays, however rarely."""
    sentences = [[("the", "DT")] * 100_000, [("the", "X")], [("dog", "NN")], [("runs", "VB")]]
    number = {tag: n for n, tag in enumerate(["DT", "NN", "VB", "X"])}
    lexicon = Lexicon.count(sentences, number)
    np.testing.assert_allclose(lexicon.mass, 1)
    assert np.isfinite(lexicon.scores(["the"])[0]).tolist() == [True, False, False, True]
    assert np.isfinite(Lexicon.count(sentences, number, floor=0).scores(["the"])[0]).all()


def test_mistakes():
    with pytest.raises(LoglinError, match="there are no words"):
        Lexicon.count([[]], NUMBER)
    with pytest.raises(LoglinError, match="smoothing is -1"):
        Lexicon.count(SENTENCES, NUMBER, smoothing=-1)


def test_signatures_begin_alike():
    """What the lexicon needs of them: UNK, then parts that can be taken off."""
    for word in ("walk", "Walking", "a-b", "1980", ""):
        assert (signatures.signature(word, False) + "-").startswith("UNK-")
