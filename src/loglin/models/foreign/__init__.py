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
from loglin.models.chain import Model
from loglin.models.files import refusing
from loglin.models.foreign.format import Foreign

HEAD = 256  # bytes by which a format is told


@cache
def registered() -> dict[str, Foreign]:
    """Every format by its name."""
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    formats = [module.FORMAT for module in modules if hasattr(module, "FORMAT")]
    return {form.name: form for form in sorted(formats, key=lambda form: form.name)}


def load(path: str | os.PathLike, encoding: str = "utf-8", columns: int | None = None) -> Model:
    """The model of another program in a file.

    ``columns``: how many columns the training file had, labels included, where more than templates look at.
    """
    try:
        with open(path, "rb") as stream:
            head = stream.read(HEAD)
            content = head + stream.read() if any(form.begins(head) for form in registered().values()) else head
    except OSError as error:
        raise LoglinError(f"cannot read the model {path}: {error.strerror}; check the name") from error
    return loads(content, path, encoding, columns)


def loads(
    content: bytes, source: str | os.PathLike = "the model", encoding: str = "utf-8", columns: int | None = None
) -> Model:
    """The model of another program in a file's bytes; ``source`` names it in messages."""
    for form in registered().values():
        if form.begins(content[:HEAD]):
            break
    else:
        programs = ", ".join(form.program for form in registered().values() if form.reads)
        raise LoglinError(f"{source} is no model of {programs}; give a file that one of these programs has written")
    with refusing(source, f"is no model of {form.program} or is damaged", "copy it again or train it again"):
        model = form.read(content, encoding)
        template_columns = getattr(getattr(model.extractor, "templates", None), "columns", None)
        if template_columns is not None:
            trained = template_columns + 1 if columns is None else columns
            if trained <= template_columns:
                raise LoglinError(
                    f"--columns is {columns}, but templates of {source} look at {template_columns} and one more is "
                    f"the label; give at least {template_columns + 1}"
                )
            model.record |= {"columns": trained, "label_column": -1}
        return replace(model, record={"imported": form.program} | model.record)


def export(model: Model, to: str, path: str | os.PathLike) -> None:
    """Write a tagger as a file of another program; on failure an older file of that name is left as it was."""
    forms = {name: form for name, form in registered().items() if form.writes}
    if to not in forms:
        raise LoglinError(f"there is no format {to!r} to export to; take one of {', '.join(forms)}")
    write_atomically(path, list(forms[to].write(model)))
