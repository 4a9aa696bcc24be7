"""What an optimizer reports: every iteration while it runs, and why it stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field

import numpy as np


@dataclass(frozen=True)
class Iteration:
    number: int
    value: float  # penalized objective
    gradient_norm: float
    active: int  # weights that are not zero
    evaluations: int
    seconds: float
    score: float | None = None  # on the development data, if there is any

    def as_dict(self) -> dict:
        return asdict(self)


@dataclass
class Result:
    weights: np.ndarray
    value: float
    stopped: str  # why: a sentence
    converged: bool
    iterations: list[Iteration] = field(default_factory=list)
    evaluations: int = 0


class StopTraining(Exception):
    """Raised by a callback to end training; the reason is reported, the best weights are kept."""


Callback = Callable[[Iteration, np.ndarray], None]
