"""The log-linear model of the next word: p(w | h) ∝ exp(u_w + Σ_{attributes a of h} λ_{a,w})."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from loglin.features.histories import HistoryExtractor
from loglin.features.words import RunningText, Words
from loglin.generative.predictor import Vote
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

    @property
    def reach(self) -> int:
        return 0 if self.extractor.triggers is None else self.extractor.triggers.window

    @cached_property
    def _factors(self) -> np.ndarray:
        return np.exp(self.weights[self.words.n_predicted :])

    def log_probabilities(self, running: RunningText, ptr: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """log p(target | history of its token): token t has targets[ptr[t]:ptr[t + 1]]."""
        return self.log_probabilities_in(*self.extractor.tree(running), ptr, targets)

    def log_probabilities_in(
        self, tree: kernels.Tree, of_token: np.ndarray, ptr: np.ndarray, targets: np.ndarray
    ) -> np.ndarray:
        """The same for the tree of the histories and the history of every token, which do not depend on the weights."""
        per_token = np.diff(ptr)
        history = np.repeat(of_token, per_token)
        order = np.argsort(history, kind="stable")
        cuts = np.concatenate([[0], np.cumsum(np.bincount(history, minlength=len(tree.counts)))]).astype(np.int64)
        log_p = np.empty(len(targets))
        n, weights = self.words.n_predicted, self.weights
        features = kernels.Features(self.extractor.ptr, self.extractor.targets, self._factors, _NONE)
        wanted = kernels.Targets(cuts, targets[order].astype(np.int32), log_p)
        kernels.visit(tree, 0, len(tree.path), weights[:n], features, _NONE, wanted)
        out = np.empty(len(targets))
        out[order] = log_p
        return out

    def votes(self, running: RunningText, token: int, word: int) -> list[Vote]:
        """The weights of all active features of a word at a token, the largest first, and −log Z."""
        tree, of_token = self.extractor.tree(running)
        history = int(of_token[token])
        group = int(np.searchsorted(tree.histories, history, side="right")) - 1
        active = [
            *tree.path[group][tree.path[group] >= 0].tolist(),
            *tree.history_attributes[tree.history_ptr[history] : tree.history_ptr[history + 1]].tolist(),
        ]
        n, ptr, votes = self.words.n_predicted, self.extractor.ptr, []
        for attribute in active:
            first, last = ptr[attribute], ptr[attribute + 1]
            for place in (np.flatnonzero(self.extractor.targets[first:last] == word) + first).tolist():
                votes.append(Vote(self.extractor.name(attribute), float(self.weights[n + place])))
        votes = [Vote("unigram", float(self.weights[word])), *sorted(votes, key=lambda v: -abs(v.weight))]
        cuts = np.zeros(len(running) + 1, np.int64)
        cuts[token + 1 :] = 1
        log_p = float(self.log_probabilities(running, cuts, np.array([word]))[0])
        return [*votes, Vote("−log Z", log_p - sum(v.weight for v in votes))]
