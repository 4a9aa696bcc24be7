"""Epochs of passive-aggressive learning and of adaptive regularization on the weights of a stochastic learner."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from loglin.kernels.aggressive import aggressive_epoch
from loglin.kernels.perceptron import Learned
from loglin.objectives.stochastic import StochasticLearner
from loglin.optimize.checkpoint import Stage


@dataclass(frozen=True)
class Rule:
    """How far a mistake moves the weights: see kernels/aggressive.py."""

    power: float = 1.0  # of the number of wrong labels, in the margin
    most: float = math.inf
    slack: float = 0.0
    variance: float = 0.0  # of every weight in the beginning; 0: all have 1, for ever
    gamma: float = 1.0


def course(learner: StochasticLearner, rule: Rule, settled: bool) -> Callable[..., np.ndarray]:
    """The course of training that ``criteria.perceptron.epochs`` follows.

    If ``settled``, an average counts the epochs behind one without a mistake, in which nothing changes.
    """

    def run(epochs: int, report: Callable, averaged: bool, stage: Stage) -> np.ndarray:
        known, cube = learner.known, learner.cube
        weights = Learned(learner.table, learner.weights, learner.T, cube)
        delta, nothing = _like(weights, 0.0), Learned(*(part[:0] for part in weights))
        sums = _like(weights, 0.0) if averaged else nothing
        variance = _like(weights, rule.variance) if rule.variance else nothing
        predicted = np.zeros(learner.criterion.design.n_tokens, np.int32)
        clock, done = 0.0, 0
        if stage.state is not None:
            clock, done = stage.state["clock"], stage.state["done"]
        stage.resume(lambda state: learner.restore(state, cube, *sums, *variance))
        how = rule.power, rule.most, rule.slack, rule.gamma
        for epoch in range(done, epochs):
            stage.save(learner.state(cube, *sums, *variance) | {"clock": clock, "done": epoch})
            order = learner.rng.permutation(learner.sentences)
            given = (order, learner.text, known, weights, sums, delta, variance, clock)
            clock, loss = aggressive_epoch(*given, *how, predicted)
            if loss == 0 and settled:
                clock += len(order) * (epochs - epoch - 1)

            def learned(clock: float = clock) -> np.ndarray:
                last = _all(learner, weights)
                return last - _all(learner, sums) / (clock + 1) if averaged else last

            if report(epoch + 1, loss, learned) or loss == 0:
                break
        return learned()

    return run


def _like(arrays: Learned, value: float) -> Learned:
    return Learned(*(np.full_like(part, value) for part in arrays))


def _all(learner: StochasticLearner, arrays: Learned) -> np.ndarray:
    """The weights, or their sums, as one vector."""
    vector = learner.get(arrays[:3])
    learner.index.split(vector)[3][:] = arrays.cube.reshape(-1)[learner.index.triples]
    return vector
