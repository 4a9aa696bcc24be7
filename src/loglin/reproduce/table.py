"""A table of published and of our numbers, and its forms: dictionary, terminal, Markdown, files."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

from loglin.corpus.output import check_writable, write_atomically
from loglin.errors import LoglinError

HEADER = ("name", "metric", "published", "ours", "difference", "note")
_NUMBERS = ("published", "ours", "difference")
NOTHING = "–"

Progress = Callable[[str], None]  # takes a line that tells how far the work is
Drawings = dict[str, Callable[[Path], None]]  # a short word → a function that draws that figure into a path


@dataclass(frozen=True)
class Row:
    name: str
    metric: str
    published: float | None
    ours: float | None
    note: str = ""
    digits: int = 2  # shown behind the point

    @property
    def difference(self) -> float | None:
        """Ours minus the published."""
        published, ours = _number(self.published), _number(self.ours)
        return None if published is None or ours is None else ours - published

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "metric": self.metric,
            "published": _number(self.published),
            "ours": _number(self.ours),
            "note": self.note,
        }

    def cells(self) -> tuple[str, ...]:
        """The row as HEADER names it, as text."""
        numbers = (_shown(value, self.digits) for value in (self.published, self.ours))
        return self.name, self.metric, *numbers, _shown(self.difference, self.digits, "+"), self.note


@dataclass(frozen=True)
class Table:
    """A table; ``reproduce.run`` adds how long it took and whether it is of a quick run."""

    name: str
    title: str
    rows: list[Row]
    remarks: list[str] = field(default_factory=list)
    drawings: Drawings = field(default_factory=dict, repr=False)
    seconds: float = 0.0  # that making it took
    quick: bool = False

    @property
    def figures(self) -> list[str]:
        """The names of the figures' files."""
        return [f"{stem(self.name, self.quick)}-{word}.png" for word in self.drawings]

    def as_dict(self) -> dict[str, Any]:
        return {
            "table": self.name,
            "rows": [row.as_dict() for row in self.rows],
            "seconds": round(float(self.seconds), 3),
            "remarks": list(self.remarks),
            "figures": self.figures,
        }

    def text(self) -> str:
        """Aligned for a terminal, numbers to the right."""
        lines = [HEADER, *(row.cells() for row in self.rows)]
        widths = [max(len(line[c]) for line in lines) for c in range(len(HEADER))]
        body = [
            "  ".join(
                cell.rjust(width) if name in _NUMBERS else cell.ljust(width)
                for name, cell, width in zip(HEADER, line, widths, strict=True)
            ).rstrip()
            for line in lines
        ]
        body.insert(1, "─" * max(map(len, body)))
        return "\n".join([self._heading(), *body, *self.remarks, f"{self.seconds:,.1f} seconds"])

    def markdown(self) -> str:
        rule = "|".join("---:" if name in _NUMBERS else "---" for name in HEADER)
        lines = [f"# {self._heading()}", "", f"| {' | '.join(HEADER)} |", f"|{rule}|"]
        lines += [f"| {' | '.join(_escaped(cell) for cell in row.cells())} |" for row in self.rows]
        for remark in self.remarks:
            lines += ["", remark]
        for word, figure in zip(self.drawings, self.figures, strict=True):
            lines += ["", f"![{word}]({figure})"]
        repeat = f"loglin reproduce {self.name}" + (" --quick" if self.quick else "")
        return "\n".join([*lines, "", f"Made by `{repeat}` in {self.seconds:,.0f} seconds.", ""])

    def save(self, folder: str | os.PathLike) -> list[Path]:
        """Write the JSON, the Markdown and the figures, each at once or not at all; the numbers first."""
        place, name = Path(folder), stem(self.name, self.quick)
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LoglinError(f"cannot create the folder {folder}: {error.strerror}; name another") from error
        numbers = json.dumps(self.as_dict(), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
        write_atomically(place / f"{name}.json", numbers.encode())
        write_atomically(place / f"{name}.md", self.markdown().encode())
        pictures = [place / figure for figure in self.figures]
        for path, draw in zip(pictures, self.drawings.values(), strict=True):
            draw(path)
        return [place / f"{name}.json", place / f"{name}.md", *pictures]

    def _heading(self) -> str:
        return self.title + (" (quick run: not the published setting)" if self.quick else "")


def stem(name: str, quick: bool) -> str:
    """File names begin with this; those of a quick run never replace those of a full one."""
    return f"{name}-quick" if quick else name


def check_folder(folder: str | os.PathLike, name: str, quick: bool) -> None:
    """Say before long work that results cannot be written; what is made to find out is removed again."""
    if not os.fspath(folder):
        raise LoglinError("the output folder has an empty name; name one, or . for this one")
    place = Path(folder).absolute()
    missing = list(takewhile(lambda p: not os.path.exists(p), (place, *place.parents)))
    parent = missing[-1].parent if missing else place
    if not parent.is_dir():
        raise LoglinError(f"cannot write into {folder}: {parent} is no folder; name another")
    if missing and not os.access(parent, os.W_OK):
        raise LoglinError(f"cannot create {folder}: no permission in {parent}; name another")
    if not missing:
        for ending in ("json", "md"):
            check_writable(place / f"{stem(name, quick)}.{ending}")
    try:  # permissions do not tell all: some file systems take no files from anyone
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise LoglinError(f"cannot write into {folder}: {error.strerror}; name another") from error
    finally:
        for made in missing:
            with suppress(OSError):
                made.rmdir()


def _number(value: float | None) -> float | None:
    """A number that JSON can hold, or None."""
    return None if value is None or not math.isfinite(value) else float(value)


def _shown(value: float | None, digits: int, sign: str = "") -> str:
    number = _number(value)
    if number is None:
        return NOTHING
    digits = 0 if abs(number) >= 1000 else digits
    return f"{round(number, digits) + 0.0:{sign},.{digits}f}"  # + 0.0 makes −0 0


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", " ")
