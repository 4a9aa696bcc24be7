"""The pages of the published tables, made anew where source or data have changed.

    python benchmarks/tables.py [--output docs/results] [--force] [NAME ...]

Each table is made by `loglin reproduce NAME --output DIR` in a process of its own. When its files are written, a stamp
in build/tables records the source, the data and the page; a table whose stamp still holds is skipped, so a run that was
interrupted goes on with the table at which it ended.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from loglin import reproduce

ROOT = Path(__file__).resolve().parent.parent
STAMPS = ROOT / "build" / "tables"


def fingerprint(source: Path, data: Path | None) -> str:
    """A hash of the source files' content and of the data files' names and sizes."""
    found = hashlib.sha256()
    for path in sorted(source.rglob("*.py")):
        found.update(f"{path.relative_to(source)}\n".encode() + path.read_bytes())
    if data is not None:
        for path in sorted(path for path in data.rglob("*") if path.is_file()):
            found.update(f"{path.relative_to(data)} {path.stat().st_size}\n".encode())
    return found.hexdigest()


def make_tables(
    names: Sequence[str], output: Path, stamps: Path, present: str, force: bool, make: Callable[[str, Path], int]
) -> int:
    """Make the tables whose stamp does not hold, and return the code with which the first failing one ended, or 0."""
    stamps.mkdir(parents=True, exist_ok=True)
    if force:
        for name in names:
            (stamps / name).unlink(missing_ok=True)
    for number, name in enumerate(names, 1):
        stamp, page = stamps / name, output / f"{name}.json"
        if page.exists() and stamp.exists() and stamp.read_text() == _stamp(present, page):
            print(f"{name}: made already ({number} of {len(names)})", flush=True)
            continue
        print(f"{name} ({number} of {len(names)})", flush=True)
        if code := make(name, output):
            return code
        stamp.write_text(_stamp(present, page))
    return 0


def _stamp(present: str, page: Path) -> str:
    return f"{present} {hashlib.sha256(page.read_bytes()).hexdigest()}\n"


def in_a_process(name: str, output: Path) -> int:
    command = [sys.executable, "-m", "loglin", "reproduce", name, "--output", str(output)]
    return subprocess.run(command, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="the tables to make; default: all")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "results")
    parser.add_argument("--force", action="store_true", help="make tables that were made already, too")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in reproduce.TABLES]:
        parser.error(f"no table is called {unknown[0]!r}; there are {', '.join(reproduce.TABLES)}")
    data = os.environ.get("LOGLIN_DATA")
    present = fingerprint(ROOT / "src" / "loglin", Path(data) if data else None)
    names = given.names or list(reproduce.TABLES)
    try:
        return make_tables(names, given.output, STAMPS, present, given.force, in_a_process)
    except KeyboardInterrupt:
        print("interrupted; the same command goes on with this table", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
