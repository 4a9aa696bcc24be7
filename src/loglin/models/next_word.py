"""The log-linear model of the next word: p(w | h) ∝ exp(u_w + Σ_{attributes a of h} λ_{a,w})."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loglin.features.histories import HistoryExtractor
from loglin.features.words import RunningText, Words
from loglin.kernels import history as kernels

_NONE = np.empty(0)


@dataclass(frozen=True, eq=False)
class NextWordModel:
    extractor: HistoryExtractor
    weights: np.ndarray  # (predicted words + features,) float64

    @property
    def words(self) -> Words:
        return self.extractor.words

    @property
    def n_features(self) -> int:
        return len(self.weights)

    def log_probabilities(self, running: RunningText, ptr: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """log p(target | history of its token): token t has targets[ptr[t]:ptr[t + 1]]."""
        tree, of_token = self.extractor.tree(running)
        per_token = np.diff(ptr)
        history = np.repeat(of_token, per_token)
        order = np.argsort(history, kind="stable")
        cuts = np.concatenate([[0], np.cumsum(np.bincount(history, minlength=len(tree.count)))]).astype(np.int64)
        log_p = np.empty(len(targets))
        n, weights = self.words.n_predicted, self.weights
        features = kernels.Features(self.extractor.ptr, self.extractor.targets, weights[n:], _NONE)
        wanted = kernels.Targets(cuts, targets[order].astype(np.int32), log_p)
        kernels.visit(tree, 0, len(tree.document_of), weights[:n], features, _NONE, wanted)
        out = np.empty(len(targets))
        out[order] = log_p
        return out
