"""Options that several commands share."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

import click

from loglin.cli import interrupts
from loglin.drawing import progress as drawn
from loglin.errors import LoglinError

LARGEST = (1 << 31) - 1


class Count(click.IntRange):
    """A whole number of at least ``least``, and no larger than anything that there is."""

    def __init__(self, least: int):
        super().__init__(min=least)

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        found = super().convert(value, param, ctx)
        if found > LARGEST:
            self.fail(f"{found} is too large, give at most {LARGEST}", param, ctx)
        return found


as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object for machines.")
encoding = click.option("--encoding", default="utf-8", show_default=True, help="Encoding of the text.")
threads = click.option("--threads", type=Count(1), help="Threads; default all cores.")


class ColumnName(click.ParamType):
    """A column's number or name."""

    name = "column"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | str:
        try:
            return int(value)
        except ValueError:
            return value


class RegistryChoice(click.Choice):
    """auto, or a name that a registry has; the registry is asked when it is needed."""

    case_sensitive = True

    def __init__(self, names: Callable[[], Iterable[str]]):
        self.names = names

    @property
    def choices(self) -> list[str]:  # type: ignore[override]
        return list(self.names())

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        return value if value == "auto" else super().convert(value, param, ctx)


def format_name(*more: str, attributes: bool = True) -> RegistryChoice:
    """auto, a format of tagged text, or one of ``more``; without ``attributes`` only formats that hold words."""

    def names() -> list[str]:
        from loglin.corpus.formats import registered

        return ["auto", *(n for n, f in registered().items() if f.words or attributes), *more]

    return RegistryChoice(names)


class FormatOption(click.Option):
    """An option whose help describes all formats, which are looked for when help is asked for."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        from loglin.corpus.formats import described

        self.help = described()
        return super().get_help_record(ctx)


label_column = click.option(
    "--label-column",
    "--label",
    type=ColumnName(),
    help="Column of the labels, from 0, or from -1 backwards, or its name; default: the last, in CoNLL-U UPOS.",
)
decoding = click.option(
    "--decoding",
    type=click.Choice(["global", "local", "nota", "scaled"]),
    help="How steps score, if not as the model was trained to: as they are, each normalized, with none of the above, "
    "scaled.",
)
beam = click.option("--beam", type=Count(0), help="Search with so many states a step; 0: exactly.")
prune = click.option(
    "--prune",
    type=click.FloatRange(0, 1, max_open=True),
    metavar="P",
    help="Leave labels out of the search that a token's own features give a probability below P; 0: none.",
)
dictionary = click.option(
    "--dictionary/--no-dictionary", default=True, help="Whether to heed the model's tag dictionary, if it has one."
)
vectors = click.option(
    "--vectors", metavar="FILE.npy", help="Vectors of the tokens, a row each, for a model trained with them."
)


class ColumnNames(click.ParamType):
    """Names of columns, parted by commas."""

    name = "names"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, ...]:
        return value if isinstance(value, tuple) else tuple(name.strip() for name in value.split(","))


def table_columns(command: Callable) -> Callable:
    """The options --columns and --sentence, of tables."""
    text = "Of tables, the columns of tokens, such as word,pos; default: all but those of labels and sentences."
    command = click.option("--columns", type=ColumnNames(), metavar="NAME,…", default=(), help=text)(command)
    text = "Of tables with a row for each token, the column, or columns, whose values tell sentences apart."
    return click.option("--sentence", type=ColumnNames(), metavar="NAME,…", default=(), help=text)(command)


def format_of(path: str, given: dict[str, Any], labeled: bool = True, has_names: bool | None = None) -> Any:
    """The format of a file, with the columns that the options name.

    ``has_names``: whether the columns of the text that it belongs to have names, if that is known.
    """
    from loglin.corpus.formats import detected

    if given["columns"] or given["sentence"] or isinstance(given.get("label_column"), str):
        has_names = True
    form = detected(path, given["text_format"], labeled, has_names)
    return form.with_names(given["columns"], given["sentence"])


text_format = click.option("--format", "text_format", cls=FormatOption, type=format_name(), default="auto")


# parts of a command's seconds
GERUNDS = {"start": "starting", "read": "reading", "features": "features", "train": "training"}


def load_kernels() -> None:
    """Call a kernel, so that what Numba loads once, about 0.3 s, is not counted as reading data."""
    from loglin.corpus.vocabulary import Vocabulary

    Vocabulary.of(["a"]).code("a")


TOLD = ("decoding", "beam", "dictionary", "prune")


def decoding_of(
    decoding: str | None, beam: int | None, dictionary: bool = True, prune: float | None = None
) -> dict[str, Any]:
    """What a Decoder is told beyond the model's own way."""
    told = {"steps": decoding or None, "beam": beam, "dictionary": None if dictionary else False, "prune": prune}
    return {name: value for name, value in told.items() if value is not None}


def dictionary_of(value: str, encoding: str) -> Any:
    """What Options takes as a dictionary: a count, or what is in a file."""
    from loglin.features.dictionary import read_dictionary

    return int(value) if value.isdecimal() else read_dictionary(value, encoding)


def unknown_words(policy: str | list) -> str:
    """What words outside a dictionary may be, as the end of a sentence about them."""
    if isinstance(policy, str):
        return {"all": "may have any label", "refuse": "are refused"}[policy]
    return f"have one of {' '.join(map(str, policy))}"


def settings_of(pairs: tuple[str, ...], option: str = "--set", example: str = "nota=selected") -> dict[str, str]:
    """{"nota": "selected"} of ("nota=selected",)."""
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise LoglinError(f"{option} is {pair!r}; write NAME=VALUE, such as {example}")
        found[name.strip()] = value.strip()
    return found


def number_of(place: str, text: str, allowed: str) -> float:
    """The number that a text writes."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise LoglinError(f"{place} is {text!r}; give {allowed}")
    return number


def print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False))


def base_name(path: str) -> str:
    """A file's name for the record of a model, which is UTF-8 even where the name is not."""
    return os.fsencode(os.path.basename(path)).decode("utf-8", "replace")


def short_names(first: str, second: str) -> tuple[str, str]:
    """File names without their folders, unless they would be the same."""
    short = base_name(first), base_name(second)
    return short if short[0] != short[1] else (first, second)


class Progress(drawn.Progress):
    """The progress of a command's training; nothing is shown if it is quiet."""

    def __init__(self, tol: float, quiet: bool = False):
        super().__init__(tol)
        self.quiet = quiet

    def __call__(self, iteration: Any) -> None:
        interrupts.learned()
        if not self.quiet:
            super().__call__(iteration)


def check_output(output: str | None, *inputs: str | None) -> None:
    """Refuse an output, if there is one, that cannot be written or is one of its own inputs, before long work."""
    from loglin.corpus.output import check_writable

    if output:
        check_writable(output)
        refuse_overwriting(output, *inputs)


def write_pieces(output: str | None, pieces: Iterable[bytes]) -> None:
    """Write into a file, whole or not at all, or piece by piece to standard output."""
    from loglin.corpus.output import write_atomically

    if output:
        write_atomically(output, pieces)
        return
    for piece in pieces:
        rest = memoryview(piece)
        while rest:  # unbuffered (python -u), a part may be written alone
            rest = rest[sys.stdout.buffer.write(rest) :]
        sys.stdout.buffer.flush()


def show(value: dict[str, Any], text: str, as_json: bool) -> None:
    """Print a result for machines or for people."""
    if as_json:
        print_json(value)
    else:
        print(text)


def refuse_overwriting(output: str, *inputs: str | None) -> None:
    """A result must not replace one of its own inputs."""
    for path in inputs:
        if path and path != "-" and os.path.exists(path) and os.path.exists(output) and os.path.samefile(path, output):
            raise LoglinError(f"the output {output} is also an input; give it another name")
