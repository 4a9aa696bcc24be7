"""Rare and unknown values read as one symbol, so that a model knows what an unknown word looks like.

In training the first occurrence of every distinct value becomes ``<oov>``: a value seen once is ``<oov>``
everywhere, and ``<oov>`` is as frequent as there are distinct values. In other text, every value that
training did not keep is ``<oov>``.
"""

from __future__ import annotations

import numpy as np

from loglin.corpus.columns import Column
from loglin.corpus.vocabulary import Vocabulary

OOV = "<oov>"


def first_as_oov(column: Column) -> Column:
    """A training column with first occurrences replaced; its vocabulary holds the values left, ``<oov>`` first."""
    _, first = np.unique(column.codes, return_index=True)
    seen = column.codes.copy()
    seen[first] = -1
    kept = np.setdiff1d(seen, [-1, column.vocabulary.code(OOV)])
    numbers = np.zeros(len(column.vocabulary) + 1, np.int32)  # the last one for -1
    numbers[kept] = np.arange(1, len(kept) + 1)
    strings = column.vocabulary.strings
    return Column(numbers[seen], Vocabulary.of([OOV, *(strings[k] for k in kept.tolist())]))


def unknown_as_oov(column: Column, known: Vocabulary) -> Column:
    """A column of other text with every value that is not ``known`` replaced."""
    unknown = known.codes_of(column.vocabulary) < 0
    if not unknown.any():
        return column
    vocabulary, (oov,) = column.vocabulary.merged(Vocabulary.of([OOV]))
    return Column(np.where(unknown[column.codes], oov, column.codes).astype(np.int32), vocabulary)
