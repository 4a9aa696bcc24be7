"""Spans of tokens with a type, as people mark them, and labels of tokens, as models learn them.

tokens    Ann    Lee    met  Bo
spans     [0, 2, PER]        [3, 4, PER]
phrases   B-PER  I-PER  O    B-PER
single    a label of every token by itself, such as its part of speech; what no span covers is undecided
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from loglin.corpus import schemes
from loglin.errors import LoglinError

OUTSIDE = "O"


class Span(NamedTuple):
    start: int
    stop: int
    type: str


class Notation(Protocol):
    """How spans are written as labels."""

    def types(self, labels: Iterable[str]) -> list[str]:
        """The types of labels, each once."""

    def spans(self, labels: Sequence[str]) -> list[Span]:
        """The spans of the labels of one sentence."""

    def labels(self, spans: Sequence[Span], n: int) -> list[str | None]:
        """The label of each of n tokens; None: no span says it."""

    def forms(self, type_: str) -> tuple[str, ...]:
        """The labels that a token of a span may have."""

    def unified(self, labels: Sequence[str]) -> list[str]:
        """The labels of one sentence of a corpus, as this notation writes them."""


class Phrases:
    """IOB2: spans of several tokens, and O between them."""

    def types(self, labels: Iterable[str]) -> list[str]:
        found = (schemes.split(label) for label in labels)
        return list(dict.fromkeys(part[1] for part in found if part is not None and part[1]))

    def spans(self, labels: Sequence[str]) -> list[Span]:
        return [Span(start, stop, type_) for type_, start, stop in schemes.entities(labels)]

    def labels(self, spans: Sequence[Span], n: int) -> list[str | None]:
        written: list[str | None] = [OUTSIDE] * n
        for start, stop, type_ in spans:
            begin, inside = self.forms(type_)
            written[start:stop] = [begin, *[inside] * (stop - start - 1)]
        return written

    def forms(self, type_: str) -> tuple[str, ...]:
        return (OUTSIDE,) if type_ == OUTSIDE else (f"B-{type_}", f"I-{type_}")

    def unified(self, labels: Sequence[str]) -> list[str]:
        scheme = schemes.detect(labels)
        return schemes.convert(labels, scheme, "iob2") if scheme else list(labels)


class Single:
    """Every token has a label of its own."""

    def types(self, labels: Iterable[str]) -> list[str]:
        return list(dict.fromkeys(labels))

    def spans(self, labels: Sequence[str]) -> list[Span]:
        return [Span(t, t + 1, label) for t, label in enumerate(labels)]

    def labels(self, spans: Sequence[Span], n: int) -> list[str | None]:
        written: list[str | None] = [None] * n
        for start, stop, type_ in spans:
            written[start:stop] = [type_] * (stop - start)
        return written

    def forms(self, type_: str) -> tuple[str, ...]:
        return (type_,)

    def unified(self, labels: Sequence[str]) -> list[str]:
        return list(labels)


def notation_of(labels: Iterable[str]) -> Notation:
    """How a corpus writes its labels."""
    return Phrases() if schemes.detect(labels) else Single()


def checked_spans(given: object, n: int, types: Sequence[str]) -> list[Span]:
    """Spans as a page sends them: inside the sentence, apart from each other, of known types; in order."""
    if not isinstance(given, list):
        raise LoglinError('"spans" is no list; give [[first token, token behind the last, type], …]')
    found = []
    for one in given:
        if not isinstance(one, list) or len(one) != 3 or type(one[0]) is not int or type(one[1]) is not int:
            raise LoglinError(f"the span {one!r:.60} is not [first token, token behind the last, type]; give that")
        span = Span(*one)
        if not 0 <= span.start < span.stop <= n:
            raise LoglinError(f"the span {one!r:.60} is outside the {n} tokens of its sentence; give one inside")
        if span.type not in types:
            raise LoglinError(f"the type {span.type!r:.60} is not among {', '.join(types)}; give one of these")
        found.append(span)
    found.sort()
    for left, right in itertools.pairwise(found):
        if right.start < left.stop:
            raise LoglinError(f"the spans {list(left)} and {list(right)} overlap; leave one out")
    return found
