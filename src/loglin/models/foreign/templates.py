"""Templates of other programs, with the strings that their models know, made an extractor of ours.

A program knows an attribute as the string that a template makes. Read backwards, a string gives the values that its
template had put together, and where values hold what stands between them, several readings:

    U1:%x[0,0]/%x[1,0]    U1:1/2/3    1 before 2/3, and 1/2 before 3

All readings get the attribute's number, so that new text finds it as the program does.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from loglin.corpus.vocabulary import Vocabulary
from loglin.errors import LoglinError
from loglin.features.extract import TemplateExtractor
from loglin.features.lookup import KeyTable
from loglin.features.template import Template, TemplateSet, parse_templates
from loglin.models.foreign.format import require

MOST_BITS = 62  # of the number that joins the values of a template
FREELY = 1_000_000  # readings that any model may have,
EACH = 20  # and more, for each of its strings
TRUTHS = ("true", "false")


@dataclass(frozen=True)
class Read:
    """An extractor, and for each of its attributes the number of its string."""

    extractor: TemplateExtractor
    unigrams: np.ndarray  # (attributes,) int64
    bigrams: np.ndarray  # (bigram attributes,) int64
    pairs: int  # the string of label pairs that stand for themselves, -1: there are none


def parsed(lines: Sequence[str], tool: str) -> tuple[TemplateSet, dict[str, str]]:
    """The templates of a tool's lines, and what blanks it keeps behind each that we do not."""
    for line in lines:
        require(len(line.splitlines()) == 1 and not line[0].isspace(), f"{line!r:.80} is no template")
    found = parse_templates("\n".join(line.strip() for line in lines), "its template", like=tool)
    return found, {line.strip(): line[len(line.rstrip()) :] for line in lines}


def read(lines: Sequence[str], tool: str, strings: list[str]) -> Read:
    """The extractor of templates that knows the strings, each given once."""
    templates, blanks = parsed(lines, tool)
    extractor = TemplateExtractor(templates)
    order = sorted(range(len(strings)), key=strings.__getitem__)
    ordered = [strings[i] for i in order]
    values: dict[tuple, dict[str, int]] = {view: {} for view in extractor.views.order}
    readings = _Readings(ordered, values, FREELY + EACH * len(strings))
    found = [readings.of(t, blanks.get(t.text, "")) for t in extractor.observed_templates]
    for view in extractor.views.order:
        extractor.views.vocabularies[view] = Vocabulary.of(values[view])
    numbers = {"unigram": _numbered(extractor, found, "unigram"), "bigram": _numbered(extractor, found, "bigram")}
    extractor.n_attributes, extractor.n_bigram_attributes = len(numbers["unigram"]), len(numbers["bigram"])
    place = np.append(np.array(order, np.int64), -1)
    bare = [t.literals[0] + blanks.get(t.text, "") for t in templates.label_ngrams]
    pairs = strings.index(bare[0]) if bare and bare[0] in set(strings) else -1
    return Read(extractor, place[numbers["unigram"]], place[numbers["bigram"]], pairs)


def _numbered(extractor: TemplateExtractor, found: list[tuple[np.ndarray, np.ndarray]], kind: str) -> np.ndarray:
    """Number the attributes of a kind in the order of their first keys, and return the string of each."""
    chosen = [i for i, t in enumerate(extractor.observed_templates) if t.kind == kind]
    base = 0
    for i in chosen:
        template, (codes, _) = extractor.observed_templates[i], found[i]
        keys = np.zeros(codes.shape[1], np.int64)
        sizes = [len(extractor.vocabularies[item.view]) + 2 * extractor.templates.reach for item in template.items]
        if sum(np.log2(size) for size in sizes) > MOST_BITS:
            raise LoglinError(
                f"the template {template.text!r:.80} joins {len(sizes)} columns with more combinations of values than "
                "can be numbered; train the model without it"
            )
        for row, size in zip(codes, sizes, strict=True):
            keys = keys * size + row
        extractor.tables.insert(i, KeyTable(keys, base))
        base += len(keys)
    strings = np.concatenate([np.empty(0, np.int64), *(found[i][1] for i in chosen)])
    distinct, first, inverse = np.unique(strings, return_index=True, return_inverse=True)
    by_first = np.argsort(first)
    number = np.empty(len(distinct), np.int32)
    number[by_first] = np.arange(len(distinct))
    if len(distinct) < len(strings):
        extractor.same[kind] = number[inverse]
    return distinct[by_first]


class _Readings:
    """Reads strings backwards; ``values`` numbers what stands in each view."""

    def __init__(self, ordered: list[str], values: dict[tuple, dict[str, int]], most: int):
        self.ordered, self.values, self.left = ordered, values, most

    def of(self, template: Template, blanks: str) -> tuple[np.ndarray, np.ndarray]:
        """The readings of all strings by a template: codes of its items' values (items, readings), and the strings."""
        literals = [*template.literals[:-1], template.literals[-1] + blanks]
        if not template.items:
            whole = literals[0]
            at = bisect_left(self.ordered, whole)
            there = self.ordered[at : at + 1] == [whole]
            return np.empty((0, int(there)), np.int64), np.array([at] * there, np.int64)
        first, *between, last = literals
        begin, behind = bisect_left(self.ordered, first), first[:-1] + chr(ord(first[-1]) + 1)
        columns = [self.values[item.view] for item in template.items]
        kinds = [item.function for item in template.items]
        codes: list[int] = []
        found: list[int] = []
        for s in range(begin, bisect_left(self.ordered, behind)):
            text = self.ordered[s]
            if not text.endswith(last) or len(text) < len(first) + len(last):
                continue
            for parts in self._split(text[len(first) : len(text) - len(last)], between):
                if all(_may_be(kind, part) for kind, part in zip(kinds, parts, strict=True)):
                    codes += [c.setdefault(part, len(c)) for c, part in zip(columns, parts, strict=True)]
                    found.append(s)
        return np.array(codes, np.int64).reshape(-1, len(columns)).T, np.array(found, np.int64)

    def _split(self, text: str, between: list[str]) -> Iterator[list[str]]:
        """Every way to cut a text into as many parts as there are literals between them, and one."""
        self.left -= 1
        if self.left < 0:
            raise ValueError("its attributes can be read by its templates in too many ways")
        if not between:
            yield [text]
            return
        mark = between[0]
        if mark and between.count(mark) == len(between) == text.count(mark) and len(mark) == 1:
            yield text.split(mark)
            return
        at = text.find(mark)
        while at >= 0:
            for rest in self._split(text[at + len(mark) :], between[1:]):
                yield [text[:at], *rest]
            at = text.find(mark, at + 1)


def _may_be(function: str, value: str) -> bool:
    """Whether a function of a word, which is never empty and has no blanks, can have a value."""
    if function.endswith("test"):
        return value in TRUTHS
    return bool(value) or function.startswith("byte-match")
