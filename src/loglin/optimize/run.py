"""How to search for weights: everything that depends neither on the data nor on the criterion."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral, Real

from loglin.errors import LoglinError
from loglin.optimize.objective import Objective
from loglin.optimize.reporter import Reporter

SINGLE_PRECISION_TOL = 1e-6  # float32 carries the objective to about this much of itself

Make = Callable[[type], Objective]  # of the precision: np.float32 or np.float64


LARGEST_SEED = (1 << 63) - 1  # that a model file holds


@dataclass(frozen=True)
class Run:
    """A search for weights: by which optimizer, how far, how precisely, and who follows it."""

    optimizer: str = "auto"
    max_iter: int = 1000
    tol: float = 5e-4  # relative improvement of the objective still to come
    dtype: str = "auto"
    seed: int = 0
    warm_start: bool = True  # stochastic epochs before L-BFGS
    scaled: bool = True  # L-BFGS in variables scaled by a guess of the Hessian
    memory: int = 10  # steps that L-BFGS remembers
    certify: bool = False  # go on until a lower bound of the optimum proves that tol is reached
    reporter: Reporter = field(default_factory=Reporter, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_number("tol", self.tol)
        check_whole("max_iter", self.max_iter, 1)
        check_whole("seed", self.seed, 0, LARGEST_SEED)
        if self.dtype not in ("auto", "float32", "float64"):
            raise LoglinError(f"dtype is {self.dtype!r}; choose auto, float32 or float64")

    @property
    def single(self) -> bool:
        """Whether float32 is precise enough for what was asked."""
        return self.dtype == "float32" or (self.dtype == "auto" and self.tol >= SINGLE_PRECISION_TOL)


def check_number(name: str, value: object, least: float = 0.0) -> None:
    """Refuse a value that is not a finite number of at least ``least``."""
    try:
        right = isinstance(value, Real) and math.isfinite(value) and float(value) >= least
    except OverflowError:  # a whole number beyond all floats
        right = False
    if not right:
        raise LoglinError(f"{name} is {value!r:.60}; give a number of at least {least:g}")


def check_whole(name: str, value: object, least: int, most: int = (1 << 31) - 1) -> None:
    """Refuse a value that is not a whole number from ``least`` to ``most``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise LoglinError(f"{name} is {value!r}; give a whole number of at least {least}")
    if int(value) > most:
        raise LoglinError(f"{name} is {value}; give a whole number of at most {most}")
