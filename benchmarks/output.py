"""What all benchmarks share: they print, and write into a folder only when --output names one."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """A parser of the command line with the option --output."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, metavar="DIR", help="write the results into this folder, too")
    return parser


def report(output: Path | None, name: str, page: str, result: Any = None) -> None:
    """Print a page and, where there is a folder, write it as NAME.md and the result as NAME.json."""
    print(page)
    if output is None:
        return
    output.mkdir(parents=True, exist_ok=True)
    (output / f"{name}.md").write_text(page)
    if result is not None:
        (output / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n")
