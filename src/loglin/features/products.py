"""Scores of dense vectors and their gradient: a matrix product for every chunk of rows.

scores = V·W        (rows, dimensions) · (dimensions, labels)
gradient = Rᵀ·V     (labels, rows) · (rows, dimensions)

The products are BLAS's on one thread each: chunks are shared out to our own threads, so that the same numbers come out
for any number of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from loglin.threads import Threads, chunks_by_size

BLOCK = 1024  # rows of a product: with 384 dimensions they fit into a core's cache


def products(rows: np.ndarray, W: np.ndarray, out: np.ndarray, threads: Threads) -> None:
    """Set out (rows, width) = rows·W, in the precision of W."""

    def chunk(begin: int, end: int) -> None:
        for block in _blocks(begin, end):
            np.matmul(rows[block].astype(W.dtype, copy=False), W, out=out[block])

    with _single_threaded():
        threads.map(chunk, chunks_by_size(np.arange(len(rows) + 1)))


def sums(rows: np.ndarray, residuals: np.ndarray, threads: Threads, squared: bool = False) -> np.ndarray:
    """rowsᵀ·residuals, (dimensions, width); with ``squared``, of the squares of all numbers of ``rows``."""

    def chunk(begin: int, end: int) -> np.ndarray:
        total = np.zeros((residuals.shape[1], rows.shape[1]), residuals.dtype)
        for block in _blocks(begin, end):
            V = rows[block].astype(residuals.dtype, copy=False)
            total += residuals[block].T @ (V * V if squared else V)
        return total

    with _single_threaded():
        parts = threads.map(chunk, chunks_by_size(np.arange(len(rows) + 1)))
    return sum(parts, np.zeros((residuals.shape[1], rows.shape[1]), residuals.dtype)).T


def _blocks(begin: int, end: int) -> Iterator[slice]:
    return (slice(first, min(first + BLOCK, end)) for first in range(begin, end, BLOCK))


@contextmanager
def _single_threaded() -> Iterator[None]:
    with _blas().limit(limits=1, user_api="blas"):
        yield


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController  # scikit-learn needs it too

    return ThreadpoolController()
