"""Generalized and improved iterative scaling: every weight moves by how wrong its own expectation is.

    GIS   emp_j = E_j·exp(M·δ_j) + l2_j·(w_j + δ_j),                   M = max over pairs of f#(d, c)
    IIS   emp_j = Σ_{d,c} p(c|d)·f_j(d,c)·exp(f#(d,c)·δ_j) + l2_j·(w_j + δ_j),     f# = Σ_j f_j

E_j is what the model expects of f_j ≥ 0 and emp_j what the data have; both updates maximize a lower bound of the
gain that is exact at δ = 0, so the likelihood never falls (Darroch & Ratcliff 1972; Della Pietra et al. 1997; the
penalty: Chen & Rosenfeld 1999). Without a penalty δ_j = log(emp_j / E_j) / M, as in maxent_slides.

The slack feature f_s(d, c) = M − f#(d, c) makes the sum of all features constant. It needs no place in the model:
Σ λ_j·f_j + λ_s·(M − Σ f_j) = Σ (λ_j − λ_s)·f_j + a constant, so w = λ − λ_s, and E[f_s] = N·M − Σ_j E[f_j]. With
a penalty, which falls on w, it is left out; the bound needs f# ≤ M only (Curran & Clark 2003). It must not
be left out with M a usual sum in place of the largest one: then updates are too long.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from loglin.kernels import vectors as kernels
from loglin.kernels.scaling import scale_weights
from loglin.optimize.descent import Function, nearly_converged
from loglin.optimize.objective import Decisions
from loglin.optimize.record import Result, StopTraining, converged, limit
from loglin.optimize.reporter import Reporter

LONGEST = 10.0  # of M·δ in a round; only weights without a finite optimum want more
MOST_LEVELS = 64  # distinct sums that IIS tells apart; others are rounded up, which keeps the bound
ROOM = 50_000_000  # the most numbers that IIS keeps in memory
GRADIENT_TOL = 1e-10
ROUNDING = 1e-12

Update = Callable[[np.ndarray, np.ndarray], np.ndarray]  # weights, expectations → what to add to the weights


def scale_generalized(
    function: Function,
    decisions: Decisions,
    start: np.ndarray,
    *,
    l2: np.ndarray | float = 0.0,
    slack: bool = True,
    total: float | None = None,
    **limits,
) -> Result:
    """Minimize by GIS. ``total`` replaces M, the largest sum of a pair's features; below M the likelihood may fall."""
    empirical = decisions.empirical()
    M = float(decisions.feature_sums().max(initial=0.0)) if total is None else total
    strengths = np.full(start.shape, l2, np.float64)
    slack, delta = slack and not np.any(strengths), np.zeros(len(start))

    def update(w: np.ndarray, expected: np.ndarray) -> np.ndarray:
        _solve(np.array([M]), expected[:, None], empirical, w, strengths, delta)
        shift = 0.0
        if slack:
            given, ours = (decisions.mass * M - float(e.sum()) for e in (empirical, expected))
            if min(given, ours) > ROUNDING * decisions.mass * M:  # else it is no feature: 0 everywhere, or in the data
                shift = float(np.clip(np.log(given / ours), -LONGEST, LONGEST)) / M
        return delta - shift

    return _rounds(function, empirical, start, update, delta, strengths, **limits)


def scale_improved(
    function: Function, decisions: Decisions, start: np.ndarray, *, l2: np.ndarray | float = 0.0, **limits
) -> Result:
    """Minimize by IIS. Every weight has an equation of its own in δ, with a term for each sum f# that occurs."""
    empirical, pair_sums = decisions.empirical(), decisions.feature_sums()
    sums, levels = _levels(pair_sums, max(1, min(MOST_LEVELS, ROOM // len(start))))
    strengths, delta = np.full(start.shape, l2, np.float64), np.zeros(len(start))

    def update(w: np.ndarray, expected: np.ndarray) -> np.ndarray:
        _solve(sums, decisions.expected_by_level(w, levels, len(sums)), empirical, w, strengths, delta)
        return delta

    return _rounds(function, empirical, start, update, delta, strengths, **limits)


def _solve(sums, expected, empirical, w, strengths, delta) -> None:
    """Solve every weight's equation for δ, in place, from the δ of the round before."""
    longest = LONGEST / max(float(sums[-1]), 1e-300)
    scale_weights(sums, np.maximum(expected, 0.0, order="C"), empirical, w, strengths, longest, delta)


def _levels(pair_sums: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """At most ``most`` of the sums, rising, the largest included; and for every pair the next one not below it."""
    sums = np.unique(pair_sums[pair_sums > 0])
    if not len(sums):
        return np.ones(1), np.zeros(len(pair_sums), np.int32)
    sums = sums[np.unique(np.linspace(0, len(sums) - 1, most + 1).astype(int)[1:])] if len(sums) > most else sums
    return sums, np.searchsorted(sums, pair_sums).astype(np.int32)


def _rounds(
    function: Function,
    empirical: np.ndarray,
    start: np.ndarray,
    update: Update,
    delta: np.ndarray,  # of the update before, which the next begins with
    l2: np.ndarray,
    *,
    max_iter: int = 1000,
    tol: float = 1e-4,
    reporter: Reporter | None = None,
) -> Result:
    """Repeat updates until convergence; the expectations are the gradient without the penalty, E − emp, plus emp."""
    reporter, w = reporter or Reporter(), np.array(start, np.float64)
    first = len(reporter.iterations)
    values: list[float] = []
    scale = max(1.0, kernels.norm(empirical))
    stop, settled = limit(max_iter, "rounds"), False
    stage, done = reporter.stage(function), 0
    if stage.ended:
        return stage.outcome
    if stage.state is not None:
        w, values, done = stage.state["w"], stage.state["values"], stage.state["done"]
        stage.resume(lambda state: np.copyto(delta, state["delta"]))
    for number in range(done, max_iter + 1):
        stage.save({"w": w, "values": values, "done": number, "delta": delta})
        value, gradient = function(w)
        values.append(value)
        norm = kernels.norm(gradient)
        try:
            if number:
                reporter.note(value, norm, w, number + 1)
        except StopTraining as request:
            stop = request.stop
            break
        reason = nearly_converged(values, tol)
        if norm <= GRADIENT_TOL * scale:
            reason = f"expectations and counts differ by {norm:.3g}, practically nothing"
        if reason:
            stop, settled = converged(reason), True
            break
        if number < max_iter:
            w = w + update(w, gradient - l2 * w + empirical)
    return stage.end(Result(w, value, stop, settled, reporter.since(first), number + 1))
