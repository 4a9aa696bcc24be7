"""CRFsuite's training algorithms: their parameters, and what each is in loglin.

c1·Σ|w| + c2·Σw²  here, as there        l1·Σ|w| + ½·l2·Σw²  elsewhere in loglin, so that l2 = 2·c2
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loglin.errors import LoglinError

if TYPE_CHECKING:
    import numpy as np

    from loglin.optimize.record import Iteration

Values = Mapping[str, Any]
Rule = Callable[["Iteration", "np.ndarray"], None]  # raises StopTraining where training shall end


@dataclass(frozen=True)
class Parameter:
    """A parameter of a trainer."""

    name: str
    default: Any
    help: str
    kind: type = float  # that ``get`` gives
    without: str = ""  # why it has no effect in loglin; empty: it has

    def read(self, value: Any) -> Any:
        """The value, which may be written as text."""
        try:
            if self.kind is str:
                return str(value)
            number = float(value)
            if not math.isfinite(number) or (self.kind is not float and not number.is_integer()):
                raise ValueError
            return self.kind(number)
        except (TypeError, ValueError, OverflowError):
            wanted = {float: "a number", int: "a whole number", bool: "True or False"}[self.kind]
            raise LoglinError(f"the parameter {self.name} is {value!r:.60}; give {wanted}") from None


_OWN_STEPS = "loglin chooses the steps by itself"
_OWN_SEARCH = "loglin searches along lines in its own way"
MOST = 2**31 - 1
NEAR = 8e-4  # of the loss: how near to its optimum training is to end where nothing is told of that
FEATURES = (
    Parameter("feature.minfreq", 0.0, "Features whose values sum to less in the training data are left out."),
    Parameter("feature.possible_states", False, "Weights for all pairs of an attribute and a label.", bool),
    Parameter("feature.possible_transitions", False, "Weights for all pairs of labels.", bool),
)
_C2 = Parameter("c2", 1.0, "The coefficient of the L2 penalty, c2 times the sum of squares.")


def _iterations(default: int) -> Parameter:
    return Parameter("max_iterations", default, "The largest number of passes, or of steps of L-BFGS.", int)


def _epsilon(default: float, help: str) -> Parameter:
    return Parameter("epsilon", default, help)


@dataclass(frozen=True)
class Algorithm:
    """A training algorithm of CRFsuite, and what it is in loglin."""

    title: str  # as its log says it
    log_name: str  # what its log says has ended
    parameters: tuple[Parameter, ...]
    criterion: str
    settings: Callable[[Values], Mapping] = lambda values: {}  # of the criterion
    optimizer: str = "auto"
    rule: Callable[[Values, int, int], Rule | None] = lambda values, sentences, tokens: None
    tol: Callable[[Values], float] = lambda values: values["delta"]  # how far above its optimum the loss may end
    log: Mapping[str, str] = field(default_factory=dict)  # what its log calls parameters, if not by their names
    step: str = "Iteration"  # in its log
    norm: str = "Feature norm"
    batch: bool = False  # its log tells of gradients and line searches

    def parameter(self, name: str) -> Parameter:
        for parameter in (*FEATURES, *self.parameters):
            if parameter.name == name:
                return parameter
        known = ", ".join(p.name for p in (*FEATURES, *self.parameters))
        raise LoglinError(f"the algorithm {self.title!r} has no parameter {name!r}; it has {known}")

    def warn(self, values: Values) -> None:
        """Warn of values that have no effect."""
        for p in self.parameters:
            if p.without and values[p.name] != p.default:
                warnings.warn(f"{p.name}={values[p.name]} has no effect: {p.without} (docs/crfsuite.md)", stacklevel=4)


# ---------------------------------------------------------------------- when training ends


def _usual(values: Values) -> bool:
    """Whether nothing was told of when training ends: then it ends as elsewhere in loglin, near the optimum."""
    usual = {"epsilon": 1e-5, "period": 10, "delta": 1e-5}
    return all(values[name] == value for name, value in usual.items())


def _tol(values: Values) -> float:
    return NEAR if _usual(values) else values["delta"] if values["period"] else 0.0


def _flat(values: Values, sentences: int, tokens: int) -> Rule:
    """L-BFGS ends where the gradient is small beside the weights, or ``period`` steps have gained little."""
    from loglin.kernels.vectors import norm
    from loglin.optimize.record import StopTraining

    met: list[float] = []
    epsilon, period, delta = values["epsilon"], values["period"], NEAR if _usual(values) else values["delta"]

    def rule(iteration: Iteration, weights: np.ndarray) -> None:
        met.append(iteration.value)
        if iteration.gradient_norm <= epsilon * max(1.0, norm(weights)):
            raise StopTraining(f"the gradient is below epsilon = {epsilon:g} times the weights")
        if 0 < period < len(met) and met[-1 - period] - met[-1] < delta * abs(met[-1]):
            raise StopTraining(f"{period} iterations lowered the loss by less than {delta:g} of it")

    return rule


def _few(values: Values, n: int, of: str) -> Rule:
    from loglin.optimize.record import StopTraining

    def rule(iteration: Iteration, weights: np.ndarray) -> None:
        if iteration.value < values["epsilon"] * n:
            raise StopTraining(f"the loss is below epsilon = {values['epsilon']:g} a {of}")

    return rule


# ---------------------------------------------------------------------- the table

_MISTAKES = (_iterations(100), _epsilon(0.0, "Training ends where the mean loss is smaller."))


def _passive_aggressive(values: Values) -> dict[str, Any]:
    slacks = ("none", "linear", "squared")
    if not 0 <= values["type"] < len(slacks):
        raise LoglinError(f"the parameter type is {values['type']}; give 0 (PA), 1 (PA-I) or 2 (PA-II)")
    return {
        "slack": slacks[values["type"]],
        "c": values["c"],
        "margin": "root" if values["error_sensitive"] else "one",
        "averaged": values["averaging"],
        "settled": True,
    }


ALGORITHMS = {
    "lbfgs": Algorithm(
        "L-BFGS optimization",
        "L-BFGS",
        (
            Parameter("c1", 0.0, "The coefficient of the L1 penalty, c1 times the sum of magnitudes."),
            _C2,
            _iterations(MOST),
            Parameter("num_memories", 6, "How many steps L-BFGS remembers.", int),
            _epsilon(1e-5, "Training ends where the gradient is smaller, relative to the weights."),
            Parameter("period", 10, "Over how many iterations delta is measured.", int),
            Parameter("delta", 1e-5, "Training ends where the loss improves by less, relative to itself."),
            Parameter("linesearch", "MoreThuente", "The line search.", str, _OWN_SEARCH),
            Parameter("max_linesearch", 20, "The most trials of a line search.", int, _OWN_SEARCH),
        ),
        "crf",
        rule=_flat,
        tol=_tol,
        log={"period": "stop", "max_linesearch": "linesearch.max_iterations"},
        batch=True,
    ),
    "l2sgd": Algorithm(
        "Stochastic Gradient Descent (SGD)",
        "SGD",
        (
            _C2,
            _iterations(1000),
            Parameter("period", 10, "Over how many epochs delta is measured.", int, "loglin estimates what is to come"),
            Parameter("delta", 1e-6, "Training ends where the loss is to improve by less, relative to itself."),
            Parameter("calibration.eta", 0.1, "The first step size that is tried.", float, _OWN_STEPS),
            Parameter("calibration.rate", 2.0, "The ratio of step sizes that are tried.", float, _OWN_STEPS),
            Parameter("calibration.samples", 1000.0, "Sentences on which step sizes are tried.", float, _OWN_STEPS),
            Parameter("calibration.candidates", 10, "How many step sizes are tried.", int, _OWN_STEPS),
            Parameter("calibration.max_trials", 20, "The most trials of step sizes.", int, _OWN_STEPS),
        ),
        "crf",
        optimizer="sgd",
        tol=lambda values: NEAR if values["delta"] == 1e-6 else values["delta"],
        step="Epoch",
        norm="Feature L2-norm",
    ),
    "averaged-perceptron": Algorithm(
        "Averaged perceptron",
        "Averaged perceptron",
        (_iterations(100), _epsilon(0.0, "Training ends where the share of wrong labels is smaller.")),
        "perceptron",
        lambda values: {"settled": True},
        rule=lambda values, sentences, tokens: _few(values, tokens, "token"),
        tol=lambda values: 0.0,
    ),
    "passive-aggressive": Algorithm(
        "Passive Aggressive",
        "Passive Aggressive",
        (
            Parameter("type", 1, "How weights are moved: 0 (PA), 1 (PA-I) or 2 (PA-II).", int),
            Parameter("c", 1.0, "Aggressiveness, of PA-I and PA-II."),
            Parameter("error_sensitive", True, "The margin is the root of the number of wrong labels, not 1.", bool),
            Parameter("averaging", True, "The average of all weights that were passed through is kept.", bool),
            *_MISTAKES,
        ),
        "passive-aggressive",
        _passive_aggressive,
        rule=lambda values, sentences, tokens: _few(values, sentences, "sentence"),
        tol=lambda values: 0.0,
    ),
    "arow": Algorithm(
        "Adaptive Regularization of Weights (AROW)",
        "AROW",
        (
            Parameter("variance", 1.0, "The variance of every weight in the beginning."),
            Parameter("gamma", 1.0, "How slowly variances fall, and weights move."),
            *_MISTAKES,
        ),
        "arow",
        lambda values: {"variance": values["variance"], "gamma": values["gamma"]},
        rule=lambda values, sentences, tokens: _few(values, sentences, "sentence"),
        tol=lambda values: 0.0,
    ),
}
ALIASES = {"ap": "averaged-perceptron", "pa": "passive-aggressive"}


def algorithm_of(name: Any, type: str = "crf1d") -> str:
    """The full name of an algorithm."""
    found = ALIASES.get(str(name).lower(), str(name).lower())
    if found not in ALGORITHMS or type != "crf1d":
        known = ", ".join([*ALGORITHMS, *ALIASES])
        raise LoglinError(f"there is no algorithm {name!r} of type {type!r}; choose {known}, of type 'crf1d'")
    return found
