"""Optimizers called with plain numbers: one by name, or the default one."""

from __future__ import annotations

from loglin.optimize.fit import fit_weights as fit
from loglin.optimize.optimizers import optimizer
from loglin.optimize.penalties import Penalties
from loglin.optimize.record import ASKED, Stop
from loglin.optimize.reporter import Reporter
from loglin.optimize.run import Run


class Asked(Reporter):
    """A reporter that is asked to stop from the beginning."""

    def __init__(self, reason: str):
        super().__init__()
        self._asked = Stop(ASKED, reason)


def run_of(callback=None, stop=None, **given) -> Run:
    return Run(reporter=Asked(stop()) if stop else Reporter(callback), **given)


def solve_by(name, objective, start=None, *, l1, l2, tol=1e-4, callback=None, stop=None, **given):
    """The result of the optimizer of this name, in double precision."""
    run = run_of(callback, stop, optimizer=name, tol=tol, dtype="float64", **given)
    by = optimizer(name)
    by.check(bool((l1 != 0).any()))
    return by.minimize(lambda dtype: objective, Penalties(l1, l2), run, start, str)


def fit_weights(make, *, l1, l2, start=None, callback=None, stop=None, **given):
    """The result of the default optimizer."""
    return fit(make, Penalties(l1, l2), run_of(callback, stop, **given), start)
