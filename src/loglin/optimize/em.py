"""Expectation maximization from one or several starts, whatever is hidden: labels of a chain, or trees.

    E step   counts n of what the model draws, expected under q(y | x) ∝ q0(x, y)^β
    M step   relative frequencies of these counts, with λ added

With β = 1 no step lowers log-likelihood + λ Σ log p, the MAP value under a flat Dirichlet prior (Smith & Eisner 2005,
footnote 6). Deterministic annealing (Smith & Eisner 2004) begins with a smaller β, under which hills are flatter.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from loglin.optimize.record import LIMIT, Iteration, Result, Stop, StopTraining, converged
from loglin.optimize.reporter import Reporter

M = TypeVar("M")  # a generative model


class Hidden(Protocol[M]):
    """Data of which a part, labels or trees, is hidden."""

    def expected(self, model: M, beta: float) -> tuple[float, Any]:
        """log Σ_y q0(x, y)^β of all sentences, and expected counts with λ added."""
        ...

    def log_likelihood(self, model: M) -> float: ...

    def maximized(self, counts: Any) -> M: ...

    def log_prior(self, model: M) -> float:
        """λ Σ log p, over all that is smoothed."""
        ...

    def gradient_norm(self, model: M, counts: Any) -> float:
        """The norm of the MAP value's gradient by all logits, n(x) − p(x) Σ n: zero where EM stands still."""
        ...

    def active(self, model: M) -> int:
        """The number of probabilities above zero."""
        ...

    def tables(self, model: M) -> list[np.ndarray]:
        """The probabilities of a model, or their logarithms, for a checkpoint."""
        ...

    def model_of(self, tables: list[np.ndarray]) -> M:
        """The model that has these tables."""
        ...


@dataclass(frozen=True, eq=False)
class EMResult(Generic[M]):
    model: M
    log_likelihood: float  # of the model
    map_value: float  # log-likelihood + λ Σ log of all smoothed probabilities
    iterations: list[Iteration]  # of all starts; value is −log-likelihood
    map_values: list[float]  # of every iteration
    converged: bool
    stop: Stop
    starts: list[float]  # the log-likelihood that each start led to

    @property
    def stopped(self) -> str:
        """Why training stopped: a sentence."""
        return self.stop.text

    def result(self) -> Result:
        """The outcome as optimizers return it: the value is −log-likelihood, and a model stands for weights."""
        more = {"log_likelihood": self.log_likelihood, "map": self.map_value, "starts": self.starts}
        evaluations = len(self.iterations)
        value = -self.log_likelihood
        return Result(np.empty(0), value, self.stop, self.converged, self.iterations, evaluations, "", self.model, more)


@dataclass(frozen=True, eq=False)
class Climb(Generic[M]):
    """Where one start led to."""

    model: M
    log_likelihood: float
    map_value: float
    map_values: tuple[float, ...]  # of every iteration
    stop: Stop
    converged: bool = False


def best_climb(
    hidden: Hidden[M],
    starts: Iterable[M],
    beta: float,
    rate: float,
    max_iter: int,  # of each start
    tol: float,  # of the likelihood, as a part of it
    reporter: Reporter,
) -> EMResult[M]:
    """The model with the best likelihood that EM reaches from any start; a request to stop ends all starts."""
    climbs: list[Climb[M]] = []
    first = len(reporter.iterations)
    for start in starts:
        climbs.append(climb(hidden, start, beta, rate, max_iter, tol, reporter))
        reporter.evaluations += len(climbs[-1].map_values)
        if reporter.asked:
            break
    best = max(climbs, key=lambda c: c.log_likelihood)
    stop = climbs[-1].stop if reporter.asked else best.stop
    if len(climbs) > 1:
        stop = stop.also(f"the best of {len(climbs)} starts is kept")
    return EMResult(
        best.model,
        best.log_likelihood,
        best.map_value,
        reporter.since(first),
        [value for c in climbs for value in c.map_values],
        best.converged and not reporter.asked,
        stop,
        [c.log_likelihood for c in climbs],
    )


def climb(
    hidden: Hidden[M], model: M, beta: float, rate: float, max_iter: int, tol: float, reporter: Reporter
) -> Climb[M]:
    """Run EM from one start, in rounds of rising β up to 1, each until its likelihood hardly changes.

    The likelihood decides, not the MAP value: the prior has far more terms, which hide what text still teaches.
    """
    before, seen, done = math.nan, tuple[float, ...](), 0
    stage = reporter.stage(plain=hidden.tables, again=hidden.model_of)
    if stage.ended:
        tables, *rest = stage.outcome
        return Climb(hidden.model_of(tables), *rest)
    if stage.state is not None:
        tables, before, seen, beta, done = stage.state
        model = hidden.model_of(tables)

    def ended(reached: Climb[M], stop: Stop, converged: bool = False) -> Climb[M]:
        c = replace(reached, stop=stop, converged=converged)
        stage.end([hidden.tables(c.model), c.log_likelihood, c.map_value, c.map_values, c.stop, c.converged])
        return c

    for number in range(done + 1, max_iter + 1):
        stage.save([hidden.tables(model), before, seen, beta, number - 1])
        value, counts = hidden.expected(model, beta)
        log_likelihood = value if beta == 1 else hidden.log_likelihood(model)
        map_value = log_likelihood + hidden.log_prior(model)
        seen = (*seen, map_value)
        reached = Climb(model, log_likelihood, map_value, seen, Stop(LIMIT, ""))
        try:
            reporter.note(
                -log_likelihood, hidden.gradient_norm(model, counts), model, number, active=hidden.active(model)
            )
        except StopTraining as request:
            return ended(reached, request.stop)
        settled = abs(value - before) <= tol * abs(value)
        if settled and beta == 1:
            stop = converged(f"the likelihood changed by less than tol = {tol:g} of itself")
            return ended(reached, stop, converged=True)
        before = value
        if settled:
            beta, before = min(1.0, beta * rate), math.nan
        model = hidden.maximized(counts)
    at = "" if beta == 1 else f", while annealing was at {beta:.3g}"
    stop = Stop(LIMIT, f"max_iter = {max_iter} iterations were reached before convergence{at}")
    return ended(reached, stop)
