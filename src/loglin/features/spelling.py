"""The compiled functions of words: what they make of all distinct words of a column, found without Python strings.

What a character is, and what its lower case is, Python's own methods say, once for every character that is met. A word
whose lower case they do not tell character by character (``İ`` becomes two, ``Σ`` depends on its place) is left to the
function itself. tests/features/test_spelling.py compares every compiled function with the Python one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from loglin.corpus.columns import Column, encode_slices
from loglin.corpus.vocabulary import Vocabulary
from loglin.features.design import Incidence
from loglin.features.functions import evaluate
from loglin.kernels import text
from loglin.kernels import words as kernels

COMPILED = {
    "x": kernels.X,
    "lower": kernels.LOWER,
    "prefix": kernels.PREFIX,
    "suffix": kernels.SUFFIX,
    "shape": kernels.SHAPE,
    "short-shape": kernels.SHORT_SHAPE,
    "is-title": kernels.IS_TITLE,
    "is-upper": kernels.IS_UPPER,
    "has-upper": kernels.HAS_UPPER,
    "has-digit": kernels.HAS_DIGIT,
    "has-hyphen": kernels.HAS_HYPHEN,
    "is-punctuation": kernels.IS_PUNCTUATION,
    "length-class": kernels.LENGTH_CLASS,
}

View = tuple[int, str, tuple]  # column, function, arguments

_ANSWERS = Vocabulary.of(["false", "true"])
_FLAGS = np.zeros(kernels.POINTS, np.uint8)  # by code point; pages that no text touches take no memory
_LOWER = np.zeros(kernels.POINTS, np.uint32)


def _learn(words: Vocabulary) -> None:
    """Fill in the tables for the characters of words."""
    new = kernels.new_characters(words.blob, _FLAGS)
    for point in sorted(set(new.tolist())):  # np.unique would import numpy.ma, for 4 ms
        character = chr(point) if point < 0x110000 else "\ufffd"
        lower, category = character.lower(), unicodedata.category(character)
        irregular = len(lower) != 1 or character == "Σ"
        _LOWER[point] = point if irregular else ord(lower)
        _FLAGS[point] = (
            kernels.KNOWN
            | kernels.UPPER * character.isupper()
            | kernels.ALPHA * character.isalpha()
            | kernels.DIGIT * character.isdigit()
            | kernels.PUNCTUATION * (category[0] in "PS")
            | kernels.SMALL * (character.islower() or category == "Lt")
            | kernels.CHANGES * (lower != character)
            | kernels.IRREGULAR * irregular
        )


def values_of(function: str, arguments: tuple, words: Vocabulary) -> Vocabulary:
    """What a function of templates makes of each word: one value per word, equal ones repeated."""
    if function in COMPILED:
        _learn(words)
        starts = np.empty(len(words) + 1, np.int64)
        argument = arguments[0] if arguments else 0
        blob, complete = kernels.word_values(
            words.blob, words.starts, COMPILED[function], argument, _FLAGS, _LOWER, starts
        )
        if complete:
            return Vocabulary(blob, starts)
    return Vocabulary.of(str(evaluate(function, arguments, word)) for word in words.strings)


def encoded(values: Vocabulary) -> Column:
    """Values of words numbered in order of first occurrence."""
    return encode_slices(values.blob, values.starts[:-1], values.starts[1:])


class WordCodes:
    """Several compiled functions with the values that training saw, laid out for one kernel."""

    def __init__(self, views: Sequence[View], vocabularies: Sequence[Vocabulary]):
        self.views, self.vocabularies = list(views), list(vocabularies)
        self._words_alone = [function for _, function, _ in views] == ["x"]
        if not self.views or self._words_alone:
            return
        self._functions = np.array([COMPILED[function] for _, function, _ in views], np.int64)
        self._arguments = np.array([arguments[0] if arguments else 0 for *_, arguments in views], np.int64)
        self._answers = np.full((len(views), 2), -1, np.int32)
        for v in np.flatnonzero(self._functions >= kernels.FIRST_QUESTION).tolist():
            self._answers[v] = vocabularies[v].codes_of(_ANSWERS)
        bytes_before = _before([len(v.blob) for v in vocabularies])
        self._tables = (
            np.concatenate([v.blob for v in vocabularies]),
            np.concatenate([v.starts + before for v, before in zip(vocabularies, bytes_before, strict=True)]),
            _before([len(v) + 1 for v in vocabularies]),
            np.concatenate([v.slots for v in vocabularies]),
            _before([len(v.slots) for v in vocabularies]),
            np.array([len(v.slots) - 1 for v in vocabularies], np.int64),
        )

    def find(self, words: Vocabulary, codes: np.ndarray) -> None:
        """Set codes[v, w] to the code of what view v makes of word w, -1 if training did not see it; leave the rest."""
        if not self.views:
            return
        if self._words_alone:
            codes[0, : len(words)] = self.vocabularies[0].codes_of(words)
            return
        _learn(words)
        arrays = (self._functions, self._arguments, self._answers, _FLAGS, _LOWER, self._tables)
        kernels.word_codes(words.blob, words.starts, *arrays, codes)
        for v in np.flatnonzero(self._functions == kernels.LOWER).tolist():
            asked = np.flatnonzero(codes[v, : len(words)] == kernels.ASK)
            if len(asked):
                _, function, arguments = self.views[v]
                values = Vocabulary.of(str(evaluate(function, arguments, words[w])) for w in asked.tolist())
                codes[v, asked] = self.vocabularies[v].codes_of(values)


def distinct_ngrams(sizes: tuple, words: Vocabulary) -> Vocabulary:
    """The n-grams of all words, of the shortest to the longest of ``sizes``, in order of first occurrence."""
    grams, begin, end, _ = _ngrams(sizes, words)
    return encode_slices(grams, begin, end).vocabulary


def ngram_lists(sizes: tuple, words: Vocabulary, known: Vocabulary) -> Incidence:
    """For each word the codes of its distinct n-grams, as far as they are known."""
    grams, begin, end, ptr = _ngrams(sizes, words)
    codes, kept = np.empty(len(begin), np.int32), np.empty(len(ptr), np.int64)
    text.find(known.blob, known.starts, known.slots, grams, begin, end, codes)
    return Incidence(kept, codes[: kernels.distinct_in_lists(ptr, codes, len(known), kept)])


def _ngrams(sizes: tuple, words: Vocabulary) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    marked, ptr = np.empty(len(words.blob) + 2 * len(words), np.uint8), np.empty(len(words) + 1, np.int64)
    begin, end = kernels.ngrams(words.blob, words.starts, *sizes, marked, ptr)
    return marked, begin, end, ptr


def _before(sizes: list[int]) -> np.ndarray:
    """The sum of the sizes before each one."""
    return np.array([0, *accumulate(sizes)][:-1], np.int64)
