"""Rows of CSV and TSV files, which are written back byte for byte with more columns behind.

The first line has the names. Fields of CSV may be quoted and then hold line breaks; those of TSV are what stands
between tabs, quotation marks and all. Without a comma or a tab in the first line, semicolons separate.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from loglin.corpus.files import newlines, open_binary, read_blocks, refuse_bad_utf8
from loglin.corpus.limits import limits
from loglin.errors import LoglinError

ROWS_AT_ONCE = 10_000
LOOKED_AT = 1 << 16  # bytes in which a line of names is told from a first token
USUAL = 2  # tokens that have a value, in the mean, in a column that tells so


@dataclass
class Delimited:
    """Some rows, each with its text and what stands behind it up to the next: the end of its line, blank lines."""

    names: list[str]
    separator: str
    path: str
    head: str  # what stands before the first of these rows: the line of names where the file begins with them
    fields: list[list[str]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    behind: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)  # in the file, from 1

    @property
    def n_rows(self) -> int:
        return len(self.fields)

    @property
    def blank(self) -> list[bool]:
        return [text.count("\n") > 1 for text in self.behind]

    def column(self, name: str) -> list:
        place = self.names.index(name)
        return [fields[place] or None for fields in self.fields]

    def at(self, row: int) -> str:
        return f"{self.path}, line {self.lines[row]}"

    def between(self, begin: int, end: int | None) -> Delimited:
        kept = (part[begin:end] for part in (self.fields, self.texts, self.behind, self.lines))
        return Delimited(self.names, self.separator, self.path, self.head if begin == 0 else "", *kept)  # type: ignore[arg-type]

    def joined(self, behind: Any) -> Delimited:
        pairs = ((getattr(self, n), getattr(behind, n)) for n in ("fields", "texts", "behind", "lines"))
        return Delimited(self.names, self.separator, self.path, self.head, *(a + b for a, b in pairs))

    def written(self, more: dict[str, list]) -> bytes:
        for name in more:
            if name in self.names:
                raise LoglinError(f"{self.path} has a column {name!r} already; rename it")
        parts = []
        if self.head:
            names = self.head.rstrip("\r\n")
            parts.append(self.separator.join([names, *map(self._quoted, more)]) + self.head[len(names) :])
        for text, behind, *values in zip(self.texts, self.behind, *more.values(), strict=True):
            parts.append(self.separator.join([text, *map(self._quoted, values)]) + (behind or "\n"))
        return "".join(parts).encode()

    def _quoted(self, value: object) -> str:
        text = "" if value is None else str(value)
        if not any(c in text for c in f'{self.separator}\n\r"'):
            return text
        if self.separator == "\t":
            if any(c in text for c in "\t\n\r"):
                raise LoglinError(f"{text!r} cannot stand in TSV, which has no quotes; write CSV")
            return text
        return '"' + text.replace('"', '""') + '"'


def has_names(path: str | os.PathLike) -> bool:
    """Whether the first line of a file has the names of its columns: none of them is a value of its column below.

    Only a column whose values occur again and again says so, as one of labels does. Without any, without tabs, and
    where a name is missing or stands twice, it is a first token.
    """
    with open_binary(path) as stream:
        start = stream.read(LOOKED_AT)
    whole = start if len(start) < LOOKED_AT else start[: start.rfind(b"\n")]
    lines = [line for line in whole.decode("utf-8", "replace").splitlines() if line]
    first, *below = ([field.strip() for field in line.split("\t")] for line in lines or [""])
    if len(first) < 2 or not all(first) or len(set(first)) < len(first) or any(len(row) != len(first) for row in below):
        return False
    columns = [{row[c] for row in below} for c in range(len(first))]
    usual = any(USUAL * len(values) <= len(below) for values in columns)
    return bool(below) and usual and not any(name in values for name, values in zip(first, columns, strict=True))


def rows(path: str, encoding: str) -> Iterator[Delimited]:
    """The rows of a file in order, with its first line in the first part."""
    lines = _Kept(path, encoding)
    head = next(lines, "")
    if not head.strip():
        raise LoglinError(f"{path} holds no names of columns in its first line; give one, such as word,label")
    counts = {separator: head.count(separator) for separator in ",\t;"}
    separator = max(counts, key=counts.__getitem__)
    how: dict = {"quoting": csv.QUOTE_NONE} if separator == "\t" else {"strict": True}
    csv.field_size_limit(limits().line)
    try:
        names = next(csv.reader([head], delimiter=separator, **how))
    except csv.Error as error:
        raise LoglinError(f"{path}, line 1: {error}; correct the quotes, each of which needs another") from None
    if len(set(names)) < len(names):
        double = next(name for name in names if names.count(name) > 1)
        raise LoglinError(f"{path}, line 1: two columns have the name {double!r}; rename one")
    part = Delimited(names, separator, path, head)
    lines.text = ""
    reader = csv.reader(lines, delimiter=separator, **how)
    begin, began = 2, False
    try:
        for found in reader:
            text, lines.text = lines.text, ""
            if not found:  # a blank line
                if part.behind:
                    part.behind[-1] += text
                elif not began:
                    part.head += text
                begin = lines.number + 1
                continue
            if part.n_rows >= ROWS_AT_ONCE:
                yield part
                part = Delimited(names, separator, path, "")
            began = True
            _add(part, found, text, begin)
            begin = lines.number + 1
    except csv.Error as error:
        raise LoglinError(f"{path}, line {begin}: {error}; correct the quotes, each of which needs another") from None
    yield part


def _add(part: Delimited, found: list[str], text: str, line: int) -> None:
    if len(found) != len(part.names):
        raise LoglinError(
            f"{part.path}, line {line}: {len(found)} fields where the first line has {len(part.names)} names: "
            f"{text.strip()[:60]!r}; give every line as many, in quotes where a field holds the separator"
        )
    bare = text.rstrip("\r\n")
    part.fields.append(found)
    part.texts.append(bare)
    part.behind.append(text[len(bare) :])
    part.lines.append(line)


class _Kept(Iterator[str]):
    """The lines of a file, ends and all, which remembers those read since ``text`` was emptied."""

    def __init__(self, path: str, encoding: str):
        self._lines = _lines(path, encoding)
        self.text, self.number = "", 0

    def __next__(self) -> str:
        line = next(self._lines)
        self.text += line
        self.number += 1
        return line


def _lines(path: str, encoding: str) -> Iterator[str]:
    first = 1
    for block in read_blocks(path, encoding, b"\n", tokens=False):
        refuse_bad_utf8(path, block, first)
        yield from io.StringIO(block.decode(), newline="\n")
        first += newlines(block)
