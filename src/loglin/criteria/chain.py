"""Criteria of chains made ready: likelihoods, margins, and pieces with none of the above."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from loglin.criteria.settings import NUMBER, checked_value
from loglin.errors import LoglinError
from loglin.objectives.likelihood import ConditionalLikelihood
from loglin.objectives.local import LocalLikelihood, true_instances, wrong_instances, wrong_sources
from loglin.objectives.sentences import OfProbability, WholeSentences, local_marginals, scaled_likelihood
from loglin.optimize.fit import fit_weights
from loglin.optimize.lbfgs import minimize
from loglin.problems.problem import Method, Problem


def make_method(name: str, settings: dict, problem: Problem, start: np.ndarray | None) -> Method:
    """Prepare criterion ``name`` (any but hmm, perceptron and m-estimation, which go their own ways)."""
    p = problem
    arguments = (p.design, p.gold, p.index, p.weight)

    def likelihood(dtype: type, costs: np.ndarray | None = None) -> ConditionalLikelihood:
        return ConditionalLikelihood(*arguments, dtype, p.threads, costs)

    def whole(kind: str, costs: np.ndarray | None = None) -> Method:
        return Method(lambda dtype: WholeSentences(kind, *arguments, dtype, p.threads, costs), start)

    if name in ("crf", "likelihood"):
        return Method(likelihood, start)
    if name == "margin":
        costs = label_costs(settings["cost"], p.labels)
        if settings["loss"] == "hinge":
            p.require_labels("margin with loss=hinge")
            return whole("hinge", costs)
        return Method(lambda dtype: likelihood(dtype, costs), start)
    if name == "label-likelihood":
        return whole("label-likelihood")
    if name in ("accuracy", "expected-accuracy", "boosting"):
        sharpness = settings.get("sharpness", 1.0)
        if sharpness == 0:
            raise LoglinError("accuracy's setting sharpness is 0, which tells nothing apart; give a number above 0")
        return Method(lambda dtype: OfProbability(likelihood(dtype), name, sharpness), start)
    if name == "pseudolikelihood" and settings["nota"] != "none":
        if p.order == 2:
            raise LoglinError(
                "pseudolikelihood with nota works on chains of order 1; take T out of the template and order=1, "
                "or nota=none"
            )
        return whole({"all": "all-neighbors", "one": "one-neighbor"}[settings["nota"]])
    if name == "piecewise":
        return _piecewise(settings, p, start)
    true = true_instances(p.design, p.gold, p.order, p.weight, behind=name == "pseudolikelihood")
    return Method(lambda dtype: LocalLikelihood(p.design, p.index, true, False, dtype, p.threads), start)


def label_costs(cost: Any, labels: list) -> np.ndarray:
    """(L, L) what a label costs by the right one: a number, a mapping {(right, wrong): cost}, or its text."""
    L = len(labels)
    costs = 1.0 - np.eye(L)
    if isinstance(cost, str) and ">" in cost:
        try:
            parts = [part.rpartition(":") for part in cost.split(",")]
            cost = {tuple(pair.strip().split(">", 1)): float(number) for pair, _, number in parts}
        except ValueError:
            raise LoglinError(f"cost is {cost!r}; write right>wrong:number, separated by commas") from None
    if isinstance(cost, Mapping):
        names = {str(label): i for i, label in enumerate(labels)}
        for (right, wrong), number in cost.items():
            for label in (right, wrong):
                if str(label) not in names:
                    raise LoglinError(f"cost names {label!r}, which is no label of the data")
            costs[names[str(right)], names[str(wrong)]] = number
    else:
        costs *= checked_value("margin's setting cost", cost, NUMBER)
    np.fill_diagonal(costs, 0.0)
    if not np.isfinite(costs).all() or (costs < 0).any():
        raise LoglinError("a cost of a wrong label is negative or no finite number; give numbers of at least 0")
    return costs


def _piecewise(settings: dict, p: Problem, start: np.ndarray | None) -> Method:
    """The true steps and none-of-the-above instances: all of them, a sample, or the likely mistakes."""
    true, L = true_instances(p.design, p.gold, p.order, p.weight), p.index.n_labels
    nota = settings["nota"]
    if nota == "selected":
        if start is None:
            start = _partly_trained(settings["iterations"], p, true)
        wrong = _likely_mistakes(p, true, start, settings["threshold"])
    else:
        wrong = wrong_sources(true, L) if nota != "none" else np.zeros((len(true.tokens), L**p.order), bool)
        if nota == "sampled":
            share = min(1.0, settings["rate"] / max(wrong.shape[1] - 1, 1))
            wrong &= np.random.default_rng(p.seed).random(wrong.shape) < share
    instances = true.joined(wrong_instances(true, wrong, L))
    return Method(lambda dtype: LocalLikelihood(p.design, p.index, instances, True, dtype, p.threads), start)


def _partly_trained(iterations: int, p: Problem, true) -> np.ndarray:
    """An MEMM after a few iterations."""

    def make(dtype: type) -> LocalLikelihood:
        return LocalLikelihood(p.design, p.index, true, False, dtype, p.threads)

    few = fit_weights(make, l1=p.l1, l2=p.l2, warm_start=False, dtype="float32", max_iter=max(iterations, 1))
    return few.weights


def _likely_mistakes(p: Problem, true, weights: np.ndarray, threshold: float) -> np.ndarray:
    """Wrong labels (or pairs) before a token whose marginal probability exceeds the threshold."""
    L = p.index.n_labels
    marginals = np.full((1, 1), np.nan)
    chain = ConditionalLikelihood(p.design, p.gold, p.index, None, np.float32, p.threads)
    if p.order == 1:
        marginals = chain.step_marginals(weights)
    if not np.isfinite(marginals).all():  # second order, or out of the range of numbers
        marginals = local_marginals(chain, weights)
    likely = marginals > threshold
    likely[np.arange(len(likely)), p.gold.codes] = False
    before = np.zeros_like(likely)
    has = np.flatnonzero(true.before[:, -1] >= 0)
    before[has] = likely[has - 1]
    if p.order == 1:
        return before
    wrong = np.zeros((len(before), L, L), bool)
    token, label = np.nonzero(before)
    wrong[token, np.maximum(true.before[token, 0], 0), label] = True
    return wrong.reshape(len(before), -1)


def scale_factors(p: Problem, weights: np.ndarray, strength: float = 10.0, steps: int = 10) -> np.ndarray:
    """α per label before (the last: START) that make the pieces one chain: a few steps of global training.

    On separable data the likelihood has no finite optimum, hence a prior ½·strength·Σ(α − 1)² and few steps.
    """
    chain = ConditionalLikelihood(p.design, p.gold, p.index, None, np.float32, p.threads)

    def function(alpha: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = scaled_likelihood(chain, weights, alpha)
        return value + 0.5 * strength * float(((alpha - 1) ** 2).sum()), slope + strength * (alpha - 1)

    return minimize(function, np.ones(p.index.n_labels + 1), max_iter=steps, tol=1e-6).weights
