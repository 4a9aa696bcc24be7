"""How to train: what Python, the shell and reproductions ask for, checked before any data are read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np

from loglin.corpus.labels import Gold, gold_of_sequences
from loglin.criteria.settings import LATENT, NEIGHBORHOODS, check_optimizer, checked_settings
from loglin.errors import LoglinError
from loglin.features.dictionary import given_dictionary
from loglin.neighborhoods.named import neighborhood


@dataclass(frozen=True)
class Options:
    """How to train. The defaults end within 0.1 % of the optimum; with observed label bigrams 0.2, pieces 0.4 %."""

    criterion: str = "crf"
    task: str = "tag"  # or "classify": each example alone; "rank": each among candidates of its own
    l1: float = 0.0
    l2: float = 1.0
    optimizer: str = "auto"  # see criteria.settings.OPTIMIZERS
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
    settings: Mapping | None = None  # of the criterion, see criteria.settings.CRITERIA
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
        if not isinstance(self.seed, Integral) or self.seed < 0:
            raise LoglinError(f"seed is {self.seed!r}; give a whole number of at least 0")
        if self.dev_metric not in ("f1", "likelihood"):
            raise LoglinError(f"dev_metric is {self.dev_metric!r}; choose f1 or likelihood")


def default_order(criterion: str) -> int:
    """How many labels a label looks back where nothing is said."""
    return 2 if criterion in LATENT else 1


def hidden_template(order: int) -> str:
    """The name of the default template where labels are hidden."""
    return "trigram" if order == 2 else "bigram"


def labels_of(sequences: Iterable[Sequence | None] | None, lengths: list[int], options: Options) -> tuple[list, Gold]:
    """Labels and what is known of every token; where labels may be hidden, a whole sentence may have none."""
    if options.criterion not in LATENT or options.task != "tag":
        if sequences is None:
            raise LoglinError(f"criterion {options.criterion} needs labels; give them, or take criterion contrastive")
        return labels_together(*gold_of_sequences(sequences, lengths), options)
    given = [None] * len(lengths) if sequences is None else list(sequences)
    if len(given) != len(lengths):
        raise LoglinError(f"there are {len(lengths)} sentences but {len(given)} label sequences; give as many")
    filled = [[None] * n if y is None else y for y, n in zip(given, lengths, strict=True)]
    if any(label is not None for y in filled for label in y):
        return labels_together(*gold_of_sequences(filled, lengths), options)
    names = [] if isinstance(options.dictionary, int) else options.dictionary[0]
    names = _hidden_names(list(names), checked_settings(options.criterion, options.settings))
    return names, gold_of_sequences(filled, lengths, names)[1]


def labels_together(labels: list, gold: Gold, options: Options) -> tuple[list, Gold]:
    """The labels of the data, then those that only a given dictionary has."""
    if isinstance(options.dictionary, int):
        return labels, gold
    together = list(dict.fromkeys([*labels, *options.dictionary[0]]))
    return together, gold.widened(len(together))


def _hidden_names(labels: list, settings: dict) -> list:
    """The labels, or as many nameless ones as the setting says where neither text nor dictionary has any."""
    if labels:
        return labels
    n = settings["labels"]
    if n < 1:
        raise LoglinError(
            "there are no labels: give a dictionary, label some tokens, or say how many labels there are with the "
            "setting labels"
        )
    return [f"L{i}" for i in range(n)]
