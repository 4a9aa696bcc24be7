"""loglin reproduce: published tables and our numbers side by side."""

from __future__ import annotations

import sys

import click

from loglin.cli import options as shared


@click.command("reproduce")
@click.argument("name", required=False)
@click.option("--quick", is_flag=True, help="Less data, for a look; its files are called NAME-quick.*.")
@click.option("--output", metavar="DIR", help="Write NAME.json, NAME.md and the figures into this folder.")
@shared.threads
@shared.as_json
def reproduce_command(name, quick, output, threads, as_json) -> None:
    """Make the published table NAME with this library and print it, or list the tables there are.

    Nothing is written without --output.
    """
    from loglin import reproduce

    if name is None:
        _list(reproduce.TABLES, as_json)
        return
    reproduce.module_of(name)
    if output is not None:
        reproduce.check_output(name, output, quick)
    table = reproduce.run(name, quick, (lambda line: None) if as_json else _progress, threads)
    written = [] if output is None else table.save(output)
    if as_json:
        shared.print_json(table.as_dict())
        return
    print(table.text())
    if written:
        print(f"written to {', '.join(map(str, written))}")
    else:
        print("nothing was written; --output DIR writes the table and its figures into a folder")


def _list(tables: dict[str, tuple[str, str]], as_json: bool) -> None:
    lines = {name: line for name, (_, line) in tables.items()}
    if as_json:
        shared.print_json(lines)
        return
    width = max(map(len, lines))
    for name, line in lines.items():
        print(f"{name:<{width}}  {line}")


def _progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


COMMANDS = {"reproduce": reproduce_command}
