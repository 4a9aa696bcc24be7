"""Tagged text of any format, read to learn from: inputs and labels, without features."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from loglin.corpus import formats, schemes
from loglin.corpus.columns import Column, Corpus, concatenate, encode_strings
from loglin.corpus.formats import Format, LabelColumn
from loglin.corpus.labels import UNKNOWN, Gold, PartialColumn, gold_of_column, gold_of_sequences
from loglin.errors import LoglinError


@dataclass(frozen=True)
class LabeledText:
    """Sentences and their labels, as they were read."""

    inputs: Corpus | list[list]  # columns, or sentences of attributes
    labels: Column | Sequence[list | None]  # None where a whole sentence is not labelled
    partial: bool = False  # whether the label _ means unknown, A|B one of these
    n_columns: int = 0  # of the file, the labels included; 0: it has none
    label_column: int = -1
    about: Mapping[str, Any] = field(default_factory=dict)  # names of columns, as a model's record keeps them

    @property
    def lengths(self) -> list[int]:
        """Tokens of each sentence."""
        if isinstance(self.inputs, Corpus):
            return np.diff(self.inputs.offsets).tolist()
        return [len(sentence) for sentence in self.inputs]

    def sequences(self) -> list[list | None]:
        """The labels of every sentence."""
        if not isinstance(self.labels, Column):
            return [y if y is None else [_partial(x) if self.partial else x for x in y] for y in self.labels]
        names = [_partial(y) if self.partial else y for y in self.labels.strings()]
        cuts = [0, *itertools.accumulate(self.lengths)]
        return [names[b:e] for b, e in itertools.pairwise(cuts)]

    def targets(self) -> Column | PartialColumn | list[list | None]:
        """The labels as ``Tagger.fit`` takes them: a column where there is one, which is quick to number."""
        if isinstance(self.labels, Column):
            return PartialColumn(self.labels) if self.partial else self.labels
        return self.sequences()

    def gold(self, names: list | None = None) -> tuple[list, Gold]:
        """Label names and the code of every token; ``names`` fixes the label set."""
        if isinstance(self.labels, Column):
            return gold_of_column(self.labels, self.partial, names)
        return gold_of_sequences(self.sequences(), self.lengths, names)  # type: ignore[arg-type]


def read_labeled(
    path: str,
    form: Format,
    *,
    encoding: str = "utf-8",
    label_column: LabelColumn = None,
    scheme: str | None = None,
    partial: bool = False,
    columns: bool = False,
) -> LabeledText:
    """Read labelled data for training or development.

    ``scheme`` converts labels, as in "iob1:iob2"; with ``columns`` tokens that are lists are columns for templates.
    """
    return _converted(path, form.labeled(path, encoding, label_column, columns), scheme, partial)


def _converted(path: str, text: LabeledText, scheme: str | None, partial: bool) -> LabeledText:
    """The text with its labels in another scheme."""
    if not scheme:
        return replace(text, partial=partial)
    source, colon, target = scheme.partition(":")
    if not colon:
        raise LoglinError(f"--scheme is {scheme!r}; write FROM:TO, such as iob1:iob2")
    if not isinstance(text.labels, Column):
        require_certain(path, text.labels, "with --scheme give strings", str)
    parts = [schemes.convert(y, source, target) for y in text.sequences() if y is not None]
    labels = encode_strings([y for part in parts for y in part]) if isinstance(text.labels, Column) else parts
    return replace(text, labels=labels, partial=partial)


def read_pieces(
    path: str,
    form: Format,
    *,
    encoding: str = "utf-8",
    label_column: LabelColumn = None,
    scheme: str | None = None,
) -> Iterator[tuple[Corpus, LabeledText]]:
    """Labelled data piece by piece: columns with the labels as the last one, and the text that they are from."""
    for piece in form.labeled_pieces(path, encoding, label_column):
        text = _converted(path, piece, scheme, False)
        if not isinstance(text.inputs, Corpus):
            raise LoglinError(f"{path} holds attributes, but shards are made of words or columns; give these")
        labels = text.labels
        if not isinstance(labels, Column):
            require_certain(path, labels, "shards take labels that are strings", str)
            labels = encode_strings([label for sequence in labels if sequence is not None for label in sequence])
        yield replace(text.inputs, columns=[*text.inputs.columns, labels]), text


def read_attributes(paths: Sequence[str], text_format: str, **how: Any) -> LabeledText | None:
    """The sentences of several files whose tokens are attributes, one file behind the other; None if they are words."""
    sentences: list[list] = []
    labels: list[list | None] = []
    for path in paths:
        text = read_labeled(path, formats.detected(path, text_format), **how)
        if isinstance(text.inputs, Corpus):
            if sentences:
                raise LoglinError(f"{path} holds words, and {paths[0]} attributes; give files of one kind")
            return None
        sentences += text.inputs
        labels += text.sequences()
    return replace(text, inputs=sentences, labels=labels, partial=False)


def read_raw(path: str, form: Format, *, encoding: str = "utf-8", label_column: LabelColumn = None) -> Corpus:
    """Words without labels; of several columns in a file ``label_column`` is left out, or none."""
    if not form.words:
        raise holds_attributes(path)
    return form.raw(path, encoding, label_column)


def read_hidden(
    path: str,
    form: Format,
    *,
    encoding: str = "utf-8",
    label_column: LabelColumn = None,
    scheme: str | None = None,
    partial: bool = False,
    labeled: bool = False,
    unlabeled: str | None = None,
) -> LabeledText:
    """Read text whose labels are hidden: all of ``path``, or what its labels leave open and ``unlabeled`` adds."""
    if not labeled:
        corpus = read_raw(path, form, encoding=encoding, label_column=label_column)
        number = label_column if isinstance(label_column, int) else -1
        return LabeledText(corpus, [None] * corpus.n_sentences, False, len(corpus.columns) + 1, number)
    text = read_labeled(
        path, form, encoding=encoding, label_column=label_column, scheme=scheme, partial=partial, columns=True
    )
    if not isinstance(text.inputs, Corpus):
        raise LoglinError(f"{path} holds attributes, but hidden labels are learnt from words; give words")
    if not unlabeled:
        return text
    raw = read_raw(unlabeled, formats.detected(unlabeled, labeled=False), encoding=encoding)
    if len(raw.columns) != len(text.inputs.columns):
        raise LoglinError(
            f"{unlabeled} has {len(raw.columns)} columns, but {path} {len(text.inputs.columns)} besides its labels; "
            "give both the same"
        )
    both = concatenate([text.inputs, raw], f"{path} and {unlabeled}")
    return replace(text, inputs=both, labels=[*text.sequences(), *[None] * raw.n_sentences], partial=False)


def require_certain(path: str, sequences: Sequence, remedy: str, kinds: Any = str | int | float) -> None:
    """Raise where a label from JSON is no name: null, or a list of possible ones."""
    for s, labels in enumerate(sequences):
        for t, label in enumerate(labels):
            if not isinstance(label, kinds):
                raise LoglinError(f"{path}: sentence {s}, token {t} has the label {label!r}; {remedy}")


def holds_attributes(path: str) -> LoglinError:
    """The error that a file without words gives where words are needed."""
    return LoglinError(f"{path} holds attributes, not words; give plain text, columns or JSON lines with words")


def _partial(label: Any) -> Any:
    if label is None or label == UNKNOWN:
        return None
    return set(label.split("|")) if isinstance(label, str) and "|" in label else label
