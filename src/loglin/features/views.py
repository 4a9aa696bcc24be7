"""Columns as functions see them: strings are touched once per distinct value, tokens only as integers.

A view is a function of a column, such as the suffixes of words. Training numbers its values; in other text a value
that training did not see is -1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from loglin.corpus.columns import Column, Corpus, encode_strings, first_tokens
from loglin.corpus.sections import Section, of_vocabulary
from loglin.corpus.vocabulary import EMPTY, Vocabulary
from loglin.features.functions import evaluate
from loglin.features.signatures import signature

View = tuple[int, str, tuple]  # column, function, arguments


class Views:
    """The views that templates look through, in a fixed order."""

    def __init__(self, views: Iterable[View], symbols: Sequence[str] = ()):
        self.order = list(dict.fromkeys(views))
        self.symbols = symbols  # what functions see at places outside a sentence (features/padding.py)
        self.vocabularies: dict[View, Vocabulary] = {}  # the values of every view
        self.common: dict[View, Vocabulary] = {}  # of %rare and %word, the words that training saw often enough

    # ------------------------------------------------------------------ fitting and applying

    def fit(self, corpus: Corpus) -> np.ndarray:
        """Number the values of every view and return the codes of all tokens, (views, tokens) int32."""
        codes = _stack([self._fit(view, corpus) for view in self.order], corpus.n_tokens)
        for view in self.order if len(self.symbols) else ():
            new = Vocabulary.of(dict.fromkeys(self._seen_outside(view)))
            self.vocabularies[view], _ = self.vocabularies[view].merged(new)
        return codes

    def outside(self, view: View) -> np.ndarray:
        """The codes of what the view makes of the symbols of places outside a sentence: (symbols,) int32."""
        return self.vocabularies[view].codes_of(Vocabulary.of(self._seen_outside(view)))

    def _seen_outside(self, view: View) -> list[str]:
        return [str(evaluate(view[1], view[2], symbol)) for symbol in self.symbols]

    def _fit(self, view: View, corpus: Corpus) -> np.ndarray:
        column, function = corpus.columns[view[0]], view[1]
        if function in ("rare", "word"):
            counts = np.bincount(column.codes, minlength=len(column.vocabulary))
            often = np.flatnonzero(counts >= view[2][0])
            self.common[view] = Vocabulary.of(column.vocabulary[c] for c in often.tolist())
        if function == "x":
            self.vocabularies[view] = column.vocabulary
            return column.codes
        if function == "ngrams":
            grams = encode_strings([g for v in values_of(view, column) for g in v])
            self.vocabularies[view] = grams.vocabulary
            return column.codes  # a placeholder: its attributes are lists per token
        if function in ("edge", "if", "rare"):
            one = {"edge": EMPTY, "if": Vocabulary.of(["true"]), "rare": Vocabulary.of(["rare"])}
            self.vocabularies[view] = one[function]
            return self.codes(view, column)
        if function in ("signature", "word"):
            derived = encode_strings(self._signed(view, column))
            self.vocabularies[view] = derived.vocabulary
            return derived.codes[2 * column.codes + first_tokens(corpus.offsets)]
        derived = encode_strings(values_of(view, column))
        self.vocabularies[view] = derived.vocabulary
        return derived.codes[column.codes]

    def transform(self, corpus: Corpus) -> np.ndarray:
        """The codes of other text, -1 where a value is unknown: (views, tokens) int32."""
        if not corpus.n_tokens:
            return np.empty((len(self.order), 0), np.int32)
        return _stack([self._transform(view, corpus) for view in self.order], corpus.n_tokens)

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
        distinct = column.vocabulary if view[1] == "x" else Vocabulary.of(values_of(view, column))
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


def values_of(view: View, column: Column) -> list:
    """What the view's function makes of each distinct value of a column."""
    return [evaluate(view[1], view[2], word) for word in column.vocabulary.strings]


def _stack(rows: list[np.ndarray], n: int) -> np.ndarray:
    return np.stack(rows) if rows else np.empty((0, n), np.int32)
