"""Label sets as people give them: sets of names, or a matrix of zeros and ones with a column for every label."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from loglin.corpus.labels import LabelSets, check_number, plain_labels
from loglin.errors import LoglinError


def is_indicator(y: Any, least_columns: int = 2) -> bool:
    """A matrix of zeros and ones; one column alone may as well be classes."""
    return isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] >= least_columns and bool(np.isin(y, (0, 1)).all())


def label_sets(y: Any, n: int) -> tuple[list, LabelSets]:
    """Labels in order, and which of the n examples has which."""
    if is_indicator(y, 1):
        has = np.asarray(y) > 0
        labels = list(range(has.shape[1]))
    else:
        labels, has = _has(y, n)
    check_number(len(labels))
    without = np.flatnonzero(~has.any(axis=0))
    if len(without):
        raise LoglinError(f"no example has the label {labels[without[0]]!r}; leave it out or give it one")
    return labels, LabelSets(has)


def _has(y: Any, n: int) -> tuple[list, np.ndarray]:
    if len(y) != n:
        raise LoglinError(f"there are {n} examples but {len(y)} label sets; give one for each, empty if it has none")
    for i, given in enumerate(y):
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise LoglinError(f"example {i}: its labels are {given!r}; give a set of labels, empty if it has none")
    y = plain_labels([tuple(given) for given in y])
    labels = sorted({label for given in y for label in given})
    if not labels:
        raise LoglinError("no example has a label; give at least one")
    number = {label: j for j, label in enumerate(labels)}
    has = np.zeros((n, len(labels)), bool)
    for i, given in enumerate(y):
        has[i, [number[label] for label in given]] = True
    return labels, has


def checked_threshold(threshold: Any) -> float:
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not np.isfinite(threshold):
        raise LoglinError(f"threshold is {threshold!r}; give a number or out-of-fold")
    return float(threshold)
