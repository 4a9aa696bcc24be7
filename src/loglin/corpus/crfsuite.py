"""CRFsuite's attribute files: a line per token, ``label<TAB>attribute[:value]<TAB>…``, a blank line between sentences.

In names a colon is written ``\\:`` and a backslash ``\\\\``.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator

from loglin.corpus import sentences
from loglin.corpus.columns import Corpus
from loglin.corpus.files import read_blocks, refuse_bad_utf8
from loglin.corpus.formats import Format, LabelColumn, Layout
from loglin.corpus.tagged import LabeledText, holds_attributes
from loglin.errors import LoglinError

Token = dict[str, float]
_FIELD = re.compile(r"((?:[^\\:]|\\.)*)(?::(.*))?", re.S)


def read(path: str | os.PathLike, encoding: str = "utf-8") -> Iterator[tuple[list[str], list[Token]]]:
    """Sentences as (labels, attributes of tokens), one at a time."""
    labels: list[str] = []
    tokens: list[Token] = []
    for number, line in text_lines(path, encoding):
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


def text_lines(path: str | os.PathLike, encoding: str = "utf-8", tokens: bool = True) -> Iterator[tuple[int, str]]:
    """Numbered lines of a text file, without their ends; ``tokens`` as in ``read_blocks``."""
    number = 0
    for block in read_blocks(path, encoding, b"\n", tokens=tokens):
        refuse_bad_utf8(path, block, number + 1)
        for line in block.decode().split("\n")[: None if not block.endswith(b"\n") else -1]:
            number += 1
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
        return sentences.batches(path, read(path, encoding))


FORMAT = CRFsuite()
