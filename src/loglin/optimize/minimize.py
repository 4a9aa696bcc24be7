"""Minimize an objective by the optimizer that a run names, and report where no finite weights are best."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from loglin.errors import LoglinError
from loglin.optimize.objective import HasDecisions, Objective
from loglin.optimize.optimizers import optimizer
from loglin.optimize.penalties import Penalties
from loglin.optimize.record import SEPARABLE, Result, Stop
from loglin.optimize.run import Make, Run
from loglin.optimize.separation import ALL_RIGHT, recession, separated, unbounded


def minimize(
    make: Make,
    penalties: Penalties,
    run: Run,
    start: np.ndarray | None = None,
    name: Callable[[int], str] = "feature {}".format,
) -> Result:
    """Minimize make(dtype)(w) + Σ l1·|w| + ½ Σ l2·w²; ``name`` says in messages what a feature is.

    Without any penalty, training ends when the weights separate all classes, as the weights would grow for ever.
    """
    made: list[Objective] = []
    by = optimizer(run.optimizer)
    by.check(bool(np.any(penalties.l1)))

    def remember(dtype: type) -> Objective:
        made[:] = [make(dtype)]
        return made[0]

    free = penalties.free
    if free.all():
        run.reporter.question = lambda: Stop(SEPARABLE, ALL_RIGHT) if separated(made[0]) else None
    try:
        result = by.minimize(remember, penalties, run, start, name)
    finally:
        run.reporter.question = lambda: None
    if result.stop.kind == SEPARABLE:
        result.unbounded = result.stop.text
    elif free.any():
        _report_unbounded(result, made[0], free, name)
    return result


def _report_unbounded(result: Result, objective: Any, free: np.ndarray, name: Callable[[int], str]) -> None:
    """Add to the result what proves that no finite weights are best."""
    decisions = objective.decisions if isinstance(objective, HasDecisions) else None
    if decisions is None:
        return
    growing = unbounded(decisions, free)
    remedy = "give l2 above 0" if free.all() else "give them a penalty too, or data in which other classes have them"
    if len(growing):
        result.unbounded = (
            f"{len(growing):,} of {len(free):,} weights have no finite optimum without a prior, such as that of "
            f"{name(int(growing[0]))}; {remedy}"
        )
    elif free.all() and recession(decisions, free):
        result.unbounded = f"some classes are separable from others: without a prior weights grow without end; {remedy}"
    if result.unbounded:
        result.converged, result.stop = False, result.stop.also(result.unbounded)


def require_finite(result: Result) -> None:
    """Refuse a result whose objective is not a finite number."""
    if not math.isfinite(result.value):
        raise LoglinError(
            "the objective is no finite number: some attribute values or penalties are too large; lower them"
        )
