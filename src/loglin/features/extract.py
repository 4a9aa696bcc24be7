"""Templates applied to a corpus: strings are touched once per distinct value, tokens only as integers.

``TemplateExtractor.fit`` numbers the attributes of the training corpus, ``transform`` finds the same
attributes in other text. What is learned is plain arrays, so that the model file can carry it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from loglin.corpus.columns import Column, Corpus, first_tokens
from loglin.corpus.sections import Section, of_vocabulary
from loglin.corpus.vocabulary import Vocabulary
from loglin.errors import LoglinError
from loglin.features.design import Design, Heads, Incidence
from loglin.features.folding import Fitted, fold_templates
from loglin.features.lookup import KeyTable, Lookup
from loglin.features.naming import first_of_name
from loglin.features.oov import OOV, first_as_oov, unknown_as_oov
from loglin.features.padding import Padded, padded
from loglin.features.places import ByValue
from loglin.features.spelling import View, ngram_lists
from loglin.features.template import Template, TemplateSet, parse_templates
from loglin.features.views import Views
from loglin.kernels import keys as kernels

STORED_SLOTS = 30_000  # keys from which on a hash table is kept in the model file


class TemplateExtractor:
    """Attributes of tokens by templates."""

    def __init__(self, templates: TemplateSet):
        self.templates = templates
        tool, reach = templates.tool, templates.padding
        symbols = (tool.symbols(reach) if tool is not None and reach else None) or ()
        looked = (t for t in templates.templates if t.kind != "vector")  # see features/vectors.py
        self.views = Views((i.view for t in looked for i in t.items), symbols)
        self.known: dict[int, Vocabulary] = {}  # with oov=first, the values of each column that are not read as OOV
        self.tables: list[KeyTable] = []  # one per unigram and bigram template, in file order
        self.same: dict[str, np.ndarray] = {}  # kind → attribute of each key of its tables, where keys share attributes
        self._plans: dict[Template, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
        self._lookups: dict[str, Lookup] = {}
        self.n_attributes = self.n_bigram_attributes = 0

    # ------------------------------------------------------------------ fitting

    def fit(self, corpus: Corpus, min_count: int = 1, fold: bool = True) -> Design:
        """Number the attributes of ``corpus`` and return its design."""
        self.check_columns(corpus)
        original, corpus = corpus, self._fit_known(corpus)
        fitted = self._factorized(self.views.fit(corpus), corpus)
        self.number(fitted, min_count)
        return self._assembled(fitted, original, corpus, fold)

    def number(self, fitted: list[Fitted], min_count: int = 1) -> None:
        """Number the attributes that are seen often enough, of every template whose keys were counted."""
        self.tables, self.same, self._plans, self._lookups = [], {}, {}, {}
        for kept in ("_multiple", "_by_value"):
            self.__dict__.pop(kept, None)
        self.n_attributes = self._number(fitted, "unigram", min_count)
        self.n_bigram_attributes = self._number(fitted, "bigram", min_count)
        self.tables = [f.table for f in fitted]

    def factorized(self, corpus: Corpus) -> list[Fitted]:
        """The distinct keys of every template in a part of the training corpus, whose values are known."""
        self.check_columns(corpus)
        return self._factorized(self.views.transform(corpus), corpus)

    def part(self, corpus: Corpus) -> Design:
        """The design of a part of the training corpus, as ``fit`` makes it of the whole; attributes are numbered."""
        fitted = self.factorized(corpus)
        for f, table in zip(fitted, self.tables, strict=True):
            ids = np.empty(len(f.keys), np.int32)
            table.find(f.keys, ids)
            f.numbers = np.append(self.attributes(f.template.kind, ids), np.int32(-1))
        return self._assembled(fitted, corpus, corpus, True)

    def _assembled(self, fitted: list[Fitted], original: Corpus, corpus: Corpus, fold: bool) -> Design:
        """The design of a corpus whose templates are factorized and numbered."""
        unigrams = [f for f in fitted if f.template.kind == "unigram" and not _is_multiple(f.template)]
        heads, folded = fold_templates(unigrams, corpus.n_tokens) if fold else (None, set())
        rest = [f for f in unigrams if f.template not in folded]
        tokens = _incidence([f.numbers[f.ids] for f in rest], corpus.n_tokens)
        for f in fitted:
            if _is_multiple(f.template):
                tokens = tokens.joined(self._lists(f.template, corpus).with_ids(f.numbers[f.ids]))
        bigrams = [f.numbers[f.ids] for f in fitted if f.template.kind == "bigram"]
        return self._design(original, tokens, _incidence(bigrams, corpus.n_tokens), heads)

    def _factorized(self, columns: np.ndarray, corpus: Corpus) -> list[Fitted]:
        """Every template's distinct keys, not yet numbered."""
        self._plans = {}
        places = self._placed(columns, corpus.offsets)
        return [self._distinct(template, places, corpus) for template in self.observed_templates]

    def _distinct(self, template: Template, places: Padded, corpus: Corpus) -> Fitted:
        """A template's distinct keys, not yet numbered."""
        keys, tool = self._keys(template, places, corpus), self.templates.tool
        if template.kind == "bigram" and tool is not None and not tool.counts_first:
            keys[first_tokens(corpus.offsets)] = -1
        ids = np.empty(len(keys), np.int32)
        distinct, counts = kernels.factorize(keys, ids)
        return Fitted(template, distinct, ids, counts)

    def _number(self, fitted: list[Fitted], kind: str, min_count: int) -> int:
        """Number the attributes of a kind that are seen often enough, and return how many there are."""
        chosen = [f for f in fitted if f.template.kind == kind]
        ends = np.concatenate([[0], np.cumsum([len(f.keys) for f in chosen])]).astype(np.int64)
        first, counts = np.arange(ends[-1]), np.concatenate([np.empty(0, np.int64), *(f.counts for f in chosen)])
        if self.templates.tool is not None:
            templates, keys = [f.template for f in chosen], [f.keys for f in chosen]
            first = first_of_name(templates, keys, self.item_codes, self.vocabularies)
            counts = np.bincount(first, counts, ends[-1])
        least = np.repeat([max(min_count, f.template.min_count) for f in chosen], np.diff(ends))
        keep = (counts >= least)[first]
        one = keep & (first == np.arange(len(first)))
        number = np.where(keep, (np.cumsum(one) - 1)[first], -1).astype(np.int32)
        if one.sum() < keep.sum():
            self.same[kind] = number[keep]
        bases = np.concatenate([[0], np.cumsum(keep)])[ends]
        for f, base, b, e in zip(chosen, bases.tolist(), ends, ends[1:], strict=False):
            f.numbers = np.append(number[b:e], np.int32(-1))
            f.table = KeyTable(f.keys[keep[b:e]], base)
        return int(one.sum())

    def _placed(self, columns: np.ndarray, offsets: np.ndarray) -> Padded:
        """The columns as templates look at them: with values around sentences where a tool has them."""
        reach, tool = self.templates.padding, self.templates.tool
        if not reach or tool is None:
            return Padded(columns, offsets, slice(None))
        outside = np.full((len(columns), 2 * reach), -1, np.int32)
        for n, view in enumerate(self.views.order):
            if view[1] == "edge":  # boundary symbols, one a side, as kernels/keys.py numbers them
                outside[n] = np.repeat([0, 1], reach)
            elif self.views.symbols:
                outside[n] = self.views.outside(view)
        return padded(columns, offsets, outside)

    def _fit_known(self, corpus: Corpus) -> Corpus:
        """The corpus as templates with oov=first see it in training; keeps which values stay known."""
        self.known = {}
        columns = list(corpus.columns)
        for c in self._replaced_columns:
            columns[c] = first_as_oov(columns[c])
            self.known[c] = columns[c].vocabulary
        return replace(corpus, columns=columns)

    # ------------------------------------------------------------------ applying

    def transform(self, corpus: Corpus, threads: int | None = 1) -> Design:
        """The design of other text; attributes never seen in training are -1."""
        self.check_columns(corpus)
        original, corpus = corpus, self._with_oov(corpus)
        places = self._placed(self.views.transform(corpus), corpus.offsets)
        unigrams = self._found("unigram", places, threads)
        bigrams = self._found("bigram", places, threads) if self.n_bigram_attributes else None
        for template, table in self._multiple if corpus.n_tokens else ():
            lists = self._lists(template, corpus)
            ids = np.empty(len(lists.ids), np.int32)
            table.find(lists.ids.astype(np.int64), ids)
            unigrams = unigrams.joined(lists.with_ids(self.attributes("unigram", ids)))
        bigrams = Incidence.empty(corpus.n_tokens) if bigrams is None else bigrams
        return self._design(original, unigrams, bigrams, None)

    def transform_by_value(self, corpus: Corpus, most_heads: int, threads: int | None = 1) -> Design:
        """As ``transform``, with heads for what follows from one value alone, unless that are more than ``most_heads``.

        Scores are the same sums in another order. Where places outside a sentence have values, or templates share
        attributes, as other tools have them, it is ``transform``.
        """
        if self.same or self.templates.padding:
            return self.transform(corpus, threads)
        self.check_columns(corpus)
        original, corpus = corpus, self._with_oov(corpus)
        if not corpus.n_tokens:
            return self.transform(original, threads)
        places, values = self._by_value.of(corpus)
        if places.n_heads(corpus) > most_heads:
            return self.transform(original, threads)
        codes = self.views.of_corpus(corpus, 2 * self.templates.reach)
        seen = self.views.of_tokens(corpus, codes, places.views)
        unigrams, heads = places.transform(corpus, codes, seen, values, threads)
        bigrams = Incidence.empty(corpus.n_tokens)
        if self.n_bigram_attributes:
            columns = self.views.of_tokens(corpus, codes, self.views.order)
            bigrams = Incidence.of_equal_lengths(self._lookup("bigram").find(columns, corpus.offsets, threads))
        return self._design(original, unigrams, bigrams, heads)

    @cached_property
    def _by_value(self) -> ByValue:
        pairs = zip(self.observed_templates, self.tables, strict=True)
        return ByValue([(t, table) for t, table in pairs if t.kind == "unigram"], self.views, self.templates.reach)

    def _found(self, kind: str, places: Padded, threads: int | None) -> Incidence:
        """The attributes of every token by all templates of a kind, -1 included."""
        ids = self._lookup(kind).find(places.columns, places.offsets, threads)[places.tokens]
        return Incidence.of_equal_lengths(self.attributes(kind, ids))

    def attributes(self, kind: str, ids: np.ndarray) -> np.ndarray:
        """The attributes that numbers of keys stand for, -1 for -1."""
        return np.append(self.same[kind], np.int32(-1))[ids] if kind in self.same else ids

    def _key_of(self, kind: str) -> np.ndarray:
        """For every attribute the number of the first key that stands for it: (attributes,) int64."""
        if kind in self.same:
            return np.unique(self.same[kind], return_index=True)[1]
        return np.arange(self.n_attributes if kind == "unigram" else self.n_bigram_attributes)

    def _with_oov(self, corpus: Corpus) -> Corpus:
        if not self.known:
            return corpus
        columns = list(corpus.columns)
        for c, known in self.known.items() if corpus.n_tokens else ():
            columns[c] = unknown_as_oov(columns[c], known)
        return replace(corpus, columns=columns)

    def prepare(self) -> None:
        """Lay out the templates for ``transform_by_value``."""
        _ = self._by_value

    def _lookup(self, kind: str) -> Lookup:
        if kind not in self._lookups:
            pairs = zip(self.observed_templates, self.tables, strict=True)
            chosen = [(t, table) for t, table in pairs if t.kind == kind and not _is_multiple(t)]
            self._lookups[kind] = Lookup(
                [t for t, _ in chosen],
                [table for _, table in chosen],
                lambda view, offset: (self.views.order.index(view), offset),
                lambda view: len(self.vocabularies[view]),
                self.templates.reach,
            )
        return self._lookups[kind]

    def codes_of_values(self, view: View, values: Vocabulary) -> np.ndarray:
        """For each value of a column the code of what the view makes of it, -1 if unknown: (values,) int32."""
        return self.views.codes(view, self._column_of_values(view[0], values))

    def ngrams_of_values(self, view: View, values: Vocabulary) -> Incidence:
        """For each value of a column the codes of its n-grams that are known; the view is one of %ngrams."""
        column = self._column_of_values(view[0], values)
        return ngram_lists(view[2], column.vocabulary, self.vocabularies[view]).select(column.codes)

    def _column_of_values(self, number: int, values: Vocabulary) -> Column:
        column = Column(np.arange(len(values), dtype=np.int32), values)
        return unknown_as_oov(column, self.known[number]) if number in self.known else column

    # ------------------------------------------------------------------ naming

    def attribute_name(self, attribute: int, kind: str = "unigram") -> str:
        """The attribute as a person would write it: its template with values in place of items."""
        number = attribute if kind not in self.same else int(np.flatnonzero(self.same[kind] == attribute)[0])
        for template, table in zip(self.observed_templates, self.tables, strict=True):
            if template.kind == kind and table.base <= number < table.base + len(table.keys):
                return template.describe(self._item_values(template, int(table.keys[number - table.base])))
        raise IndexError(attribute)

    def template_of(self, kind: str) -> np.ndarray:
        """For every attribute of a kind, the number of its template."""
        pairs = zip(self.observed_templates, self.tables, strict=True)
        which = [np.full(len(table.keys), i) for i, (t, table) in enumerate(pairs) if t.kind == kind]
        return np.concatenate(which)[self._key_of(kind)] if which else np.empty(0, np.int64)

    def item_codes(self, template: Template, keys: np.ndarray) -> np.ndarray:
        """The codes of the items' values in keys of a template: (items, keys)."""
        codes = np.empty((len(template.items), len(keys)), np.int64)
        for n, item in reversed([*enumerate(template.items)]):
            keys, codes[n] = np.divmod(keys, len(self.vocabularies[item.view]) + 2 * self.templates.reach)
        return codes

    def _item_values(self, template: Template, key: int) -> Iterator[str]:
        reach = self.templates.reach
        for item, (code,) in zip(template.items, self.item_codes(template, np.array([key])).tolist(), strict=True):
            vocabulary = self.vocabularies[item.view]
            d = code - len(vocabulary)  # boundary symbols are written as in CRF++
            yield vocabulary[code] if d < 0 else f"_B-{d + 1}" if d < reach else f"_B+{d - reach + 1}"

    # ------------------------------------------------------------------ parts

    @cached_property
    def observed_templates(self) -> list[Template]:
        """The templates that have tables, in the tables' order."""
        return list(self.templates.observed)

    @cached_property
    def _multiple(self) -> list[tuple[Template, KeyTable]]:
        """Templates that give several attributes to a token, once their tables are known."""
        pairs = zip(self.observed_templates, self.tables, strict=True)
        return [(t, table) for t, table in pairs if _is_multiple(t)]

    @property
    def vocabularies(self) -> dict[View, Vocabulary]:
        """The values of every view."""
        return self.views.vocabularies

    @cached_property
    def _replaced_columns(self) -> list[int]:
        """The columns whose values templates read, if the set asks for oov=first."""
        read = {column for column, function, _ in self.views.order if function != "edge"}
        return sorted(read) if self.templates.oov == "first" else []

    @cached_property
    def _columns_as_they_are(self) -> set[int]:
        """Columns of which some item is %x, so that the view's vocabulary is the column's."""
        return {column for column, function, _ in self.views.order if function == "x"}

    def check_columns(self, corpus: Corpus) -> None:
        """Refuse a corpus without a column that a template names, unless the corpus is empty."""
        if not corpus.n_tokens or len(corpus.columns) >= self.templates.columns:
            return
        for template in self.templates.templates:
            for item in template.items:
                if item.column >= len(corpus.columns):
                    raise LoglinError(
                        f"{self.templates.source}: {template.text!r} names column {item.column}, but "
                        f"{corpus.source} has {len(corpus.columns)} columns to look at (numbered from 0, "
                        "the labels left out); correct the template or the data"
                    )

    def _lists(self, template: Template, corpus: Corpus) -> Incidence:
        """The known n-grams of every token by their codes, for a template of %ngrams."""
        item = template.items[0]
        column = corpus.columns[item.column]
        lists = ngram_lists(item.arguments, column.vocabulary, self.vocabularies[item.view])
        word = np.empty(corpus.n_tokens, np.int64)  # the word at the item's offset, -1 outside
        kernels.template_keys(
            column.codes[None],
            corpus.offsets,
            np.zeros(1, np.int64),
            np.array([item.offset]),
            np.array([lists.n_lists]),
            1,
            word,
        )
        outside = np.append(lists.ptr, lists.ptr[-1])  # one more list, which is empty
        return Incidence(outside, lists.ids).select(np.minimum(word, lists.n_lists))

    def _plan(self, template: Template) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """View, offset and number of values of each item, worked out once the vocabularies are known."""
        if template not in self._plans:
            sizes = np.array([len(self.vocabularies[i.view]) for i in template.items], np.int64)
            if sum(np.log2(sizes + 2 * self.templates.reach + 1)) > 62:
                raise LoglinError(
                    f"{self.templates.source}: {template.text!r:.100} joins {len(sizes)} large columns, more "
                    "combinations than can be numbered; join fewer items"
                )
            which = np.array([self.views.order.index(i.view) for i in template.items], np.int64)
            self._plans[template] = which, np.array([i.offset for i in template.items], np.int64), sizes
        return self._plans[template]

    def _keys(self, template: Template, places: Padded, corpus: Corpus) -> np.ndarray:
        if _is_multiple(template):
            return self._lists(template, corpus).ids.astype(np.int64)
        which, shift, sizes = self._plan(template)
        keys = np.empty(places.columns.shape[1], np.int64)
        kernels.template_keys(places.columns, places.offsets, which, shift, sizes, self.templates.reach, keys)
        return keys[places.tokens]

    def _design(self, corpus: Corpus, tokens: Incidence, bigrams: Incidence, heads: Heads | None) -> Design:
        return Design(corpus.offsets, tokens, bigrams, self.n_attributes, self.n_bigram_attributes, heads, corpus)

    def select(self, unigrams: np.ndarray, bigrams: np.ndarray) -> TemplateExtractor:
        """The extractor with only some of its attributes, renumbered."""
        other = TemplateExtractor(self.templates)
        other.views, other.known = self.views, self.known
        keep, bases = {"unigram": unigrams, "bigram": bigrams}, {"unigram": 0, "bigram": 0}
        for template, table in zip(self.observed_templates, self.tables, strict=True):
            numbers = self.attributes(template.kind, table.base + np.arange(len(table.keys)))
            chosen = keep[template.kind][numbers]
            other.tables.append(KeyTable(table.keys[chosen], bases[template.kind]))
            bases[template.kind] += int(chosen.sum())
        for kind, same in self.same.items():
            other.same[kind] = (np.cumsum(keep[kind]) - 1).astype(np.int32)[same[keep[kind][same]]]
        other.n_attributes, other.n_bigram_attributes = int(unigrams.sum()), int(bigrams.sum())
        return other

    def match(self, other: TemplateExtractor, kind: str, numbers: np.ndarray) -> None:
        """Set numbers[a] to the number of attribute a in ``other``, for all attributes that ``other`` has."""
        theirs = {(t.kind, t.text): table for t, table in zip(other.observed_templates, other.tables, strict=True)}
        distance, reach = np.arange(self.templates.reach), other.templates.reach
        for template, table in zip(self.observed_templates, self.tables, strict=True):
            if template.kind != kind or (kind, template.text) not in theirs or not len(table.keys):
                continue
            keys = np.zeros(len(table.keys), np.int64)
            for item, codes in zip(template.items, self.item_codes(template, table.keys), strict=True):
                known, their = self.vocabularies[item.view], other.vocabularies[item.view]
                before = np.where(distance < reach, len(their) + distance, -1)
                behind = np.where(distance < reach, before + reach, -1)
                codes = np.concatenate([their.codes_of(known), before, behind])[codes]
                keys = np.where((keys < 0) | (codes < 0), -1, keys * (len(their) + 2 * reach) + codes)
            found = np.empty(len(keys), np.int32)
            theirs[kind, template.text].find(keys, found)
            mine = self.attributes(kind, table.base + np.arange(len(keys)))
            numbers[mine[found >= 0]] = other.attributes(kind, found[found >= 0])

    # ------------------------------------------------------------------ the model file

    def to_section(self) -> Section:
        arrays: dict[str, np.ndarray] = {}
        for i, table in enumerate(self.tables):
            arrays[f"keys.{i}"] = table.keys
            if len(table.keys) > STORED_SLOTS:  # the rest is hashed in no time when the model is opened
                arrays[f"slots.{i}"] = table.slots
        arrays |= self.views.to_arrays() | {f"same.{kind}": numbers for kind, numbers in self.same.items()}
        for c in self.known.keys() - self._columns_as_they_are:
            arrays |= of_vocabulary(f"known.{c}", self.known[c])
        return Section({"kind": "templates", "template": "\n".join(self.templates.lines)}, arrays)

    @classmethod
    def from_section(cls, section: Section) -> TemplateExtractor:
        self = cls(parse_templates(section.value("template", str), "the model's template"))
        self.views.read(section)
        for c in self._replaced_columns:
            as_it_is = c in self._columns_as_they_are
            self.known[c] = self.vocabularies[c, "x", ()] if as_it_is else section.vocabulary(f"known.{c}")
            section.require(self.known[c].code(OOV) >= 0, f"known.{c}", f"has no {OOV}")
        bases = {"unigram": 0, "bigram": 0}
        for i, template in enumerate(self.observed_templates):
            self.tables.append(KeyTable.from_section(section, i, bases[template.kind]))
            bases[template.kind] += len(self.tables[-1].keys)
        for kind, n in bases.items():
            if f"same.{kind}" in section.arrays:
                self.same[kind] = section.numbers(f"same.{kind}", np.int32, n, size=n)
                bases[kind] = len(np.unique(self.same[kind]))
                section.require(bases[kind] == self.same[kind].max(initial=-1) + 1, f"same.{kind}", "has gaps")
        self.n_attributes, self.n_bigram_attributes = bases["unigram"], bases["bigram"]
        return self


def _is_multiple(template: Template) -> bool:
    return any(i.function == "ngrams" for i in template.items)


def _incidence(rows: list[np.ndarray], n: int) -> Incidence:
    return Incidence.from_matrix(np.stack(rows)) if rows else Incidence.empty(n)
