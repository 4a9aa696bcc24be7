"""Templates of one item looked up by value: once per distinct value of a column in place of once per token.

Templates that look at the same place (a column at an offset from the token) give attributes that follow from the value
there. So the value is a head that stands for all of them (features/design.py), and scoring adds one row per
place. Templates of several items, and those of a place at which no other one looks, are looked up at every token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from loglin.corpus.columns import Corpus
from loglin.corpus.vocabulary import Vocabulary
from loglin.features.design import Heads, Incidence
from loglin.features.lookup import KeyTable, Lookup
from loglin.features.spelling import ngram_lists
from loglin.features.template import Template
from loglin.features.views import OF_PLACES, Views
from loglin.kernels import keys as kernels

Tabled = tuple[Template, KeyTable]


@dataclass(frozen=True)
class Place:
    """An offset and the templates that look at it, those of n-grams apart."""

    offset: int
    templates: list[Tabled]
    ngrams: list[Tabled]


class ColumnPlaces:
    """The places of one column."""

    def __init__(self, number: int, groups: dict[int, list[Tabled]], views: Views, reach: int):
        self.number, self.views, self.reach = number, views, reach
        self.places = [
            Place(offset, [p for p in group if not _is_ngrams(p[0])], [p for p in group if _is_ngrams(p[0])])
            for offset, group in groups.items()
        ]
        here = [replace(t, items=(replace(t.items[0], offset=0),)) for p in self.places for t, _ in p.templates]
        self.lookup = Lookup(
            here,
            [table for p in self.places for _, table in p.templates],
            views.of_column[number].index,
            lambda view: len(views.vocabularies[view]),
            reach,
        )

    def lists(self, codes: np.ndarray, words: Vocabulary) -> list[Incidence]:
        """For every place the attributes of each value, and then of each boundary symbol, from the codes of views."""
        found = self.lookup.find(codes, np.array([0, codes.shape[1]]))
        lists, k = [], 0
        for place in self.places:
            ids = np.ascontiguousarray(found[:, k : k + len(place.templates)])
            k += len(place.templates)
            lists.append(Incidence.of_equal_lengths(ids))
            for template, table in place.ngrams:
                lists[-1] = lists[-1].joined(self._ngrams(template, table, words))
        return lists

    def _ngrams(self, template: Template, table: KeyTable, words: Vocabulary) -> Incidence:
        item = template.items[0]
        grams = ngram_lists(item.arguments, words, self.views.vocabularies[item.view])
        ids = np.empty(len(grams.ids), np.int32)
        table.find(grams.ids.astype(np.int64), ids)
        none = np.full(2 * self.reach, grams.ptr[-1])
        return Incidence(np.concatenate([grams.ptr, none]), ids)


class Places:
    """The unigram templates of an extractor, parted into those of places and the rest."""

    def __init__(self, tabled: Sequence[Tabled], views: Views, reach: int):
        groups: dict[int, dict[int, list[Tabled]]] = {}
        for template, table in tabled:
            if len(template.items) == 1 and template.items[0].function not in OF_PLACES:
                item = template.items[0]
                groups.setdefault(item.column, {}).setdefault(item.offset, []).append((template, table))
        for number, group in groups.items():
            groups[number] = {o: g for o, g in group.items() if len(g) > 1 or _is_ngrams(g[0][0])}
        taken = {t for group in groups.values() for g in group.values() for t, _ in g}
        self.columns = [ColumnPlaces(number, group, views, reach) for number, group in groups.items() if group]
        self.rest = [(t, table) for t, table in tabled if t not in taken]

    def n_heads(self, corpus: Corpus) -> int:
        """How many heads a corpus has."""
        return sum(len(c.places) * (len(corpus.columns[c.number].vocabulary) + 2 * c.reach) for c in self.columns)

    def heads(self, corpus: Corpus, codes: dict[int, np.ndarray]) -> Heads:
        """The values at the places of every token; ``codes`` are those of each column, with boundary symbols."""
        of_token, lists, n = [], [], 0
        for c in self.columns:
            column, size = corpus.columns[c.number], len(corpus.columns[c.number].vocabulary)
            lists += c.lists(codes[c.number], column.vocabulary)
            firsts = n + np.arange(len(c.places)) * (size + 2 * c.reach)
            shifts = np.array([p.offset for p in c.places])
            of_token.append(np.empty((corpus.n_tokens, len(c.places)), np.int32))
            kernels.place_values(column.codes, corpus.offsets, shifts, size, c.reach, firsts, of_token[-1])
            n += len(c.places) * (size + 2 * c.reach)
        before = np.cumsum([0, *(len(part.ids) for part in lists)])
        ptr = np.concatenate([part.ptr[:-1] + b for part, b in zip(lists, before, strict=False)] + [before[-1:]])
        ids = np.concatenate([part.ids for part in lists])
        return Heads(of_token[0] if len(of_token) == 1 else np.hstack(of_token), Incidence(ptr, ids))


def _is_ngrams(template: Template) -> bool:
    return template.items[0].function == "ngrams"
