"""Named functions of a word, for use in templates: ``%suffix[0,0,3]`` and so on.

Each is evaluated once per distinct word, never per token. A function returns one string;
``ngrams`` alone returns several, each an attribute of its own. ``edge`` and ``rare`` return none: they are about the
place and about the training text, not about the word. docs/adding/word-function.md says how to add one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable


def identity(word: str) -> str:
    return word


def shape(word: str) -> str:
    """The word with letters as X or x, digits as d, the rest kept: ``McDonald-1.5`` → ``XxXxxxxx-d.d``."""
    return "".join("X" if c.isupper() else "x" if c.isalpha() else "d" if c.isdigit() else c for c in word)


def short_shape(word: str) -> str:
    """The shape with runs shortened to one: ``McDonald-1.5`` → ``XxXx-d.d``."""
    return re.sub(r"(.)\1+", r"\1", shape(word))


def answer(question: Callable[[str], bool]) -> Callable[[str], str]:
    """The function of a word that answers a question about it with true or false."""
    return lambda word: str(question(word)).lower()


def length_class(word: str) -> str:
    """The number of characters in classes: 1, 2, 3, 4, then 5-6, 7-9, 10+."""
    n = len(word)
    return str(n) if n < 5 else "5-6" if n < 7 else "7-9" if n < 10 else "10+"


def ngrams(word: str, shortest: int, longest: int) -> list[str]:
    """All distinct character n-grams of the word with its ends marked: ``<word>``."""
    marked = f"<{word}>"
    found = (
        marked[i : i + n] for n in range(shortest, min(longest, len(marked)) + 1) for i in range(len(marked) - n + 1)
    )
    return list(dict.fromkeys(found))


def nothing(word: str, *arguments: int) -> list[str]:
    """No value: a place that holds a word is inside the sentence, and only the extractor knows how rare a word is."""
    return []


# name → (function, number of whole-number arguments)
FUNCTIONS: dict[str, tuple[Callable, int]] = {
    "x": (identity, 0),
    "lower": (str.lower, 0),
    "prefix": (lambda word, n: word[:n], 1),
    "suffix": (lambda word, n: word[-n:], 1),
    "shape": (shape, 0),
    "short-shape": (short_shape, 0),
    "is-title": (answer(lambda word: word[:1].isupper() and word[1:] == word[1:].lower()), 0),
    "is-upper": (answer(str.isupper), 0),
    "has-upper": (answer(lambda word: any(c.isupper() for c in word)), 0),
    "has-digit": (answer(lambda word: any(c.isdigit() for c in word)), 0),
    "has-hyphen": (answer(lambda word: "-" in word), 0),
    "is-punctuation": (answer(lambda word: bool(word) and all(unicodedata.category(c)[0] in "PS" for c in word)), 0),
    "length-class": (length_class, 0),
    "ngrams": (ngrams, 2),
    "edge": (nothing, 0),
    "rare": (nothing, 1),
}


def evaluate(name: str, arguments: tuple, word: str) -> str | list[str]:
    """The value of a function; ``t`` and ``m`` are Wapiti's test and match, ``M`` lower-cased, ``if`` a test."""
    if name in FUNCTIONS:
        return FUNCTIONS[name][0](word, *arguments)
    if name in ("t", "if", "m", "M"):
        from loglin.features.patterns import compile_pattern

        found = compile_pattern(arguments[0]).found(word)
        if name == "t":
            return str(found is not None).lower()
        if found is None:
            return ""
        return "true" if name == "if" else found if name == "m" else found.lower()
    from loglin.features.bytewise import OF_WAPITI

    return OF_WAPITI[name](word, *arguments)
