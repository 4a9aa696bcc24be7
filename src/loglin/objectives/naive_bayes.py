"""Conditional likelihood in naive Bayes' own parameters and with its own smoothing (Klein and Manning 2002).

The model is that of models/naive_bayes.py, P(a | c) and P(c); only the objective changes from the joint to the
conditional likelihood, so that a difference in accuracy is due to nothing else:

    value(v, b) = −Σ_i log P(c_i | x_i) − α·Σ log P(a | c)        (Bernoulli: also − α·Σ log(1 − P(a | c)))

Parameters are free numbers v_ac, with log P(a | c) = v_ac − log Σ_a' exp v_a'c (Bernoulli: 1 / (1 + e^−v_ac)), and
b_c = log P(c). Weights follow from them, and the gradient by the chain rule from the likelihood's by the weights.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_expit, logsumexp

from loglin.objectives.likelihood import ConditionalLikelihood


class NaiveBayesLikelihood:
    """Value and gradient by a table (attributes, classes) of v, flattened; the row of the intercept holds b."""

    def __init__(self, likelihood: ConditionalLikelihood, intercept: np.ndarray, kind: str, alpha: float):
        self.likelihood, self.alpha = likelihood, alpha
        self.intercept = intercept  # (attributes,) bool, one of them
        self.bernoulli = kind == "bernoulli"

    def weights(self, parameters: np.ndarray) -> np.ndarray:
        """Of the log-linear model."""
        table = self._table(parameters).copy()
        v = table[~self.intercept]
        if self.bernoulli:
            table[self.intercept] += log_expit(-v).sum(axis=0)
        else:
            table[~self.intercept] = v - logsumexp(v, axis=0)
        return table.ravel()

    def parameters(self, weights: np.ndarray) -> np.ndarray:
        """The parameters that have these weights."""
        table = self._table(weights).copy()
        if self.bernoulli:
            table[self.intercept] -= log_expit(-table[~self.intercept]).sum(axis=0)
        return table.ravel()

    def __call__(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        v = self._table(parameters)[~self.intercept]
        value, flat = self.likelihood(self.weights(parameters))
        gradient = self._table(flat.astype(np.float64))
        slope, bias = gradient[~self.intercept], gradient[self.intercept]
        if self.bernoulli:
            p = expit(v)
            gradient[~self.intercept] = slope - p * bias - self.alpha * (1 - 2 * p)
            log_prior = (log_expit(v) + log_expit(-v)).sum()
        else:
            log_p = v - logsumexp(v, axis=0)
            by_log_p = slope - self.alpha
            gradient[~self.intercept] = by_log_p - np.exp(log_p) * by_log_p.sum(axis=0)
            log_prior = log_p.sum()
        return value - self.alpha * float(log_prior), gradient.ravel()

    def _table(self, flat: np.ndarray) -> np.ndarray:
        return np.asarray(flat).reshape(len(self.intercept), -1)
