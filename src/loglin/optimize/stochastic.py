"""Stochastic gradient descent: one step per sentence, with steps that need no tuning.

    w ← w − η·(E_model[f] − f) for a sentence,   w ← w / (1 + η·l2·share) for every sixteenth of the data
    η = η₀ / (1 + η₀·l2·epochs)

η₀ is the power of two that loses least in one pass over a sample, not less than is always safe, and is halved
whenever a look at the objective finds it higher than before: then noise is larger than the distance still to go. In
the end η falls as 1/(l2·t), under which the error falls as 1/t. Averaging weighs late weights more (Shamir & Zhang
2013, polynomial decay), which forgets the beginning and removes most of the noise.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from loglin.kernels import vectors as kernels
from loglin.optimize.checkpoint import fields_of, set_fields
from loglin.optimize.descent import Function
from loglin.optimize.objective import Learner
from loglin.optimize.penalties import absolute
from loglin.optimize.record import Result, StopTraining, converged, limit
from loglin.optimize.reporter import Reporter

LOOKS = 1.2  # the objective is evaluated again after this many times as many epochs
DECAY = 3  # of an average's memory: weights of step k count about as k³
LEAST_TOL = 1e-5  # noise hides what is smaller
GUESSES = 3  # in a row that must be below tol, since noise makes single ones so
MOST_RESTARTS = 20  # with half the step, if steps were too long


def descend_stochastically(
    function: Function,
    learner: Learner,
    start: np.ndarray,
    *,
    l1: np.ndarray,
    l2: np.ndarray,
    averaged: bool = False,
    max_iter: int = 1000,
    tol: float = 1e-4,
    reporter: Reporter | None = None,
) -> Result:
    """Minimize ``function`` + Σ l1·|w| from ``start``; ``max_iter`` counts epochs.

    Stops when three times in a row the improvement still to come, if the error falls as 1/epochs, is below ``tol``.
    """
    reporter, tol = reporter or Reporter(), max(tol, LEAST_TOL)
    first = len(reporter.iterations)
    stage = reporter.stage(function)
    if stage.ended:
        return stage.outcome
    looks: list[tuple[int, float]] = []  # (epochs, objective)
    w, value, next_look, done = start, math.inf, 1, 0
    if (state := stage.state) is not None:
        w, value, next_look, looks, done = (state[k] for k in ("w", "value", "next_look", "looks", "done"))
    run = _Run(learner, start, l1, l2, averaged, fresh=state is None)
    stage.resume(lambda state: run.restore(state["run"]))
    stop, settled = limit(max_iter, "epochs"), False
    try:
        for epoch in range(done + 1, max_iter + 1):
            about = {"w": w, "value": value, "next_look": next_look, "looks": looks, "done": epoch - 1}
            stage.save(about | {"run": run.state()})
            run.epoch()
            if epoch < next_look and epoch < max_iter and not reporter.asked:
                continue
            next_look = max(epoch + 1, math.ceil(LOOKS * epoch))
            w = run.weights()
            value, gradient = function(w)
            value += absolute(l1, w)
            if looks and value > looks[-1][1]:
                run.first /= 2
            skipped = epoch - 1 - (looks[-1][0] if looks else 0)
            looks.append((epoch, value))
            reporter.note(value, kernels.norm(gradient), w, epoch + len(looks), skipped=skipped)
            left = _left(looks)
            if left < tol * abs(value):
                share = left / max(abs(value), 1e-300)
                text = f"the objective would improve by about {share:.1g} of itself, less than tol = {tol:g}"
                stop, settled = converged(text), True
                break
    except StopTraining as request:
        stop = request.stop
    evaluations = looks[-1][0] + len(looks) if looks else 0
    return stage.end(Result(w, value, stop, settled, reporter.since(first), evaluations))


def _left(looks: list[tuple[int, float]]) -> float:
    """The improvement still to come after the last look, c/e₂ with c/e₁ − c/e₂ = gain: the largest recent estimate."""
    if len(looks) <= GUESSES:
        return math.inf
    guesses = [
        abs(before - now) / (late / early - 1) for (early, before), (late, now) in pairwise(looks[-GUESSES - 1 :])
    ]
    return max(guesses)


class _Run:
    STATE = ("first", "restarts", "steps", "epochs")

    def __init__(self, learner: Learner, start, l1, l2, averaged: bool, fresh: bool = True):
        self.learner, self.start, self.averaged = learner, start, averaged
        self.penalty, self.l2 = learner.penalties(l1, l2), float(np.mean(l2)) if len(l2) else 0.0
        self.first = max(learner.search_step(self.penalty), learner.safe_step()) if fresh else math.nan
        self.restarts = 0
        self.restart()

    def restart(self) -> None:
        self.learner.reset(self.start)
        self.steps, self.epochs = 0, 0
        self.average = [a.copy() for a in self.learner.arrays]

    def state(self) -> dict[str, Any]:
        return fields_of(self, self.STATE) | {"average": list(self.average), "learner": self.learner.state()}

    def restore(self, state: dict[str, Any]) -> None:
        set_fields(self, self.STATE, state, 0)
        self.learner.restore(state["learner"])
        for mine, mean in zip(self.average, state["average"], strict=True):
            mine[...] = mean

    def epoch(self) -> None:
        """Make one pass over the sentences in a new order; if steps were too long, again with half of them."""
        while not np.isfinite(self.learner.descent_epoch(self.step_at, self.penalty, self.block_done)):
            if self.restarts == MOST_RESTARTS:
                raise StopTraining("no step was short enough: some attribute values are too large; scale them")
            self.restarts, self.first = self.restarts + 1, self.first / 2
            self.restart()
        self.epochs += 1

    def step_at(self, done: float) -> float:
        """The step size after a share ``done`` of this epoch."""
        return self.first / (1 + self.first * self.l2 * (self.epochs + done))

    def block_done(self) -> None:
        self.steps += 1
        if self.averaged:
            share = min(1.0, (DECAY + 1) / (self.steps + DECAY))
            for mean, now in zip(self.average, self.learner.arrays, strict=True):
                mean += (share * (now - mean)).astype(mean.dtype)

    def weights(self) -> np.ndarray:
        return self.learner.get(self.average) if self.averaged else self.learner.get()
