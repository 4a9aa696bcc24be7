"""Signatures of unknown words: cases by hand, and words of any letters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loglin.errors import LoglinError
from loglin.features.signatures import signature


@pytest.mark.parametrize(
    ("word", "first", "notes", "spelling"),
    [
        ("walking", False, "UNK-ing", "UNK-ing"),
        ("Walking", True, "UNK-C0-ing", "UNK-C0-ing"),
        ("Washington", False, "UNK-C", "UNK-C-ton"),
        ("1990s", False, "UNK-dig", "UNK-dig-s"),
        ("30,000.5", False, "UNK-dig", "UNK-num"),
        ("30-year", True, "UNK-dig", "UNK-dig-h"),
        ("self-styled", False, "UNK-h-ed", "UNK-h-ed"),
        ("governments", False, "UNK-s", "UNK-s"),
        ("payment", False, "UNK", "UNK-ment"),
        ("U.S.A.", False, "UNK-C", "UNK-A-d"),
        ("I", True, "UNK-C0", "UNK-C0"),
        ("as", False, "UNK", "UNK"),  # one letter before the ending is too few
        ("ass", False, "UNK-s", "UNK-s"),
        ("city", False, "UNK-y", "UNK-y"),  # not -ity
        (":-", False, "UNK-h", "UNK-h"),
        ("", False, "UNK", "UNK"),
    ],
)
def test_by_hand(word, first, notes, spelling):
    assert signature(word, first) == signature(word, first, "notes") == notes
    assert signature(word, first, "spelling") == spelling


@given(st.text(max_size=12), st.booleans(), st.sampled_from(["notes", "spelling"]))
def test_any_word(word, first, kind):
    found = signature(word, first, kind)
    assert found.split("-")[0] == "UNK"
    assert ("-C0" in found) <= first
    assert found.isascii()


def test_unknown_kind():
    with pytest.raises(LoglinError, match="called 'shape'; there are notes, spelling"):
        signature("word", False, "shape")
