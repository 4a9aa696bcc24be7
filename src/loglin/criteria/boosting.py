"""Boosting's exponential loss on whole sequences."""

from __future__ import annotations

from dataclasses import dataclass

from loglin.criteria.of_probability import OfProbability


@dataclass(frozen=True)
class Boosting(OfProbability):
    """Σ 1 / p(y | x)."""

    name = "boosting"
    rises = True
    line = "exponential loss of whole sequences (Collins 2000)"
