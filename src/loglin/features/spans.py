"""Templates of spans applied to sentences: attributes of every span and of every point where a span may be split.

    cell (i, j), 0 ≤ i < j ≤ n      words i … j − 1; its number in the sentence is j(j − 1)/2 + i
    state k, 0 ≤ k ≤ n              between words k − 1 and k; inside the sentence a span may be split there

``SpanExtractor.fit`` numbers the attributes of the spans of gold trees, ``transform`` finds them at all spans. What
templates say of a span's first word, and of its last, is computed once per word; cells only combine the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from loglin.corpus.columns import Corpus, from_sentences
from loglin.corpus.sections import Section
from loglin.errors import LoglinError
from loglin.features.lookup import KeyTable
from loglin.features.span_templates import SpanTemplates, parse_span_templates
from loglin.features.template import Item, Template
from loglin.features.views import Views
from loglin.kernels import keys as kernels

BOUNDARIES = 2  # values of an item beyond those of words: before the sentence, and behind it


@dataclass(frozen=True, eq=False)
class Constituents:
    """The inner nodes of gold trees: where each stands and what it is."""

    sentences: np.ndarray  # (nodes,)
    begins: np.ndarray  # (nodes,) i, in words of the sentence
    ends: np.ndarray  # (nodes,) j
    splits: np.ndarray  # (nodes,) where the right child begins; -1 under a unary rule
    rules: np.ndarray  # (nodes,)
    symbols: np.ndarray  # (nodes,) of the node itself, its rule's parent

    def check(self, lengths: np.ndarray) -> None:
        """Refuse nodes that do not fit into sentences of these lengths."""
        outside = (self.sentences < 0) | (self.sentences >= len(lengths))
        n = np.where(outside, 0, np.append(lengths, 0)[np.where(outside, 0, self.sentences)])
        parted = (self.splits == -1) | ((self.begins < self.splits) & (self.splits < self.ends))
        wrong = np.flatnonzero((self.begins < 0) | (self.begins >= self.ends) | (self.ends > n) | ~parted)
        if len(wrong):
            s, i, k, j = (int(a[wrong[0]]) for a in (self.sentences, self.begins, self.splits, self.ends))
            raise LoglinError(
                f"sentence {s} has {n[wrong[0]]} words, but a constituent from {i} to {j}, parted at {k}; give trees "
                "and sentences in the same order"
            )


@dataclass(frozen=True, eq=False)
class SpanDesign:
    """Which attributes every cell has, those of one word included, and every split; -1: none that training saw."""

    offsets: np.ndarray  # (sentences + 1,) int64: words
    ptr: np.ndarray  # (sentences + 1,) int64: cells
    attributes: np.ndarray  # (cells, templates) int32
    splits: np.ndarray  # (words + sentences, split templates) int32: of a split at each of a sentence's n + 1 states
    by_label: np.ndarray  # (templates,) bool: whether its attributes are crossed with symbols in place of rules
    n_attributes: int
    n_split_attributes: int

    @property
    def n_sentences(self) -> int:
        return len(self.ptr) - 1

    def cells(self, nodes: Constituents) -> np.ndarray:
        """The row of every node in ``attributes``: (nodes,)."""
        return self.ptr[nodes.sentences] + cell_number(nodes.begins, nodes.ends)

    def states(self, nodes: Constituents) -> np.ndarray:
        """The row of every node's split in ``splits``: (nodes,)."""
        return self.offsets[nodes.sentences] + nodes.sentences + nodes.splits


def cell_number(i, j):
    """The number of words i … j − 1 among the cells of a sentence, ordered by j, then i."""
    j = np.asarray(j, np.int64)
    return j * (j - 1) // 2 + i


class _Part(NamedTuple):
    """Items of a template that look from the same anchor, as one number per word; or a length."""

    anchor: str
    items: list[int]  # places in the template
    size: int  # how many values it has


class SpanExtractor:
    """Attributes of spans by templates."""

    def __init__(self, templates: SpanTemplates):
        self.templates = templates
        self.observed = [*templates.spans, *templates.splits]
        items = [i for t in self.observed for i in t.items if i.function != "length"]
        self.views = Views(i.view for i in items)
        self.tables: list[KeyTable] = []  # one per template, in the order of ``observed``
        self.n_attributes = self.n_split_attributes = 0

    # ------------------------------------------------------------------ fitting and applying

    def fit(self, sentences: Corpus | Sequence[Sequence[str]], gold: Constituents, min_count: int = 1) -> None:
        """Number the attributes of the spans and splits of gold trees."""
        corpus = _corpus(sentences)
        if not corpus.n_tokens:
            raise LoglinError(f"{corpus.source} holds no words to learn spans from; give some sentences with trees")
        gold.check(np.diff(corpus.offsets))
        columns, self.tables = self.views.fit(corpus), []
        start = corpus.offsets[gold.sentences]
        binary = gold.splits >= 0
        at = {"first": start + gold.begins, "last": start + gold.ends - 1, "split": (start + gold.splits)[binary]}
        at["length"] = gold.ends - gold.begins
        sizes = {"span": 0, "split": 0}
        for template in self.observed:
            keys = self._keys(template, columns, corpus.offsets, at)
            distinct, counts = kernels.factorize(keys, np.empty(len(keys), np.int32))
            distinct = distinct[counts >= max(min_count, template.min_count)]
            self.tables.append(KeyTable(distinct, sizes[_whose(template)]))
            sizes[_whose(template)] += len(distinct)
        self.n_attributes, self.n_split_attributes = sizes["span"], sizes["split"]

    def transform(self, sentences: Corpus | Sequence[Sequence[str]]) -> SpanDesign:
        """The attributes of all cells and splits."""
        corpus = _corpus(sentences)
        columns, offsets = self.views.transform(corpus), corpus.offsets
        lengths = np.diff(offsets)
        place = np.arange(corpus.n_tokens) - np.repeat(offsets[:-1], lengths)  # of a word in its sentence
        word = np.arange(corpus.n_tokens, dtype=np.int32)
        last = np.repeat(word, place + 1)  # the words before it and itself begin the cells that end with a word
        first = np.arange(len(last)) - np.repeat(np.cumsum(place + 1) - 1 - word, place + 1)
        at: dict[str, np.ndarray] = {"first": first, "last": last, "length": last - first + 1, "split": word}
        n_spans = len(self.templates.spans)
        attributes = np.empty((len(last), n_spans), np.int32)
        splits = np.full((corpus.n_tokens + len(lengths), len(self.observed) - n_spans), -1, np.int32)
        inside = np.flatnonzero(place > 0)
        state = inside + np.repeat(np.arange(len(lengths)), lengths)[inside]
        for number, (template, table) in enumerate(zip(self.observed, self.tables, strict=True)):
            found = self._find(template, table, columns, offsets, at)
            if number < n_spans:
                attributes[:, number] = found
            else:
                splits[state, number - n_spans] = found[inside]
        ptr = np.concatenate([[0], np.cumsum(lengths * (lengths + 1) // 2)]).astype(np.int64)
        by_label = np.array([t.kind == "label" for t in self.templates.spans], bool)
        return SpanDesign(offsets, ptr, attributes, splits, by_label, self.n_attributes, self.n_split_attributes)

    def _find(self, template: Template, table: KeyTable, columns, offsets, at: dict[str, np.ndarray]) -> np.ndarray:
        """The attribute of every place, -1 where there is none: (places,) int32."""
        parts = self._parts(template)
        alone = len(parts) == 1 and parts[0].anchor != "length"  # one look-up per word serves all its cells
        keys = self._part_keys(template, parts[0], columns, offsets) if alone else None
        keys = self._keys(template, columns, offsets, at) if keys is None else keys
        found = np.empty(len(keys), np.int32)
        table.find(keys, found)
        return found[at[parts[0].anchor]] if alone else found

    # ------------------------------------------------------------------ keys

    def _parts(self, template: Template) -> list[_Part]:
        """A template's items by anchor; keys are mixed-radix numbers of the parts, parts of their items."""
        parts = []
        for anchor in ("first", "last", "split"):
            mine = [n for n, item in enumerate(template.items) if item.anchor == anchor]
            if mine:
                parts.append(_Part(anchor, mine, _product(self._size(template.items[n]) for n in mine)))
        lengths = [n for n, item in enumerate(template.items) if item.function == "length"]
        parts += [_Part("length", [n], self._size(template.items[n])) for n in lengths]
        if _product(part.size for part in parts) >= 1 << 62:
            raise LoglinError(
                f"{self.templates.source}: {template.text!r} joins {len(template.items)} items of many values, more "
                "combinations than can be numbered; join fewer items"
            )
        return parts

    def _size(self, item: Item) -> int:
        return item.arguments[0] if item.function == "length" else len(self.views.vocabularies[item.view]) + BOUNDARIES

    def _part_keys(self, template: Template, part: _Part, columns: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """The number of a part's items at every word, -1 where one is unknown: (words,) int64."""
        items = [template.items[n] for n in part.items]
        which = np.array([self.views.order.index(i.view) for i in items], np.int64)
        shift = np.array([i.offset for i in items], np.int64)
        sizes = np.array([self._size(i) - BOUNDARIES for i in items], np.int64)
        keys = np.empty(columns.shape[1], np.int64)
        kernels.template_keys(columns, offsets, which, shift, sizes, 1, keys)
        return keys

    def _keys(self, template: Template, columns, offsets, at: dict[str, np.ndarray]) -> np.ndarray:
        """The key of a template at the given places, -1 where an item is unknown: (places,) int64."""
        keys = None
        for part in self._parts(template):
            if part.anchor == "length":
                codes = np.minimum(at["length"], part.size) - 1
            else:
                codes = self._part_keys(template, part, columns, offsets)[at[part.anchor]]
            keys = codes if keys is None else np.where((keys < 0) | (codes < 0), -1, keys * part.size + codes)
        assert keys is not None
        return keys.astype(np.int64, copy=False)

    # ------------------------------------------------------------------ naming

    def attribute_name(self, attribute: int, whose: str = "span") -> str:
        """The attribute of spans, or of splits, as a person would write it."""
        for template, table in zip(self.observed, self.tables, strict=True):
            if _whose(template) == whose and table.base <= attribute < table.base + len(table.keys):
                return template.describe(self._item_values(template, int(table.keys[attribute - table.base])))
        raise IndexError(attribute)

    def item_codes(self, number: int) -> np.ndarray:
        """The codes of the items' values of every attribute of a template: (attributes, items).

        Behind the values of words stand the sentence's beginning and its end; a length m has the code m − 1.
        """
        return self._decoded(self.observed[number], self.tables[number].keys)

    def _decoded(self, template: Template, keys: np.ndarray) -> np.ndarray:
        codes = np.empty((len(keys), len(template.items)), np.int64)
        for part in reversed(self._parts(template)):
            for n in reversed(part.items):
                keys, codes[:, n] = np.divmod(keys, self._size(template.items[n]))
        return codes

    def match(self, other: SpanExtractor, whose: str) -> np.ndarray:
        """For every attribute of spans, or of splits, its number in ``other``, -1 where that has no such attribute."""
        n = self.n_attributes if whose == "span" else self.n_split_attributes
        numbers = np.full(n, -1, np.int64)
        theirs = {(t.kind, t.text): table for t, table in zip(other.observed, other.tables, strict=True)}
        for template, table in zip(self.observed, self.tables, strict=True):
            if _whose(template) != whose or (template.kind, template.text) not in theirs or not len(table.keys):
                continue
            codes = self._decoded(template, table.keys)
            for n, item in enumerate(template.items):
                if item.function != "length":
                    mine, their = self.views.vocabularies[item.view], other.views.vocabularies[item.view]
                    codes[:, n] = np.append(their.codes_of(mine), len(their) + np.arange(BOUNDARIES))[codes[:, n]]
            found = np.empty(len(table.keys), np.int32)
            theirs[template.kind, template.text].find(other._encoded(template, codes), found)
            numbers[table.base : table.base + len(found)] = found
        return numbers

    def _encoded(self, template: Template, codes: np.ndarray) -> np.ndarray:
        """The keys of items' codes, -1 where one is -1: (attributes,) int64, the reverse of ``_decoded``."""
        keys = np.zeros(len(codes), np.int64)
        for part in self._parts(template):
            for n in part.items:
                keys = keys * self._size(template.items[n]) + codes[:, n]
        return np.where((codes < 0).any(axis=1), -1, keys)

    def _item_values(self, template: Template, key: int) -> list[str]:
        values = []
        for item, code in zip(template.items, self._decoded(template, np.array([key]))[0].tolist(), strict=True):
            if item.function == "length":
                values.append(f"{code + 1}{'+' * (code + 1 == self._size(item))}")
            else:
                vocabulary = self.views.vocabularies[item.view]
                outside = ("_B-1", "_B+1")  # as in CRF++
                values.append(vocabulary[code] if code < len(vocabulary) else outside[code - len(vocabulary)])
        return values

    # ------------------------------------------------------------------ the model file

    def to_section(self) -> Section:
        arrays = {f"keys.{i}": table.keys for i, table in enumerate(self.tables)} | self.views.to_arrays()
        return Section({"kind": "spans", "template": "\n".join(self.templates.lines)}, arrays)

    @classmethod
    def from_section(cls, section: Section) -> SpanExtractor:
        self = cls(parse_span_templates(section.value("template", str), "the model's template"))
        self.views.read(section)
        sizes = {"span": 0, "split": 0}
        for i, template in enumerate(self.observed):
            self.tables.append(KeyTable.from_section(section, i, sizes[_whose(template)]))
            sizes[_whose(template)] += len(self.tables[-1].keys)
        self.n_attributes, self.n_split_attributes = sizes["span"], sizes["split"]
        return self


def _whose(template: Template) -> str:
    return "split" if template.kind == "split" else "span"


def _product(sizes) -> int:
    product = 1
    for size in sizes:
        product *= int(size)
    return product


def _corpus(sentences: Corpus | Sequence[Sequence[str]]) -> Corpus:
    return sentences if isinstance(sentences, Corpus) else from_sentences(sentences)
