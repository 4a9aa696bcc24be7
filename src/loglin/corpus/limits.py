"""How much of a file is read before it is refused: no text that people write comes near these limits.

A file that was made to fill the memory, or a device that never ends, crosses one of them soon. ``LOGLIN_LIMITS`` raises
them, as in ``LOGLIN_LIMITS=line=1G,token=1M``; for a single command the option ``--limits`` does.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, fields, replace
from functools import lru_cache

from loglin.errors import LoglinError

VARIABLE = "LOGLIN_LIMITS"
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_NEWLINE = re.compile(rb"\n")
_SEPARATOR = re.compile(rb"[\s\"]")  # quotes for JSON, which needs no blanks


@dataclass(frozen=True)
class Limits:
    """The most that a file may have; sizes are in bytes."""

    line: int = 64 << 20  # of a line
    token: int = 64 << 10  # of a stretch without blanks and quotation marks
    columns: int = 1000  # of a column file
    expansion: int = 200  # times the bytes of a gzipped file, once 64 MiB are unpacked; text has 3 to 20
    whole: int = 8 << 30  # of a file that is read at once: templates, dictionaries, grammars, trees


def limits() -> Limits:
    """The limits that hold now."""
    return parse(os.environ.get(VARIABLE, ""))


@lru_cache(maxsize=8)
def parse(text: str) -> Limits:
    """The limits that a text such as ``line=1G,token=1M`` writes, the others as they are."""
    names = [field.name for field in fields(Limits)]
    given = {}
    for pair in filter(None, (p.strip() for p in text.split(","))):
        match = re.fullmatch(r"([a-z]+)=([0-9]{1,15})([KMGT]?)", pair)
        if match is None or match[1] not in names or int(match[2]) == 0:
            raise LoglinError(
                f"the limit {pair[:40]!r} cannot be read; write NAME=NUMBER such as line=1G, NAME one of "
                f"{', '.join(names)}, the number from 1, with K, M, G or T behind it if you like"
            )
        given[match[1]] = int(match[2]) * _UNITS[match[3]]
    return replace(Limits(), **given)


def raising(name: str, value: int) -> str:
    """The remedy of an error: how to raise a limit."""
    return f"the limit is {shown(value)}, raise it with --limits {name}={shown(4 * value)} ({VARIABLE} in Python)"


def shown(value: int) -> str:
    """A number as ``parse`` reads it."""
    unit = next((u for u, size in reversed(_UNITS.items()) if value % size == 0), "")
    return f"{value // _UNITS[unit]}{unit}"


def check_runs(path: str | os.PathLike, text: bytes, begin: int, first_line: int, tokens: bool = True) -> None:
    """Refuse a line or a token that is too long; what stands before ``begin`` was looked at already."""
    allowed = limits()
    runs = [("a line", "line", allowed.line, _NEWLINE)]
    if tokens:
        runs.append(("a token", "token", allowed.token, _SEPARATOR))
    for what, name, most, separator in runs:
        place = _too_long(text, max(0, begin - most), most, separator)
        if place is not None:
            line = first_line + text.count(b"\n", 0, place)
            raise LoglinError(f"{path}, line {line}: {what} of more than {most:,} bytes; {raising(name, most)}")


def _too_long(text: bytes, begin: int, most: int, separator: re.Pattern[bytes]) -> int | None:
    """Where a run of more than ``most`` bytes without a separator ends or is cut off, from a place on.

    Such a run covers one of the windows that are half as long, so only the first separator of each is looked for.
    """
    half = max(1, most // 2)
    for window in range(begin, len(text), half):
        if separator.search(text, window, window + half) is None:
            end = separator.search(text, window)
            stop = end.start() if end else len(text)
            before = max(0, window - most)
            cuts = [m.end() for m in separator.finditer(text, before, window)]
            if stop - (cuts[-1] if cuts else before) > most:
                return stop - 1
    return None
