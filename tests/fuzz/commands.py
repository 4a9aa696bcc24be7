"""Commands with wild options, run in this process."""

from __future__ import annotations

import contextlib
import io
import random
import sys
from functools import cache

import click

from fuzz import prepared, texts, wild
from loglin.cli.main import cli

NAMES = [
    "tag",
    "eval",
    "classify",
    "parse",
    "parse-eval",
    "inspect",
    "prune",
    "compare",
    "dictionary",
    "neighborhood",
    "lm",
]
TRAINING = ["train", "classify-train", "parse-train"]
SKIPPED = {"help", "limits"}
VALUES = [
    "0",
    "1",
    "2",
    "-1",
    "0.5",
    "1e400",
    "nan",
    "inf",
    "auto",
    "f1",
    "crf",
    "bio",
    "utf-16",
    "latin-1",
    "float64",
    "3-7",
    "a=b",
]


@cache
def options(name: str) -> list[click.Option]:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return [p for p in command.params if isinstance(p, click.Option) and p.name not in SKIPPED]


def _value(rng: random.Random, option: click.Option) -> str:
    if isinstance(option.type, click.Choice) and rng.random() < 0.8:
        return str(rng.choice(list(option.type.choices)))
    if option.name in ("output", "svg", "report", "save", "trace", "record"):
        return str(prepared.place("out"))
    if option.name in ("max_iter", "threads", "iterations"):
        return rng.choice(["1", "1", "0", "-1", str(2**70), "x"])
    return rng.choice([*VALUES, *map(str, wild.NUMBERS[:17]), rng.choice(wild.STRINGS).replace("\0", "")])


def _files(rng: random.Random) -> list[str]:
    whole = prepared.place("whole")
    kind = rng.choice(list(texts.WHOLE))
    whole.write_bytes(wild.damaged(rng, texts.WHOLE[kind]) if rng.random() < 0.5 else texts.WHOLE[kind].encode())
    return [str(whole), *prepared.files().values(), "missing", str(prepared.folder()), ""]


def case(rng: random.Random) -> None:
    name = rng.choice(TRAINING if rng.random() < 0.05 else NAMES)
    files, arguments = _files(rng), [name]
    if name == "lm":
        arguments.append(rng.choice(["score", "next", "sample", "eval", "inspect"]))
        given: list[click.Option] = []
    else:
        given = rng.sample(options(name), min(len(options(name)), rng.randrange(4)))
    if name in TRAINING:
        arguments += ["--quiet", "-o", str(prepared.place("out"))]
    arguments += [rng.choice(files) if i else rng.choice(files[1:6]) for i in range(rng.randrange(1, 4))]
    for option in given:
        arguments.append(rng.choice(option.opts))
        if not option.is_flag:
            arguments.append(_value(rng, option))
    _run(arguments)


def _run(arguments: list[str]) -> None:
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", errors="backslashreplace")
    streams = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = io.TextIOWrapper(io.BytesIO(b"The dog\n"))
    try:
        folder = contextlib.chdir(prepared.folder())  # some options name files to write
        with folder, contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            cli.main(arguments, standalone_mode=False)
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        pass
    except Exception as error:
        error.add_note(f"loglin {' '.join(map(repr, arguments))}")
        raise
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams


KINDS = {"commands": case}
