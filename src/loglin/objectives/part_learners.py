"""A warm start on parts of a corpus that are not in memory together.

in this process   dual ascent goes from part to part with the same weights, and ends near the optimum as it does in
                  memory; what the weights are made of stands in the work folder while other parts are visited
by many workers   every part learns by itself, and weights are averaged (Mann et al. 2009), which is less near

L-BFGS on all parts goes on from there and alone decides convergence: with a convex objective it ends at the same
optimum as from anywhere else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from loglin.corpus.stored import StoredFile, load, store
from loglin.objectives.dual import MOST_EPOCHS, DualAscent, has_ended, new_dual, single_first
from loglin.objectives.stochastic import StochasticLearner, strength_of_ascent
from loglin.objectives.sums import LearningSum, Sums

FEW = 4  # parts at once: up to here going from part to part, one at a time, is quicker than more passes of L-BFGS
ROUNDS = 2  # of dual ascent over a part before the next one is visited, all but the first over hard sentences


class PartLearner:
    """Weights of all parts."""

    order = 1

    def __init__(self, whole: LearningSum, seed: int):
        self.whole, self.seed = whole, seed
        self._weights = np.zeros(whole.n_features)

    def get(self) -> np.ndarray:
        """What was learned so far; zero where parts learn apart, as no average is known yet."""
        return self._weights

    def comes_near(self, l1: np.ndarray, l2: np.ndarray) -> bool:
        """Whether dual ascent goes from part to part: all must learn by it, with the same penalties for all weights."""
        if self.whole.engine.at_once > FEW or not strength_of_ascent(l1, l2) > 0:
            return False
        objective, _ = self.whole.files[0].load(at_once=False)
        return isinstance(objective.learner(self.seed), StochasticLearner)

    def warm_start(
        self, l1: np.ndarray, l2: np.ndarray, report: Callable | None, tol: float, stage: Any = None
    ) -> np.ndarray:
        """Weights near the optimum of the penalized sum; a checkpoint keeps them, but nothing of the way to them."""
        if self.comes_near(l1, l2):
            self._ascend(strength_of_ascent(l1, l2), float(l1[0]), report or (lambda epoch, loss: None), tol)
        else:
            self._average(l1, l2, report, tol)
        found = self._weights
        return found if np.isfinite(found).all() else np.zeros_like(found)

    def _ascend(self, strength: float, l1: float, report: Callable, tol: float) -> None:
        """Sweeps over the parts, in each a few rounds of dual ascent over one after the other with the same weights.

        The weights fit best the parts that were visited last; their mean over the last sweep fits all of them.
        """
        parts = [_Part(file, strength, l1) for file in self.whole.files]
        tokens = np.array([part.tokens for part in self.whole.parts], float)
        gaps, losses, epochs = np.full(len(parts), np.inf), np.zeros(len(parts)), np.zeros(len(parts))
        rng, visited, sweep, last = np.random.default_rng(self.seed), 0.0, 0, (0.0, np.inf)
        shares = mean = np.zeros(self.whole.n_features)
        try:
            while visited < MOST_EPOCHS:
                mean = np.zeros(len(shares))
                for k in rng.permutation(len(parts)).tolist():
                    seed = (self.seed, sweep, k)
                    gaps[k], losses[k], epochs[k] = parts[k].visit(shares, seed, lambda: report(0, np.nan))
                    mean += shares / len(parts)
                visited, sweep = visited + float(epochs @ tokens) / max(tokens.sum(), 1.0), sweep + 1
                weights = cut_off(shares, l1 / strength)
                objective = losses.sum() + 0.5 * strength * float(weights @ weights) + l1 * float(np.abs(weights).sum())
                if has_ended(gaps.sum(), tol * objective, visited, last):
                    break
                last = visited, gaps.sum()
        finally:
            self._weights = cut_off(shares, l1 / strength)
            for part in parts:
                part.close()
        self._weights = cut_off(mean, l1 / strength)

    def _average(self, l1: np.ndarray, l2: np.ndarray, report: Callable | None, tol: float) -> None:
        """Weights of the parts, each learned with its share of the penalty, by how sure each part is of them.

        Σ over a part ≈ its share of Σ over all. Near its optimum w_p the part's objective is about
        ½ Σ_i c_pi·(w_i − w_pi)², c_p its curvature with its share of the penalty, and the sum of these is least at
        w = Σ_p c_p·w_p / Σ_p c_p; of features that a part lacks c_p is the penalty's share and w_p = 0.
        """
        whole, n = self.whole, self.whole.n_features
        tokens = sum(part.tokens for part in whole.parts)
        how: dict[str, Any] = {
            "l1": l1 if l1.any() else None,
            "shares": {part.file.path: part.tokens / max(tokens, 1) for part in whole.parts},
            "seed": self.seed,
            "tol": tol,
            "report": report if whole.engine.is_here else None,
        }
        given = np.concatenate([l2, np.zeros(n)])  # the sums have two numbers for every feature
        found = whole.engine.total(partial(learned, **how), whole.files, given).numbers
        self._weights = found[:n] / np.maximum(l2 + found[n:], 1e-300)


class _Part:
    """A part that dual ascent visits; between visits its lists of features and its dual are in files."""

    def __init__(self, file: StoredFile, strength: float, l1: float):
        self.file, self.strength, self.l1, self.begun = file, strength, l1, False
        self.lists, self.dual = f"{file.path}-lists", f"{file.path}-dual"

    def visit(self, shares: np.ndarray, seed: Sequence[int], pause: Callable[[], None]) -> tuple[float, float, float]:
        """A few rounds, which move ``shares``: the gap that is left, the losses met first, the epochs that it was."""
        objective, places = self.file.load(at_once=False)
        learner = objective.learner(0)
        if not len(learner.sentences):
            return 0.0, 0.0, 1.0
        learner.rng = np.random.default_rng(seed)
        if not self.begun:
            store(self.lists, (learner.scorer, single_first(learner)))
            tokens = np.zeros((learner.criterion.design.n_tokens, learner.scorer.width), learner.dtype)
            store(self.dual, new_dual(learner, tokens), zeros=True)
            self.begun = True
        learner.scorer, single = load(self.lists)
        own = shares[places]
        learner.reset(cut_off(own, self.l1 / self.strength))
        ascent = DualAscent(learner, self.strength, self.l1, single, load(self.dual, changes=True))
        ascent.go_on_from(own)
        losses, visited = 0.0, 0.0
        for number in range(ROUNDS):
            met, share = ascent.round(ascent.hard() if number else learner.sentences)
            losses, visited = losses if number else met, visited + share
            pause()
        shares[places] = ascent.shares
        return ascent.gap, losses, visited

    def close(self) -> None:
        """Remove the files."""
        for path in (self.lists, self.dual):
            with suppress(OSError):
                os.remove(path)


def cut_off(shares: np.ndarray, threshold: float) -> np.ndarray:
    """Weights nearer to zero by the threshold, or zero (kernels/ascent.py)."""
    return np.sign(shares) * np.maximum(np.abs(shares) - threshold, 0.0) if threshold else shares


def learned(
    file: StoredFile,
    l2: np.ndarray,
    l1: np.ndarray | None,
    shares: dict[str, float],
    seed: int,
    tol: float,
    report: Callable | None,
) -> Sums:
    """c·w of a part's features, and behind those of all features its curvature without the penalty, c − share·l2."""
    objective, places = file.load()
    share, n = shares[file.path], len(l2) // 2
    laplace = np.zeros(len(places)) if l1 is None else share * l1[places]
    penalty = share * l2[places]
    weights = objective.learner(seed).warm_start(laplace, penalty, report, tol)
    curvature = objective.curvature(weights).astype(np.float64)
    return Sums(0.0, np.concatenate([places, places + n]), np.concatenate([(penalty + curvature) * weights, curvature]))
