"""Accuracy of whole sequences, smoothed."""

from __future__ import annotations

from dataclasses import dataclass

from loglin.criteria.criterion import Defaults
from loglin.criteria.of_probability import NEAR, OfProbability
from loglin.criteria.settings import number
from loglin.errors import LoglinError


@dataclass(frozen=True)
class Accuracy(OfProbability):
    """Σ p_γ(y | x) with p_γ ∝ exp(γ · score): towards counting errors as γ grows."""

    name = "accuracy"
    # with v = γ·w it is expected accuracy with l2 / γ²: with γ = 4, a quarter of that criterion's own
    defaults = Defaults(l2=0.04, **NEAR)
    line = "smoothed accuracy of whole sequences (Juang & Katagiri 1992)"
    sharpness: float = number(4.0, "γ, which sharpens probabilities")

    def check(self) -> None:
        if self.sharpness == 0:
            raise LoglinError("accuracy's setting sharpness is 0, which tells nothing apart; give a number above 0")

    def exponent(self) -> float:
        return self.sharpness
