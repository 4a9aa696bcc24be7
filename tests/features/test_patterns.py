"""Patterns of templates: the answers of Python's engine, without its endless ones, and Wapiti's classes anywhere."""

from __future__ import annotations

import math
import random
import re

import pytest

from loglin import LoglinError, Tagger
from loglin.features import bytewise
from loglin.features.functions import evaluate
from loglin.features.patterns import Pattern, _Program, _Repeat, _Search, _shortest

ENDLESS = [
    r"(a+)+$", r"^(a|a)*$", r"^(a|aa)+$", r"^(\w+\s?)*$", r"(.*)*x", r"(?:a*)*b", r"(a?){60}a{60}$", "a*" * 30 + "b",
]  # fmt: skip


@pytest.mark.parametrize("pattern", ENDLESS)
@pytest.mark.parametrize("name", ["t", "m", "M", "if"])
def test_no_pattern_is_endless(pattern, name):
    expected = {"t": "false"}.get(name, "")
    assert evaluate(name, (pattern,), "a" * 59 + "!") == expected


@pytest.mark.parametrize("pattern", ["a*" * 60 + "b", ".?" * 60 + "b" * 60, ".*.*.*.*.*.*.*.*x$"])
def test_no_pattern_of_wapiti_is_endless(pattern):
    assert bytewise.test(pattern, "a" * 400) == "false"
    assert bytewise.match(pattern, "a" * 400) == ""


def test_an_endless_pattern_in_a_template():
    words = [["a" * 40 + "!", "b"]]
    tagger = Tagger(template='U00:%t[0,0,"(a+)+$"]\nU01:%x[0,0]').fit(words, [["A", "B"]])
    assert tagger.predict(words) == [["A", "B"]]


@pytest.mark.parametrize(
    ("pattern", "word", "found"),
    [
        (r"[\w-]+", "!x-1_", "x-1"),
        (r"[\u\l]+", "12McDonald3", "McDonald"),
        (r"[^\w]+", "ab_-c", "_-"),
        (r"[^\u\l]+", "Ab12é", "12é"),
        (r"[\p]+", "a.-_b", ".-_"),
        (r"[]\d]+", "a]1]b", "]1]"),
        (r"[\a'é]+", "1don'té2", "don'té"),
        (r"\L+", "abcDE", "DE"),
        (r"\U+", "ABcd", "cd"),
        (r"\P+", "..ab..", "ab"),
        (r"(.)\1", "book", "oo"),
        (r"(?i)AB+", "xabB", "abB"),
        (r"(?i:a)B", "aB", "aB"),
        (r"(?<=a)b{2}(?!c)", "abbcabb", "bb"),
    ],
)
def test_what_patterns_find(pattern, word, found):
    assert evaluate("m", (pattern,), word) == found


PIECES = ["a", "b", ".", "[ab]", "[^a]", r"\d", r"\b", "^", "$", r"\w", r"\u", r"[\w-]", r"[^\a1]", "", r"\B", r"\x61"]
TIMES = ["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{,2}", "{1,}?", "{0}", "*+", "?+", "++"]


def drawn(draw: random.Random, depth: int = 0) -> str:
    """A pattern of random pieces."""
    kind = draw.random()
    if depth > 3 or kind < 0.4:
        return draw.choice(PIECES)
    inside = drawn(draw, depth + 1)
    if kind < 0.6:
        return inside + drawn(draw, depth + 1)
    if kind < 0.72:
        return f"(?:{inside}|{drawn(draw, depth + 1)})"
    if kind < 0.94:
        return f"({inside}){draw.choice(TIMES)}"
    return draw.choice(["(?=", "(?!", "(?>", "(?i:", "(?<=", "(?<!"]) + inside + ")"


def repeats_nothing(part) -> bool:
    """Whether something that can match nothing is repeated without end, of which Python's engine has its own idea."""
    inside = getattr(part, "parts", None) or getattr(part, "branches", None) or [getattr(part, "part", None)]
    endless = isinstance(part, _Repeat) and part.most == math.inf and _shortest(part.part) == 0
    return endless or any(repeats_nothing(one) for one in inside if one is not None)


def test_answers_are_those_of_python():
    draw, compared = random.Random(7), 0
    while compared < 5000:
        try:
            pattern = Pattern(drawn(draw))
        except LoglinError:  # repeats nothing, or looks behind by a width that varies
            continue
        if repeats_nothing(pattern._tree):
            continue
        for _ in range(4):
            word = "".join(draw.choices("abcA1-", k=draw.randrange(7)))
            theirs, ours = pattern._python.search(word), _Search(word).first(_Program(pattern._tree))
            assert ours == (theirs and theirs.span()), (pattern.text, word)
            compared += 1


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(" * 2000 + "a" + ")" * 2000, "nested"),
        ("a" * 20_000, "20,000 characters"),
        ("(?x) a", "flag x"),
        ("a{99999999999999999999}", "regular expression"),
        ("[a", "regular expression"),
    ],
)
def test_patterns_that_are_refused(pattern, words):
    with pytest.raises(LoglinError, match=re.escape(words)) as refused:
        Pattern(pattern)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize("pattern", [r"(a+)+\1\1$", "((((a{1,99}){1,99}){1,99}){1,99})$"])
def test_what_cannot_be_bounded_is_refused_at_the_word(pattern):
    with pytest.raises(LoglinError, match="is refused: "):
        Pattern(pattern).found("a" * 50 + "!")
