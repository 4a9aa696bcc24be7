"""What an optimizer reports: every iteration while it runs, and why it stopped."""

from __future__ import annotations

import time
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
    unbounded: str = ""  # why no finite weights are best, where that is known: a sentence


class StopTraining(Exception):
    """Raised by a callback to end training; the reason is reported, the best weights are kept."""


Callback = Callable[[Iteration, np.ndarray], None]


class Journal:
    """Iterations as they come, told to a callback."""

    def __init__(self, callback: Callback | None = None):
        self.callback, self.began = callback, time.perf_counter()
        self.iterations: list[Iteration] = []

    def note(self, number: int, value: float, norm: float, w: np.ndarray, evaluations: int) -> None:
        seconds, active = time.perf_counter() - self.began, int(np.count_nonzero(w))
        self.iterations.append(Iteration(number, value, norm, active, evaluations, seconds))
        if self.callback is not None:
            self.callback(self.iterations[-1], w)
