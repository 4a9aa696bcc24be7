"""Wapiti's test, match and lower case: on the bytes of a word in UTF-8, of which it knows those of ASCII.

A pattern is a row of characters, each alone, optional (x?, taken if it can be) or repeated (x*, as seldom as can be):

    .   any byte        \\a \\d \\l \\p \\s \\u \\w   letter, digit, lower, punctuation, space, upper, letter or digit
    ^   at its start    \\A \\D \\L \\P \\S \\U \\W   the others, beyond ASCII among them
    $   at its end      \\x and x   that character; ( ) [ ] { } + | are no more than themselves
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from functools import lru_cache

from loglin.errors import LoglinError
from loglin.features.patterns import Pattern

_CLASSES = {
    "a": "A-Za-z",
    "d": "0-9",
    "l": "a-z",
    "p": re.escape(string.punctuation),
    "s": r"\t-\r ",
    "u": "A-Z",
    "w": "A-Za-z0-9",
}
_ASCII_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


Part = tuple[str, str]  # one byte or class of a pattern, and how often: "", "?" or "*"


@lru_cache
def compile_bytes(pattern: str) -> Pattern:
    """A pattern of Wapiti as one of Python on characters that stand for bytes."""
    parts, starts, ends = _parsed(pattern)
    how_often = {"*": "*?", "?": "?", "": ""}
    translated = "".join(_one(one) + how_often[times] for one, times in parts)
    return Pattern("(?s)" + r"\A" * starts + translated + r"\Z" * ends, pattern)


def _parsed(pattern: str) -> tuple[list[Part], bool, bool]:
    """The parts of a pattern, and whether it stands at a word's start and at its end."""
    text = _bytes_of(pattern)
    parts = re.findall(r"(\\.|.)([*?]?)", text.removeprefix("^"), re.DOTALL)
    ends = parts[-1:] == [("$", "")]
    parts = parts[:-1] if ends else parts
    for one, _ in parts:
        if one in ("*", "?"):
            raise LoglinError(
                f"the pattern {pattern!r} repeats nothing with {one!r}; write \\{one} for the character itself"
            )
    return parts, text.startswith("^"), ends


def _one(text: str) -> str:
    """What matches one byte of a pattern, or one of a class."""
    if text == ".":
        return "."
    name = text[1:].lower()
    if name in _CLASSES:
        return f"[{'^' * text[1:].isupper()}{_CLASSES[name]}]"
    return re.escape(text[-1])


@lru_cache
def _miscounted(pattern: str) -> list[tuple[re.Pattern, str]] | None:
    """The parts of a pattern whose matches Wapiti can count too long: a plain part behind an optional one."""
    parts, _, _ = _parsed(pattern)
    behind = [times for _, times in parts][next((i for i, (_, t) in enumerate(parts) if t == "?"), len(parts)) :]
    if "" not in behind:
        return None
    return [(re.compile(_one(one), re.DOTALL), times) for one, times in parts]


def _length(parts: list[tuple[re.Pattern, str]], ends: bool, word: str) -> int:
    """How many bytes Wapiti 1.5.0 counts in the match that begins with the word.

    Plain parts that were tried behind an optional part stay counted when that part is taken back. From the last part to
    the first, and from every byte: whether the parts from there match, and how many bytes they count.
    """
    places = range(len(word), -1, -1)
    behind = [(not ends or at == len(word), 0) for at in range(len(word) + 1)]
    for one, times in reversed(parts):
        here = behind.copy()
        for at in places:
            taken = one.match(word, at) is not None
            if times == "*" and not behind[at][0]:
                here[at] = (here[at + 1][0], here[at + 1][1] + 1) if taken else (False, 1)
            elif times == "?" and taken:
                found, counted = behind[at + 1]
                here[at] = (True, counted + 1) if found else (behind[at][0], behind[at][1] + counted)
            elif times == "":
                here[at] = (behind[at + 1][0], behind[at + 1][1] + 1) if taken else (False, 1)
        behind = here
    return behind[0][1]


def test(pattern: str, word: str) -> str:
    """Whether the pattern is found in the word: true or false."""
    return str(compile_bytes(pattern).span(_bytes_of(word)) is not None).lower()


def match(pattern: str, word: str) -> str:
    """The first bytes of the word that match, or nothing; a character that is cut is written as \\xff."""
    encoded = _bytes_of(word)
    span = compile_bytes(pattern).span(encoded)
    if span is None:
        return ""
    begin, end = span
    if (parts := _miscounted(pattern)) is not None:
        end = begin + _length(parts, _parsed(pattern)[2], encoded[begin:])
    return encoded[begin:end].encode("latin-1").decode("utf-8", "backslashreplace")


def ascii_lower(word: str) -> str:
    """The word with A to Z in lower case, and no other letter."""
    return word.translate(_ASCII_LOWER)


# What a template with like=wapiti has in place of %X, %t, %m and %M.
OF_WAPITI: dict[str, Callable[..., str]] = {
    "ascii-lower": ascii_lower,
    "byte-test": lambda word, pattern: test(pattern, word),
    "byte-match": lambda word, pattern: match(pattern, word),
    "byte-match-lower": lambda word, pattern: ascii_lower(match(pattern, word)),
}


def _bytes_of(word: str) -> str:
    """A character for each byte of a word in UTF-8."""
    return word.encode("utf-8", "surrogatepass").decode("latin-1")
