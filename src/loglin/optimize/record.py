"""What an optimizer reports: every iteration while it runs, and why it stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from loglin.optimize.bounds import Certificate

# why training ended: what code compares; people read the text
CONVERGED = "converged"
LIMIT = "limit"  # max_iter
ASKED = "asked"  # by a callback
INTERRUPTED = "interrupted"  # by a signal
HELD_OUT = "held-out"  # the score on held-out data no longer rises
SEPARABLE = "separable"  # no finite weights are best
COUNTED = "counted"  # nothing was optimized


@dataclass(frozen=True)
class Stop:
    """Why training ended."""

    kind: str  # one of the constants above
    text: str  # a sentence for people

    def also(self, more: str) -> Stop:
        """The same reason, with ``more`` added to its text."""
        return replace(self, text=f"{self.text}; {more}")


@dataclass(frozen=True)
class Iteration:
    """One entry of a training history."""

    number: int
    value: float  # penalized objective
    gradient_norm: float
    active: int  # weights that are not zero
    evaluations: int
    seconds: float
    score: float | None = None  # on the held-out data, if there is any

    def as_dict(self) -> dict:
        return asdict(self)


@dataclass
class Result:
    """Where an optimizer ended."""

    weights: np.ndarray
    value: float
    stop: Stop
    converged: bool
    iterations: list[Iteration] = field(default_factory=list)
    evaluations: int = 0
    unbounded: str = ""  # why no finite weights are best, where that is known: a sentence
    counted: Any = None  # the generative model, where a criterion estimates one in place of weights
    more: dict = field(default_factory=dict)  # further entries of the model's record
    certificate: Certificate | None = None  # how far above the optimum it is

    @property
    def stopped(self) -> str:
        """Why training stopped: a sentence."""
        return self.stop.text

    @property
    def learned(self) -> Any:
        """The weights, or the generative model that was estimated in their place."""
        return self.weights if self.counted is None else self.counted


class StopTraining(Exception):
    """Raised by a callback to end training; the reason is reported, the best weights are kept."""

    def __init__(self, reason: str | Stop):
        self.stop = reason if isinstance(reason, Stop) else Stop(ASKED, str(reason))
        super().__init__(self.stop.text)


Callback = Callable[[Iteration, Any], None]


def converged(text: str) -> Stop:
    return Stop(CONVERGED, text)


def limit(max_iter: int, what: str = "iterations") -> Stop:
    """The Stop of a run that reached max_iter."""
    return Stop(LIMIT, f"max_iter = {max_iter} {what} were reached before convergence")
