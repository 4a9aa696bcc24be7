"""CRFsuite's attribute files: a line per token, ``label<TAB>attribute[:value]<TAB>…``, a blank line between sentences.

In names a colon is written ``\\:`` and a backslash ``\\\\``.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator
from itertools import chain

from loglin.corpus import sentences
from loglin.corpus.columns import Corpus
from loglin.corpus.files import read_blocks, refuse_bad_utf8
from loglin.corpus.formats import Format, LabelColumn, Layout
from loglin.corpus.tagged import LabeledText, holds_attributes
from loglin.errors import LoglinError

Token = dict[str, float]
Line = tuple[int, str]  # its number, from 1, and its text
_FIELD = re.compile(r"((?:[^\\:]|\\.)*)(?::(.*))?", re.S)


def read(
    path: str | os.PathLike, encoding: str = "utf-8", lines: Iterable[Line] | None = None
) -> Iterator[tuple[list[str], list[Token]]]:
    """Sentences as (labels, attributes of tokens), one at a time; those of ``lines`` if these have been read."""
    labels: list[str] = []
    tokens: list[Token] = []
    for number, line in lines or text_lines(path, encoding):
        if not line.strip():
            if tokens:
                yield labels, tokens
                labels, tokens = [], []
            continue
        label, *fields = line.split("\t")
        if not label:
            raise LoglinError(f"{path}, line {number}: there is no label before the first tab; write one")
        labels.append(label)
        tokens.append(dict(_attribute(field, f"{path}, line {number}") for field in fields if field))
    if tokens:
        yield labels, tokens


def _attribute(field: str, place: str) -> tuple[str, float]:
    match = _FIELD.fullmatch(field)
    if match is None:
        raise LoglinError(f"{place}: {field!r} ends in a lone backslash; write a backslash as \\\\")
    name, value = re.sub(r"\\(.)", r"\1", match[1]), match[2]
    if value is None:
        return name, 1.0
    try:
        number = float(value)
    except ValueError:
        raise LoglinError(f"{place}: {value!r} in {field!r} is no number; write a colon in a name as \\:") from None
    if not math.isfinite(number):
        raise LoglinError(f"{place}: the attribute {name!r} has the value {value}; values must be finite numbers")
    return name, number


def text_lines(path: str | os.PathLike, encoding: str = "utf-8", tokens: bool = True) -> Iterator[Line]:
    """Numbered lines of a text file, without their ends; ``tokens`` as in ``read_blocks``."""
    return chain.from_iterable(line_blocks(path, encoding, b"\n", tokens=tokens))


def line_blocks(path: str | os.PathLike, encoding: str, *cuts: bytes, tokens: bool = True) -> Iterator[Iterator[Line]]:
    """The same lines in blocks that end behind one of ``cuts``, as they come (files.read_blocks)."""
    first = 1
    for block in read_blocks(path, encoding, *cuts, tokens=tokens):
        yield _numbered(path, block, first)
        first += block.count(b"\n")


def _numbered(path: str | os.PathLike, block: bytes, first: int) -> Iterator[Line]:
    try:
        text = block.decode()
    except UnicodeDecodeError as error:
        right = block.rfind(b"\n", 0, error.start) + 1
        if right:
            yield from _numbered(path, block[:right], first)
        refuse_bad_utf8(path, block, first)
        raise
    for number, line in enumerate(text.split("\n")[: None if not text.endswith("\n") else -1], first):
        yield number, line.removesuffix("\r")


class CRFsuite(Format):
    name = "crfsuite"
    line = "CRFsuite's attributes, a token a line, the label before the first tab; labels alone are written"
    endings = (".crfsuite",)
    words = False
    attributes = True

    def labeled(
        self, path: str, encoding: str, label_column: LabelColumn, columns: bool, layout: Layout | None = None
    ) -> LabeledText:
        return sentences.labeled(path, read(path, encoding), False, layout)

    def raw(self, path: str, encoding: str, label_column: LabelColumn) -> Corpus:
        raise holds_attributes(path)

    def stretches(self, path: str, encoding: str) -> Iterator[sentences.Batch]:
        for lines in line_blocks(path, encoding, b"\n\n", b"\n\r\n"):
            yield from sentences.batches(path, read(path, encoding, lines))


FORMAT = CRFsuite()
