"""CoNLL column files: a token a line, columns parted by blanks or tabs, a blank line between sentences."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from loglin.corpus.columns import Column, Corpus, Unread, concatenate
from loglin.corpus.files import newlines, read_blocks, refuse_bad_utf8, until_mistake
from loglin.corpus.formats import Answer, Format, LabelColumn, Layout
from loglin.corpus.limits import limits, raising
from loglin.corpus.tagged import LabeledText
from loglin.corpus.vocabulary import Vocabulary
from loglin.errors import LoglinError
from loglin.kernels import text as kernels

DOCSTART = b"-DOCSTART-"


@dataclass
class Block:
    """A stretch of a file: its bytes, where its token lines are, and the corpus they make."""

    text: np.ndarray  # (bytes,) uint8
    line_begin: np.ndarray  # (tokens,) int64
    line_end: np.ndarray
    corpus: Corpus
    separator: int  # the byte between columns, for writing

    @property
    def n_sentences(self) -> int:
        return self.corpus.n_sentences

    def inputs(self, layout: Layout) -> Corpus:
        return feature_columns(self.corpus, layout)

    def sentences(self) -> list[list[str]]:
        return self.corpus.strings(0)

    def labeled(self, codes: np.ndarray, labels: list[str], layout: Layout) -> bytes:
        return with_labels(self, codes, Vocabulary.of(labels)) if len(codes) else self.text.tobytes()

    def detailed(self, answers: Iterable[list[Answer]], labels: list[str], several: bool) -> bytes:
        """Every answer below its rank and probability, if there are several; tokens with probabilities of labels."""
        lines, separator = [], chr(self.separator)
        begins, ends, first = self.line_begin.tolist(), self.line_end.tolist(), 0
        for ranked in answers:
            for rank, (codes, probability, rows) in enumerate(ranked):
                if several:
                    lines.append(f"# {rank} {probability:.6f}")
                for t, code in enumerate(codes.tolist()):
                    extra = [labels[code]]
                    if rows is not None:
                        extra = [f"{labels[code]}:{rows[t, code]:.6f}"]
                        extra += [f"{y}:{p:.6f}" for y, p in zip(labels, rows[t], strict=True)]
                    text = self.text[begins[first + t] : ends[first + t]].tobytes().decode()
                    lines.append(separator.join([text, *extra]))
                lines.append("")
            first += len(ranked[0].codes)
        return "".join(line + "\n" for line in lines).encode()


def read(path: str | os.PathLike, encoding: str = "utf-8") -> Corpus:
    """Read a whole column file; ``-DOCSTART-`` lines are left out."""
    corpora = [block.corpus for block in blocks(path, encoding)]
    corpora = [corpus for corpus in corpora if corpus.n_tokens]
    if not corpora:
        raise LoglinError(f"{path} holds no tokens; expected one token a line with columns parted by blanks or tabs")
    return concatenate(corpora, str(path))


def blocks(path: str | os.PathLike, encoding: str = "utf-8") -> Iterator[Block]:
    """Read a column file block by block, so that memory does not grow with the file."""
    n_columns, tabs, line = 0, False, 1
    for text in read_blocks(path, encoding, b"\n\n", b"\n\r\n"):
        if not n_columns:
            n_columns, tabs = _shape(text)
            most = limits().columns
            if n_columns > most:
                raise LoglinError(f"{path} has {n_columns:,} columns in its first line; {raising('columns', most)}")
        yield from until_mistake(text, partial(_scan, str(path), n_columns, tabs, line))
        line += newlines(text)


def _shape(text: bytes) -> tuple[int, bool]:
    """Number of columns and whether tabs part them, from the first token line."""
    start = 0
    while start < len(text):
        end = text.find(b"\n", start)
        line = text[start:] if end < 0 else text[start:end].removesuffix(b"\r")
        if line.strip() and not line.startswith(DOCSTART):
            return (len(line.split(b"\t")), True) if b"\t" in line else (len(line.split()), False)
        start = len(text) if end < 0 else end + 1
    return 0, False


def _scan(path: str, n_columns: int, tabs: bool, first_line: int, text: bytes) -> Block:
    if not text.isascii():
        refuse_bad_utf8(path, text, first_line)
    array = np.frombuffer(bytearray(text), np.uint8)
    lines = newlines(text) + 1
    place = np.int32 if len(text) < 1 << 31 else np.int64
    begin, end = np.empty((n_columns, lines), place), np.empty((n_columns, lines), place)
    line_begin, line_end, offsets = (np.empty(lines + 1, np.int64) for _ in range(3))
    docstart = np.frombuffer(bytearray(DOCSTART), np.uint8)
    tokens, sentences, status, position, found = kernels.scan_columns(
        array, n_columns, tabs, begin, end, line_begin, line_end, offsets, docstart
    )
    if status == kernels.RAGGED:
        line = first_line + text.count(b"\n", 0, position)
        shown = text[position:].split(b"\n", 1)[0].decode("utf-8", "replace")[:60]
        raise LoglinError(
            f"{path}, line {line}: {found} columns where the first line has {n_columns}: {shown!r}; "
            f"give every line {n_columns} columns"
            + (" parted by tabs" if tabs else ", or read a sentence a line by --format text")
        )
    columns: list[Column] = [Unread(array, begin[c, :tokens], end[c, :tokens]) for c in range(n_columns)]
    corpus = Corpus(columns, offsets[: sentences + 1].copy(), path)
    return Block(array, line_begin[:tokens], line_end[:tokens], corpus, 9 if tabs else 32)


def with_labels(block: Block, codes: np.ndarray, labels: Vocabulary) -> bytes:
    """The block's text with one more column: the label of every token."""
    longest = int(np.diff(labels.starts).max(initial=0)) + 1
    out = np.empty(len(block.text) + len(codes) * longest, np.uint8)
    size = kernels.append_column(
        block.text,
        block.line_begin,
        block.line_end,
        0,
        len(block.text),
        codes,
        labels.blob,
        labels.starts,
        block.separator,
        out,
    )
    return out[:size].tobytes()


def without_column(corpus: Corpus, column: int) -> Corpus:
    """The corpus without its label column."""
    chosen = range(len(corpus.columns))[column]
    rest = [c for i, c in enumerate(corpus.columns) if i != chosen]
    return Corpus(rest, corpus.offsets, corpus.source)


def feature_columns(corpus: Corpus, layout: Layout) -> Corpus:
    """The columns that the templates look at: a label column is taken away if there is one."""
    found, trained, needed = len(corpus.columns), layout.columns, layout.needed
    if found == trained:
        return without_column(corpus, layout.label_column)
    if found < needed or found > max(trained, needed):
        raise LoglinError(
            f"{corpus.source} has {found} columns, but the model was trained on {trained} (labels included) and "
            f"looks at the first {needed}; give it the same columns, with or without labels"
        )
    return corpus


class Conll(Format):
    name = "conll"
    line = "columns parted by blanks or tabs, a token a line, labels in --label-column, else in the last"
    ahead = True

    def labeled(
        self, path: str, encoding: str, label_column: LabelColumn, columns: bool, layout: Layout | None = None
    ) -> LabeledText:
        corpus, number = read(path, encoding), self.position(path, label_column)
        if layout is None:
            return self._with_labels(corpus, number)
        inputs = feature_columns(corpus, layout)
        if len(inputs.columns) == len(corpus.columns):
            raise LoglinError(
                f"{path} has {len(corpus.columns)} columns and the model was trained on "
                f"{layout.columns or None}: the labels to compare with are missing; add their column"
            )
        number = layout.label_column if label_column is None else number
        return LabeledText(inputs, corpus.column(number), False, len(corpus.columns), number)

    def labeled_pieces(self, path: str, encoding: str, label_column: LabelColumn) -> Iterator[LabeledText]:
        number = self.position(path, label_column)
        for block in blocks(path, encoding):
            if block.corpus.n_tokens:
                yield self._with_labels(block.corpus, number)

    def _with_labels(self, corpus: Corpus, number: int) -> LabeledText:
        if len(corpus.columns) < 2:
            raise LoglinError(
                f"{corpus.source} has one column, so there are no labels to learn from; give at least a word and a "
                "label"
            )
        labels = corpus.column(number)
        return LabeledText(without_column(corpus, number), labels, False, len(corpus.columns), number)

    def raw(self, path: str, encoding: str, label_column: LabelColumn) -> Corpus:
        corpus = read(path, encoding)
        if len(corpus.columns) == 1 or label_column is None:
            return corpus
        number = self.position(path, label_column)
        corpus.column(number)  # there is such a column
        return without_column(corpus, number)

    def stretches(self, path: str, encoding: str) -> Iterator[Block]:
        return blocks(path, encoding)

    def table(self, path: str, encoding: str) -> Corpus:
        return read(path, encoding)


FORMAT = Conll()
