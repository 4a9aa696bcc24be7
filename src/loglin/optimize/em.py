"""Expectation maximization from one or several starts, whatever is hidden: labels of a chain, or trees.

    E step   counts n of what the model draws, expected under q(y | x) ∝ q0(x, y)^β
    M step   relative frequencies of these counts, with λ added

With β = 1 no step lowers log-likelihood + λ Σ log p, the MAP value under a flat Dirichlet prior (Smith & Eisner 2005,
footnote 6). Deterministic annealing (Smith & Eisner 2004) begins with a smaller β, under which hills are flatter.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar

from loglin.optimize.record import Iteration, StopTraining

M = TypeVar("M")  # a generative model
Callback = Callable[[Iteration, M], None]


class Hidden(Protocol[M]):
    """Data of which a part is hidden."""

    def expected(self, model: M, beta: float) -> tuple[float, Any]:
        """log Σ_y q0(x, y)^β of all sentences, and expected counts with λ added."""
        ...

    def log_likelihood(self, model: M) -> float: ...

    def maximized(self, counts: Any) -> M: ...

    def log_prior(self, model: M) -> float:
        """λ Σ log p, over all that is smoothed."""
        ...

    def gradient_norm(self, model: M, counts: Any) -> float:
        """Of the MAP value by the logits of all distributions, n(x) − p(x) Σ n: zero where EM stands still."""
        ...

    def active(self, model: M) -> int:
        """Probabilities above zero."""
        ...


@dataclass(frozen=True, eq=False)
class EMResult(Generic[M]):
    model: M
    log_likelihood: float  # of the model
    map_value: float  # log-likelihood + λ Σ log of all smoothed probabilities
    iterations: list[Iteration]  # of all starts; value is −log-likelihood
    map_values: list[float]  # of every iteration
    converged: bool
    stopped: str  # why: a sentence
    starts: list[float]  # the log-likelihood that each start led to


@dataclass
class Course(Generic[M]):
    """The iterations of all starts as one, told to a callback."""

    callback: Callback | None
    interrupted: Callable[[], str | None]
    began: float = field(default_factory=time.perf_counter)
    iterations: list[Iteration] = field(default_factory=list)
    map_values: list[float] = field(default_factory=list)

    def note(self, model: M, log_likelihood: float, map_value: float, norm: float, active: int) -> None:
        number, seconds = len(self.iterations) + 1, time.perf_counter() - self.began
        self.iterations.append(Iteration(number, -log_likelihood, norm, active, number, seconds))
        self.map_values.append(map_value)
        if self.callback is not None:
            self.callback(self.iterations[-1], model)
        if reason := self.interrupted():
            raise StopTraining(reason)


@dataclass(frozen=True, eq=False)
class Climb(Generic[M]):
    """Where one start led to."""

    model: M
    log_likelihood: float
    map_value: float
    stopped: str
    converged: bool = False
    ended: bool = False  # by a request, which holds for all starts


def best_climb(
    hidden: Hidden[M],
    starts: Iterable[M],
    beta: float,
    rate: float,
    max_iter: int,  # of each start
    tol: float,  # of the likelihood, as a part of it
    course: Course[M],
) -> EMResult[M]:
    """The model with the best likelihood that EM reaches from any start; a stop that is asked for ends them all."""
    climbs: list[Climb[M]] = []
    for start in starts:
        climbs.append(climb(hidden, start, beta, rate, max_iter, tol, course))
        if climbs[-1].ended:
            break
    best = max(climbs, key=lambda c: c.log_likelihood)
    stopped = climbs[-1].stopped if climbs[-1].ended else best.stopped
    if len(climbs) > 1:
        stopped += f"; the best of {len(climbs)} starts is kept"
    return EMResult(
        best.model,
        best.log_likelihood,
        best.map_value,
        course.iterations,
        course.map_values,
        best.converged and not climbs[-1].ended,
        stopped,
        [c.log_likelihood for c in climbs],
    )


def climb(
    hidden: Hidden[M], model: M, beta: float, rate: float, max_iter: int, tol: float, course: Course[M]
) -> Climb[M]:
    """EM from one start, in rounds of rising β up to 1, each until its likelihood hardly changes.

    The likelihood decides, not the MAP value: the prior has far more terms, which hide what text still teaches.
    """
    before = math.nan
    for _ in range(max_iter):
        value, counts = hidden.expected(model, beta)
        log_likelihood = value if beta == 1 else hidden.log_likelihood(model)
        reached = Climb(model, log_likelihood, log_likelihood + hidden.log_prior(model), "")
        norm, active = hidden.gradient_norm(model, counts), hidden.active(model)
        try:
            course.note(model, log_likelihood, reached.map_value, norm, active)
        except StopTraining as stop:
            return replace(reached, stopped=str(stop), ended=True)
        settled = abs(value - before) <= tol * abs(value)
        if settled and beta == 1:
            stopped = f"the likelihood changed by less than tol = {tol:g} of itself"
            return replace(reached, stopped=stopped, converged=True)
        before = value
        if settled:
            beta, before = min(1.0, beta * rate), math.nan
        model = hidden.maximized(counts)
    at = "" if beta == 1 else f", while annealing was at {beta:.3g}"
    return replace(reached, stopped=f"max_iter = {max_iter} iterations were reached before convergence{at}")
