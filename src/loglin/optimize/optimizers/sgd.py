"""Stochastic gradient descent as an optimizer by name."""

from __future__ import annotations

from typing import Any, ClassVar

from loglin.errors import LoglinError
from loglin.optimize.optimizers.optimizer import Optimizer, precision, start_of


class SGD(Optimizer):
    name, line = "sgd", "stochastic gradient descent, one sentence after the other, steps chosen by itself"
    takes_l1 = True
    averaged: ClassVar[bool] = False

    def minimize(self, make, penalties, run, start, name) -> Any:
        from loglin.optimize.objective import HasLearner
        from loglin.optimize.penalties import Penalized
        from loglin.optimize.stochastic import descend_stochastically

        objective: Any = make(precision(run))
        learner = objective.learner(run.seed) if isinstance(objective, HasLearner) else None
        if learner is None or learner.order == 2:
            raise LoglinError(
                f"optimizer {self.name} takes one sentence at a time, which this criterion (or order 2) does not "
                "allow; use optimizer auto"
            )
        return descend_stochastically(
            Penalized(objective, penalties.l2),
            learner,
            start_of(objective, start),
            l1=penalties.l1,
            l2=penalties.l2,
            averaged=self.averaged,
            max_iter=run.max_iter,
            tol=run.tol,
            reporter=run.reporter,
        )


class AveragedSGD(SGD):
    name, line = "averaged-sgd", "the average of what stochastic gradient descent passes through"
    takes_l1 = False
    averaged = True
