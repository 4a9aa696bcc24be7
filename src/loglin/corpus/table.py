"""Tables with named columns in files, a row a token or a row a sentence: CSV, TSV, Parquet, Feather.

    id,word,pos,ner              a row is a token; --sentence id, or blank lines, tell sentences apart
    7,2,CD,QTY
    7,cups,NNS,UNIT

Parquet and Feather may also hold lists, a row a sentence. A tagged table has one more column, ``predicted``.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from loglin.corpus import sentences as objects
from loglin.corpus.columns import Corpus, from_sentences
from loglin.corpus.formats import Answer, Format, LabelColumn, Layout
from loglin.corpus.frames import Names, boundaries, labels_of_rows, sentences_of_rows
from loglin.corpus.tagged import LabeledText
from loglin.errors import LoglinError

PREDICTED = "predicted"


class Part(Protocol):
    """Some rows of a table in a file."""

    names: list[str]

    @property
    def n_rows(self) -> int: ...

    @property
    def blank(self) -> Sequence[bool] | None:
        """Whether a blank line stands behind each row; None where rows may be sentences."""

    def column(self, name: str) -> list:
        """The values of a column; what is missing is None."""

    def at(self, row: int) -> str:
        """Where a row stands, for messages."""

    def between(self, begin: int, end: int | None) -> Part: ...

    def joined(self, behind: Part) -> Part: ...

    def written(self, more: dict[str, list]) -> bytes:
        """The rows as they stand in the file, with more columns; all parts together are a file."""


def parts(path: str, encoding: str) -> Iterator[Part]:
    """The rows of a file in order, at least one part."""
    from loglin.corpus.files import open_binary

    start = b""
    if str(path) != "-":  # which can be read only once
        with open_binary(path) as stream:
            start = stream.peek(6)[:6]  # type: ignore[attr-defined]
    if not start.startswith((b"PAR1", b"ARROW1", b"\xff\xff\xff\xff")):
        from loglin.corpus.delimited import rows
    else:
        from loglin.corpus.arrow import rows  # type: ignore[assignment]
    return rows(path, encoding)


def whole_sentences(rows: Iterable[Part], names: Names, path: str) -> Iterator[tuple[Part, list[int] | None]]:
    """Parts that end with a sentence, and where sentences begin and end in each; None: a row is a sentence."""
    waiting: Part | None = None
    seen: set[tuple] = set()
    n_rows, parted = 0, bool(names.sentence)
    for part in rows:
        if part.blank is None and not names.sentence:
            yield part, None
            continue
        n_rows += part.n_rows
        part = part if waiting is None else waiting.joined(part)
        cuts, waiting = _cuts(part, names, seen), part
        if len(cuts) > 2:
            parted = True
            yield part.between(0, cuts[-2]), cuts[:-1]
            waiting = part.between(cuts[-2], None)
    if waiting is None:
        return
    if n_rows > 1 and not parted and not any(waiting.blank or ()):
        raise LoglinError(
            f"{path} has a row for each token, and nothing tells sentences apart; name the column that does with "
            "--sentence, or put a blank line behind every sentence"
        )
    yield waiting, _cuts(waiting, names, seen)


def _cuts(part: Part, names: Names, seen: set[tuple]) -> list[int]:
    """Where sentences begin, the last of which may go on in the next part, and the number of rows."""
    if not part.n_rows:
        return [0]
    if not names.sentence:
        assert part.blank is not None
        return [0, *(row + 1 for row, blank in enumerate(part.blank[:-1]) if blank), part.n_rows]
    keys = [part.column(name) for name in names.sentence]
    cuts = boundaries(keys, part.n_rows, part.at, seen)
    seen.discard(tuple(key[cuts[-2]] for key in keys))
    return cuts


@dataclass(frozen=True)
class Rows(objects.Batch):
    """Sentences of a table, which are written back as rows with one more column."""

    part: Part
    cuts: list[int] | None

    def inputs(self, layout: Layout) -> Corpus | list[list]:
        width = next((1 if isinstance(token, str) else len(token) for s in self.tokens for token in s), 1)
        if width == layout.columns > 1 and not layout.table:  # one of them is that of the labels, as in columns
            label = layout.label_column % width
            rest = [[token[:label] + token[label + 1 :] for token in sentence] for sentence in self.tokens]
            return replace(self, tokens=[[t[0] if width == 2 else t for t in s] for s in rest]).inputs(layout)
        if layout.columns and width >= layout.columns:
            raise LoglinError(
                f"{self.path} has {width} columns of tokens, but the model was trained on {layout.columns - 1}; name "
                "those that it shall look at with --columns"
            )
        return super().inputs(layout)

    def _column(self, sequences: list[list]) -> list:
        return sequences if self.cuts is None else [value for sequence in sequences for value in sequence]

    def labeled(self, codes: np.ndarray, labels: list[str], layout: Layout) -> bytes:
        found = iter(codes.tolist())
        return self.part.written({PREDICTED: self._column([[labels[next(found)] for _ in s] for s in self.tokens])})

    def detailed(self, answers: Iterable[list[Answer]], labels: list[str], several: bool) -> bytes:
        """The best labels; with several, those of every rank and the probability of each whole sequence.

        Marginal probabilities stand in a column for each label.
        """
        ranked = list(answers)
        columns: dict[str, list] = {}
        for rank in range(max(map(len, ranked), default=1)):
            name = PREDICTED if rank == 0 else f"{PREDICTED}_{rank + 1}"
            found = [a[rank] if rank < len(a) else None for a in ranked]
            sizes = [len(a[0].codes) for a in ranked]
            columns[name] = self._column(
                [[None] * n if a is None else [labels[c] for c in a.codes] for a, n in zip(found, sizes, strict=True)]
            )
            if several:
                columns[f"{name}_probability"] = self._column(
                    [[None if a is None else round(a.probability, 9)] * n for a, n in zip(found, sizes, strict=True)]
                )
        if ranked and ranked[0][0].marginals is not None:
            for code, label in enumerate(labels):
                columns[f"p_{label}"] = self._column(
                    [a[0].marginals[:, code].round(9).tolist() for a in ranked]  # type: ignore[index]
                )
        return self.part.written(columns)


@dataclass(frozen=True)
class Table(Format):
    """``names`` are the columns as a command names them."""

    names: Names = field(default_factory=Names)

    name = "table"
    line = "named columns, --columns of tokens, --label and --sentence; CSV and TSV, Parquet and Feather by pyarrow"
    endings = (".csv", ".tsv", ".parquet", ".feather", ".arrow")
    uncertain = (".tsv",)  # which columns without names often have

    def holds(self, path: str | os.PathLike) -> bool:
        from loglin.corpus.delimited import has_names

        return has_names(path)

    def with_names(self, columns: Sequence[str], sentence: Sequence[str]) -> Format:
        return Table(Names.of(columns, None, sentence))

    def trained(self, layout: Layout) -> Format:
        return Table(self.names.over(Names.kept({"table": layout.table})))

    def _pieces(
        self, path: str, encoding: str, label: LabelColumn, needs_label: bool
    ) -> Iterator[tuple[Names, Part, list[list], list[int] | None]]:
        """Parts of whole sentences with the names of their columns, and with their tokens."""
        first, rows = None, parts(path, encoding)
        for part in rows:
            first = part
            break
        assert first is not None
        names = self.names.chosen(first.names, path, self._label(first, path, label, needs_label))
        for part, cuts in whole_sentences(_behind(first, rows), names, path):
            yield names, part, *sentences_of_rows(names, part.column, part.at, cuts)

    def _label(self, part: Part, path: str, asked: LabelColumn, needed: bool) -> str | None:
        """The column of the labels: as asked, as the model was trained, or the last one that is none of the others."""
        if isinstance(asked, int):
            if not -len(part.names) <= asked < len(part.names):
                raise LoglinError(f"{path} has {len(part.names)} columns, so there is no column {asked}; name one")
            return part.names[asked]
        found = asked or self.names.label
        if found is None and needed:
            others = {*self.names.columns, *self.names.sentence}
            found = next((name for name in reversed(part.names) if name and name not in others), None)
        if needed and (not found or found not in part.names):
            shown = ", ".join(map(repr, part.names))
            raise LoglinError(f"{path} has no column {found!r} of labels, only {shown}; name it with --label")
        return found

    def labeled(
        self, path: str, encoding: str, label_column: LabelColumn, columns: bool, layout: Layout | None = None
    ) -> LabeledText:
        form = self if layout is None else Table(self.names.over(Names.kept({"table": layout.table})))
        names, pairs = Names(), list[objects.Pair]()
        for names, tokens, labels in form._labeled_parts(path, encoding, label_column):  # noqa: B007  of any part
            pairs += zip(labels, tokens, strict=True)
        return replace(objects.labeled(path, pairs, True, layout), **_about(names))

    def labeled_pieces(self, path: str, encoding: str, label_column: LabelColumn) -> Iterator[LabeledText]:
        for names, tokens, labels in self._labeled_parts(path, encoding, label_column):
            yield LabeledText(from_sentences(tokens, path), labels, False, **_about(names))

    def _labeled_parts(
        self, path: str, encoding: str, label_column: LabelColumn
    ) -> Iterator[tuple[Names, list[list], list]]:
        """Names of columns, sentences and their labels."""
        for names, part, tokens, cuts in self._pieces(path, encoding, label_column, needs_label=True):
            assert names.label is not None
            labels = labels_of_rows(part.column(names.label), cuts)
            for number, (sentence, y) in enumerate(zip(tokens, labels, strict=True)):
                if y is not None and (not isinstance(y, list) or len(y) != len(sentence)):
                    raise LoglinError(
                        f"{part.at(number)}: the column {names.label!r} holds {y!r:.40}, but the sentence has "
                        f"{len(sentence)} tokens; give a list with a label for each"
                    )
            if tokens:
                yield names, tokens, labels

    def raw(self, path: str, encoding: str, label_column: LabelColumn) -> Corpus:
        found = [s for _, _, tokens, _ in self._pieces(path, encoding, label_column, needs_label=False) for s in tokens]
        if not any(found):
            raise LoglinError(f"{path} holds no tokens; give at least one sentence")
        return from_sentences(found, path)

    def stretches(self, path: str, encoding: str) -> Iterator[Rows]:
        for _, part, tokens, cuts in self._pieces(path, encoding, None, needs_label=False):
            yield Rows(tokens, path, part, cuts)


def examples(path: str, encoding: str) -> Iterator[tuple[object, object]]:
    """(answer, text or attributes) of every row, by columns named as the keys of JSON lines: label or labels, text.

    Without a column "text" all others are attributes, of which texts that read as numbers are their values.
    """
    for part in parts(path, encoding):
        answers = next((name for name in ("labels", "label") if name in part.names), None)
        others = ["text"] if "text" in part.names else [n for n in part.names if n and n != answers]
        if not others:
            raise LoglinError(f"{path} has no column besides {answers!r}; give text, or columns of attributes")
        columns = [part.column(name) for name in others]
        given = part.column(answers) if answers else [None] * part.n_rows
        for row, (answer, values) in enumerate(zip(given, zip(*columns, strict=True), strict=True)):
            if others == ["text"]:
                if not isinstance(values[0], str):
                    raise LoglinError(f"{part.at(row)}: the text is {values[0]!r:.40}; give a string")
                yield answer, values[0]
            else:
                yield answer, {n: _number(v) for n, v in zip(others, values, strict=True) if v is not None}


def _number(value: Any) -> Any:
    """A text that reads as a finite number as that number."""
    try:
        number = float(value) if isinstance(value, str) else math.nan
    except ValueError:
        return value
    return number if math.isfinite(number) else value


def _about(names: Names) -> dict[str, Any]:
    """The columns of labelled text, of which the labels count as the last."""
    return {"n_columns": len(names.columns) + 1, "label_column": -1, "about": {"table": names.as_dict()}}


def _behind(first: Part, rows: Iterator[Part]) -> Iterator[Part]:
    yield first
    yield from rows


FORMAT = Table()
