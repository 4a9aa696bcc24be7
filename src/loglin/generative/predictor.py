"""The protocol of models of the next word, and the votes by which a probability is explained."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from loglin.corpus.shown import Shown
from loglin.features.words import RunningText, Words


@dataclass(frozen=True)
class Vote:
    """A part of log p; the votes for a word add up to it."""

    feature: str
    weight: float


class Votes(Shown, list[Vote]):
    """The votes for a word behind a history; printed as a table."""

    def __init__(self, votes: Iterable[Vote], word: str):
        super().__init__(votes)
        self.word = word

    @property
    def probability(self) -> float:
        """p(word | history): e to the sum of all votes."""
        return math.exp(math.fsum(vote.weight for vote in self))

    def __str__(self) -> str:
        lines = [f"{vote.weight:+9.4f}  {vote.feature}" for vote in self]
        return "\n".join([f"{self.word!r} with probability {self.probability:.4g}", *lines])


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
