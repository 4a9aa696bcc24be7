"""What a criterion asks of a problem before it is numbered: annotation, and which features need weights."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Annotation(IntEnum):
    """How much of the truth is known."""

    HIDDEN = 0  # labels or trees may be missing altogether
    PARTIAL = 1  # some labels are missing, or known to be among several
    CERTAIN = 2


@dataclass(frozen=True)
class FeatureRequest:
    """Which features get a weight though the data do not show them."""

    all_pairs: bool = False  # every label bigram: none of the above speaks against steps never seen
    all_ngrams: bool = False  # every label n-gram, crossed or not: neighbors have n-grams that no sentence has


OBSERVED = FeatureRequest()
ALL_PAIRS = FeatureRequest(all_pairs=True)
ALL_NGRAMS = FeatureRequest(all_pairs=True, all_ngrams=True)
