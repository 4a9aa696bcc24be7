"""What is minimized, as optimizers see it: value and gradient, and a few capabilities that some optimizers ask for.

    Objective       every optimizer
    HasCurvature    "auto" and "newton": a guess of the Hessian's diagonal
    HasHessian      "newton": products with the Hessian
    HasDecisions    "gis", "iis", "newton", and proofs of separability: the pairs of independent decisions
    HasLearner      "auto", "sgd", "averaged-sgd": one example after the other
    HasParts        "auto": a sum that falls apart by label
    convex          an attribute: True lets optimize/bounds.py prove how far the optimum is; ``nonnegative``, True
                    unless told, says that the value is never below 0, which L1 penalties need for it
    memory          steps that L-BFGS should remember at least
    magnitudes()    the largest |value| behind each weight, for optimize/rescaling.py

Objectives meet these protocols by their shape alone; nothing in this folder imports an objective.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from loglin.optimize.checkpoint import Stage


class Objective(Protocol):
    """What is minimized, without penalty."""

    n_features: int

    def __call__(self, weights: np.ndarray, /) -> tuple[float, np.ndarray]: ...


@runtime_checkable
class HasCurvature(Protocol):
    def curvature(self, weights: np.ndarray, /) -> np.ndarray:
        """A guess of the Hessian's diagonal: (features,)."""
        ...


@runtime_checkable
class HasHessian(Protocol):
    def hessian_product(self, weights: np.ndarray, direction: np.ndarray, /) -> np.ndarray: ...


class Decisions(Protocol):
    """The (example, class) pairs of independent decisions; the order of pairs is the objective's own.

    mass                     Σ_d weight_d                            of the examples
    empirical()              Σ_d weight_d·f(d, c_d)                  (features,)
    feature_sums()           f#(d, c) = Σ_j f_j(d, c)                (pairs,) of every candidate class c of every d
    expected_by_level(w, …)  Σ_{d,c: level(d,c) = m} weight_d·p(c | d)·f(d, c)        (features, levels)
    hessian_product(w, v)    Σ_d weight_d·Cov_p(f(d, ·), v·f(d, ·))  (features,)
    extremes()               Σ_d weight_d·min_c f_j(d, c) and Σ_d weight_d·max_c f_j(d, c)
    differences(limit)       f(d, c_d) − f(d, c), a row for every c ≠ c_d; None if there are more numbers than limit
    negative()               a feature with a negative value, or None
    """

    mass: float

    def empirical(self) -> np.ndarray: ...

    def feature_sums(self) -> np.ndarray: ...

    def expected_by_level(self, weights: np.ndarray, levels: np.ndarray, n_levels: int) -> np.ndarray: ...

    def hessian_product(self, weights: np.ndarray, direction: np.ndarray) -> np.ndarray: ...

    def extremes(self) -> tuple[np.ndarray, np.ndarray]: ...

    def differences(self, limit: int) -> Any: ...

    def negative(self) -> int | None: ...


@runtime_checkable
class HasDecisions(Protocol):
    @property
    def decisions(self) -> Decisions | None:
        """The pairs of independent decisions; None where labels depend on each other or are known in part."""
        ...

    def all_right(self) -> bool:
        """Whether the last weights classify every example strictly right."""
        ...


class Learner(Protocol):
    """What learns weights from one example after the other."""

    order: int

    @property
    def arrays(self) -> Sequence[np.ndarray]: ...

    def get(self, arrays: Sequence[np.ndarray] | None = None) -> np.ndarray: ...

    def reset(self, weights: np.ndarray) -> None: ...

    def state(self) -> dict[str, Any]:
        """Weights and random numbers, for a checkpoint."""
        ...

    def restore(self, state: dict[str, Any]) -> None: ...

    def penalties(self, l1: np.ndarray, l2: np.ndarray) -> Any: ...

    def search_step(self, penalty: Any) -> float: ...

    def safe_step(self) -> float: ...

    def descent_epoch(
        self, step_at: Callable[[float], float], penalty: Any, block_done: Callable[[], None]
    ) -> float: ...

    def comes_near(self, l1: np.ndarray, l2: np.ndarray) -> bool:
        """Whether a warm start with these penalties ends near the optimum."""
        ...

    def warm_start(
        self, l1: np.ndarray, l2: np.ndarray, report: Callable[[int, float], None], tol: float, stage: Stage
    ) -> np.ndarray: ...


@runtime_checkable
class HasLearner(Protocol):
    def learner(self, seed: int) -> Learner | None: ...


@runtime_checkable
class HasParts(Protocol):
    """A sum of independent losses, one of every label, whose weights are a matrix (attributes, labels)."""

    n_parts: int
    losses: np.ndarray  # (labels,) at the last weights

    @property
    def is_full(self) -> bool:
        """Whether every attribute has a weight for every label."""
        ...

    def of(self, labels: list[int]) -> HasParts:
        """The same objective for some of the labels alone, at least three."""
        ...

    def __call__(self, weights: np.ndarray, /) -> tuple[float, np.ndarray]: ...
