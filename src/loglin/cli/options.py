"""Options that several commands share."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import click

from loglin.errors import LoglinError

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object for machines.")
encoding = click.option("--encoding", default="utf-8", show_default=True, help="Encoding of the text.")
threads = click.option("--threads", type=click.IntRange(min=1), help="Threads; default all cores.")
label_column = click.option(
    "--label-column",
    type=int,
    default=-1,
    show_default=True,
    help="Column of the labels, from 0, or from -1 backwards.",
)
text_format = click.option(
    "--format",
    "text_format",
    type=click.Choice(["auto", "conll", "crfsuite", "jsonl"]),
    default="auto",
    help="Kind of file; auto goes by the name (.jsonl, .crfsuite, else columns).",
)


def print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False))


class Progress:
    """Shows iterations: one line that is rewritten on a terminal, plain lines elsewhere, nothing if quiet."""

    def __init__(self, quiet: bool = False):
        self.quiet, self.live = quiet, sys.stderr.isatty()
        self.values: list[float] = []
        self.last = 0.0

    def __call__(self, iteration: Any) -> None:
        if self.quiet:
            return
        text = f"iteration {iteration.number}  objective {iteration.value:,.2f}  active {iteration.active:,}"
        if iteration.score is not None:
            text += f"  dev {iteration.score:.4f}"
        text += f"  {iteration.seconds:.1f} s"
        if self.live:
            sys.stderr.write(f"\r\033[K{text}")
            sys.stderr.flush()
        elif iteration.seconds - self.last >= 1.0 or iteration.number == 1:
            self.last = iteration.seconds
            print(text, file=sys.stderr)

    def close(self) -> None:
        if self.live and not self.quiet:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def refuse_overwriting(output: str, *inputs: str | None) -> None:
    """A result must not replace one of its own inputs."""
    for path in inputs:
        if path and path != "-" and os.path.exists(path) and os.path.exists(output) and os.path.samefile(path, output):
            raise LoglinError(f"the output {output} is also an input; give it another name")
