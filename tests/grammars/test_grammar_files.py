"""Grammar files: what they may hold, that they come back as they were written, and every mistake in one sentence."""

from __future__ import annotations

import math

import nltk
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loglin.errors import LoglinError
from loglin.grammars import files
from loglin.grammars.files import Productions, Word
from support.grammars import toy_grammars

EXAMPLE = r"""
# a comment, and an empty line

%start S
NP -> 'the' N [0.9]|"don't" [0.1]     # words and symbols, no space before the bar
S -> NP VP [0.7] | VP [.3]
N -> 'dog' [0.99] | <UNK-s> [0.01]
VP -> \'' \
    N [5e-1] | @NP|DT,JJ [0.5]
\'' -> '\\' [1]
@NP|DT,JJ -> 'it\'s "so"' [1.0]
"""


def test_what_a_file_says():
    assert files.parse(EXAMPLE) == Productions(
        "S",
        {
            ("NP", Word("the"), "N"): 0.9,
            ("NP", Word("don't")): 0.1,
            ("S", "NP", "VP"): 0.7,
            ("S", "VP"): 0.3,
            ("N", Word("dog")): 0.99,
            ("N", Word("UNK-s", unknown=True)): 0.01,
            ("VP", "''", "N"): 0.5,
            ("VP", "@NP|DT,JJ"): 0.5,
            ("''", Word("\\")): 1.0,
            ("@NP|DT,JJ", Word('it\'s "so"')): 1.0,
        },
    )


def test_without_start_and_probabilities():
    found = files.parse("A -> B | 'a' | 'b' 'c' A\nB -> 'a'")
    assert found.start == "A"
    assert found.rules["A", "B"] == found.rules["A", Word("b"), Word("c"), "A"] == 1 / 3
    assert found.rules["B", Word("a")] == 1


def test_weights_are_read_as_they_are():
    assert files.parse("S -> S S [3] | 'a' [0]", weighted=True).rules == {("S", "S", "S"): 3, ("S", Word("a")): 0}


def test_what_is_written(tmp_path):
    rules = {("S", "B", "B"): 0.25, ("B", Word("b")): 1.0, ("S", "B"): 0.5, ("A", Word("a")): 1.0, ("S", "A"): 0.25}
    files.write(tmp_path / "g.cfg", Productions("S", rules))
    assert (tmp_path / "g.cfg").read_text() == (
        "%start S\n\nS -> A [0.25]\nS -> B [0.5]\nS -> B B [0.25]\n\nA -> 'a' [1.0]\n\nB -> 'b' [1.0]\n"
    )
    assert files.read(tmp_path / "g.cfg") == Productions("S", rules)


# separators that a text file cannot keep within a line are left out
characters = st.characters(exclude_characters="\n\r", exclude_categories=("Cs",))
symbols = st.text(characters, min_size=1, max_size=6)
words = symbols.map(Word) | st.text("UNKs-*", min_size=1, max_size=5).map(lambda text: Word(text, unknown=True))


@st.composite
def grammars(draw):
    parents = draw(st.lists(symbols, min_size=1, max_size=4, unique=True))
    rules = {}
    for n, parent in enumerate(parents):
        rules[(parent, draw(words))] = draw(st.floats(0, 1e300))
        # children that come later, so that unary rules are in no circle
        later = st.sampled_from(parents[n + 1 :]) | words if parents[n + 1 :] else words
        for children in draw(st.lists(st.lists(later, min_size=1, max_size=4), max_size=4)):
            rules[(parent, *children)] = draw(st.floats(0, 1e300))
    return Productions(draw(st.sampled_from(parents)), rules)


@given(grammars())
@settings(deadline=None)
def test_what_is_written_is_read(productions):
    assert files.parse(files.show(productions), weighted=True) == productions


@pytest.mark.parametrize("theirs", toy_grammars())
def test_grammars_of_nltk(theirs):
    text = "\n".join(str(production) for production in theirs.productions())
    found = files.parse(text)
    assert found.start == theirs.start().symbol()
    expected = {}
    for production in theirs.productions():
        children = (c.symbol() if isinstance(c, nltk.Nonterminal) else Word(c) for c in production.rhs())
        expected[(production.lhs().symbol(), *children)] = production.prob()
    assert found.rules == pytest.approx(expected)
    again = nltk.PCFG.fromstring(files.show(found))  # and NLTK reads what is written
    assert {str(p) for p in again.productions()} == {str(p) for p in theirs.productions()}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("S NP VP", "line 1: 'S NP VP' is not a rule; write it as SYMBOL -> …"),
        ("S->NP", "line 1: 'S->NP' is not a rule"),
        ("'a' -> S", "is not a rule"),
        ("S -> 'a' -> 'b'", "is not a rule"),
        ("S -> 'a' [0.5]\n\nS -> 'b'", "line 3: the rule S -> 'b' has no probability, but others have; write one"),
        ("S -> 'a' [-0.5]", "line 1: the probability is '-0.5'; give a number of at least 0"),
        ("S -> 'a' [nan]", "line 1: the probability is 'nan'"),
        ("S -> 'a' [inf]", "line 1: the probability is 'inf'"),
        ("S -> 'a' [half]", "line 1: the probability is 'half'"),
        ("S -> [0.5] 'a' [0.5]", "line 1: a probability stands inside a rule of 'S'; write it last"),
        ("# x\nS -> 'a' [0.5]\nS -> 'b' [0.4]", "line 2: the probabilities of the rules of 'S' sum to 0.9; make them"),
        ("S -> 'a' [0.7] | 'b' [0.7]", "sum to 1.4; make them sum to one, or read the rules as weighted"),
        ("S -> NP 'a'", "line 1: the symbol 'NP' has no rules; write one, or put it in quotes if it is a word"),
        ("S -> A|B\nA -> 'a'\nB -> 'b'", "line 1: the symbol 'A|B' has no rules"),
        ("S ->", "line 1: a rule of 'S' has an empty right side; give it words or symbols"),
        ("S -> 'a' | ", "has an empty right side"),
        ("S -> | 'a'", "has an empty right side"),
        ("S -> [1.0]", "has an empty right side"),
        ("S -> 'a' [0.5]\nS -> 'a' [0.5]", "line 2: the rule S -> 'a' stands in line 1 already; remove one"),
        ("S -> A | 'a'\nA -> B\nB -> S", "unary rules go in a circle, A → B → S → A"),
        ("", "holds no rules; write some such as"),
        ("# nothing\n", "holds no rules"),
        ("S -> 'a", "line 1: the quote before 'a' is never closed; close it"),
        ("S -> <UNK", "line 1: the angle bracket before 'UNK' is never closed"),
        ("S -> 'a' [0.5", "line 1: the bracket before '0.5' is never closed"),
        ("S -> ''", "line 1: a word is empty; write something between its quotes"),
        ("%begin S", "line 1: '%begin S' is no instruction; write %start and one symbol"),
        ("%signatures none\nS -> 'a'", "line 1: no kind of signature is called 'none'; there are notes, spelling"),
        ("%start A B\nS -> 'a'", "line 1: '%start A B' is no instruction"),
        ("S -> 'a'\n%start T", "line 2: the start symbol 'T' has no rules; name one that has"),
        ("%start S\n%start S\nS -> 'a'", "line 2: %start stands in line 1 already; keep one"),
    ],
)
def test_mistakes(text, said, tmp_path):
    path = tmp_path / "g.cfg"
    path.write_text(text)
    with pytest.raises(LoglinError) as caught:
        files.read(path)
    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)


def test_what_cannot_be_written():
    with pytest.raises(LoglinError, match="the symbol '' cannot be written"):
        files.show(Productions("", {("", Word("a")): 1.0}))
    for word in (Word("a\nb"), Word(""), Word("UNK C", unknown=True), Word("UNK>", unknown=True)):
        with pytest.raises(LoglinError, match="cannot be written to a grammar file"):
            files.show(Productions("S", {("S", word): 1.0}))


def test_a_large_file_is_read_in_linear_time():
    """3,000 symbols and 60,000 rules, for which a search per symbol would be 180,000,000 steps."""
    text = "\n".join(f"A{n} -> " + " | ".join(f"'w{n}-{k}'" for k in range(20)) for n in range(3000))
    found = files.parse(text)
    assert len(found.rules) == 60_000
    assert math.fsum(found.rules.values()) == pytest.approx(3000)
