"""Raw text as tokens: what each tokenizer makes of scripts, and that places give the text back."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loglin import LoglinError
from loglin.corpus.tokenizing import NAMES, tokenizer

# text that is likely to have something to part: letters, marks, joiners, digits with separators, several scripts
PIECES = st.sampled_from(
    [*"aZ1٣é½ .,:/-'’·_$\u0301\u200d\ufe0f\u200b\xad中カ한हि\t\n\x00", "🇩🇪", "👩‍👩‍👧", "👍🏽", "1️⃣", "e\u0301"]
)
TEXTS = st.one_of(st.text(max_size=40), st.lists(PIECES, max_size=25).map("".join))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Don't pay $1,000.50 (10%)!", ["Don't", "pay", "$", "1,000.50", "(", "10", "%", ")", "!"]),
        ("mother-in-law’s ½ cup, 1/2", ["mother-in-law’s", "½", "cup", ",", "1/2"]),
        ("10:30—naïve 'tis dogs' a--b", ["10:30", "—", "naïve", "'", "tis", "dogs", "'", "a", "-", "-", "b"]),
        ("3. end 3.5x v1.x", ["3", ".", "end", "3.5x", "v1", ".", "x"]),
        ("中文字 カタ 한국어 단어", ["中", "文", "字", "カ", "タ", "한국어", "단어"]),
        ("cafe\u0301 l·l हिन्दी می‌خواهم", ["cafe\u0301", "l·l", "हिन्दी", "می‌خواهم"]),
        ("👩‍👩‍👧🇩🇪🇫🇷👍🏽1️⃣☺️", ["👩‍👩‍👧", "🇩🇪", "🇫🇷", "👍🏽", "1️⃣", "☺️"]),
        ("\ufeffa\u200bb\xa0c\x00", ["a", "b", "c", "\x00"]),
        ("", []),
    ],
)
def test_words(text, tokens):
    assert tokenizer("words").tokens(text) == tokens


def test_characters():
    assert tokenizer("characters").tokens("中 e\u0301a🇩🇪👍🏽") == ["中", "e\u0301", "a", "🇩🇪", "👍🏽"]


@settings(max_examples=150)
@given(TEXTS)
@pytest.mark.parametrize("name", NAMES)
def test_places_give_the_text_back(name, text):
    split = tokenizer(name)
    spans, last = split.spans(text), 0
    for begin, end in spans:
        assert last <= begin < end <= len(text)
        last = end
    assert split.tokens(text) == [text[b:e] for b, e in spans]
    between = [text[b:e] for b, e in zip([0, *(e for _, e in spans)], [*(b for b, _ in spans), len(text)], strict=True)]
    assert "".join(g + t for g, t in zip(between, [*split.tokens(text), ""], strict=True)) == text
    blanks = "\u200b\ufeff" if name != "whitespace" else ""
    assert all(c.isspace() or c in blanks for gap in between for c in gap)  # nothing but blanks is left out
    assert not any(c.isspace() for token in split.tokens(text) for c in token)


@given(TEXTS)
def test_whitespace_is_str_split(text):
    assert tokenizer("whitespace").tokens(text) == text.split()


@given(TEXTS)
def test_marks_stay_with_their_character(text):
    """A token of words or characters begins with a mark only where nothing stands before it."""
    for name in ("words", "characters"):
        for begin, _ in tokenizer(name).spans(text):
            if unicodedata.category(text[begin]) in ("Mn", "Mc", "Me"):
                assert begin == 0 or text[begin - 1].isspace() or text[begin - 1] in "\u200b\ufeff"


def test_a_function_gives_tokens_or_places():
    assert tokenizer(str.split).tokens(" a  b ") == ["a", "b"]
    assert tokenizer(lambda text: [(0, 2), (2, 3)]).tokens("abc") == ["ab", "c"]


@pytest.mark.parametrize(
    "function",
    [
        lambda text: text.lower().split(),
        lambda text: [""],
        lambda text: ["b", "a"],
        lambda text: [(0, 9)],
        lambda text: [(1, 1)],
        lambda text: [(0, 2), (1, 3)],
        lambda text: [3],
        lambda text: None,
        lambda text: "ab",
    ],
)
def test_a_function_that_changes_the_text_is_refused(function):
    with pytest.raises(LoglinError, match=r"the tokenizer <lambda> gives .*; (give|let)"):
        tokenizer(function).tokens("A b c")


@pytest.mark.parametrize("given", ["word", 3, b"words", ["words"]])
def test_a_wrong_name_is_answered_with_the_right_ones(given):
    with pytest.raises(LoglinError, match="give one of words, whitespace, characters"):
        tokenizer(given)
