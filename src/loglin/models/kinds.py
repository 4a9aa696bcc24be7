"""The kinds of models that a file may hold: how each is opened, and what code asks in place of a task's name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from loglin.corpus.sections import Section
from loglin.errors import LoglinError
from loglin.models import files


@dataclass(frozen=True)
class Kind:
    name: str  # the task that a model file names
    noun: str  # what people call the model
    form: str  # the module and class of loglin.models that read and write it
    command: str  # that uses it
    face: str  # the estimator that opens it
    faces: Mapping[str, str] = field(default_factory=dict)  # other estimators, by the criterion in the record
    has_transitions: bool = False  # labels are sequences, and weights may be about neighboring labels
    ranks: bool = False  # every example chooses among candidates of its own, all with the same weights
    weights_stored_exactly: bool = True  # unless told otherwise in float64

    def face_of(self, record: object) -> str:
        """The name of the estimator that trained a model with this record."""
        criterion = record.get("criterion") if isinstance(record, dict) else None
        return self.faces.get(criterion, self.face) if isinstance(criterion, str) else self.face

    def read(self, section: Section) -> Any:
        """The model in a section, checked."""
        module, name = self.form.split(".")
        return getattr(import_module(f"loglin.models.{module}"), name).from_section(section, self)

    def refusal(self, path: str | os.PathLike = "this model") -> LoglinError:
        """The error where a model of another kind was wanted."""
        return LoglinError(f"{path} is a {self.noun}; use {self.command}, or {self.face}.load")


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "tag", "tagger", "chain.Model", "loglin tag", "Tagger", has_transitions=True, weights_stored_exactly=False
        ),
        Kind("classify", "classifier", "chain.Model", "loglin classify", "MaxEnt", {"naive-bayes": "NaiveBayes"}),
        Kind("rank", "classifier", "chain.Model", "loglin classify", "MaxEnt", ranks=True),
        Kind("language", "language model", "language.PredictorModel", "loglin lm", "LanguageModel"),
        Kind("parse", "parser", "parser.ParserModel", "loglin parse", "Parser"),
    )
}
REMEDY = "train with smaller attribute values, a stronger penalty (l2) or another criterion"
TAG, CLASSIFY, RANK, LANGUAGE, PARSE = KINDS.values()


def opened(path: str | os.PathLike, form: str | None = None, mapped: bool = True) -> tuple[Kind, Section]:
    """The kind of model in a file and its sections; a model of another form than the wanted one is refused."""
    section = files.read(path, mapped)
    with files.refusing(path):
        kind = KINDS[section.choice("task", KINDS)]
    if form not in (None, kind.form):
        raise kind.refusal(path)
    return kind, section


def face_at(path: str | os.PathLike) -> str:
    """The name of the estimator that opens a file."""
    if _is_foreign(path):
        return TAG.face
    kind, section = opened(path)
    return kind.face_of(section.manifest.get("record"))


def _is_foreign(path: str | os.PathLike) -> bool:
    """Whether a file is a model of another program; nothing is imported where it can only be ours."""
    return not files.may_be_ours(path) and import_module("loglin.models.foreign").recognized(path)


def load(path: str | os.PathLike, form: str | None = None, mapped: bool = True) -> Any:
    """The model in a file, of whatever kind it is or, if one is wanted, of a form; that of another program too."""
    if _is_foreign(path):
        model = import_module("loglin.models.foreign").load(path)
        if form not in (None, model.kind.form):
            raise model.kind.refusal(path)
        return model
    kind, section = opened(path, form, mapped)
    with files.refusing(path):
        return kind.read(section)


def save(path: str | os.PathLike, section: Section) -> None:
    """Write a model after reading it as ``load`` will; what nobody could load is not written over what they can."""
    with files.refusing(path, "is not written, since it could not be loaded", REMEDY):
        as_written = Section(files.parsed(files.manifest_text(section)), section.arrays)
        KINDS[as_written.choice("task", KINDS)].read(as_written)
    files.write(path, section)


def dumped(section: Section) -> bytes:
    """What ``save`` would write, as bytes."""
    return b"".join(files.pieces(section))


def loads(content: bytes, name: str = "the pickle") -> Any:
    """The model in the bytes of a file, checked as ``load`` does."""
    section = files.parsed_file(bytearray(content), name)
    with files.refusing(name):
        return KINDS[section.choice("task", KINDS)].read(section)
