"""l2 = "auto": the strength of the penalty, chosen on held-out sentences.

some sentences ──┬─► the larger part: a model for each l2 tried ──┐
                 └─► the smaller part: its score ◄────────────────┴─► the best l2 ──► training on all sentences

The values tried are powers of three around the criterion's usual one; the search goes on in the direction in which the
score rises, and ends when it falls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from loglin.criteria.criterion import Criterion
from loglin.optimize.run import Run
from loglin.problems.chains import ChainProblem
from loglin.training.fit import require_checkpoint_of
from loglin.training.held_out import HeldOutLabels

AUTO = "auto"  # in place of a number
TOKENS = 30_000  # as many are looked at: more would take longer than training itself
HELD_OUT = 4  # every fourth sentence of them
FACTOR, MOST_TRIALS = 3.0, 8
ROUGH_TOL, ROUGH_ITERATIONS = 1e-3, 30


@dataclass(frozen=True)
class Strength:
    """An l2, and what it was chosen from."""

    l2: float
    trials: tuple[tuple[float, float], ...] = ()  # l2 and score of each
    n_held_out: int = 0
    best: float = 0.0  # for the sentences that were learnt from for the trials

    @property
    def text(self) -> str:
        """What was chosen and why: a sentence."""
        if not self.trials:
            return f"l2 {self.l2:.3g}, the usual one: there are too few labelled sentences to hold some out"
        found = ", ".join(f"{l2:.3g}: {score:.4f}" for l2, score in sorted(self.trials))
        more = "" if math.isclose(self.best, self.l2) else f", for all sentences {self.l2:.3g}"
        return f"l2 {self.best:.3g}{more}, chosen by the score on {self.n_held_out:,} held-out sentences ({found})"

    def record(self) -> dict[str, Any]:
        """What a model's record says of it."""
        trials = [{"l2": l2, "score": score} for l2, score in self.trials]
        return {"l2": self.l2, "l2_choice": self.text, "l2_trials": trials}


def parts(lengths: Sequence[int], certain: Sequence[bool], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Sentences to learn from and sentences to hold out, drawn at random; only those with certain labels are held out.

    Both are empty where there are too few.
    """
    size = np.asarray(lengths)
    order = np.random.default_rng(seed).permutation(len(size))
    order = order[: max(2, int(np.searchsorted(np.cumsum(size[order]), TOKENS)) + 1)]
    known = order[np.asarray(certain, bool)[order] & (size[order] > 0)]
    held = known[: min(len(known), len(order) // HELD_OUT)]
    if not len(held):
        return order[:0], held
    return np.setdiff1d(order, held), np.sort(held)


def choose(
    problem: ChainProblem, held_out: HeldOutLabels, criterion: Criterion, run: Run, n_sentences: int
) -> Strength:
    """The l2 whose score on held-out sentences is best.

    ``problem`` holds some of the ``n_sentences`` sentences that will be learnt from in the end.
    """
    require_checkpoint_of(problem, criterion, run, None, held_out)
    share = min(1.0, problem.design.n_sentences / max(n_sentences, 1))
    few = min(run.max_iter, ROUGH_ITERATIONS)
    rough = replace(run, tol=max(run.tol, ROUGH_TOL), max_iter=few, reporter=run.reporter.quietly())
    at = criterion.path(problem, rough)
    first = criterion.defaults.usual_l2 / criterion.l2_of(1.0, share)
    found = climb(first, lambda l2: held_out.score(at(l2)), run.reporter.check)
    best = summit(found)
    return Strength(criterion.l2_of(best, share), tuple(found.items()), held_out.design.n_sentences, best)


def summit(found: dict[float, float]) -> float:
    """Where the parabola through the best score and its neighbors has its maximum, on a logarithmic scale.

    The best one itself, the largest of several, where it has no neighbor on a side.
    """
    best = max(found, key=lambda l2: (found[l2], l2))
    below = max((l2 for l2 in found if l2 < best), default=None)
    above = min((l2 for l2 in found if l2 > best), default=None)
    if below is None or above is None:
        return best
    falls, rises = found[best] - found[below], found[best] - found[above]
    return best * FACTOR ** (0.5 * (falls - rises) / (falls + rises)) if falls + rises > 0 else best


def climb(
    first: float, score: Callable[[float], float], check: Callable[[], None] = lambda: None
) -> dict[float, float]:
    """The scores of ``first`` and of values a power of three away, up and down, until the score falls."""
    found = {first: score(first)}
    for factor in (1 / FACTOR, FACTOR):
        here, best = first, found[first]
        while len(found) < MOST_TRIALS:
            check()
            here *= factor
            found[here] = score(here)
            if found[here] <= best:
                break
            best = found[here]
        if best > found[first]:
            break
    return found
