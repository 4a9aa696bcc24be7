"""Held-out text that decides when to stop: the log-probability of its tokens under the weights met so far."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from loglin.corpus.plaintext import Text
from loglin.criteria.criterion import Way
from loglin.errors import LoglinError
from loglin.features.histories import HistoryExtractor
from loglin.features.words import Words
from loglin.kernels.history import Tree
from loglin.models.next_word import NextWordModel
from loglin.optimize.reporter import Judge


@dataclass(frozen=True)
class HeldOutText:
    """A text of which ends of sentences and unknown words are predicted too."""

    text: Text
    words: Words

    def __post_init__(self) -> None:
        if self.text.corpus.n_tokens == 0:
            raise LoglinError(f"{self.text.corpus.source} holds no words; give held-out text of at least one sentence")

    def judge(self, way: Way) -> Judge:
        """Scores weights by the mean log-probability of a token."""
        running = self.words.encode(self.text)
        ptr = np.arange(len(running) + 1)

        @cache  # the tree takes longer than the probabilities in it
        def tree(extractor: HistoryExtractor) -> tuple[Tree, np.ndarray]:
            return extractor.tree(running)

        def score(weights: np.ndarray) -> float:
            model = way.model(weights).predictor
            if isinstance(model, NextWordModel):
                return float(model.log_probabilities_in(*tree(model.extractor), ptr, running.words).mean())
            return float(model.log_probabilities(running, ptr, running.words).mean())

        return Judge(score, "likelihood")
