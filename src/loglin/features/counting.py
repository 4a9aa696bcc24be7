"""Attributes counted part by part: sorted runs on disk, merged in bounded memory with the cut-off applied on the way.

    part ── factorized ──► keys, counts and order of first use of every template, sorted by key ──► a run on disk
    runs ── merged, a range of keys at a time ──► keys seen often enough, in order of first use

The order of first use over all parts is that of the whole corpus, so that attributes have the numbers which they
would have had if the corpus had been counted at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from loglin.features.extract import TemplateExtractor
from loglin.features.folding import Fitted

AT_ONCE = 4_000_000  # entries of runs that are merged at a time, 24 bytes each and as much again to sort them
SAMPLED = 1024  # every so many keys of a run one is looked at to choose the ranges


@dataclass(frozen=True)
class Run:
    """The distinct keys of a template in one part, sorted."""

    keys: np.ndarray  # (keys,) int64
    counts: np.ndarray  # (keys,) int64
    order: np.ndarray  # (keys,) int64: rises with the first use in the whole corpus

    @classmethod
    def of(cls, fitted: Fitted, part: int) -> Run:
        sort = np.argsort(fitted.keys)
        return cls(fitted.keys[sort], fitted.counts[sort], (part << 40) + sort)


def number_attributes(extractor: TemplateExtractor, parts: Sequence[list[Run]], min_count: int) -> None:
    """Number the attributes of all parts that are seen often enough; every part has a run of every template."""
    shared = extractor.templates.tool is not None  # templates may count together, which is known when all are merged
    fitted = []
    for number, template in enumerate(extractor.observed_templates):
        least = 1 if shared else max(min_count, template.min_count)
        keys, counts = merged([runs[number] for runs in parts], least)
        fitted.append(Fitted(template, keys, np.empty(0, np.int32), counts))
    extractor.number(fitted, min_count)


def merged(runs: Sequence[Run], least: int) -> tuple[np.ndarray, np.ndarray]:
    """The keys that all runs together have at least so often, in order of first use, and their counts."""
    kept = [_range(runs, begin, end, least) for begin, end in _ranges(runs)]
    keys, counts, order = (np.concatenate([np.empty(0, np.int64), *column]) for column in zip(*kept, strict=True))
    sort = np.argsort(order)
    return keys[sort], counts[sort]


def _ranges(runs: Sequence[Run]) -> Iterator[tuple[int, int]]:
    """Ranges of keys that cover all, with about AT_ONCE entries in each."""
    samples = np.sort(np.concatenate([run.keys[::SAMPLED] for run in runs]))
    cuts = np.unique(samples[AT_ONCE // SAMPLED :: AT_ONCE // SAMPLED])
    return pairwise([0, *cuts.tolist(), np.iinfo(np.int64).max])


def _range(runs: Sequence[Run], begin: int, end: int, least: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keys, counts and order of the keys from begin to end − 1 that are seen often enough."""
    cuts = [np.searchsorted(run.keys, [begin, end]) for run in runs]
    keys, counts, order = (
        np.concatenate([getattr(run, name)[b:e] for run, (b, e) in zip(runs, cuts, strict=True)])
        for name in ("keys", "counts", "order")
    )
    sort = np.argsort(keys, kind="stable")  # runs come in their order, so the first of equal keys is the first used
    keys = keys[sort]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    sums = np.add.reduceat(counts[sort], first) if len(first) else counts
    keep = sums >= least
    return keys[first][keep], sums[keep], order[sort][first][keep]
