"""Expected accuracy of whole sequences."""

from __future__ import annotations

from dataclasses import dataclass

from loglin.criteria.of_probability import OfProbability


@dataclass(frozen=True)
class ExpectedAccuracy(OfProbability):
    """Σ p(y | x)."""

    name = "expected-accuracy"
    line = "the sum of the gold sequences' probabilities (Klein & Manning 2002)"
