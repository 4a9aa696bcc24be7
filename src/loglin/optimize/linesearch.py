"""How far along a direction: the line search that every descent method shares.

φ(a) = f(w + a·d),  s = φ′(0) < 0
φ(a) ≤ φ(0) + 1e-4·a·s        sufficient decrease; where roundings hide it, φ′(a) ≤ 0.8·|s| in its place
φ′(a) ≥ bend·s                weak Wolfe: the slope is no longer steep
|φ′(a)| ≤ bend·|s|            strong Wolfe, if ``exact``: nearly the minimum along d
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass

import numpy as np

from loglin.kernels import vectors as kernels

MOST = 30  # evaluations of one search
NOISY = 5  # evaluations after which a search among roundings is given up
STEEP = 0.8  # where values differ by roundings alone, a slope of this much of the first, upwards, is too far
FARTHEST = 10.0  # the most that a secant may multiply a step by


@dataclass(frozen=True)
class Point:
    w: np.ndarray
    value: float
    gradient: np.ndarray
    step: float = 0.0  # how far along the direction it was found


@dataclass(frozen=True)
class Rules:
    """When a step is good enough, and how fast a short one grows."""

    bend: float = 0.9
    exact: bool = False
    growth: float = 2.0


def line_search(
    evaluate: Callable[[np.ndarray], Generator[np.ndarray, tuple, tuple[float, np.ndarray]]],
    along: Callable[[float], np.ndarray],
    here: Point,
    d: np.ndarray,
    descent: float,
    step: float,
    rules: Rules,
    gain: Callable[[np.ndarray], float] | None = None,
) -> Generator[np.ndarray, tuple, Point | None]:
    """Find a point along(step) that satisfies the rules; else the best one met, or None if none lowers the value.

    ``evaluate`` yields the weights and is sent value and gradient, so that many searches can share a pass.
    ``gain`` replaces a·s where along(a) is no straight line, and then sufficient decrease is enough.
    """
    low, high, best = (0.0, descent), (np.inf, np.nan), None  # (step, slope there)
    slack = float(np.finfo(here.gradient.dtype).eps) * abs(here.value)  # rounding is no rise
    for tried in range(MOST):
        w = along(step)
        value, gradient = yield from evaluate(w)
        expected = descent * step if gain is None else gain(w)
        rise = value - here.value - 1e-4 * expected
        slope = kernels.dot(gradient, d) if np.isfinite(value) else np.inf
        overshot = gain is None and slope > -STEEP * descent
        if not np.isfinite(value) or rise > slack or (rise > 0 and overshot):
            if tried >= NOISY and rise < 20 * slack:
                return best
            high = step, np.nan
            step = _shorter(low[0], step, value - here.value, descent)
            continue
        if best is None or not rules.exact or value <= best.value:
            best = Point(w, value, gradient, step)
        if gain is not None or abs(value - here.value) < 0.001 * slack:
            return best  # in the last case nothing changes but roundings, and slopes are no guide
        if slope < rules.bend * descent:
            before, low = low, (step, slope)
            step = _longer(before, low, high, rules)
        elif rules.exact and slope > -rules.bend * descent:
            high = step, slope
            step = _secant(low, high, 0.1, 0.9)
        else:
            return best
    return best


def _shorter(low: float, high: float, rise: float, descent: float) -> float:
    if not np.isfinite(rise):
        return 0.1 * high if low == 0 else 0.5 * (low + high)
    if low > 0:
        return 0.5 * (low + high)
    guess = -descent * high * high / (2 * (rise - high * descent))  # the parabola through value, slope and new value
    return float(np.clip(guess, 0.1 * high, 0.5 * high))


def _longer(before: tuple, low: tuple, high: tuple, rules: Rules) -> float:
    if not rules.exact or low[1] <= before[1]:
        return 0.5 * (low[0] + high[0]) if np.isfinite(high[0]) else low[0] * rules.growth
    if np.isfinite(high[0]):
        return _secant(low, high, 0.1, 0.9)
    wide = low[0] - before[0]
    guess = low[0] - low[1] * wide / (low[1] - before[1])  # where the slope would be zero
    return float(np.clip(guess, low[0] + 0.1 * wide, FARTHEST * low[0]))


def _secant(low: tuple, high: tuple, least: float, most: float) -> float:
    """Where the slope would be zero, well inside the bracket; its middle if one slope is unknown."""
    share = low[1] / (low[1] - high[1]) if np.isfinite(high[1]) else 0.5
    return float(low[0] + np.clip(share, least, most) * (high[0] - low[0]))
