"""Patterns of templates: Python's regular expressions with Wapiti's classes, in time that no pattern can make endless.

Python's engine tries one way through a pattern after the other, and ``(a+)+$`` has 2ⁿ ways through n letters. So the
ways are counted before a word is looked at. Where they are few, as almost always, Python's engine is asked. Elsewhere
the same ways are tried in the same order, but a place of the pattern that has failed at a place of the word is not
tried there again: parts of the pattern times characters of the word bound the steps, and the answers are the same.
(They may be longer where a group that is repeated without end can match nothing before it tries something else.)

    pattern ─ read ─► tree of parts ─ _ways ─► few: Python's engine
                            └─ _Program ────► many: here
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache

from loglin.errors import LoglinError

FEW = 20_000  # ways that Python's engine may have to try, 0.2 ms; looking a word up here takes as long
LONGEST = 10_000  # characters of a pattern
DEEPEST = 50  # brackets in brackets
_NESTED = f"brackets are nested more than {DEEPEST} deep; write it with fewer"
STEPS = 5_000_000  # on one word, two seconds
LARGEST = 20_000  # parts of a pattern whose counted repetitions are written out

# Wapiti's character classes where they differ from Python's; \A, \D, \S and \W are Python's. Inside brackets a class is
# a piece of the set if it can be, else an alternative to it.
_CLASSES = {"a": r"[^\W\d_]", "l": "[a-z]", "u": "[A-Z]", "p": r"(?:[^\w\s]|_)", "w": r"[^\W_]"}
_CLASSES |= {"L": "[^a-z]", "U": "[^A-Z]", "P": r"(?!_)[\w\s]"}
_PIECES = {"l": "a-z", "u": "A-Z"}

_TOKEN = re.compile(
    r"""(?P<comment> \(\?\# [^)]* \) )
    | (?P<flags> \(\? [aiLmsux]+ \) )
    | (?P<irregular> \(\?P=\w+\) | \(\?\(\w+\) | \\[1-9](?!(?<=[1-3])[0-7][0-7])[0-9]? )
    | (?P<open> \((?: \?P<\w+> | \?[aiLmsux]*(?:-[imsx]+)?: | \?<?[=!] | \?> )? )
    | (?P<close> \) )
    | (?P<or> \| )
    | (?P<times> (?: [*+?] | \{(?:\d+(?:,\d*)?|,\d*)\} ) [?+]? )
    | (?P<set> \[ \^? \]? (?: \\. | [^\]\\] )* \] )
    | (?P<assertion> [$^] | \\[AZbB] )
    | (?P<one> \\N\{[^}]*\} | \\x[0-9a-fA-F]{2} | \\[0-3][0-7]{0,2} | \\. | . )
    """,
    re.VERBOSE | re.DOTALL,
)


# ---------------------------------------------------------------------- the tree of a pattern


@dataclass(frozen=True)
class _Leaf:
    """A character, a class, or an assertion about a place: what can match in one way only."""

    source: str
    width: int  # characters

    @cached_property
    def match(self):
        return re.compile(self.source).match


@dataclass(frozen=True)
class _Sequence:
    parts: tuple[_Part, ...]


@dataclass(frozen=True)
class _Choice:
    branches: tuple[_Part, ...]


@dataclass(frozen=True)
class _Repeat:
    part: _Part
    least: int
    most: float  # may be infinite
    how: str  # "": as often as can be, "?": as seldom, "+": as often, and never taken back


@dataclass(frozen=True)
class _Look:
    """A pattern of its own inside another: ahead (= or !), behind (<= or <!), or never taken back (>)."""

    part: _Part
    mark: str


@dataclass(frozen=True)
class _Irregular:
    """What no finite automaton knows: what a group has matched before."""

    source: str


_Part = _Leaf | _Sequence | _Choice | _Repeat | _Look | _Irregular


def _translated(token: re.Match) -> str:
    """A token with Python's notation in place of Wapiti's classes."""
    text = token[0]
    if token.lastgroup == "one":
        return _CLASSES.get(text[1:], text) if text[0] == "\\" else text
    if token.lastgroup != "set":
        return text
    others: list[str] = []

    def piece(escape: re.Match) -> str:
        name = escape[1]
        if name in _CLASSES and name not in _PIECES:
            others.append(_CLASSES[name])
            return ""
        return _PIECES.get(name, escape[0])

    negated = text.startswith("[^")
    rest = re.sub(r"\\(.)", piece, text[1 + negated : -1], flags=re.DOTALL)
    if not others:
        return f"[{'^' * negated}{rest}]"
    any_of = "|".join([*others, f"[{rest}]"] if rest else others)
    return f"(?:(?!{any_of})(?s:.))" if negated else f"(?:{any_of})"


class _Reader:
    """Reads the tokens of a pattern that Python has accepted, one level of brackets after the other."""

    def __init__(self, tokens: Iterator[re.Match]):
        self.tokens = tokens
        self.flags: list[str] = []  # opening brackets with flags that hold here

    def choice(self, depth: int = 0) -> _Part:
        """What stands before the next closing bracket, or before the end."""
        if depth > DEEPEST:
            raise LoglinError(_NESTED)
        branches: list[list[_Part]] = [[]]
        outside = len(self.flags)
        for token in self.tokens:
            kind, text = token.lastgroup, token[0]
            if kind == "close":
                break
            if kind == "or":
                branches.append([])
            elif kind == "flags":
                self.flags.append(f"{text[:-1]}:")
            elif kind == "times":
                branches[-1].append(_repeat(branches[-1].pop(), text))
            elif kind == "open":
                branches[-1].append(self._group(text, depth))
            elif kind == "irregular":
                if text.startswith("(?("):
                    self.choice(depth + 1)
                branches[-1].append(_Irregular(text))
            elif kind != "comment":
                source = "".join(self.flags) + _translated(token) + ")" * len(self.flags)
                branches[-1].append(_Leaf(source, int(kind != "assertion")))
        if depth:
            del self.flags[outside:]
        return _Choice(tuple(_Sequence(tuple(parts)) for parts in branches))

    def _group(self, opening: str, depth: int) -> _Part:
        flagged = opening.endswith(":") and opening != "(?:"
        self.flags += [opening] * flagged
        inside = self.choice(depth + 1)
        if flagged:
            self.flags.pop()
        mark = opening.removeprefix("(?")
        return _Look(inside, mark) if mark in ("=", "!", "<=", "<!", ">") else inside


def _repeat(part: _Part, text: str) -> _Part:
    how = text[-1] if len(text) > 1 and text[-1] in "?+" else ""
    count = text[: len(text) - len(how)]
    if count[0] == "{":
        least, _, most = count[1:-1].partition(",")
        low, high = int(least or 0), float(most or math.inf) if "," in count else float(least)
    else:
        low, high = int(count == "+"), 1.0 if count == "?" else math.inf
    return _Repeat(part, low, high, how)


def _shortest(part: _Part) -> int:
    """The least number of characters that a part matches."""
    match part:
        case _Leaf():
            return part.width
        case _Sequence():
            return sum(map(_shortest, part.parts))
        case _Choice():
            return min(map(_shortest, part.branches))
        case _Repeat():
            return part.least * _shortest(part.part)
        case _Look():
            return _shortest(part.part) if part.mark == ">" else 0
    return 0


def _ways(part: _Part, n: int) -> float:
    """How many ways through a part there are at most where n characters are left; more than FEW is infinite."""
    match part:
        case _Sequence():
            found = math.prod(_ways(one, n) for one in part.parts)
        case _Choice():
            found = sum(_ways(one, n) for one in part.branches)
        case _Look():
            found = _ways(part.part, n)
        case _Repeat():
            width = _shortest(part.part)
            most = min(part.most, n // width if width else n)
            inside = _ways(part.part, n)
            if inside == 1 and width:
                found = max(1.0, most - part.least + 1)
            else:
                found = (inside + 1) ** most if most * math.log2(inside + 1) < 64 else math.inf
        case _:
            return 1.0
    return found if found <= FEW else math.inf


# ---------------------------------------------------------------------- trying each place once


class _Program:
    """A pattern as a list of steps: a leaf, a fork with two ways, of which the first is tried first, or an end."""

    def __init__(self, part: _Part):
        self.steps: list[tuple] = []
        self._write(part)
        self._add("end")

    def _add(self, *step) -> int:
        if len(self.steps) == LARGEST:
            raise LoglinError("its repetitions are too many to write out; repeat less often, or with * or +")
        self.steps.append(step)
        return len(self.steps) - 1

    def _write(self, part: _Part) -> None:
        match part:
            case _Leaf():
                self._add("leaf", part.match)
            case _Sequence():
                for one in part.parts:
                    self._write(one)
            case _Choice():
                self._write_choice(part.branches)
            case _Repeat():
                self._write_repeat(part)
            case _Look():
                self._add("look", _Program(part.part), part.mark, _shortest(part.part))
            case _Irregular():
                raise LoglinError(f"{part.source} asks what was matched before, which can take for ever; leave it out")

    def _write_choice(self, branches: tuple[_Part, ...]) -> None:
        jumps = []
        for branch in branches[:-1]:
            fork = self._add()
            self._write(branch)
            jumps.append(self._add())
            self.steps[fork] = ("fork", fork + 1, len(self.steps))
        self._write(branches[-1])
        for jump in jumps:
            self.steps[jump] = ("fork", len(self.steps), None)

    def _write_repeat(self, part: _Repeat) -> None:
        if part.how == "+":
            kept = _Repeat(part.part, part.least, part.most, "")
            self._add("look", _Program(kept), ">", 0)
            return
        for _ in range(part.least):
            self._write(part.part)
        if part.most == math.inf:
            fork = self._add()
            self._write(part.part)
            again = self._add()
            self.steps[again] = ("again", fork, again + 1)
            self._set_fork(fork, part.how, again + 1)
            return
        forks = []
        for _ in range(int(part.most) - part.least):
            forks.append(self._add())
            self._write(part.part)
        for fork in forks:
            self._set_fork(fork, part.how, len(self.steps))

    def _set_fork(self, fork: int, how: str, out: int) -> None:
        self.steps[fork] = ("fork", out, fork + 1) if how == "?" else ("fork", fork + 1, out)


class _Search:
    """What was tried in one word."""

    def __init__(self, word: str):
        self.word, self.left = word, STEPS
        self.tried: dict[int, bytearray] = {}  # of each program, (steps, places of the word)
        self.looked: dict[tuple[int, int], int | None] = {}  # where patterns inside the pattern end, by their beginning

    def first(self, program: _Program) -> tuple[int, int] | None:
        """Where the first match begins and ends."""
        for begin in range(len(self.word) + 1):
            end = self.match(program, begin)
            if end is not None:
                return begin, end
        return None

    def match(self, program: _Program, begin: int) -> int | None:
        """Where the match that begins at a place ends."""
        word, steps, width = self.word, program.steps, len(self.word) + 1
        tried = self.tried.get(id(program))
        if tried is None:
            self._take(len(steps) * width // 16)
            tried = self.tried[id(program)] = bytearray(len(steps) * width)
        stack = [(0, begin)]
        while stack:
            number, at = stack.pop()
            while not tried[number * width + at]:
                step = steps[number]
                tried[number * width + at] = step[0] != "again"  # which is no place of its own
                self._take(1)
                number += 1
                if step[0] == "fork":
                    if step[2] is not None:
                        stack.append((step[2], at))
                    number = step[1]
                elif step[0] == "again":  # a round that matched nothing is the last, as in Python
                    number = step[2] if tried[step[1] * width + at] else step[1]
                elif step[0] == "end":
                    return at
                else:
                    found = step[1](word, at) if step[0] == "leaf" else self._look(step, at)
                    if found is None:
                        break
                    at = found if isinstance(found, int) else found.end()
        return None

    def _look(self, step: tuple, at: int) -> int | None:
        """Where a match goes on behind a pattern inside the pattern; None if it does not."""
        _, inside, mark, width = step
        key, begin = (id(inside), at), at - width if mark[0] == "<" else at
        if key not in self.looked:
            self.looked[key] = end = self.match(inside, begin) if begin >= 0 else None
            if end is not None:
                del self.tried[id(inside)]  # what has led to a match has not failed
        end = self.looked[key]
        if mark == ">":
            return end
        return at if (end is None) == mark.endswith("!") else None

    def _take(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise LoglinError(f"it would take too long on a word of {len(self.word):,} characters; write it simpler")


# ---------------------------------------------------------------------- what templates ask


@contextmanager
def _naming(pattern: str) -> Iterator[None]:
    try:
        yield
    except LoglinError as error:
        raise LoglinError(f"the pattern {shown(pattern)} is refused: {error}") from None


class Pattern:
    """A pattern of a template, read and checked."""

    def __init__(self, text: str, written: str | None = None):
        self.text = text if written is None else written  # in messages
        if len(text) > LONGEST:
            raise LoglinError(f"a pattern has {len(text):,} characters, more than {LONGEST:,}; shorten it")
        tokens = list(_TOKEN.finditer(text))
        try:
            re.compile("".join(map(_translated, tokens)))
            plain = any(t.lastgroup == "irregular" for t in tokens)
            self._python = re.compile("".join(_translated(t) if plain or t[0] != "(" else "(?:" for t in tokens))
        except RecursionError:
            raise LoglinError(f"the pattern {shown(self.text)} is refused: {_NESTED}") from None
        except (re.error, OverflowError) as error:
            raise LoglinError(f"the pattern {shown(self.text)} is not a regular expression: {error}") from error
        if any(t.lastgroup in ("flags", "open") and "x" in t[0].partition("<")[0] for t in tokens):
            raise LoglinError(
                f"the pattern {shown(self.text)} has the flag x; write it without, and without its blanks"
            )
        with _naming(self.text):
            self._tree = _Reader(iter(tokens)).choice()
        self._short = self._quick()

    def _quick(self) -> int:
        """The longest word, of those with 2ⁿ characters, that Python's engine is asked about."""
        return max((n for n in (2**i for i in range(20)) if (n + 1) * _ways(self._tree, n) <= FEW), default=-1)

    def span(self, word: str) -> tuple[int, int] | None:
        """Where the first part of a word that matches begins and ends, as Python's engine would find it."""
        if len(word) <= self._short:
            match = self._python.search(word)
            return match.span() if match else None
        with _naming(self.text):
            return _Search(word).first(self._program)

    def found(self, word: str) -> str | None:
        """The first part of a word that matches."""
        span = self.span(word)
        return None if span is None else word[slice(*span)]

    @cached_property
    def _program(self) -> _Program:
        return _Program(self._tree)


def shown(pattern: str) -> str:
    """A pattern as messages show it."""
    return repr(pattern if len(pattern) <= 60 else pattern[:57] + "…")


@lru_cache
def compile_pattern(pattern: str) -> Pattern:
    """A pattern of ``%t``, ``%m`` and ``%if``."""
    return Pattern(pattern)
