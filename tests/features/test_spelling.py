"""The compiled functions of words against the Python ones, character by character and on random text."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from loglin.corpus.vocabulary import Vocabulary
from loglin.features.functions import FUNCTIONS, evaluate, ngrams
from loglin.features.spelling import COMPILED, WordCodes, distinct_ngrams, encoded, ngram_lists, values_of

ODD = "aAzZ09-._ \n\0ßẞİıIiΣσςǅǄŉﬃÀé中あ٣²½Ⅷⅷⓐʰªµ€$«»’\u0301\u0345\u200d\ufffd𝐀𝟘𐐀𐐨😀\ud800"
words = st.lists(
    st.one_of(st.text(st.sampled_from(ODD), max_size=12), st.text(max_size=8), st.text("abcXYZ-1", max_size=20)),
    max_size=12,
)


def arguments_of(name):
    return [(n,) for n in (1, 2, 3, 4, 9)] if FUNCTIONS[name][1] else [()]


CASES = [(name, arguments) for name in COMPILED for arguments in arguments_of(name)]


def test_compiled_functions_are_functions_of_templates():
    assert set(COMPILED) < set(FUNCTIONS)
    assert "ngrams" not in COMPILED  # it has kernels of its own


@pytest.mark.without_jit
@given(words)
@settings(max_examples=60, deadline=None)
@example(["", "İstanbul", "ΟΔΟΣ", "ǅ", "ß", "A\n\nb", "a\u0301", "𝐀b", "١٢٣", "中文字", "\ud800x"])
def test_values_are_those_of_python(strings):
    vocabulary = Vocabulary.of(strings)
    for name, arguments in CASES:
        expected = [evaluate(name, arguments, word) for word in strings]
        assert values_of(name, arguments, vocabulary).strings == expected, name


@pytest.mark.without_jit
@given(words, words)
@settings(max_examples=60, deadline=None)
@example(["İ", "i̇", "Ab"], ["İ", "I", "ΑΣ", "ας", "AB", ""])
def test_codes_are_those_of_values(trained, strings):
    """Codes in the values of other words, -1 where a value is not among them."""
    views = [(0, name, arguments) for name, arguments in CASES]
    known = [encoded(values_of(name, arguments, Vocabulary.of(trained))).vocabulary for _, name, arguments in views]
    codes = np.full((len(views), len(strings) + 2), -2, np.int32)  # there may be room for more than the words
    WordCodes(views, known).find(Vocabulary.of(strings), codes)
    for row, (_, name, arguments), vocabulary in zip(codes[:, : len(strings)].tolist(), views, known, strict=True):
        numbers = {value: i for i, value in enumerate(vocabulary.strings)}
        assert row == [numbers.get(evaluate(name, arguments, word), -1) for word in strings], name


@pytest.mark.without_jit
@given(words, words, st.integers(1, 4), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_ngrams_are_those_of_python(trained, strings, shortest, longest):
    known = distinct_ngrams((shortest, longest), Vocabulary.of(trained))
    assert known.strings == list(dict.fromkeys(g for word in trained for g in ngrams(word, shortest, longest)))
    lists = ngram_lists((shortest, longest), Vocabulary.of(strings), known)
    numbers = {gram: i for i, gram in enumerate(known.strings)}
    for w, word in enumerate(strings):
        found = lists.ids[lists.ptr[w] : lists.ptr[w + 1]].tolist()
        assert found == [numbers[g] for g in ngrams(word, shortest, longest) if g in numbers]


def characters():
    """All characters of kinds that functions tell apart, and one in fifty of the others."""
    every = map(chr, range(0x110000))
    return [
        c for i, c in enumerate(every) if i % 50 == 0 or unicodedata.category(c) not in ("Cn", "Co", "Cs", "Lo", "So")
    ]


@pytest.mark.parametrize("points", ["most", pytest.param("all", marks=pytest.mark.full)])
@pytest.mark.parametrize("around", ["", "Aa"])
def test_characters_of_unicode(points, around):
    """One word per code point, alone and between letters, surrogates included."""
    chosen = characters() if points == "most" else map(chr, range(0x110000))
    strings = [f"{around}{character}{around}" for character in chosen]
    regular = [word for word in strings if len(word.lower()) == len(word) and "Σ" not in word]
    for name in ("lower", "shape", "short-shape", "is-title", "is-upper", "has-upper", "has-digit", "is-punctuation"):
        given_words = regular if name == "lower" else strings
        expected = [evaluate(name, (), word) for word in given_words]
        assert values_of(name, (), Vocabulary.of(given_words)).strings == expected, name


def test_bytes_that_are_no_text_are_read_within_bounds():
    """A damaged model can hold them; their values do not matter."""
    broken = Vocabulary(np.frombuffer(bytearray(b"\xf7\xbf\xbf\xbfa\xe4\xb8\xf0"), np.uint8), np.array([0, 5, 7, 8]))
    for name, arguments in CASES:
        if name != "lower":
            assert len(values_of(name, arguments, broken)) == 3
