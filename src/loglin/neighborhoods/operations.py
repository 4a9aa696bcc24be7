"""What an arc of a transducer does: the words it reads, and those it writes.

copy                 the next word as it is
delete               nothing for the next word
swap, swap:N         the next word exchanged with the one behind it, or N words behind it; swap is swap:1
permute:N            the next N words in any order
substitute:WORD      another word for the next one; substitute:[WORD …] any one of these
insert:WORD          a word without reading any; insert:[WORD …] any one of these
epsilon              nothing at all
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from loglin.errors import LoglinError

NAMES = ["copy", "delete", "swap", "swap:N", "permute:N", "substitute:WORD", "insert:WORD", "epsilon"]
LONGEST = 10  # words that permute takes: it needs 2^N states
NOTHING, LITERAL = -1, -2  # what a step writes, other than the word at a distance from the next


@dataclass(frozen=True)
class Step:
    """An arc between nodes inside an operation: 0 where it begins, -1 where it ends."""

    source: int
    target: int
    writes: int  # the word so far behind the next one, NOTHING, or LITERAL
    word: str = ""  # the literal


@dataclass(frozen=True)
class Operation:
    text: str
    reads: int  # words
    nodes: int  # inside it: 1 … nodes
    steps: tuple[Step, ...]


def parse_operation(text: str, place: str) -> Operation:
    """The operation that a text such as "swap:2" stands for; ``place`` begins messages."""
    name, colon, argument = text.partition(":")
    if text in ("copy", "delete", "epsilon"):
        writes = 0 if text == "copy" else NOTHING
        return Operation(text, int(text != "epsilon"), 0, (Step(0, -1, writes),))
    if name == "swap" or (name == "permute" and colon):
        n = _number(argument, place, text) if colon else 1
        return _swap(text, n) if name == "swap" else _permute(text, n, place)
    if name in ("substitute", "insert") and colon:
        listed = re.fullmatch(r"\[(.+)\]", argument)
        words = (listed[1] if listed else argument).split()
        if not words or (len(words) > 1 and not listed):
            raise LoglinError(f"{place}: {text!r} does not name one word; write {name}:WORD or {name}:[WORD …]")
        steps = tuple(Step(0, -1, LITERAL, word) for word in dict.fromkeys(words))
        return Operation(text, int(name == "substitute"), 0, steps)
    raise LoglinError(f"{place}: there is no operation {text!r}; the operations are {', '.join(NAMES)}")


def _number(argument: str, place: str, text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,3}", argument):
        raise LoglinError(f"{place}: {text!r} needs a number of words from 1 to 9999, such as swap:2 or permute:3")
    return int(argument)


def _swap(text: str, n: int) -> Operation:
    """The operation that writes word n, words 1 … n − 1, word 0."""
    written = [n, *range(1, n), 0]
    steps = [Step(j, j + 1 if j < n else -1, word) for j, word in enumerate(written)]
    return Operation(text, n + 1, n, tuple(steps))


def _permute(text: str, n: int, place: str) -> Operation:
    """The operation that writes n words in any order; its nodes are the sets of words already written, as bits."""
    if n > LONGEST:
        raise LoglinError(f"{place}: {text!r} has {n}! orders; permute at most {LONGEST} words")
    whole = (1 << n) - 1
    steps = [
        Step(done, done | 1 << word if done | 1 << word < whole else -1, word)
        for done in range(whole)
        for word in range(n)
        if not done >> word & 1
    ]
    return Operation(text, n, whole - 1, tuple(steps))
