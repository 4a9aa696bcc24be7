"""A problem that is in memory, shared out: its objective is made of parts that stand on disk, here or with workers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import loglin
from loglin.corpus.shards import WorkFolder, memory_of, tokens_of
from loglin.criteria.criterion import Criterion
from loglin.errors import LoglinError
from loglin.objectives.sums import Engine, InOrder


@contextmanager
def work_folder(given: str | os.PathLike | None) -> Iterator[WorkFolder]:
    """The folder that is given, or one for the time being; objectives are removed at the end."""
    with tempfile.TemporaryDirectory(prefix="loglin-") as temporary:
        folder = WorkFolder(temporary if given is None else given)
        try:
            yield folder
        finally:
            folder.remove("objective-")
            folder.close()


def engine_of(client: Any, threads: int | None) -> Engine:
    """Who computes parts: the workers of a Dask client, or this process."""
    if client is None:
        return InOrder(threads)
    from loglin.objectives.distributed import Workers

    return Workers(client)


@contextmanager
def shared(
    problem: Any,
    chosen: Criterion,
    optimizer: str,
    work_dir: str | os.PathLike | None = None,
    memory: int | str | None = None,
    client: Any = None,
) -> Iterator[Any]:
    """The problem with its objective made of parts, where a work folder, memory or workers are given."""
    if work_dir is None and memory is None and client is None:
        yield problem
        return
    from loglin.problems.parts import shared_out
    from loglin.training.fit import require_parts
    from loglin.training.identity import digest

    require_parts(problem, chosen)
    require_sums(optimizer)
    size = memory_of(memory)
    key = {"version": loglin.__version__, "problem": digest(problem), "tokens": tokens_of(size)}
    with work_folder(work_dir) as folder:
        yield shared_out(problem, folder, engine_of(client, problem.threads.n), tokens_of(size), size, key)


def require_sums(name: str) -> None:
    """Refuse an optimizer that asks for more than sums over shards give."""
    from loglin.optimize.optimizers import optimizer

    by = optimizer(name)
    if not by.takes_any_curvature:
        raise LoglinError(
            f"optimizer {by.name} looks at single sentences, which shards never give; use auto, lbfgs, gradient or "
            "conjugate-gradient"
        )
