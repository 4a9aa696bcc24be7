"""Settings as fields of a dataclass: a default, what is allowed, and what it means.

    nota: str = choice("all", "sampled", "selected", "none", help="which wrong labels before become instances")
    rate: float = number(1.0, "of a sample, how many wrong labels for each token")

Values may be written as text, as the shell gives them: "0.5", "true".
"""

from __future__ import annotations

import math
import os
from dataclasses import field
from typing import Any

from loglin.errors import LoglinError

NUMBER, WHOLE, FLAG = "a number", "a whole number", "true or false"


def choice(*options: Any, help: str, default: Any = None) -> Any:
    """One of some words or numbers, by default the first."""
    return field(default=options[0] if default is None else default, metadata={"allowed": options, "help": help})


def number(default: float, help: str) -> Any:
    """A finite number of at least 0."""
    return field(default=default, metadata={"allowed": NUMBER, "help": help})


def whole(default: int, help: str) -> Any:
    """A whole number of at least 0."""
    return field(default=default, metadata={"allowed": WHOLE, "help": help})


def flag(default: bool, help: str) -> Any:
    """True or false."""
    return field(default=default, metadata={"allowed": FLAG, "help": help})


def anything(default: Any, allowed: str, help: str) -> Any:
    """A value that is looked at when it is used; ``allowed`` says in words what it may be."""
    return field(default=default, metadata={"allowed": allowed, "help": help})


def word_or_object(*options: str, other: str, help: str) -> Any:
    """One of some words, the first by default, the name of a file, or an object; ``other`` says what these may be."""
    return field(default=options[0], metadata={"allowed": WordOrObject(options, other), "help": help})


class WordOrObject:
    def __init__(self, words: tuple[str, ...], other: str):
        self.words, self.other = words, other


def described(allowed: Any) -> str:
    """What is allowed, for people."""
    if isinstance(allowed, WordOrObject):
        return f"{', '.join(allowed.words)} or {allowed.other}"
    return ", ".join(map(str, allowed)) if isinstance(allowed, tuple) else str(allowed)


def checked_value(place: str, value: Any, allowed: Any) -> Any:
    """The value, read from text where it is text; refuses one that is not allowed."""
    if isinstance(allowed, WordOrObject):
        if not isinstance(value, str) or os.path.isfile(value):
            return value
        allowed = (*allowed.words, allowed.other)
    if isinstance(allowed, tuple):
        text = str(value)
        for option in allowed:
            if text == str(option):
                return option
        raise LoglinError(f"{place} is {value!r}; choose {', '.join(map(str, allowed))}")
    if allowed == FLAG:
        words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if str(value).lower() in words:
            return words[str(value).lower()]
        raise LoglinError(f"{place} is {value!r}; write true or false")
    if allowed in (NUMBER, WHOLE):
        return _checked_number(place, value, allowed)
    return value


def _checked_number(place: str, value: Any, allowed: str) -> float:
    try:
        found = int(value) if allowed == WHOLE else float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if isinstance(value, bool) or (isinstance(value, float) and found != value):
        found = math.nan
    if not math.isfinite(found) or found < 0:
        raise LoglinError(f"{place} is {value!r}; give {allowed} of at least 0")
    return found
