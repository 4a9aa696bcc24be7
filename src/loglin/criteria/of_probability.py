"""What criteria share that are functions of the gold sequence's probability; each is a file of its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from loglin.criteria.criterion import Defaults, Way
from loglin.criteria.minimizing import INITIAL, Initialized, likelihood, minimizing
from loglin.criteria.settings import anything
from loglin.problems.request import Annotation

if TYPE_CHECKING:
    import numpy as np

    from loglin.optimize.run import Run
    from loglin.problems.chains import ChainProblem


# beginning at a CRF, what further iterations gain no longer shows in the labels of new text
NEAR: dict[str, Any] = {"tol": 0.01, "max_iter": 10}


@dataclass(frozen=True)
class FromCRF(Initialized):
    """A criterion that starts from the weights of a CRF, as it is not concave."""

    structures = ("chain",)
    by_parts = True
    defaults = Defaults(**NEAR)
    init: Any = anything("crf", "a criterion or a model", INITIAL)


@dataclass(frozen=True)
class OfProbability(FromCRF):
    """A function of p(y | x); see objectives/sentences.py."""

    needs = Annotation.PARTIAL
    rises: ClassVar[bool] = False  # whether the loss is 1 / p, not −p

    def exponent(self) -> float:
        """γ of p ∝ exp(γ · score)."""
        return 1.0

    def initial(self, problem: ChainProblem, run: Run) -> np.ndarray | None:
        """The weights of the other criterion, with which the sharpened probabilities are those that it gave."""
        first = super().initial(problem, run)
        return None if first is None else first / self.exponent()

    def way(self, problem: ChainProblem, run: Run) -> Way:
        return minimizing(problem, partial(of_probability, rises=self.rises, gamma=self.exponent()))


def of_probability(problem: ChainProblem, dtype: type, rises: bool, gamma: float) -> Any:
    """The objective: 1 / p if it ``rises``, else −p, with p ∝ exp(γ · score)."""
    from loglin.objectives.sentences import OfProbability

    return OfProbability(likelihood(problem, dtype), rises, gamma)
