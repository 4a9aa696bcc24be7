"""The best of several starts, where the objective has more than one optimum."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from loglin.optimize.record import Result
from loglin.optimize.reporter import Reporter

DIVERGED = 50.0  # without a prior, a weight of this size has no optimum near
CERTAIN = 0.01  # without a prior, so small a mean of −log p(x | N(x)) goes to 0


def best_of_starts(starts: Iterable[np.ndarray], solve: Callable[[np.ndarray], Result], reporter: Reporter) -> Result:
    """The result with the lowest value over all starts; a request to stop ends this start and all others."""
    results: list[Result] = []
    first = len(reporter.iterations)
    for weights in starts:
        results.append(solve(weights))
        if reporter.asked:
            break
    best = min(results, key=lambda r: r.value)
    if (asked := reporter.asked) and best is not results[-1]:
        best.stop, best.converged = asked.also(best.stop.text), False
    if len(results) > 1:
        values = ", ".join(f"{-r.value:,.2f}" for r in results)
        best.stop = best.stop.also(f"the best of {len(results)} starts ({values})")
        best.iterations = reporter.since(first)
    return best


def report_divergence(result: Result, free: np.ndarray, n_sentences: int) -> None:
    """Add to the result that weights without a prior grow without end, if they do: deletions of words let them."""
    largest = float(np.abs(result.weights[free]).max(initial=0.0))
    certain = bool(free.all()) and largest > 0 and result.value < CERTAIN * n_sentences
    if largest > DIVERGED or certain:
        result.converged = False
        how = f"the largest to {largest:.0f}" if not certain else "until every sentence is certain among its neighbors"
        result.unbounded = f"without a prior weights grow without end, {how}; give l2 above 0, 1 / variance"
        result.stop = result.stop.also(result.unbounded)
