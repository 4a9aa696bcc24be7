"""What criteria share that are functions of the gold sequence's probability; each is a file of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from loglin.criteria.criterion import Way
from loglin.criteria.minimizing import INITIAL, Initialized, likelihood, minimizing
from loglin.criteria.settings import anything
from loglin.problems.request import Annotation

if TYPE_CHECKING:
    from loglin.optimize.run import Run
    from loglin.problems.chains import ChainProblem


@dataclass(frozen=True)
class FromCRF(Initialized):
    """A criterion that starts from the weights of a CRF, as it is not concave."""

    structures = ("chain",)
    init: Any = anything("crf", "a criterion or a model", INITIAL)


@dataclass(frozen=True)
class OfProbability(FromCRF):
    """A function of p(y | x); see objectives/sentences.py."""

    needs = Annotation.PARTIAL
    rises: ClassVar[bool] = False  # whether the loss is 1 / p, not −p

    def exponent(self) -> float:
        """γ of p ∝ exp(γ · score)."""
        return 1.0

    def way(self, problem: ChainProblem, run: Run) -> Way:
        from loglin.objectives.sentences import OfProbability

        gamma = self.exponent()
        return minimizing(problem, lambda dtype: OfProbability(likelihood(problem, dtype), self.rises, gamma))
