"""The protocol of models of the next word, and the votes by which a probability is explained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from loglin.features.words import RunningText, Words


@dataclass(frozen=True)
class Vote:
    """A part of log p; the votes for a word add up to it."""

    feature: str
    weight: float


class Predictor(Protocol):
    @property
    def words(self) -> Words: ...

    @property
    def n_features(self) -> int: ...

    @property
    def reach(self) -> int:
        """How many known words before a sentence its probabilities depend on."""

    def log_probabilities(self, running: RunningText, ptr: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """log p(target | history of its token): token t has targets[ptr[t]:ptr[t + 1]]."""

    def votes(self, running: RunningText, token: int, word: int) -> list[Vote]:
        """The votes for a word at a token, and the normalizer."""
