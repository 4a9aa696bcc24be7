"""Templates looked up by value: once per distinct value of a column, or of some places of it, not once per token.

What follows from the value at one place (a column at an offset from the token) is looked up once per value:

    place    several templates that look at it: the value is a head that stands for all their attributes
             (features/design.py), and scoring adds one row
    lone     a template that looks at a place by itself: its attribute is kept by value
    window   templates that look at several places of a column of few values, such as parts of speech: the values
             that occur there together are a head

Whether a column has few values, or its values occur often, depends on the text. All other templates are looked up at
every token.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from loglin.corpus.columns import Column, Corpus
from loglin.corpus.vocabulary import Vocabulary
from loglin.features.design import Heads, Incidence
from loglin.features.lookup import KeyTable, Lookup
from loglin.features.spelling import View, ngram_lists
from loglin.features.template import Template
from loglin.features.views import OF_PLACES, Views
from loglin.kernels import keys as kernels

LONG = 2000  # tokens of a text from which on windows and lone templates are looked at
SHARED = 4  # tokens that share a window's values at least, in the mean
REPEATED = 2  # the same of a lone template's
MOST_VALUES = 1 << 24  # that a window may have, however few occur

Tabled = tuple[Template, KeyTable]


@dataclass(frozen=True)
class Window:
    """Several places of one column."""

    column: int
    offsets: tuple[int, ...]

    def holds(self, other: Window) -> bool:
        return self.column == other.column and set(self.offsets) >= set(other.offsets)

    @classmethod
    def of(cls, template: Template) -> Window | None:
        """The places at which a template looks, if what it sees there follows from the values of one column."""
        columns = {i.column for i in template.items}
        if len(columns) != 1 or any(i.function in OF_PLACES or i.function == "ngrams" for i in template.items):
            return None
        return cls(columns.pop(), tuple(sorted({i.offset for i in template.items})))

    def values(self, corpus: Corpus, reach: int) -> tuple[np.ndarray, np.ndarray] | None:
        """The distinct values there, (values, places), and which of them each token has; None if they are many.

        A place outside the sentence has the number of a boundary symbol behind the column's values.
        """
        column, k = corpus.columns[self.column], len(self.offsets)
        size = len(column.vocabulary) + 2 * reach
        if size**k > MOST_VALUES:
            return None
        keys, of_token = np.empty(corpus.n_tokens, np.int64), np.empty(corpus.n_tokens, np.int32)
        sizes = np.full(k, len(column.vocabulary), np.int64)
        zeros, offsets = np.zeros(k, np.int64), np.array(self.offsets, np.int64)
        kernels.template_keys(column.codes[None], corpus.offsets, zeros, offsets, sizes, reach, keys)
        distinct, _ = kernels.factorize(keys, of_token)
        if SHARED * len(distinct) > corpus.n_tokens:
            return None
        values = np.empty((len(distinct), k), np.int64)
        for place in reversed(range(k)):
            distinct, values[:, place] = np.divmod(distinct, size)
        return values, of_token


class WindowHeads:
    """The templates of a window."""

    def __init__(self, window: Window, tabled: list[Tabled], views: Views, reach: int):
        self.window, rows = window, views.of_column[window.column]
        self.seen = [*dict.fromkeys((rows.index(i.view), i.offset) for t, _ in tabled for i in t.items)]
        self.lookup = _lookup(
            tabled, lambda view, offset: (self.seen.index((rows.index(view), offset)), 0), views, reach
        )

    def lists(self, values: np.ndarray, codes: np.ndarray) -> Incidence:
        """The attributes of each combination of values, from the codes of the column's views."""
        columns = [codes[row, values[:, self.window.offsets.index(offset)]] for row, offset in self.seen]
        return Incidence.of_equal_lengths(self.lookup.find(np.stack(columns), np.array([0, len(values)])))


class Place:
    """An offset and the templates that look at it, those of n-grams apart."""

    def __init__(self, offset: int, tabled: list[Tabled]):
        self.offset = offset
        self.templates = [p for p in tabled if not _is_ngrams(p[0])]
        self.ngrams = [p for p in tabled if _is_ngrams(p[0])]


class ColumnPlaces:
    """The places of one column, and its lone templates."""

    def __init__(self, number: int, groups: dict[int, list[Tabled]], lone: list[Tabled], views: Views, reach: int):
        self.number, self.views, self.reach = number, views, reach
        self.places = [Place(offset, group) for offset, group in groups.items()]
        self.lone = np.array([t.items[0].offset for t, _ in lone], np.int64)
        by_value = [(t, table) for p in self.places for t, table in p.templates] + lone
        here = [(replace(t, items=(replace(t.items[0], offset=0),)), table) for t, table in by_value]
        rows = views.of_column[number]
        self.lookup = _lookup(here, lambda view, _: (rows.index(view), 0), views, reach)

    def lists(self, codes: np.ndarray, words: Vocabulary) -> tuple[list[Incidence], np.ndarray]:
        """The attributes of each value, and then of each boundary symbol, from the codes of views.

        Those of the places, and those of the lone templates, (values, templates).
        """
        found = self.lookup.find(codes, np.array([0, codes.shape[1]]))
        lists, k = [], 0
        for place in self.places:
            ids = np.ascontiguousarray(found[:, k : k + len(place.templates)])
            k += len(place.templates)
            lists.append(Incidence.of_equal_lengths(ids))
            for template, table in place.ngrams:
                lists[-1] = lists[-1].joined(self._ngrams(template, table, words))
        return lists, np.ascontiguousarray(found[:, k:])

    def _ngrams(self, template: Template, table: KeyTable, words: Vocabulary) -> Incidence:
        item = template.items[0]
        grams = ngram_lists(item.arguments, words, self.views.vocabularies[item.view])
        ids = np.empty(len(grams.ids), np.int32)
        table.find(grams.ids.astype(np.int64), ids)
        none = np.full(2 * self.reach, grams.ptr[-1])
        return Incidence(np.concatenate([grams.ptr, none]), ids)


class Places:
    """The unigram templates of an extractor, parted into those looked up by value and the rest.

    ``windows`` are those of which few values occur, ``repeated`` the columns whose values occur often.
    """

    def __init__(
        self,
        tabled: Sequence[Tabled],
        views: Views,
        reach: int,
        windows: Iterable[Window],
        repeated: Container[int],
    ):
        in_windows: dict[Window, list[Tabled]] = {window: [] for window in windows}
        at_places: dict[int, dict[int, list[Tabled]]] = {}  # column → offset → templates
        self.rest: list[Tabled] = []
        for template, table in tabled:
            seen, item = Window.of(template), template.items[0]
            home = next((window for window in in_windows if seen is not None and window.holds(seen)), None)
            if home is not None:
                in_windows[home].append((template, table))
            elif len(template.items) == 1 and item.function not in OF_PLACES:
                at_places.setdefault(item.column, {}).setdefault(item.offset, []).append((template, table))
            else:
                self.rest.append((template, table))
        self.windows = [WindowHeads(window, members, views, reach) for window, members in in_windows.items()]
        self.columns = []
        for number, group in at_places.items():
            shared = {o: g for o, g in group.items() if len(g) > 1 or _is_ngrams(g[0][0])}
            lone = [g[0] for o, g in group.items() if o not in shared]
            if number not in repeated:
                self.rest, lone = self.rest + lone, []
            if shared or lone:
                self.columns.append(ColumnPlaces(number, shared, lone, views, reach))
        self.views = list(dict.fromkeys(i.view for t, _ in self.rest for i in t.items))  # that the rest looks through
        self.lookup = _lookup(self.rest, lambda view, offset: (self.views.index(view), offset), views, reach)

    def n_heads(self, corpus: Corpus) -> int:
        """How many heads the places of single values have."""
        return sum(len(c.places) * (len(corpus.columns[c.number].vocabulary) + 2 * c.reach) for c in self.columns)

    def transform(
        self,
        corpus: Corpus,
        codes: dict[int, np.ndarray],
        seen: np.ndarray,
        values: dict[Window, tuple[np.ndarray, np.ndarray]],
        threads: int | None,
    ) -> tuple[Incidence, Heads | None]:
        """The attributes of every token that no head stands for, and heads.

        ``codes`` are those of each column's views by value, with boundary symbols; ``seen`` those of ``views`` by
        token; ``values`` those of the windows.
        """
        n_lone, n = sum(len(c.lone) for c in self.columns), corpus.n_tokens
        ids = np.empty((n, self.lookup.n_templates + n_lone), np.int32)
        self.lookup.find(seen, corpus.offsets, threads, ids)
        at, lists, of_token, n_heads = self.lookup.n_templates, [], [], 0
        for c in self.columns:
            column, size = corpus.columns[c.number], len(corpus.columns[c.number].vocabulary)
            found, alone = c.lists(codes[c.number], column.vocabulary)
            given = column.codes, corpus.offsets
            if len(c.lone):
                kernels.gather_values(*given, c.lone, size, c.reach, alone, at, ids)
                at += len(c.lone)
            if c.places:
                firsts = n_heads + np.arange(len(c.places)) * (size + 2 * c.reach)
                shifts = np.array([p.offset for p in c.places])
                of_token.append(np.empty((n, len(c.places)), np.int32))
                kernels.place_values(*given, shifts, size, c.reach, firsts, of_token[-1])
                n_heads += len(c.places) * (size + 2 * c.reach)
                lists += found
        for heads in self.windows:
            together, which = values[heads.window]
            lists.append(heads.lists(together, codes[heads.window.column]))
            of_token.append((which + np.int32(n_heads))[:, None])
            n_heads += len(together)
        tokens = Incidence.of_equal_lengths(ids)
        if not lists:
            return tokens, None
        before = np.cumsum([0, *(len(part.ids) for part in lists)])
        ptr = np.concatenate([part.ptr[:-1] + b for part, b in zip(lists, before, strict=False)] + [before[-1:]])
        attributes = Incidence(ptr, np.concatenate([part.ids for part in lists]))
        return tokens, Heads(of_token[0] if len(of_token) == 1 else np.hstack(of_token), attributes)


class ByValue:
    """The unigram templates of an extractor, laid out for each kind of text that is met."""

    def __init__(self, tabled: Sequence[Tabled], views: Views, reach: int):
        self.tabled, self.views, self.reach = tabled, views, reach
        seen = [(template, Window.of(template)) for template, _ in tabled]
        several = dict.fromkeys(w for _, w in seen if w is not None and len(w.offsets) > 1)
        self.candidates = sorted(several, key=lambda window: -len(window.offsets))
        self._places: dict[tuple[frozenset, frozenset], Places] = {}

    def of(self, corpus: Corpus) -> tuple[Places, dict[Window, tuple[np.ndarray, np.ndarray]]]:
        """The templates as they are best looked up in this text, and the values of the windows."""
        values: dict[Window, tuple[np.ndarray, np.ndarray]] = {}
        repeated: list[int] = []
        if corpus.n_tokens >= LONG:
            for window in self.candidates:
                if not any(wider.holds(window) for wider in values):
                    found = window.values(corpus, self.reach)
                    if found is not None:
                        values[window] = found
            repeated = [n for n in self.views.of_column if _is_repeated(corpus.columns[n], corpus.n_tokens)]
        kind = frozenset(values), frozenset(repeated)
        if kind not in self._places:
            self._places[kind] = Places(self.tabled, self.views, self.reach, values, repeated)
        return self._places[kind], values


def _lookup(
    tabled: Sequence[Tabled], place_of: Callable[[View, int], tuple[int, int]], views: Views, reach: int
) -> Lookup:
    templates, tables = [t for t, _ in tabled], [table for _, table in tabled]
    return Lookup(templates, tables, place_of, lambda view: len(views.vocabularies[view]), reach)


def _is_repeated(column: Column, n_tokens: int) -> bool:
    return REPEATED * len(column.vocabulary) <= n_tokens


def _is_ngrams(template: Template) -> bool:
    return template.items[0].function == "ngrams"
