"""Map over chunks, reduce in order: the one seam through which work is shared out.

Chunk boundaries depend on the data alone and results come back in the order of the chunks, so a sum
over them is the same to the last bit for any number of threads. Kernels release the GIL.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from functools import cache
from numbers import Integral
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from loglin.errors import LoglinError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Result = TypeVar("Result")
CHUNKS = 16
MOST_THREADS = 1024  # more than any machine gains from, fewer than any refuses


def check_threads(n: object) -> None:
    """Refuse a number of threads that is none; None stands for all cores."""
    if n is None:
        return
    if not isinstance(n, Integral) or isinstance(n, bool) or int(n) < 1:
        raise LoglinError(f"threads is {n!r}; give a whole number of at least 1")
    if int(n) > MOST_THREADS:
        raise LoglinError(f"threads is {n}; give at most {MOST_THREADS}, or as many as there are cores")


def available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Threads:
    """A fixed number of threads; ``Threads(None)`` takes all cores.

    They are the process's own, so that what has a ``Threads`` can be pickled, and used on the other side of a fork.
    """

    def __init__(self, n: int | None = None):
        check_threads(n)
        self.n = n or available_cores()

    def map(self, function: Callable[..., Result], chunks: Sequence[tuple[int, int]]) -> list[Result]:
        """[function(begin, end) for each chunk], in order."""
        if self.n < 2 or len(chunks) < 2:
            return [function(b, e) for b, e in chunks]
        results: list = [None] * len(chunks)
        todo = iter(range(len(chunks)))  # shared: each thread takes the next chunk that is left

        def work() -> None:
            try:
                for i in todo:
                    results[i] = function(*chunks[i])
            except BaseException:
                for _ in todo:  # nothing is left for the others
                    pass
                raise

        others = [_pool(self.n - 1).submit(work) for _ in range(self.n - 1)]
        try:
            work()
        finally:  # who has not begun by now is busy with another map, which may be waiting for this one
            begun = [other for other in others if not other.cancel()]
            for other in begun:
                other.result()
        return results


@cache
def _pool(n: int) -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(n, "loglin")


if hasattr(os, "register_at_fork"):  # threads stay behind
    os.register_at_fork(after_in_child=_pool.cache_clear)


def chunks_by_size(ptr: np.ndarray, n_chunks: int = CHUNKS) -> list[tuple[int, int]]:
    """Cut lists into ranges of about equal numbers of entries; ptr (lists + 1,) counts entries."""
    n = len(ptr) - 1
    if n < 2:
        return [(0, n)] if n else []
    targets = ptr[0] + (ptr[-1] - ptr[0]) * np.arange(1, n_chunks) / n_chunks
    cuts = np.unique(np.concatenate([[0], np.searchsorted(ptr, targets), [n]]))
    return [(int(b), int(e)) for b, e in itertools.pairwise(cuts)]
