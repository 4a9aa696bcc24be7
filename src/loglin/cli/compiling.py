"""loglin compile: kernels compiled ahead of time where no wheel brings them."""

from __future__ import annotations

import os

import click

from loglin.cli import options as shared
from loglin.errors import LoglinError


@click.command("compile")
@click.option("--cache", "cache_only", is_flag=True, help="Only into the cache of the user who runs this.")
@click.option("--jobs", type=shared.Count(1), help="Processes at a time; default one per core.")
def compile_kernels(cache_only: bool, jobs: int | None) -> None:
    """Compile what loglin would otherwise compile when it is first used.

    A wheel of loglin is compiled already. In a source checkout the compiled code goes into an extension
    beside the package; that takes a C compiler. Without one, where the package cannot be written, and with
    --cache, it goes into the cache of the user, for this kind of processor alone.

    \b
    loglin compile
    loglin compile --cache
    """
    from loglin.kernels import build, extension
    from loglin.kernels.digests import FOLDER

    there = None if extension.mode() == "jit" else extension.find_fitting()
    if there is not None and build.fresh(there):
        click.echo(f"the kernels are compiled already: {there}")
        return
    if not cache_only and os.access(FOLDER, os.W_OK):
        try:
            from loglin.kernels import jit

            build.build([jit.own_level()], jobs=jobs, say=click.echo)
            return
        except LoglinError as error:
            click.echo(f"{error}; using the cache", err=True)
    build.fill_cache(jobs, click.echo)


COMMANDS = {"compile": compile_kernels}
