"""Raw text as tokens, each with its place in the text: text[begin:end] is the token.

Nothing is changed, and nothing but blanks lies between tokens, so that places and text give back one another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any

from loglin.errors import LoglinError

Span = tuple[int, int]  # the first character of a token, and the one behind its last

# Scripts that are written without blanks, each character a token: Han, kana, bopomofo.
_BY_CHARACTER = (
    "々〇\u3041-\u30fa\u30fc-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
)
_BY_CHARACTER += "\U00020000-\U0003ffff"
_BLANK = r"\s\u200b\ufeff"  # the two without a width part words as well
_JOINS_LETTERS = "['’·\\-‐‑]"
_JOINS_DIGITS = "[.,:/⁄٫٬]"
_FLAG = "[\U0001f1e6-\U0001f1ff]{2}"
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_MARKED = (range(0xAD, 0x1F000), _SKIN_TONES, range(0xE0001, 0xE01F0))  # where marks are
RAW = "words"  # what raw text is split by where nothing else is said


@dataclass(frozen=True)
class Tokenizer:
    """A way to split text, with the name that a model file keeps."""

    name: str
    spans: Callable[[str], list[Span]]

    def tokens(self, text: str) -> list[str]:
        """The tokens of a text."""
        return [text[begin:end] for begin, end in self.spans(text)]


def tokenizer(given: Any) -> Tokenizer:
    """The tokenizer of a name, or of a function from a text to its tokens or to their places."""
    if isinstance(given, Tokenizer):
        return given
    if isinstance(given, str) and given in NAMES:
        pattern = given
        return Tokenizer(given, lambda text: [match.span() for match in _pattern(pattern).finditer(text)])
    if callable(given):
        name = getattr(given, "__name__", type(given).__name__)
        return Tokenizer(name, lambda text: list(_places(text, given, name)))
    raise LoglinError(f"tokenizer is {given!r:.60}; give one of {', '.join(NAMES)}, or in Python a function")


def _places(text: str, split: Callable[[str], Iterable], name: str) -> Iterator[Span]:
    """Where the tokens stand that a function gives as strings or as places, checked to be in order."""
    last, found = 0, split(text)
    if isinstance(found, str) or not isinstance(found, Iterable):
        raise LoglinError(f"the tokenizer {name} gives {found!r:.60}; let it give a list of tokens")
    for token in found:
        place: tuple = ()
        if isinstance(token, str):
            begin = text.find(token, last) if token else -1
            place = (begin, begin + len(token))
        elif isinstance(token, Iterable):
            place = tuple(token)
        if len(place) != 2 or not all(type(p) is int for p in place) or not last <= place[0] < place[1] <= len(text):
            raise LoglinError(
                f"the tokenizer {name} gives {token!r:.60}, which the text does not have from character {last} on; "
                "give tokens, or (begin, end), as they follow one another in the text"
            )
        last = place[1]
        yield place  # type: ignore[misc]


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """What matches one token."""
    if name == "whitespace":
        return re.compile(r"\S+")
    marks = f"[{_marks()}]*+"
    symbol = f"[^{_BLANK}]{marks}(?:(?<=\u200d)[^\\w{_BLANK}]{marks})*+"  # a joiner makes one emoji of several
    if name == "characters":
        return re.compile(f"{_FLAG}{marks}|{symbol}")
    run = f"(?:[^\\W_{_BY_CHARACTER}]{marks})++"
    return re.compile(f"{run}(?:(?:{_JOINS_LETTERS}|(?<=\\d){_JOINS_DIGITS}(?=\\d)){run})*+|{_FLAG}{marks}|{symbol}")


def _marks() -> str:
    """The inside of a character class of what belongs to the character before: accents, joiners, skin tones."""
    import unicodedata

    kinds = ("Mn", "Mc", "Me", "Cf")
    codes = [c for part in _MARKED for c in part if c in _SKIN_TONES or unicodedata.category(chr(c)) in kinds]
    kept = sorted(set(codes) - {0x200B, 0xFEFF})
    runs = (list(run) for _, run in groupby(enumerate(kept), lambda pair: pair[1] - pair[0]))
    return "".join(f"{chr(run[0][1])}-{chr(run[-1][1])}" for run in runs)


NAMES = {
    "words": "words with inner apostrophes and hyphens, numbers with their separators, single symbols; Chinese and "
    "Japanese by character",
    "whitespace": "what stands between blanks",
    "characters": "each character with its accents",
}
