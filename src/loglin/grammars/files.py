"""Grammar files that people read and edit, in the notation of NLTK.

    %start S                          # else the parent of the first rule
    %signatures notes                 # how unknown words are classed, see features/signatures.py; else by spelling
    S -> NP VP [0.7] | VP [0.3]
    NP -> 'the' N [0.9] | "don't" [0.1]
    N -> 'dog' [0.99] | <UNK-s> [0.01]

Rules have any length and mix symbols with words, which stand in quotes; <…> is a class of unknown words. A start
symbol that is used nowhere else and has several rules, or the name TOP, all of the form TOP -> S, is a distribution of
root symbols: it is not itself in trees. Without any probabilities the rules of a symbol are equally likely. Symbols
are separated by spaces; a backslash takes the meaning from the next character, so that a tag such as '' or # can be
written: \\'' and \\#.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from loglin.corpus.files import read_text
from loglin.corpus.output import write_atomically
from loglin.errors import LoglinError
from loglin.features.signatures import signature
from loglin.grammars.grammar import Grammar

TOP = "TOP"
SPELLING = "spelling"
TOLERANCE = 2e-3  # how far the sum of a symbol's probabilities may be from one: they may be written with three digits

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<comment>\#.*) | (?P<bar>\|) | (?P<arrow>->(?=\s|$)) | \[(?P<number>[^\]\[]*)\]
    | '(?P<single>(?:\\[\\'"]|[^'\\]|\\(?![\\'"]))*)' | "(?P<double>(?:\\[\\'"]|[^"\\]|\\(?![\\'"]))*)"
    | <(?P<signature>[^\s<>]+)> | (?P<symbol>(?:\\.|[^\s\\\['"<\#|])(?:\\.|[^\s\\\[])*)
    )\s*""",
    re.VERBOSE,
)
_QUOTED, _ESCAPED = re.compile(r"\\([\\'\"])"), re.compile(r"\\(.)")  # characters that are written behind a backslash


class Word(NamedTuple):
    """A word that a rule writes, or a class of unknown words."""

    text: str
    unknown: bool = False


Production = tuple[str | Word, ...]  # parent, then children


@dataclass(frozen=True)
class Productions:
    start: str
    rules: dict[Production, float]
    signatures: str = SPELLING  # the kind of classes of unknown words

    def rooted(self) -> tuple[dict[str, float], dict[Production, float]]:
        """The weight of each possible root, and the rules, without those that are a distribution of roots."""
        own = {rule: p for rule, p in self.rules.items() if rule[0] == self.start}
        used = any(self.start in rule[1:] for rule in self.rules)
        several = len(own) > 1 or self.start == TOP
        if used or not several or not all(len(rule) == 2 and isinstance(rule[1], str) for rule in own):
            return {self.start: 1.0}, self.rules
        return {str(rule[1]): p for rule, p in own.items()}, {r: p for r, p in self.rules.items() if r not in own}

    @classmethod
    def of_roots(
        cls, roots: Mapping[str, float], rules: dict[Production, float], signatures: str = SPELLING
    ) -> Productions:
        """The productions whose ``rooted`` are these roots and rules."""
        only = cls(next(iter(roots)), rules, signatures)
        if list(roots.values()) == [1.0] and only.rooted()[0] == roots:
            return only
        top = TOP
        while any(top in rule for rule in rules):
            top += "~"
        return cls(top, {(top, symbol): p for symbol, p in roots.items()} | rules, signatures)


def read(path: str | os.PathLike, weighted: bool = False, encoding: str = "utf-8") -> Productions:
    """The rules of a file; unless they are ``weighted``, those of each symbol must sum to one."""
    return parse(read_text(path, encoding), str(path), weighted)


def parse(text: str, source: str = "the grammar", weighted: bool = False) -> Productions:
    found = _Lines(source)
    for number, line in _lines(text):
        found.add(number, line)
    return found.checked(weighted)


def write(path: str | os.PathLike, productions: Productions) -> None:
    """Write one rule per line, the rules of the start symbol first, the others by the names of their parents."""
    write_atomically(path, show(productions).encode())


def show(productions: Productions) -> str:
    start, rules = productions.start, productions.rules
    parts, parent = [f"%start {shown_symbol(start)}\n"], None
    if productions.signatures != SPELLING:
        parts.append(f"%signatures {productions.signatures}\n")
    for rule in sorted(rules, key=lambda rule: (rule[0] != start, rule[0], len(rule), *map(_order, rule))):
        parts += ["\n"] if rule[0] != parent else []
        parent = rule[0]
        parts.append(f"{shown_rule(rule)} [{rules[rule]!r}]\n")
    return "".join(parts)


def shown_rule(rule: Production) -> str:
    parent, *children = (shown_word(s) if isinstance(s, Word) else shown_symbol(s) for s in rule)
    return f"{parent} -> {' '.join(children)}"


def shown_word(word: Word) -> str:
    if not word.text or re.search(r"[\s<>]" if word.unknown else r"\n", word.text):
        raise LoglinError(f"the word {word.text!r} cannot be written to a grammar file; leave out its rule")
    if word.unknown:
        return f"<{word.text}>"
    quote = '"' if "'" in word.text and '"' not in word.text else "'"
    return quote + word.text.replace("\\", "\\\\").replace(quote, f"\\{quote}") + quote


@lru_cache(maxsize=1 << 16)
def shown_symbol(symbol: str) -> str:
    if not symbol or "\n" in symbol:
        raise LoglinError(f"the symbol {symbol!r} cannot be written to a grammar file; rename it")
    escaped = re.sub(r"[\\\[\s]", r"\\\g<0>", symbol)
    return "\\" + escaped if escaped[0] in "'\"<#|%" or escaped == "->" else escaped


def _order(symbol: str | Word) -> tuple[bool, str, bool]:
    return (True, *symbol) if isinstance(symbol, Word) else (False, symbol, False)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines; one that ends with a backslash goes on in the next."""
    begun, first = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        first = first if begun else number
        line = begun + line.rstrip("\r")
        begun = line[:-1] + " " if line.endswith("\\") and not line.endswith("\\\\") else ""
        if not begun:
            yield first, line
    if begun:
        yield first, begun


class _Lines:
    """The rules read so far, each with its probability, or None, and its line."""

    def __init__(self, source: str):
        self.source = source
        self.start: tuple[str, int] | None = None
        self.signatures: str | None = None
        self.rules: dict[Production, tuple[float | None, int]] = {}

    def add(self, number: int, line: str) -> None:
        place = f"{self.source}, line {number}"
        if line.lstrip().startswith("%"):
            self._direct(line.lstrip(), number, place)
            return
        tokens = list(_tokens(line, place))
        if not tokens:
            return
        kinds = [kind for kind, _ in tokens]
        if kinds[:2] != ["symbol", "arrow"] or kinds.count("arrow") > 1:
            raise LoglinError(
                f"{place}: {line.strip()[:60]!r} is not a rule; write it as SYMBOL -> …, with spaces around the arrow"
            )
        parent, rest = str(tokens[0][1]), tokens[2:]
        while rest:
            end = next((n for n, (kind, _) in enumerate(rest) if kind == "bar"), len(rest))
            self._add_rule(parent, rest[:end], number, place)
            if end == len(rest):
                return
            rest = rest[end + 1 :]
        self._add_rule(parent, [], number, place)

    def _direct(self, line: str, number: int, place: str) -> None:
        name, _, rest = line.partition(" ")
        tokens = list(_tokens(rest, place)) if name in ("%start", "%signatures") else []
        if [kind for kind, _ in tokens] != ["symbol"]:
            raise LoglinError(f"{place}: {line[:60]!r} is no instruction; write %start and one symbol, or remove it")
        value = str(tokens[0][1])
        if name == "%signatures":
            try:
                signature("", False, value)
            except LoglinError as error:
                raise LoglinError(f"{place}: {error}") from error
            self.signatures = value
        elif self.start is not None:
            raise LoglinError(f"{place}: %start stands in line {self.start[1]} already; keep one of the two")
        else:
            self.start = value, number

    def _add_rule(self, parent: str, tokens: list, number: int, place: str) -> None:
        probability = None
        if tokens and tokens[-1][0] == "number":
            probability = _probability(tokens.pop()[1], place)
        if not tokens:
            raise LoglinError(f"{place}: a rule of {parent!r} has an empty right side; give it words or symbols")
        if any(kind == "number" for kind, _ in tokens):
            raise LoglinError(
                f"{place}: a probability stands inside a rule of {parent!r}; write it last, or a | after it"
            )
        rule = (parent, *(value for _, value in tokens))
        if rule in self.rules:
            raise LoglinError(
                f"{place}: the rule {shown_rule(rule)} stands in line {self.rules[rule][1]} already; remove one of them"
            )
        self.rules[rule] = probability, number

    def checked(self, weighted: bool) -> Productions:
        """The rules; rules that do not go together are refused with a sentence."""
        if not self.rules:
            raise LoglinError(f"{self.source} holds no rules; write some such as S -> NP VP [1.0]")
        rules = self._weights()
        parents = {rule[0]: line for rule, (_, line) in reversed(self.rules.items())}
        for rule, (_, line) in self.rules.items():
            for symbol in rule[1:]:
                if isinstance(symbol, str) and symbol not in parents:
                    raise LoglinError(
                        f"{self.source}, line {line}: the symbol {symbol!r} has no rules; write one, or put it "
                        "in quotes if it is a word"
                    )
        start, line = self.start or (str(next(iter(self.rules))[0]), 0)
        if start not in parents:
            raise LoglinError(f"{self.source}, line {line}: the start symbol {start!r} has no rules; name one that has")
        if not weighted:
            self._check_sums(rules, parents)
        try:
            Grammar.of(tuple(map(str, rule)) for rule in rules if len(rule) == 2 and isinstance(rule[1], str))
        except LoglinError as error:
            raise LoglinError(f"{self.source}: {error}") from error
        return Productions(start, rules, self.signatures or SPELLING)

    def _weights(self) -> dict[Production, float]:
        given = {rule: p for rule, (p, _) in self.rules.items() if p is not None}
        if given and len(given) < len(self.rules):
            rule, line = next((rule, line) for rule, (p, line) in self.rules.items() if p is None)
            raise LoglinError(
                f"{self.source}, line {line}: the rule {shown_rule(rule)} has no probability, but others have; "
                "write one such as [0.5] behind it"
            )
        share = Counter(rule[0] for rule in self.rules)
        return given or {rule: 1 / share[rule[0]] for rule in self.rules}

    def _check_sums(self, rules: Mapping[Production, float], lines: Mapping) -> None:
        by_parent: dict[str | Word, list[float]] = {}
        for rule, p in rules.items():
            by_parent.setdefault(rule[0], []).append(p)
        for parent, line in lines.items():
            total = math.fsum(by_parent[parent])
            if abs(total - 1) > TOLERANCE:
                raise LoglinError(
                    f"{self.source}, line {line}: the probabilities of the rules of {parent!r} sum to {total:.9g}; "
                    "make them sum to one, or read the rules as weighted"
                )


def _tokens(line: str, place: str) -> Iterator[tuple[str, str | Word]]:
    at = 0
    while at < len(line):
        match = _TOKEN.match(line, at)
        if match is None:
            if not (rest := line[at:].strip()):
                return
            opened = {"'": "quote", '"': "quote", "[": "bracket", "<": "angle bracket"}.get(rest[0], "backslash")
            raise LoglinError(
                f"{place}: the {opened} before {rest[1:40]!r} is never closed; close it, or write \\ before it if it "
                "belongs to a symbol"
            )
        kind, text, at = str(match.lastgroup), match[str(match.lastgroup)], match.end()
        if kind in ("single", "double"):
            if not text:
                raise LoglinError(f"{place}: a word is empty; write something between its quotes")
            yield "word", Word(_QUOTED.sub(r"\1", text) if "\\" in text else text)
        elif kind == "signature":
            yield "word", Word(text, unknown=True)
        elif kind == "symbol":
            yield "symbol", _ESCAPED.sub(r"\1", text) if "\\" in text else text
        elif kind != "comment":
            yield kind, text


def _probability(text: str, place: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise LoglinError(f"{place}: the probability is {text!r}; give a number of at least 0")
    return value
