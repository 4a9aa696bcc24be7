"""SVMlight files: ``label index:value index:value # comment``, one example a line."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator

from loglin.corpus.crfsuite import Line, text_lines
from loglin.errors import LoglinError


def read(
    path: str | os.PathLike, encoding: str = "utf-8", lines: Iterable[Line] | None = None
) -> Iterator[tuple[str, dict[str, float]]]:
    """(label, attributes) of every example; attributes are named by their index."""
    for number, line in lines or text_lines(path, encoding):
        fields = line.split("#", 1)[0].split()
        if not fields:
            continue
        attributes = {}
        for field in fields[1:]:
            index, colon, value = field.rpartition(":")
            try:
                if not colon or not index:
                    raise ValueError
                attributes[index] = float(value)
                if not math.isfinite(attributes[index]):
                    raise ValueError
            except ValueError:
                raise LoglinError(
                    f"{path}, line {number}: {field!r} is not index:value with a finite number; write it as 3:0.5"
                ) from None
        yield fields[0], attributes
