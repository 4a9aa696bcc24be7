"""The criteria by name, their settings with defaults, and what is allowed."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

from loglin.errors import LoglinError

NUMBER, WHOLE, FLAG = "a number", "a whole number", "true or false"

OPTIMIZERS = (
    "auto", "lbfgs", "gradient", "conjugate-gradient", "newton", "gis", "iis", "sgd", "averaged-sgd",
)  # fmt: skip
WITHOUT_L1 = ("gradient", "conjugate-gradient", "newton", "gis", "iis", "averaged-sgd")
NAIVE_BAYES = "naive-bayes"  # the criterion that a record names where weights were counted
BASES = ("hmm", "uniform", "empirical", "sampled")

# criterion → setting → (default, allowed)
_LOCAL = {"decoding": ("local", ("local", "global", "nota", "scaled")), "beam": (0, WHOLE)}
_BASE = {"columns": (None, "column numbers"), "smoothing": (1.0, NUMBER), "prior": ("uniform", ("uniform", "unigram"))}
_BASE |= {"transition_smoothing": (0.0, NUMBER)}
_START = {"init": (None, "a criterion or a model")}
_FROM_CRF = {"init": ("crf", "a criterion or a model")}
_HIDDEN: dict[str, tuple[Any, Any]] = {
    "labels": (0, WHOLE),
    "starts": (1, WHOLE),
    "annealing": (1.0, NUMBER),
    "annealing_rate": (1.5, NUMBER),
}
_LATENT = _HIDDEN | {"deviation": (0.3, NUMBER)}
EM = _HIDDEN | {"smoothing": (1.0, NUMBER), "columns": (None, "column numbers")}
EM |= {"start": ("uniform", ("uniform", "per-tag", "random"))}
CRITERIA: dict[str, dict[str, tuple[Any, Any]]] = {
    "crf": dict(_START),
    "perceptron": _START | {"averaged": (True, FLAG)},
    "memm": _START | _LOCAL,
    "pseudolikelihood": _START | {"nota": ("none", ("none", "all", "one"))},
    "piecewise": _START
    | {"nota": ("all", ("all", "sampled", "selected", "none"))}
    | {"rate": (1.0, NUMBER), "threshold": (0.2, NUMBER), "iterations": (20, WHOLE)}
    | {"decoding": ("auto", ("auto", "local", "global", "nota", "scaled")), "beam": (0, WHOLE)},
    "margin": _START | {"loss": ("softmax", ("softmax", "hinge")), "cost": (1.0, "a number or label>label:number,…")},
    "label-likelihood": dict(_FROM_CRF),
    "accuracy": _FROM_CRF | {"sharpness": (4.0, NUMBER)},
    "expected-accuracy": dict(_FROM_CRF),
    "boosting": dict(_FROM_CRF),
    "hmm": _BASE | {"oov": ("auto", ("auto", "first", "unseen"))},
    "m-estimation": _START
    | _BASE
    | {"base": ("hmm", (*BASES, "the file of a model that has one")), "base_order": (2, (1, 2))}
    | {"keep_base": (True, FLAG), "input_features": (False, FLAG)}
    | {"samples": (10_000, WHOLE), "sample_smoothing": (0.0, NUMBER)}
    | {"optimizer": ("auto", ("auto", "dual", "lbfgs", "newton"))},
    "contrastive": dict(_LATENT),
    "mixture": _LATENT | {"weight": (1.0, NUMBER)},
    "marginal-likelihood": dict(_LATENT),
    "em": EM,
}
LATENT = ("contrastive", "mixture", "marginal-likelihood", "em")  # labels may be hidden; they learn on lattices
NEIGHBORHOODS = ("contrastive", "mixture")  # compare sentences with their neighbors
# of classifiers, whose decisions stand alone
CLASSIFIERS: dict[str, dict[str, tuple[Any, Any]]] = {
    "likelihood": dict(_START),
    "perceptron": CRITERIA["perceptron"],
    "margin": CRITERIA["margin"] | {"loss": ("squared-hinge", ("squared-hinge", "softmax"))},
    "least-squares": {},
}
# of parsers; see training/parser_training.py
_LEXICON: dict[str, tuple[Any, Any]] = {"rare": (1, WHOLE), "smoothing": (0.1, NUMBER)}
_ON_PCFG = _LEXICON | {"base": ("pcfg", ("pcfg", "lexicon"))}
_GRAMMAR: dict[str, tuple[Any, Any]] = {"symbols": (0, WHOLE), "rare": (1, WHOLE), "starts": (1, WHOLE)}
_ANNEALED: dict[str, tuple[Any, Any]] = {"annealing": (1.0, NUMBER), "annealing_rate": (1.5, NUMBER)}
PARSERS: dict[str, dict[str, tuple[Any, Any]]] = {
    "pcfg": dict(_LEXICON),
    "mecfg": dict(_LEXICON),
    "piecewise": _LEXICON
    | {"threshold": (15.0, NUMBER), "iterations": (10, WHOLE)}
    | {"decoding": ("local", ("local", "global", "nota"))},
    "crf": dict(_ON_PCFG),
    "perceptron": _ON_PCFG | {"averaged": (True, FLAG)},
    "m-estimation": _LEXICON | {"keep_base": (True, FLAG)},
    "em": _GRAMMAR | {"smoothing": (0.1, NUMBER)} | _ANNEALED,
    "contrastive": _GRAMMAR | {"deviation": (1.0, NUMBER)},
    "mixture": _ON_PCFG | {"weight": (1.0, NUMBER), "starts": (1, WHOLE), "deviation": (0.3, NUMBER)},
}
PARTIAL = (
    *LATENT,
    "crf",
    "likelihood",
    "perceptron",
    "margin",
    "accuracy",
    "expected-accuracy",
    "boosting",
)  # learn from partly labelled text too


def checked_settings(criterion: str, given: Mapping | None, task: str = "tag") -> dict[str, Any]:
    """Settings with defaults, or an error that names the mistake."""
    criteria = {"tag": CRITERIA, "parse": PARSERS}.get(task, CLASSIFIERS)
    if criterion not in criteria:
        raise LoglinError(f"no criterion is called {criterion!r}; there are {', '.join(criteria)}")
    known = criteria[criterion]
    if not isinstance(given, Mapping | None):
        raise LoglinError(f"settings are {given!r}; give a dict from names to values")
    values = {name: default for name, (default, _) in known.items()}
    for name, value in (given or {}).items():
        if name not in known:
            raise LoglinError(
                f"criterion {criterion} has no setting {name!r}; it has {', '.join(known) if known else 'none'}"
            )
        if name == "base" and (not isinstance(value, str) or os.path.isfile(value)):
            values[name] = value  # a model, its file or a sampler, which is looked at when used
            continue
        values[name] = checked_value(f"{criterion}'s setting {name}", value, known[name][1])
    return values


def check_optimizer(optimizer: str, criterion: str, settings: Mapping, l1: float) -> None:
    """Refuse an unknown optimizer, and what is known to make no sense before the data are seen."""
    if optimizer not in OPTIMIZERS:
        raise LoglinError(f"no optimizer is called {optimizer!r}; there are {', '.join(OPTIMIZERS)}")
    if optimizer == "auto":
        return
    if criterion in ("hmm", "em", "perceptron"):
        raise LoglinError(f"criterion {criterion} has its own way to weights; leave optimizer at auto")
    if criterion in LATENT and optimizer not in ("lbfgs", "gradient", "conjugate-gradient"):
        raise LoglinError(
            f"criterion {criterion} is not concave, which optimizer {optimizer} needs; take auto, lbfgs, gradient or "
            "conjugate-gradient"
        )
    if l1 and optimizer in WITHOUT_L1:
        raise LoglinError(f"optimizer {optimizer} has no l1 penalty; set l1 to 0, or optimizer to auto, lbfgs or sgd")
    own = settings.get("optimizer", "auto")
    if own not in ("auto", optimizer):
        raise LoglinError(f"optimizer is {optimizer} and m-estimation's setting optimizer {own}; give one of them")


def checked_value(place: str, value: Any, allowed: Any) -> Any:
    if isinstance(allowed, tuple):
        text = str(value)
        for choice in allowed:
            if text == str(choice):
                return choice
        raise LoglinError(f"{place} is {value!r}; choose {', '.join(map(str, allowed))}")
    if allowed == FLAG:
        words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if str(value).lower() in words:
            return words[str(value).lower()]
        raise LoglinError(f"{place} is {value!r}; write true or false")
    if allowed in (NUMBER, WHOLE):
        try:
            number = int(value) if allowed == WHOLE else float(value)
        except (TypeError, ValueError):
            number = math.nan
        if isinstance(value, bool) or (isinstance(value, float) and number != value):
            number = math.nan
        if not math.isfinite(number) or number < 0:
            raise LoglinError(f"{place} is {value!r}; give {allowed} of at least 0")
        return number
    return value
