"""Options that say who computes: workers on this machine, or those of a scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from loglin.cli import options as shared
from loglin.errors import LoglinError

workers = click.option(
    "--workers", type=shared.Count(1), help="Share out shards among so many processes of this machine (Dask)."
)
scheduler = click.option(
    "--scheduler", metavar="ADDRESS", help="Share out shards among the workers of a Dask scheduler, tcp://host:port."
)


def shards(command: Callable) -> Callable:
    """The options that make a training go over parts on disk: --work-dir, --memory, --workers, --scheduler."""
    folder = click.option("--work-dir", help="Folder to prepare shards in, used again when nothing has changed.")
    memory = click.option("--memory", metavar="SIZE", help="How much a shard may take, such as 500MB; default 2GB.")
    return folder(memory(workers(scheduler(command))))


def given_shards(given: dict[str, Any], client: Any) -> dict[str, Any]:
    """What these options say to ``fit``."""
    return {"work_dir": given["work_dir"], "memory": given["memory"], "client": client}


def several(data: str) -> list[str]:
    """The files that a name, a quoted pattern or a folder stands for."""
    from loglin.corpus.shards import is_several, sources

    return sources(data) if is_several(data) else [data]


@contextmanager
def client(given: dict[str, Any]) -> Iterator[Any]:
    """The Dask client that the options ask for; None: this process does all."""
    if given["workers"] is not None and given["scheduler"] is not None:
        raise LoglinError("--workers makes workers here, --scheduler takes those of others; give one of them")
    if given["workers"] is None and given["scheduler"] is None:
        yield None
        return
    from loglin.objectives.distributed import connected

    with connected(given["scheduler"], given["workers"]) as found:
        yield found


@contextmanager
def engine(given: dict[str, Any]) -> Iterator[Any]:
    """The workers that the options ask for; None: this process does all."""
    with client(given) as found:
        if found is None:
            yield None
            return
        from loglin.objectives.distributed import Workers

        yield Workers(found)
