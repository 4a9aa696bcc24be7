"""What there is to learn from, and a criterion made ready for the optimizer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from loglin.corpus.labels import Gold
from loglin.errors import LoglinError
from loglin.features.design import Design
from loglin.features.index import FeatureIndex
from loglin.threads import Threads


@dataclass
class Problem:
    """What there is to learn from."""

    design: Design
    gold: Any  # Gold; LabelSets where several labels can be right, Choices where examples bring candidates
    index: FeatureIndex
    labels: list
    order: int
    weight: np.ndarray | None  # of sentences
    l1: np.ndarray
    l2: np.ndarray
    threads: Threads
    seed: int = 0
    extractor: Any = None
    hidden: Gold | None = None  # what is annotated, where gold is what the dictionary allows

    def require_labels(self, criterion: str) -> None:
        """Most criteria compare with the whole truth."""
        if self.gold.all_certain:
            return
        offsets, unknown, where = self.design.offsets, np.flatnonzero(self.gold.codes < 0), ""
        if len(unknown):
            s = int(np.searchsorted(offsets, unknown[0], side="right")) - 1
            where = f"; sentence {s}, token {int(unknown[0] - offsets[s])} has none"
        raise LoglinError(
            f"criterion {criterion} needs one certain label for every token{where}: label it, or use "
            "criterion crf, which learns from partly labelled text"
        )


@dataclass
class Method:
    """A criterion made ready."""

    make: Callable[[type], Any]  # dtype → criterion
    start: np.ndarray | None = None
