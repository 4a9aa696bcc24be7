"""The formats of tagged text: one object each, found by the registry below.

A module of this folder that has a ``FORMAT`` at its top level is a format; nothing else names it.

    labeled     file → LabeledText       training, development and evaluation
    raw         file → Corpus            words alone
    stretches   file → Stretch, …        tagging, part by part; a Stretch writes itself back with labels
"""

from __future__ import annotations

import importlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from loglin.errors import LoglinError

if TYPE_CHECKING:
    import numpy as np

    from loglin.corpus.columns import Corpus
    from loglin.corpus.tagged import LabeledText

SENTENCES_AT_ONCE = 1000  # in a stretch of a format that is read as Python objects
OTHERWISE = "conll"  # the format of a file whose name says nothing

LabelColumn = int | str | None  # a column's number or name, or None: where the format has its labels


class Answer(NamedTuple):
    """One label sequence of a sentence."""

    codes: np.ndarray  # (tokens,) labels
    probability: float
    marginals: np.ndarray | None  # (tokens, labels)


@dataclass(frozen=True)
class Layout:
    """What a model says of the file that it was trained on."""

    words: bool  # its templates look at words; otherwise it looks at attributes
    columns: int  # of the training file, labels included; 0: not known
    label_column: int
    needed: int  # columns that its templates look at
    table: Mapping[str, Any] = field(default_factory=dict)  # names of its columns, where these have some


class Stretch(Protocol):
    """Consecutive sentences of a file, tagged at once."""

    @property
    def n_sentences(self) -> int: ...

    def inputs(self, layout: Layout) -> Corpus | list[list]:
        """What the model looks at: columns without labels, or attributes."""

    def sentences(self) -> Sequence[Sequence]:
        """The tokens of every sentence, as JSON shows them."""

    def labeled(self, codes: np.ndarray, labels: list[str], layout: Layout) -> bytes:
        """The stretch with the label labels[codes[t]] of every token t."""

    def detailed(self, answers: Iterable[list[Answer]], labels: list[str], several: bool) -> bytes:
        """The stretch with probabilities, of the best answer or of ``several`` for each sentence, best first."""


class Format(ABC):
    """A format of tagged text."""

    name: ClassVar[str]
    line: ClassVar[str]  # of help
    endings: ClassVar[tuple[str, ...]] = ()  # of names of files
    raw_endings: ClassVar[tuple[str, ...]] = ()  # of names of files that hold no labels
    uncertain: ClassVar[tuple[str, ...]] = ()  # endings that files of other formats have too
    words: ClassVar[bool] = True  # whether tokens may be words
    attributes: ClassVar[bool] = False  # whether tokens may be attributes
    as_json: ClassVar[bool] = False  # whether answers are written as JSON lines in any case
    cramped: ClassVar[str] = ""  # what has no room for probabilities; "": there is room
    replaces: ClassVar[bool] = False  # whether labels are written into the label column, not behind the last one
    ahead: ClassVar[bool] = False  # whether reading in a thread of its own saves time

    def holds(self, path: str | os.PathLike) -> bool:
        """Whether a file is of this format, where its name is one of ``uncertain``."""
        return True

    def with_names(self, columns: Sequence[str], sentence: Sequence[str]) -> Format:
        """The format with the columns that a command names: those of tokens, and those that tell sentences apart."""
        if columns or sentence:
            tables = ", ".join(
                e for form in registered().values() if type(form).with_names != Format.with_names for e in form.endings
            )
            raise LoglinError(
                f"--columns and --sentence name columns of tables ({tables}), and {self.name} has no such names; leave "
                "them out"
            )
        return self

    def trained(self, layout: Layout) -> Format:
        """The format with the columns of a model's training file, where none are named."""
        return self

    @abstractmethod
    def labeled(
        self, path: str, encoding: str, label_column: LabelColumn, columns: bool, layout: Layout | None = None
    ) -> LabeledText:
        """Tokens and labels to learn from, or, given a model's ``layout``, to compare its answers with.

        With ``columns`` tokens that are lists are columns for templates, not attributes.
        """

    def labeled_pieces(self, path: str, encoding: str, label_column: LabelColumn) -> Iterator[LabeledText]:
        """``labeled`` piece by piece, so that memory does not grow with the file; unless told, in one piece."""
        yield self.labeled(path, encoding, label_column, True)

    @abstractmethod
    def raw(self, path: str, encoding: str, label_column: LabelColumn) -> Corpus:
        """The words; a column ``label_column`` is left out if it is given."""

    @abstractmethod
    def stretches(self, path: str, encoding: str) -> Iterator[Stretch]:
        """The whole file part by part, so that memory does not grow with it."""

    def table(self, path: str, encoding: str) -> Corpus:
        """All columns of a column file, labels included."""
        raise LoglinError(f"{path} is no column file by its name; give columns, as loglin tag writes from columns")

    def position(self, path: str, label_column: LabelColumn) -> int:
        """The number of the label column in ``table``; the last one if none is given."""
        if isinstance(label_column, str):
            raise LoglinError(
                f"{path} has no names for its columns, so there is no column {label_column!r}; give the number of one, "
                "from 0, or from -1 backwards"
            )
        return -1 if label_column is None else label_column


def _declares(path: Path) -> bool:
    """Whether a module has a ``FORMAT``, told without importing it: most modules here have none."""
    return b"\nFORMAT = " in path.read_bytes()


@cache
def registered() -> dict[str, Format]:
    """Every format by its name, in the order of the names."""
    from loglin import corpus

    declaring = [p.stem for folder in corpus.__path__ for p in Path(folder).glob("*.py") if _declares(p)]
    found = [importlib.import_module(f"{corpus.__name__}.{name}").FORMAT for name in declaring]
    return {form.name: form for form in sorted(found, key=lambda form: form.name)}


def named(name: str) -> Format:
    """The format of that name."""
    if name not in registered():
        raise LoglinError(f"there is no format {name!r}; take one of {', '.join(registered())}")
    return registered()[name]


def detected(
    path: str | os.PathLike, asked: str = "auto", labeled: bool = True, has_names: bool | None = None
) -> Format:
    """The format that is asked for, or, if that is "auto", the one that the name of the file tells.

    Where the name does not tell, ``has_names`` says whether columns have names, and what the file holds if it is None.
    """
    if asked != "auto":
        return named(asked)
    name = os.fspath(path).removesuffix(".gz")
    for form in registered().values():
        if name.endswith(form.endings or ("\0",)) or (not labeled and name.endswith(form.raw_endings or ("\0",))):
            if name.endswith(form.uncertain or ("\0",)) and not (form.holds(path) if has_names is None else has_names):
                continue
            return form
    return named(OTHERWISE)


def is_uncertain(path: str | os.PathLike) -> bool:
    """Whether a name does not tell the format."""
    name = os.fspath(path).removesuffix(".gz")
    return any(name.endswith(form.uncertain or ("\0",)) for form in registered().values())


def _told(form: Format) -> str:
    """The endings of a format, and which of them need a look into the file."""
    endings = [f"{e} with named columns" if e in form.uncertain else e for e in form.endings]
    return ", ".join(endings)


def described() -> str:
    """All formats and the endings they are recognized by, as the help of an option."""
    endings = [f"{_told(form)}: {form.name}" for form in registered().values() if form.endings]
    lines = [f"{form.name}: {form.line}" for form in registered().values()]
    return f"Kind of file; auto goes by the name ({'; '.join(endings)}; else {OTHERWISE}). {'. '.join(lines)}."
