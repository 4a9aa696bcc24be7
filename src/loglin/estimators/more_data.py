"""What ``partial_fit`` has been given: kept, so that the objective is that of one ``fit`` on all of it.

A penalized likelihood has no summary of data that is smaller than they are. Whoever cannot keep them in memory trains
on shards (docs/scale.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from loglin.errors import LoglinError


@dataclass(frozen=True)
class Given:
    """Inputs, answers and weights of all calls so far."""

    X: Any
    y: list
    weight: np.ndarray | None = None

    def joined(self, more: Given) -> Given:
        weight = None
        if self.weight is not None or more.weight is not None:
            parts = (np.ones(len(one.y)) if one.weight is None else one.weight for one in (self, more))
            weight = np.concatenate(list(parts))
        return Given(_joined(self.X, more.X), [*self.y, *more.y], weight)


def _joined(before: Any, more: Any) -> Any:
    if hasattr(before, "shape") != hasattr(more, "shape"):
        raise LoglinError("X is a matrix and was a list before, or the reverse; give the same kind to every call")
    if sparse.issparse(before) or sparse.issparse(more):
        return sparse.vstack([before, more]).tocsr()
    return np.concatenate([before, more]) if hasattr(before, "shape") else [*before, *more]
