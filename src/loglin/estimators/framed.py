"""Frames that users give to estimators: as sentences and labels, as examples and classes, as lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from loglin.corpus.frames import Frame, Names, is_frame, labels_of_rows, plain_values, sentences_of_rows
from loglin.errors import LoglinError

TEXT_BLANKS = 3  # in a value of a text, on average; of a word or a name there are fewer


@dataclass(frozen=True)
class FramedSentences:
    """A frame as sentences of tokens."""

    frame: Frame
    names: Names
    sentences: list[list]
    cuts: list[int] | None  # where sentences begin among the rows; None: a row is a sentence

    @classmethod
    def of(cls, given: Any, names: Names, name: str = "X") -> FramedSentences:
        frame = Frame(given, name)
        chosen = names.chosen(frame.names, name)
        return cls(frame, chosen, *sentences_of_rows(chosen, frame.column, lambda row: f"{name}, row {row}"))

    def labels(self, y: Any, name: str = "y") -> Any:
        """Labels of every sentence: of a column that is named, of a label a row, or as they are."""
        values = self.frame.column(y) if isinstance(y, str) else y
        if self.cuts is None or not isinstance(values, Iterable):
            return values
        values = plain_values(values)
        if len(values) == len(self.cuts) - 1 and any(isinstance(value, list | tuple) for value in values):
            return values
        if len(values) != self.cuts[-1]:
            raise LoglinError(
                f"there are {self.cuts[-1]} rows of tokens but {len(values)} labels in {name}; give one a row"
            )
        return labels_of_rows(values, self.cuts)

    def with_labels(self, labels: list[list], name: str) -> Any:
        """The frame with a column of labels, in lists where a row is a sentence."""
        flat = [label for sequence in labels for label in sequence]
        return self.frame.with_column(name, labels if self.cuts is None else flat)


def sentences_and_labels(X: Any, y: Any, names: Names, name: str = "X") -> tuple[Any, Any, Names | None]:
    """Sentences and labels of a frame, and its names with all columns; what is no frame, as it is and None."""
    if not is_frame(X):
        if names.columns or names.sentence:
            raise LoglinError(f"columns and sentence name columns of a frame, but {name} is none; leave them out")
        return X, y, None
    label = y if isinstance(y, str) else names.label or _name_of(y, X)
    framed = FramedSentences.of(X, Names(names.columns, label, names.sentence), name)
    y = framed.labels(y)
    for column in framed.names.columns:
        if column not in names.columns and y == framed.labels(column):
            raise LoglinError(
                f"the column {column!r} of {name} holds the labels themselves; name the columns of tokens with columns"
            )
    return framed.sentences, y, framed.names


def _name_of(y: Any, X: Any) -> str | None:
    """The column of a frame that labels were taken from, as a series knows it."""
    name = getattr(y, "name", None)
    return name if isinstance(name, str) and name in Frame(X).names else None


@contextmanager
def holding_out(tagger: Any, X: Any, y: Any, names: Names | None = None, vectors: Any = None) -> Iterator[None]:
    """The held-out data of a tagger as ``fit`` was told them, and of frames as it reads sentences, while it trains."""
    given = tagger.dev
    if X is None and y is not None:
        raise LoglinError("y_dev is given without X_dev; give both")
    if X is not None:
        tagger.dev = X if y is None else (X, y) if vectors is None else (X, y, vectors)
    try:
        if is_frame(tagger.dev):
            tagger.dev = FramedSentences.of(tagger.dev, names or Names(), "dev").sentences
        elif isinstance(tagger.dev, tuple) and len(tagger.dev) > 1 and is_frame(tagger.dev[0]):
            given_X, given_y, *more = tagger.dev
            tagger.dev = (*sentences_and_labels(given_X, given_y, names or Names(), "dev")[:2], *more)
        yield
    finally:
        tagger.dev = given


# ---------------------------------------------------------------------- examples


def examples_and_classes(X: Any, y: Any) -> tuple[Any, Any, Names]:
    """Examples as classifiers know them, and their classes, of a column of the frame where one is named."""
    if not is_frame(X):
        return X, y, Names()
    frame, names = Frame(X), Names()
    if isinstance(y, str):
        y, frame, names = frame.column(y), Frame(frame.without(y)), Names(label=y)
    found = rows_of(frame)
    return found, y, names if is_frame(found) else Names(tuple(frame.names), names.label)


def examples(X: Any, names: Names) -> Any:
    """New examples as those of training, whose frame had these names: of numbers the frame, without the classes."""
    if not is_frame(X):
        return X
    frame = Frame(X)
    if not names.columns:
        return rows_of(Frame(frame.without(names.label)) if names.label in frame.names else frame)  # type: ignore[arg-type]
    names.chosen(frame.names, "X")
    return rows_of(Frame(frame.selected(list(names.columns))), as_numbers=False)


def rows_of(frame: Frame, as_numbers: bool = True) -> Any:
    """A frame of numbers, which scikit-learn takes, as it is; of one column, its values; else a dict for every row."""
    if as_numbers and hasattr(frame.given, "__array__") and frame.is_numeric:
        return frame.given
    names, columns = frame.names, {name: frame.column(name) for name in frame.names}
    if len(names) == 1:
        return columns[names[0]]
    for name, values in columns.items():
        texts = [value for value in values[:1000] if isinstance(value, str)]
        if texts and sum(text.count(" ") for text in texts) >= TEXT_BLANKS * len(texts):
            raise LoglinError(
                f"the column {name!r} holds texts such as {texts[0]!r:.40}, which beside other columns would be one "
                f"attribute each; give X[{name!r}] alone, or split its texts into lists of words"
            )
    return [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def table_record(names: Names | None) -> dict[str, Any]:
    """What a model's record keeps of the frame that it was trained on."""
    return {} if names in (None, Names()) else {"table": names.as_dict()}  # type: ignore[union-attr]


def lines_of(text: Any, name: str = "text") -> Any:
    """The lines of a frame with one column, or one named text or tokens."""
    if not is_frame(text):
        return plain_values(text) if hasattr(text, "to_pylist") else text
    frame = Frame(text, name)
    found = frame.names if len(frame.names) == 1 else [n for n in ("text", "tokens") if n in frame.names][:1]
    if not found:
        raise LoglinError(
            f"{name} has the columns {', '.join(map(repr, frame.names))}, of which none is named text; give one alone, "
            f"such as frame[{frame.names[0]!r}]"
        )
    return frame.column(found[0])
