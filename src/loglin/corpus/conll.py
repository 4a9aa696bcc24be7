"""CoNLL column files: a token a line, columns parted by blanks or tabs, a blank line between sentences."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from loglin.corpus.columns import Column, Corpus, concatenate
from loglin.corpus.files import read_blocks, refuse_bad_utf8
from loglin.corpus.output import write_atomically
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
        block = _scan(str(path), text, n_columns, tabs, line)
        line += text.count(b"\n")
        yield block


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


def _scan(path: str, text: bytes, n_columns: int, tabs: bool, first_line: int) -> Block:
    if not text.isascii():
        refuse_bad_utf8(path, text, first_line)
    array = np.frombuffer(bytearray(text), np.uint8)
    lines = text.count(b"\n") + 1
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
    columns = []
    for c in range(n_columns):
        codes = np.empty(tokens, np.int32)
        b, e = begin[c, :tokens], end[c, :tokens]
        examples = kernels.encode(array, b, e, codes)
        blob, starts = np.empty(int((e - b)[examples].sum()), np.uint8), np.empty(len(examples) + 1, np.int64)
        kernels.gather_strings(array, b, e, examples, blob, starts)
        columns.append(Column(codes, Vocabulary(blob, starts)))
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


def write(path: str | os.PathLike, corpus: Corpus, separator: str = " ") -> None:
    """Write a corpus as a column file."""
    blank = re.compile(r"[ \t\n\r]" if separator == " " else r"[\t\n\r]")
    for column in corpus.columns:
        for word in column.vocabulary.strings:
            if blank.search(word) or not word:
                raise LoglinError(f"{word!r} is empty or holds a blank, so that it would be lost in columns; change it")
    lines: list[str] = []
    for sentence in corpus.sentences():
        lines.extend(separator.join(token) for token in sentence)
        lines.append("")
    write_atomically(path, ("\n".join(lines) + "\n").encode())
