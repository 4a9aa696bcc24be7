"""A corpus: a few columns of integer codes, cut into sentences.

column c of token t      columns[c].vocabulary[columns[c].codes[t]]
tokens of sentence s     offsets[s] … offsets[s + 1] − 1
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from operator import itemgetter

import numpy as np

from loglin.corpus.vocabulary import EMPTY, Vocabulary
from loglin.errors import LoglinError
from loglin.kernels import text as kernels
from loglin.kernels.keys import factorize


@dataclass
class Column:
    codes: np.ndarray  # (tokens,) int32
    vocabulary: Vocabulary

    def strings(self) -> list[str]:
        names = self.vocabulary.strings
        return [names[c] for c in self.codes.tolist()]

    def compacted(self) -> Column:
        """The column with the values that it has alone, in order of first occurrence."""
        codes = np.empty(len(self.codes), np.int32)
        used, _ = factorize(self.codes.astype(np.int64), codes)
        begin, end = self.vocabulary.starts[:-1], self.vocabulary.starts[1:]
        blob, starts = np.empty(int((end - begin)[used].sum()), np.uint8), np.empty(len(used) + 1, np.int64)
        kernels.gather_strings(self.vocabulary.blob, begin, end, used, blob, starts)
        return Column(codes, Vocabulary(blob, starts))


class Unread(Column):
    """A column in a text whose strings are numbered when they are first looked at."""

    def __init__(self, text: np.ndarray, begin: np.ndarray, end: np.ndarray):
        self._slices = text, begin, end

    @cached_property
    def _numbered(self) -> Column:
        return encode_slices(*self._slices)

    @property
    def codes(self) -> np.ndarray:  # type: ignore[override]
        return self._numbered.codes

    @property
    def vocabulary(self) -> Vocabulary:  # type: ignore[override]
        return self._numbered.vocabulary

    def __reduce__(self) -> tuple:
        return Column, (self.codes, self.vocabulary)  # without the text


@dataclass
class Corpus:
    columns: list[Column]
    offsets: np.ndarray  # (sentences + 1,) int64
    source: str = "input"  # what to call it in messages

    @property
    def n_tokens(self) -> int:
        return int(self.offsets[-1])

    @property
    def n_sentences(self) -> int:
        return len(self.offsets) - 1

    def column(self, index: int) -> Column:
        """The column numbered ``index``, negative from the right as in Python."""
        if not -len(self.columns) <= index < len(self.columns):
            raise LoglinError(
                f"{self.source} has {len(self.columns)} columns, so there is no column {index}; "
                "columns are numbered from 0, or from -1 backwards"
            )
        return self.columns[index]

    def strings(self, index: int) -> list[list[str]]:
        """One column, sentence by sentence."""
        if not self.n_tokens:
            return [[]] * self.n_sentences
        found, cuts = self.column(index).strings(), self.offsets.tolist()
        return [found[b:e] for b, e in pairwise(cuts)]

    def sentences(self) -> list[list[tuple[str, ...]]]:
        """The corpus as Python objects: for each sentence its tokens as tuples of strings."""
        rows = list(zip(*(c.strings() for c in self.columns), strict=True))
        cuts = self.offsets.tolist()
        return [rows[b:e] for b, e in pairwise(cuts)]

    def between(self, begin: int, end: int) -> Corpus:
        """The sentences begin … end − 1, with the values that they have alone."""
        first, last = self.offsets[begin], self.offsets[end]
        columns = [Column(c.codes[first:last], c.vocabulary).compacted() for c in self.columns]
        return Corpus(columns, self.offsets[begin : end + 1] - first, self.source)

    def select(self, sentences: np.ndarray) -> Corpus:
        """The chosen sentences, in the order given."""
        lengths = np.diff(self.offsets)[sentences]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        tokens = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][sentences] - offsets[:-1], lengths)
        columns = [Column(c.codes[tokens], c.vocabulary) for c in self.columns]
        return Corpus(columns, offsets, self.source)


def first_tokens(offsets: np.ndarray) -> np.ndarray:
    """Whether each token is the first of its sentence: (tokens,) bool."""
    first = np.zeros(offsets[-1], bool)
    first[offsets[:-1][np.diff(offsets) > 0]] = True
    return first


def from_sentences(sentences: Iterable[Sequence], source: str = "input") -> Corpus:
    """A corpus from Python objects: sentences of tokens, a token a string or a sequence of strings."""
    given = sentences if isinstance(sentences, list) else list(sentences)
    columns = _quick_columns(given)
    if columns is not None:
        return Corpus(columns, np.cumsum([0, *map(len, given)], dtype=np.int64), source)
    rows: list[tuple[str, ...]] = []
    lengths: list[int] = []
    width = 0
    for s, sentence in enumerate(given):
        if isinstance(sentence, str):
            raise LoglinError(
                f"{source}: sentence {s} is the string {sentence[:30]!r}, not a list of tokens; "
                "split it into tokens first, for example with .split()"
            )
        if not isinstance(sentence, Iterable):
            raise LoglinError(f"{source}: sentence {s} is {sentence!r}, not a list of tokens")
        tokens = list(sentence)
        if tokens:
            single = isinstance(tokens[0], str) or not isinstance(tokens[0], Sized)
            width = width or max(1, 1 if single else len(tokens[0]))
        rows += _checked_rows(tokens, width, f"{source}: sentence {s}")
        lengths.append(len(tokens))
    columns = [encode_strings(field) for field in zip(*rows, strict=True)]
    return Corpus(columns, np.cumsum([0, *lengths], dtype=np.int64), source)


def _quick_columns(sentences: list) -> list[Column] | None:
    """The columns of lists of strings or of tuples, found without a loop in Python; None if there is anything else."""
    if not set(map(type, sentences)) <= {list, tuple}:
        return None
    tokens = list(chain.from_iterable(sentences))
    kinds = set(map(type, tokens))
    if kinds == {str}:
        return [encode_strings(tokens)]
    widths = set(map(len, tokens)) if kinds <= {tuple, list} else set()
    if len(widths) != 1 or widths == {0}:
        return None
    try:
        return [encode_strings(list(map(itemgetter(c), tokens))) for c in range(widths.pop())]
    except TypeError:  # some field is no string
        return None


def _checked_rows(tokens: list, width: int, place: str) -> list[tuple[str, ...]]:
    """Tokens as tuples of strings, or an error that names the first one that is not."""
    rows = []
    for t, token in enumerate(tokens):
        row = tuple(token) if isinstance(token, Iterable) and not isinstance(token, str | Mapping) else (token,)
        if len(row) != width or not all(isinstance(field, str) for field in row):
            raise LoglinError(
                f"{place}, token {t} is {row!r}; every token must have the same number of strings as the first "
                f"one, {width}"
            )
        rows.append(row)
    return rows


def encode_strings(strings: Sequence[str]) -> Column:
    """Number strings in order of first occurrence."""
    joined = "\0".join(strings).encode("utf-8", "surrogatepass")
    text = np.frombuffer(bytearray(joined), np.uint8)
    (cuts,) = (text == 0).nonzero()
    if len(cuts) == len(strings) - 1:
        bounds = np.empty(len(strings) + 1, np.int64)
        bounds[0], bounds[1:-1], bounds[-1] = -1, cuts, len(text)
        return encode_slices(text, bounds[:-1] + 1, bounds[1:])
    numbers: dict[str, int] = {}  # there are no strings, or one has the character that separates them
    codes = np.fromiter((numbers.setdefault(s, len(numbers)) for s in strings), np.int32, len(strings))
    return Column(codes, Vocabulary.of(numbers))


def encode_slices(text: np.ndarray, begin: np.ndarray, end: np.ndarray) -> Column:
    """Number the strings text[begin[i]:end[i]] of a byte array in order of first occurrence."""
    codes = np.empty(len(begin), np.int32)
    examples = kernels.encode(text, begin, end, codes)
    blob, starts = np.empty(int((end - begin)[examples].sum()), np.uint8), np.empty(len(examples) + 1, np.int64)
    kernels.gather_strings(text, begin, end, examples, blob, starts)
    return Column(codes, Vocabulary(blob, starts))


def concatenate(blocks: Iterable[Corpus], source: str) -> Corpus:
    """One corpus from consecutive blocks, each with vocabularies of its own."""
    vocabularies: list[Vocabulary] = []
    codes: list[list[np.ndarray]] = []
    cuts = [np.zeros(1, np.int64)]
    for block in blocks:
        if not vocabularies:
            vocabularies = [EMPTY] * len(block.columns)
            codes = [[] for _ in block.columns]
        for c, column in enumerate(block.columns):
            if len(vocabularies[c]) == 0:
                vocabularies[c] = column.vocabulary
                codes[c].append(column.codes)
            else:
                vocabularies[c], numbers = vocabularies[c].merged(column.vocabulary)
                codes[c].append(numbers[column.codes])
        cuts.append(block.offsets[1:] + cuts[-1][-1])
    columns = [
        Column(np.concatenate(parts) if len(parts) > 1 else parts[0], v)
        for parts, v in zip(codes, vocabularies, strict=True)
    ]
    return Corpus(columns, np.concatenate(cuts), source)
