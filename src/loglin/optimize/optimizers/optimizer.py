"""The base class of optimizers: a name, what the optimizer needs, and how it minimizes a penalized objective."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from loglin.errors import LoglinError

if TYPE_CHECKING:
    import numpy as np

    from loglin.optimize.objective import Decisions
    from loglin.optimize.penalties import Penalties
    from loglin.optimize.record import Result
    from loglin.optimize.run import Make, Run

REGISTRY: dict[str, Optimizer] = {}

Name = Callable[[int], str]  # of a feature, for people


class Optimizer(ABC):
    """Minimizes objective(w) + Σ l1·|w| + ½ Σ l2·w²."""

    name: ClassVar[str]
    line: ClassVar[str]  # what it is, for --help and docs
    is_default: ClassVar[bool] = False
    takes_l1: ClassVar[bool] = False
    takes_any_curvature: ClassVar[bool] = False  # whether the objective need not be convex
    is_plain: ClassVar[bool] = False  # L-BFGS in one of its two forms, which criteria may steer

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        if "name" in cls.__dict__:
            REGISTRY[cls.name] = cls()

    @abstractmethod
    def minimize(self, make: Make, penalties: Penalties, run: Run, start: np.ndarray | None, name: Name) -> Result:
        """Minimize the penalized objective from ``start``, or from zero; ``name`` names features in messages."""

    def check(self, l1: bool) -> None:
        """Refuse an L1 penalty if this optimizer does not handle one."""
        if l1 and not self.takes_l1:
            raise LoglinError(
                f"optimizer {self.name} has no l1 penalty; set l1 to 0, or optimizer to auto, lbfgs or sgd"
            )


def decisions_of(optimizer: Optimizer, objective: Any) -> Decisions:
    """The independent decisions of an objective; refuses an objective without them, naming the optimizer."""
    from loglin.optimize.objective import HasDecisions

    decisions = objective.decisions if isinstance(objective, HasDecisions) else None
    if decisions is None:
        raise LoglinError(
            f"optimizer {optimizer.name} is for independent decisions with one certain class each, and here labels "
            "depend on their neighbors, are known in part or several at once; use optimizer auto, or on chains "
            "criterion memm"
        )
    return decisions


def start_of(objective: Any, start: np.ndarray | None) -> np.ndarray:
    """The weights to start from: those given, or all zero."""
    import numpy as np

    return np.zeros(objective.n_features) if start is None else np.asarray(start, np.float64)


def precision(run: Run) -> type:
    """The precision in which a single-phase optimizer works."""
    import numpy as np

    return np.float32 if run.single else np.float64
