"""How to train: what Python, the shell and reproductions ask for, checked before any data are read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np

from loglin.errors import LoglinError
from loglin.features.dictionary import given_dictionary
from loglin.methods.settings import NEIGHBORHOODS, check_optimizer, checked_settings
from loglin.neighborhoods.named import neighborhood


@dataclass(frozen=True)
class Options:
    """How to train. The defaults end within 0.1 % of the optimum; with observed label bigrams 0.2, pieces 0.4 %."""

    criterion: str = "crf"
    task: str = "tag"  # or "classify": each example alone; "rank": each among candidates of its own
    l1: float = 0.0
    l2: float = 1.0
    optimizer: str = "auto"  # see methods.settings.OPTIMIZERS
    order: int = 1
    all_features: bool = False
    cutoff: int = 1  # features (attribute and label together) seen less often are left out
    variances: Mapping | None = None  # pattern of attribute names (or a column) → variance of its Gaussian prior
    dictionary: Any = 0  # what given_dictionary takes; kept as a count, or (label names, TagDictionary)
    max_iter: int = 1000  # iterations, or epochs of the perceptron
    tol: float = 5e-4
    threads: int | None = None
    seed: int = 0
    neighborhood: Any = None  # of contrastive criteria: a name, a transducer, its file, or a function
    dtype: str = "auto"
    warm_start: bool = True  # stochastic epochs before L-BFGS
    scaled: bool = True  # L-BFGS in variables scaled by a guess of the Hessian
    patience: int = 10  # iterations without a better score on the development data
    dev_metric: str = "f1"
    label_weights: Mapping | None = None
    settings: Mapping | None = None  # of the criterion, see methods.CRITERIA
    instance_weights: np.ndarray | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        settings = checked_settings(self.criterion, self.settings, self.task)
        for name in ("l1", "l2", "tol"):
            value = getattr(self, name)
            if not isinstance(value, Real) or not math.isfinite(value) or value < 0:
                raise LoglinError(f"{name} is {value!r}; give a number of at least 0")
        check_optimizer(self.optimizer, self.criterion, settings, self.l1)
        if self.order not in (1, 2):
            raise LoglinError(f"order is {self.order!r}; a chain is of order 1 or 2")
        if not isinstance(self.cutoff, Integral) or isinstance(self.cutoff, bool) or self.cutoff < 1:
            raise LoglinError(f"cutoff is {self.cutoff!r}; give a whole number of at least 1, the fewest occurrences")
        for name, value in (self.variances or {}).items():
            if not isinstance(value, Real) or not value > 0:
                raise LoglinError(f"the variance of {name!r} is {value!r}; give a number above 0")
        names, dictionary = given_dictionary(self.dictionary)
        object.__setattr__(self, "dictionary", dictionary if names is None else (names, dictionary))
        if self.neighborhood is not None and self.criterion not in NEIGHBORHOODS:
            raise LoglinError(
                f"criterion {self.criterion} compares with no neighborhood; leave it out, or take criterion contrastive"
            )
        if self.neighborhood is not None:
            object.__setattr__(self, "neighborhood", neighborhood(self.neighborhood))
        if self.max_iter < 1:
            raise LoglinError(f"max_iter is {self.max_iter!r}; give a whole number of at least 1")
        if self.threads is not None and self.threads < 1:
            raise LoglinError(f"threads is {self.threads!r}; give a whole number of at least 1")
        if isinstance(self.seed, int) and self.seed < 0:
            raise LoglinError(f"seed is {self.seed!r}; give a whole number of at least 0")
        if self.dev_metric not in ("f1", "likelihood"):
            raise LoglinError(f"dev_metric is {self.dev_metric!r}; choose f1 or likelihood")
