"""Functions to be minimized whose minimum is known or found by several optimizers."""

from __future__ import annotations

import numpy as np
import pytest

from loglin.corpus.labels import Gold
from loglin.features.design import Design, Incidence
from loglin.features.index import build_index
from loglin.objectives.exponential import ExponentialLoss, sentence_features
from loglin.optimize.lbfgs import minimize
from loglin.optimize.newton import minimize_newton
from loglin.optimize.penalties import Penalized


def bowl(n=30, seed=0):
    """A badly scaled convex quadratic: value and gradient, and its minimum."""
    rng = np.random.default_rng(seed)
    scales = 10 ** rng.uniform(-2, 2, n)
    target = rng.normal(size=n)

    def function(w):
        d = w - target
        return float(0.5 * (scales * d) @ d) + 1.0, scales * d

    return function, scales, target


def loss_of(rows, expected, weights=None) -> ExponentialLoss:
    """The loss of sentences whose features are the given numbers: one token and one label each."""
    rows = np.array(rows, float)
    sentence, feature = np.nonzero(rows)
    ptr = np.concatenate([[0], np.cumsum((rows != 0).sum(axis=1))])
    tokens = Incidence(ptr, feature.astype(np.int32), rows[sentence, feature])
    n = len(rows)
    design = Design(np.arange(n + 1), tokens, Incidence.empty(n), rows.shape[1], 0)
    gold = Gold.certain(np.zeros(n, int), 1)
    index = build_index(design, gold, True, False, 1)
    return ExponentialLoss(sentence_features(design, gold, index), np.array(expected, float), weights, np.float64)


def solved(loss: ExponentialLoss, solver: str, l2: float = 0.0) -> tuple[np.ndarray, float]:
    start = np.zeros(loss.n_features)
    if solver == "dual":
        weights, value, _ = loss.dual_ascent(l2, 1e-17, 500, 0, lambda *_: None)  # until rounding is reached
        return weights, value
    if solver == "lbfgs":
        result = minimize(Penalized(loss, l2), start, tol=1e-15, gradient_tol=1e-11)
    else:

        def product(w, v):
            return loss.hessian_product(w, v) + l2 * v

        result = minimize_newton(Penalized(loss, l2), product, start, tol=1e-17)
    assert result.converged
    return result.weights, result.value


def check_gradient(function, weights, rng: np.random.Generator, n: int = 40) -> None:
    """Assert that the gradient's entries of n random features are central differences of the value."""
    value, gradient = function(weights)
    for f in rng.choice(len(weights), min(n, len(weights)), replace=False):
        step = np.zeros_like(weights)
        step[f] = 1e-6
        slope = (function(weights + step)[0] - function(weights - step)[0]) / 2e-6
        assert gradient[f] == pytest.approx(slope, rel=2e-5, abs=2e-6 * max(1.0, abs(value)))
