"""Arrays whose final size is not known."""

from __future__ import annotations

import numpy as np

from loglin.kernels.compile import kernel


@kernel("i4[]|i4[,] int")
def grown(array, size):
    """The array itself if it has ``size`` rows, else a copy with room for at least so many and twice those it had."""
    if size <= array.shape[0]:
        return array
    more = np.empty((max(size, 2 * array.shape[0]), *array.shape[1:]), array.dtype)
    more[: array.shape[0]] = array
    return more
