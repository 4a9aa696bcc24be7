"""Generalized and improved iterative scaling as optimizers by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from loglin.errors import LoglinError
from loglin.optimize.optimizers.optimizer import Optimizer, decisions_of, start_of


class GIS(Optimizer):
    name, line = "gis", "generalized iterative scaling, for independent decisions and values of at least 0"

    def minimize(self, make, penalties, run, start, name) -> Any:
        import numpy as np

        from loglin.optimize.penalties import Penalized

        objective = make(np.float64)
        decisions = decisions_of(self, objective)
        found = decisions.negative()
        if found is not None:
            raise LoglinError(
                f"optimizer {self.name} needs values of at least 0, and {name(found)} has a negative one; shift the "
                "attribute's values, split it into a positive and a negative attribute, or use optimizer auto"
            )
        limits = {"max_iter": run.max_iter, "tol": run.tol, "reporter": run.reporter}
        function = Penalized(objective, penalties.l2)
        return self.scale()(function, decisions, start_of(objective, start), l2=penalties.l2, **limits)

    def scale(self) -> Callable:
        from loglin.optimize.scaling import scale_generalized

        return scale_generalized


class IIS(GIS):
    name, line = "iis", "improved iterative scaling, for independent decisions and values of at least 0"

    def scale(self) -> Callable:
        from loglin.optimize.scaling import scale_improved

        return scale_improved
