"""CoNLL-U files of Universal Dependencies: a token a line, ten columns parted by tabs, a blank line behind a sentence.

    # text = Vámonos al mar                         comments
    1-2  Vámonos  _      _     _  _  _  _  _  _     a range of tokens that are written as one word
    1    Vamos    ir     VERB  _  _  0  root  _  _
    2    nos      nosotros …
    2.1  …                                          an empty node

Comments, ranges and empty nodes are no tokens; they are kept where a file is tagged. A corpus has the columns FORM,
LEMMA, … MISC, ID: column c of a template is column c + 1 of the file, and the words are column 0. The label column is
not taken away, which would number those behind it anew; it reads "_" throughout.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from loglin.corpus.columns import Column, Corpus, concatenate, encode_strings
from loglin.corpus.files import read_blocks, refuse_bad_utf8, until_mistake
from loglin.corpus.formats import Answer, Format, LabelColumn, Layout
from loglin.corpus.tagged import LabeledText
from loglin.corpus.vocabulary import Vocabulary
from loglin.errors import LoglinError

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
UPOS = COLUMNS.index("upos")
_RANGE = re.compile(r"([1-9][0-9]*)-([1-9][0-9]*)")
_EMPTY_NODE = re.compile(r"(0|[1-9][0-9]*)\.([1-9][0-9]*)")


@dataclass(frozen=True)
class Block:
    """A stretch of a file: its lines, and the corpus that the token lines among them make."""

    lines: list[str]  # without "\n"; the last is what stands behind the last "\n"
    tokens: list[int]  # the line of every token
    corpus: Corpus  # FORM, LEMMA, … MISC, ID

    @property
    def n_sentences(self) -> int:
        return self.corpus.n_sentences

    def inputs(self, layout: Layout) -> Corpus:
        return _masked(self.corpus, _trained(layout))

    def sentences(self) -> list[list[str]]:
        return self.corpus.strings(0)

    def labeled(self, codes: np.ndarray, labels: list[str], layout: Layout) -> bytes:
        return self.with_column(_trained(layout), [labels[code] for code in codes.tolist()])

    def detailed(self, answers: Iterable[list[Answer]], labels: list[str], several: bool) -> bytes:
        raise NotImplementedError  # Format.cramped refuses it before

    def with_column(self, number: int, values: list[str]) -> bytes:
        """The text with other values in one column of the tokens and all else as it is."""
        for value in set(values):
            if not value or re.search(r"[\t\n\r]", value):
                raise LoglinError(
                    f"the label {value!r} cannot stand in a column of CoNLL-U: it is empty or holds a tab or the end "
                    "of a line; change it"
                )
        lines = list(self.lines)
        for place, value in zip(self.tokens, values, strict=True):
            fields = lines[place].split("\t")
            fields[number] = value + "\r" * (number == len(fields) - 1 and fields[number].endswith("\r"))
            lines[place] = "\t".join(fields)
        return "\n".join(lines).encode()


def read(path: str | os.PathLike, encoding: str = "utf-8") -> Corpus:
    """Read a whole file: the columns FORM, LEMMA, … MISC, ID of its tokens."""
    corpora = [block.corpus for block in blocks(path, encoding) if block.tokens]
    if not corpora:
        raise LoglinError(f"{path} holds no tokens; expected one token a line, ten columns parted by tabs")
    return concatenate(corpora, str(path))


def blocks(path: str | os.PathLike, encoding: str = "utf-8") -> Iterator[Block]:
    """Read a file block by block, so that memory does not grow with the file."""
    first = 1
    for content in read_blocks(path, encoding, b"\n\n", b"\n\r\n"):
        yield from until_mistake(content, partial(_parsed, str(path), first))
        first += content.count(b"\n")


def _parsed(path: str, first: int, content: bytes) -> Block:
    refuse_bad_utf8(path, content, first)
    lines = content.decode().split("\n")
    rows: list[list[str]] = []
    tokens: list[int] = []
    cuts = [0]
    numbering = _Numbering()
    number, line = 0, ""
    try:
        for number, line in enumerate(lines):
            line = line.removesuffix("\r")
            if not line:
                numbering.finish()
                numbering = _Numbering()
                cuts.append(len(rows))
            elif line[0] != "#":
                fields = line.split("\t")
                if len(fields) != len(COLUMNS) or "" in fields:
                    raise _bad_fields(fields)
                if numbering.is_token(fields[0]):
                    rows.append(fields)
                    tokens.append(number)
        numbering.finish()
    except LoglinError as error:
        raise LoglinError(f"{path}, line {first + number}: {error}") from None
    columns = [encode_strings(values) for values in zip(*rows, strict=True)]
    return Block(lines, tokens, Corpus([*columns[1:], *columns[:1]], np.unique([*cuts, len(rows)]), path))


@dataclass
class _Numbering:
    """The numbers of a sentence's lines so far: tokens 1, 2, …, ranges before their first token, empty nodes behind."""

    token: int = 0
    end: int = 0  # of the last range
    empty: int = 0  # empty nodes behind the last token

    def is_token(self, name: str) -> bool:
        """Whether the line numbered ``name`` is a token; raise if another number is due."""
        if name == str(self.token + 1):
            self.token, self.empty = self.token + 1, 0
            return True
        if match := _RANGE.fullmatch(name):
            begin, end = int(match[1]), int(match[2])
            if begin == self.token + 1 > self.end and begin <= end:
                self.end = end
                return False
        elif (match := _EMPTY_NODE.fullmatch(name)) and (int(match[1]), int(match[2])) == (self.token, self.empty + 1):
            self.empty += 1
            return False
        due = f"token {self.token + 1}, a range that begins with it, or the empty node {self.token}.{self.empty + 1}"
        raise LoglinError(f"the id {name[:40]!r} is out of order; {due} is due, number the sentence so")

    def finish(self) -> None:
        """Raise if the sentence ends before its last range does."""
        if self.end > self.token:
            raise LoglinError(
                f"the sentence ends with token {self.token}, but a range of its words goes to {self.end}; "
                "add the tokens or shorten the range"
            )


def _bad_fields(fields: list[str]) -> LoglinError:
    if len(fields) != len(COLUMNS):
        return LoglinError(
            f"{len(fields)} columns parted by tabs where CoNLL-U has {len(COLUMNS)}: "
            f"{' '.join(fields)[:60]!r}; write _ for what is not known, and nothing in the line between sentences"
        )
    return LoglinError(f"the column {COLUMNS[fields.index('')].upper()} is empty; write _ for what is not known")


def _masked(corpus: Corpus, number: int) -> Corpus:
    """The corpus with "_" in the column that is the file's ``number``-th, from 0."""
    columns = list(corpus.columns)
    columns[number - 1] = Column(np.zeros(corpus.n_tokens, np.int32), Vocabulary.of(["_"]))
    return replace(corpus, columns=columns)


def _trained(layout: Layout) -> int:
    """The label column of a model trained on CoNLL-U, from 0; UPOS of a model trained on anything else."""
    return layout.label_column % len(COLUMNS) if layout.columns == len(COLUMNS) else UPOS


class Conllu(Format):
    name = "conllu"
    line = "CoNLL-U of Universal Dependencies, labels in UPOS or --label-column xpos, feats, …"
    endings = (".conllu",)
    cramped = "CoNLL-U"
    replaces = True

    def labeled(
        self, path: str, encoding: str, label_column: LabelColumn, columns: bool, layout: Layout | None = None
    ) -> LabeledText:
        corpus = read(path, encoding)
        asked = self._number(path, label_column)
        hidden = asked if layout is None else _trained(layout)
        if layout is not None and label_column is None:
            asked = hidden
        return LabeledText(_masked(corpus, hidden), corpus.columns[asked - 1], False, len(COLUMNS), asked)

    def raw(self, path: str, encoding: str, label_column: LabelColumn) -> Corpus:
        corpus = read(path, encoding)
        return corpus if label_column is None else _masked(corpus, self._number(path, label_column))

    def stretches(self, path: str, encoding: str) -> Iterator[Block]:
        return blocks(path, encoding)

    def table(self, path: str, encoding: str) -> Corpus:
        return read(path, encoding)

    def position(self, path: str, label_column: LabelColumn) -> int:
        return (self._number(path, label_column) - 1) % len(COLUMNS)

    def _number(self, path: str, label_column: LabelColumn) -> int:
        """The number of a column in the file, from 0."""
        if label_column is None:
            return UPOS
        if isinstance(label_column, str) and label_column.lower() in COLUMNS:
            return COLUMNS.index(label_column.lower())
        if isinstance(label_column, int) and -len(COLUMNS) <= label_column < len(COLUMNS):
            return label_column % len(COLUMNS)
        raise LoglinError(
            f"{path} has {len(COLUMNS)} columns, so there is no column {label_column}; give one of "
            f"{', '.join(COLUMNS)}, or its number from 0"
        )


FORMAT = Conllu()
