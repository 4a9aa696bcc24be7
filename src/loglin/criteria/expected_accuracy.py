"""Expected accuracy of whole sequences."""

from __future__ import annotations

from dataclasses import dataclass

from loglin.criteria.criterion import Defaults
from loglin.criteria.of_probability import NEAR, OfProbability


@dataclass(frozen=True)
class ExpectedAccuracy(OfProbability):
    """Σ p(y | x)."""

    name = "expected-accuracy"
    # a sentence adds at most 1, where it adds its log-probability to a CRF: the CRF's penalty would win
    defaults = Defaults(l2=0.01, **NEAR)
    line = "the sum of the gold sequences' probabilities (Klein & Manning 2002)"
