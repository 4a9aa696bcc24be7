"""Columns as functions see them: strings are touched once per distinct value, tokens only as integers.

A view is a function of a column, such as the suffixes of words. Training numbers its values; in other text a value
that training did not see is -1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from loglin.corpus.columns import Column, Corpus, encode_strings, first_tokens
from loglin.corpus.sections import Section, of_vocabulary
from loglin.corpus.vocabulary import EMPTY, Vocabulary
from loglin.features.functions import evaluate
from loglin.features.signatures import signature
from loglin.features.spelling import COMPILED, View, WordCodes, distinct_ngrams, encoded, values_of

OF_PLACES = ("edge", "signature", "word")  # functions that look at more than the value: at where in the sentence it is


class Views:
    """The views that templates look through, in a fixed order."""

    def __init__(self, views: Iterable[View], symbols: Sequence[str] = ()):
        self.order = list(dict.fromkeys(views))
        self.symbols = symbols  # what functions see at places outside a sentence (features/padding.py)
        self.vocabularies: dict[View, Vocabulary] = {}  # the values of every view
        self.common: dict[View, Vocabulary] = {}  # of %rare and %word, the words that training saw often enough
        # the views of each column that are functions of its values alone, those first that are compiled
        alone = [view for view in self.order if view[1] not in OF_PLACES]
        alone.sort(key=lambda view: view[1] not in COMPILED)
        self.of_column = {view[0]: [v for v in alone if v[0] == view[0]] for view in self.order}
        self._compiled: dict[int, WordCodes] = {}  # of every column, the views that are compiled
        self._rows: dict[tuple[View, ...], dict[int, tuple[list[int], list[int]]]] = {}

    # ------------------------------------------------------------------ fitting and applying

    def fit(self, corpus: Corpus) -> np.ndarray:
        """Number the values of every view and return the codes of all tokens, (views, tokens) int32."""
        columns = corpus.columns
        counts = {c: np.bincount(columns[c].codes, minlength=len(columns[c].vocabulary)) for c in self.counted_columns}
        of_values = self.learn([column.vocabulary for column in columns], counts)
        first = first_tokens(corpus.offsets)
        codes = []
        for view, values in zip(self.order, of_values, strict=True):
            column = columns[view[0]].codes
            by_place = view[1] in ("signature", "word")
            codes.append(column if values is None else values[2 * column + first if by_place else column])
        return _stack(codes, corpus.n_tokens)

    def learn(self, columns: Sequence[Vocabulary], counts: Mapping[int, np.ndarray]) -> list[np.ndarray | None]:
        """Number the values of every view of these columns' values, and return what each makes of them.

        ``counts`` has how often each value of the ``counted_columns`` occurs. What is returned are codes, (values,), of
        %signature and %word (2·values,): inside a sentence and as its first word; None: a view whose codes are the
        column's own.
        """
        self._compiled = {}
        codes = [self._learn(view, columns[view[0]], counts) for view in self.order]
        for view in self.order if len(self.symbols) else ():
            new = Vocabulary.of(dict.fromkeys(self._seen_outside(view)))
            self.vocabularies[view], _ = self.vocabularies[view].merged(new)
        return codes

    @property
    def counted_columns(self) -> list[int]:
        """The columns of which a view asks how often values occur."""
        return sorted({column for column, function, _ in self.order if function in ("rare", "word")})

    def outside(self, view: View) -> np.ndarray:
        """The codes of what the view makes of the symbols of places outside a sentence: (symbols,) int32."""
        return self.vocabularies[view].codes_of(Vocabulary.of(self._seen_outside(view)))

    def _seen_outside(self, view: View) -> list[str]:
        return [str(evaluate(view[1], view[2], symbol)) for symbol in self.symbols]

    def _learn(self, view: View, values: Vocabulary, counts: Mapping[int, np.ndarray]) -> np.ndarray | None:
        function, column = view[1], Column(np.arange(len(values), dtype=np.int32), values)
        if function in ("rare", "word"):
            often = np.flatnonzero(counts[view[0]] >= view[2][0])
            self.common[view] = Vocabulary.of(values[c] for c in often.tolist())
        if function == "x":
            self.vocabularies[view] = values
            return None
        if function == "ngrams":
            self.vocabularies[view] = distinct_ngrams(view[2], values)
            return None  # a placeholder: its attributes are lists per token
        if function in ("edge", "if", "rare"):
            one = {"edge": EMPTY, "if": Vocabulary.of(["true"]), "rare": Vocabulary.of(["rare"])}
            self.vocabularies[view] = one[function]
            return self.codes(view, column)
        if function in ("signature", "word"):
            derived = encode_strings(self._signed(view, column))
        else:
            derived = encoded(values_of(*view[1:], values))
        self.vocabularies[view] = derived.vocabulary
        return derived.codes

    def of_values(self, number: int, values: Vocabulary, outside: int = 0) -> np.ndarray:
        """The codes that a column's views have for every value, -1 where unknown: (views, values + outside) int32.

        The views are those of ``of_column``. Behind the values stand the codes of so many boundary symbols.
        """
        views = self.of_column[number]
        if number not in self._compiled:
            chosen = [view for view in views if view[1] in COMPILED]
            self._compiled[number] = WordCodes(chosen, [self.vocabularies[view] for view in chosen])
        codes, compiled = np.empty((len(views), len(values) + outside), np.int32), self._compiled[number]
        compiled.find(values, codes)
        for i in range(len(compiled.views), len(views)):
            codes[i, : len(values)] = self.codes(views[i], Column(np.arange(len(values), dtype=np.int32), values))
        if outside:
            sizes = np.array([len(self.vocabularies[view]) for view in views], np.int32)
            codes[:, len(values) :] = sizes[:, None] + np.arange(outside, dtype=np.int32)
        return codes

    def transform(self, corpus: Corpus) -> np.ndarray:
        """The codes of other text, -1 where a value is unknown: (views, tokens) int32."""
        return self.of_tokens(corpus, self.of_corpus(corpus), self.order)

    def of_corpus(self, corpus: Corpus, outside: int = 0) -> dict[int, np.ndarray]:
        """``of_values`` of every column that a view looks at."""
        columns = corpus.columns
        return {n: self.of_values(n, columns[n].vocabulary, outside) for n in self.of_column if corpus.n_tokens}

    def of_tokens(self, corpus: Corpus, codes: dict[int, np.ndarray], views: Sequence[View]) -> np.ndarray:
        """The codes of some views of every token, from those of the values: (views, tokens) int32."""
        found = np.empty((len(views), corpus.n_tokens), np.int32)
        rows = self._rows_of(tuple(views))
        for number, of_values in codes.items():
            places, chosen = rows[number]
            if places:
                found[places] = of_values[chosen][:, corpus.columns[number].codes]
        for i, view in enumerate(views) if corpus.n_tokens else ():
            if view[1] in OF_PLACES:
                found[i] = self._transform(view, corpus)
        return found

    def _rows_of(self, views: tuple[View, ...]) -> dict[int, tuple[list[int], list[int]]]:
        """For every column the places in ``views`` of those that look at it, and the rows of ``of_values``."""
        if views not in self._rows:
            found = {}
            for number, own in self.of_column.items():
                places = [i for i, view in enumerate(views) if view in own]
                found[number] = places, [own.index(views[i]) for i in places]
            self._rows[views] = found
        return self._rows[views]

    def _transform(self, view: View, corpus: Corpus) -> np.ndarray:
        column = corpus.columns[view[0]]
        if view[1] in ("signature", "word"):
            known = self.vocabularies[view].codes_of(Vocabulary.of(self._signed(view, column)))
            return known[2 * column.codes + first_tokens(corpus.offsets)]
        return self.codes(view, column)

    def codes(self, view: View, column: Column) -> np.ndarray:
        """For each token of a column the code of what the view makes of it, -1 if unknown: (tokens,) int32."""
        if view[1] == "edge":
            return np.full(len(column.codes), -1, np.int32)
        if view[1] == "ngrams":
            return column.codes
        if view[1] == "rare":
            return np.where(self.common[view].codes_of(column.vocabulary) < 0, 0, -1).astype(np.int32)[column.codes]
        distinct = column.vocabulary if view[1] == "x" else values_of(*view[1:], column.vocabulary)
        return self.vocabularies[view].codes_of(distinct)[column.codes]

    def _signed(self, view: View, column: Column) -> list[str]:
        """What %signature or %word makes of each distinct word, inside a sentence and as its first word."""
        words = column.vocabulary.strings
        common = np.zeros(len(words), bool)
        if view[1] == "word":
            common = self.common[view].codes_of(column.vocabulary) >= 0
        pairs = zip(words, common.tolist(), strict=True)
        return [word if kept else signature(word, first) for word, kept in pairs for first in (False, True)]

    # ------------------------------------------------------------------ the model file

    def to_arrays(self) -> dict[str, np.ndarray]:
        arrays: dict[str, np.ndarray] = {}
        for i, view in enumerate(self.order):
            for kind, found in (("vocabulary", self.vocabularies), ("common", self.common)):
                if view in found:
                    arrays |= of_vocabulary(f"{kind}.{i}", found[view])
        return arrays

    def read(self, section: Section) -> None:
        """Take the values from a model file."""
        for i, view in enumerate(self.order):
            self.vocabularies[view] = section.vocabulary(f"vocabulary.{i}")
            if view[1] in ("rare", "word"):
                self.common[view] = section.vocabulary(f"common.{i}")


def _stack(rows: list[np.ndarray], n: int) -> np.ndarray:
    return np.stack(rows) if rows else np.empty((0, n), np.int32)
