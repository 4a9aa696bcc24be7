"""Models of other programs, read into ours and written from ours: one module a format.

A module of this folder that has a ``FORMAT`` is a format of the registry; nothing else names it.

    load(path)            → Model, of whatever program the file is
    export(model, to, …)  a file of that format, or a sentence with what the format cannot hold
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from dataclasses import replace
from functools import cache

from loglin.corpus.output import write_atomically
from loglin.errors import LoglinError
from loglin.features.extract import TemplateExtractor
from loglin.models.chain import Model
from loglin.models.files import refusing
from loglin.models.foreign.format import Foreign, require

HEAD = 256  # bytes by which a format is told
FREELY = 1 << 24  # label pairs that any model may have,
PAIRS = 64  # and more, for each byte of its file


@cache
def registered() -> dict[str, Foreign]:
    """Every format by its name."""
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    formats = [module.FORMAT for module in modules if hasattr(module, "FORMAT")]
    return {form.name: form for form in sorted(formats, key=lambda form: form.name)}


def recognized(path: str | os.PathLike) -> bool:
    """Whether a file begins as a model of another program."""
    with open(path, "rb") as stream:
        return _form_of(stream.read(HEAD)) is not None


def _form_of(head: bytes) -> Foreign | None:
    return next((form for form in registered().values() if form.begins(head)), None)


def load(path: str | os.PathLike, encoding: str = "utf-8", columns: int | None = None) -> Model:
    """The model of another program in a file.

    ``columns``: how many columns the training file had, labels included, where more than templates look at.
    """
    try:
        with open(path, "rb") as stream:
            head = stream.read(HEAD)
            content = head if _form_of(head) is None else head + stream.read()
    except OSError as error:
        raise LoglinError(f"cannot read the model {path}: {error.strerror}; check the name") from error
    return loads(content, path, encoding, columns)


def loads(
    content: bytes, source: str | os.PathLike = "the model", encoding: str = "utf-8", columns: int | None = None
) -> Model:
    """The model of another program in a file's bytes; ``source`` names it in messages."""
    form = _form_of(content[:HEAD])
    if form is None:
        programs = ", ".join(form.program for form in registered().values() if form.reads)
        raise LoglinError(f"{source} is no model of {programs}; give a file that one of these programs has written")
    with refusing(source, f"is no model of {form.program} or is damaged", "copy it again or train it again"):
        model = form.read(content, encoding)
        pairs = len(model.labels) ** 2  # which a tagger holds, whatever the file has
        require(
            pairs <= max(FREELY, PAIRS * len(content)), f"it has {len(model.labels):,} labels, too many for its size"
        )
    record = {"imported": form.program} | model.record
    if isinstance(model.extractor, TemplateExtractor):
        record |= {"columns": _columns(model.extractor.templates.columns, columns, source), "label_column": -1}
    return replace(model, record=record)


def _columns(needed: int, given: int | None, source: str | os.PathLike) -> int:
    """How many columns the training file had: as given, or one for labels and those that templates look at."""
    if given is not None and given <= needed:
        raise LoglinError(
            f"{given} columns are too few: the templates of {source} look at {needed}, and labels are one more; give "
            f"at least {needed + 1}"
        )
    return given or needed + 1


def export(model: Model, to: str, path: str | os.PathLike) -> None:
    """Write a tagger as a file of another program; on failure an older file of that name is left as it was."""
    if to not in exports():
        raise LoglinError(f"there is no format {to!r} to export to; take one of {', '.join(exports())}")
    write_atomically(path, list(registered()[to].write(model)))


def exports() -> list[str]:
    """The names of the formats that are written."""
    return [name for name, form in registered().items() if form.writes]
