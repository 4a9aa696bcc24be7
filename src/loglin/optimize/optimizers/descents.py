"""Optimizers that descend along directions: L-BFGS with and without its preparations, gradients, conjugate ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from loglin.optimize.optimizers.optimizer import Optimizer, precision, start_of

if TYPE_CHECKING:
    from loglin.optimize.descent import Direction


class Auto(Optimizer):
    name, line = "auto", "a stochastic start where the criterion has one, then L-BFGS in scaled variables"
    is_default = takes_l1 = takes_any_curvature = is_plain = True

    def minimize(self, make, penalties, run, start, name) -> Any:
        from loglin.optimize.fit import fit_weights

        return fit_weights(make, penalties, run, start)


class LBFGS(Optimizer):
    name, line = "lbfgs", "L-BFGS from zero, OWL-QN with an l1 penalty"
    takes_l1 = takes_any_curvature = is_plain = True

    def minimize(self, make, penalties, run, start, name) -> Any:
        from loglin.optimize.fit import fit_weights

        return fit_weights(make, penalties, replace(run, warm_start=False, scaled=False), start)


class GradientAscent(Optimizer):
    name, line = "gradient", "steepest ascent with a nearly exact line search"
    takes_any_curvature = True

    def minimize(self, make, penalties, run, start, name) -> Any:
        from loglin.optimize.bounds import LowerBound
        from loglin.optimize.descent import Descent, Goal
        from loglin.optimize.fit import hessian_diagonal
        from loglin.optimize.penalties import Penalized

        objective = make(precision(run))
        w = start_of(objective, start)
        diagonal = hessian_diagonal(objective, w, penalties.l2)
        goal = Goal(run.tol, LowerBound.of(objective, penalties), diagonal, run.certify)
        descent = Descent(w, self.direction(), goal=goal, reporter=run.reporter)
        return descent.run(Penalized(objective, penalties.l2), run.max_iter)

    def direction(self) -> Direction:
        from loglin.optimize.ascent import Steepest

        return Steepest()


class ConjugateGradient(GradientAscent):
    name, line = "conjugate-gradient", "Polak and Ribière's conjugate gradients"

    def direction(self) -> Direction:
        from loglin.optimize.conjugate import Conjugate

        return Conjugate()
