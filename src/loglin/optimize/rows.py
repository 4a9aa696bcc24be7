"""The long vectors that a search remembers, used one at a time: in memory, or in a file and then never there together.

A file is mapped, and has no name: its space is free again when the array is gone, however the process ends.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from dataclasses import dataclass
from typing import Any

import numpy as np

from loglin.errors import LoglinError


@dataclass(frozen=True)
class Room:
    """Where rows are kept: in memory up to ``most`` bytes an array, above that in ``folder``."""

    folder: str | None = None
    most: int = 0

    def rows(self, count: int, n: int, dtype: Any) -> np.ndarray:
        """Zeros, (count, n)."""
        size = count * n * np.dtype(dtype).itemsize
        if self.folder is None or size <= self.most:
            return np.zeros((count, n), dtype)
        try:
            with tempfile.TemporaryFile(dir=self.folder) as stream:
                if hasattr(os, "posix_fallocate"):  # a full disk is met here, not when a page is written
                    os.posix_fallocate(stream.fileno(), 0, size)
                else:
                    stream.truncate(size)
                mapped = mmap.mmap(stream.fileno(), size)
        except OSError as error:
            raise LoglinError(
                f"no room for {size:,} bytes in {self.folder}: {error.strerror or error}; free some, or give another "
                "--work-dir"
            ) from None
        return np.frombuffer(mapped, dtype).reshape(count, n)


def release(row: np.ndarray) -> None:
    """Let go of the memory that a row of a file takes; what was written is still in the file."""
    owner: Any = row
    while isinstance(owner, np.ndarray):
        owner = owner.base
    owner = owner.obj if isinstance(owner, memoryview) else owner
    if isinstance(owner, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        begin = row.__array_interface__["data"][0] - np.frombuffer(owner, np.uint8).__array_interface__["data"][0]
        first = begin - begin % mmap.PAGESIZE
        owner.madvise(mmap.MADV_DONTNEED, first, begin - first + row.nbytes)
