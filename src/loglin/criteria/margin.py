"""Margins: wrong labels are to score lower than the right ones by their cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from loglin.criteria.criterion import Way
from loglin.criteria.decisions import decision_way, require_decisions
from loglin.criteria.minimizing import Initialized, likelihood, minimizing, whole_sentences
from loglin.criteria.settings import NUMBER, anything, checked_value, choice
from loglin.errors import LoglinError
from loglin.problems.request import Annotation

if TYPE_CHECKING:
    import numpy as np

    from loglin.optimize.run import Run
    from loglin.problems.chains import ChainProblem

COST = anything(1.0, "a number or label>label:number,…", "what a wrong label costs, by the right one")


@dataclass(frozen=True)
class Margin(Initialized):
    """Softmax-margin, log Σ exp(score + cost) − score of the gold sequence; or the hinge, its maximum."""

    name = "margin"
    line = "margins by cost: softmax-margin (Gimpel & Smith 2010), or the structured hinge loss"
    structures = ("chain",)
    by_parts = True
    needs = Annotation.PARTIAL
    loss: str = choice("softmax", "hinge", help="the soft maximum over wrong sequences, or the worst of them")
    cost: Any = COST

    def way(self, problem: ChainProblem, run: Run) -> Way:
        costs = label_costs(self.cost, problem.labels)
        if self.loss == "hinge":
            problem.require_labels("margin with loss=hinge")
            return minimizing(problem, partial(whole_sentences, kind="hinge", costs=costs))
        return minimizing(problem, partial(likelihood, costs=costs))

    def initial(self, problem: ChainProblem, run: Run) -> np.ndarray | None:
        """As asked for; the hinge starts from softmax-margin, as at zero all wrong labels tie and no slope descends."""
        start = super().initial(problem, run)
        if start is None and self.loss == "hinge":
            return self.rough_weights(replace(self, loss="softmax"), problem, run)
        return start


@dataclass(frozen=True)
class MarginOfClasses(Initialized):
    """Squared hinge of each class against all others, or softmax-margin."""

    name = "margin"
    line = "margins: squared hinge of each class against all others, or softmax-margin"
    structures = ("local",)
    by_parts = True
    needs = Annotation.PARTIAL
    gives_probabilities = False
    label_by_label = True
    takes_label_sets: ClassVar[bool] = True
    link: ClassVar[str] = "identity"
    threshold: ClassVar[float] = 0.0
    loss: str = choice("squared-hinge", "softmax", help="each class against all others, or the soft maximum over them")
    cost: Any = COST

    def way(self, problem: ChainProblem, run: Run) -> Way:
        if self.loss == "squared-hinge":
            return decision_way(self, problem, None)
        require_decisions(self, problem)
        costs = label_costs(self.cost, problem.labels)
        return decision_way(self, problem, partial(likelihood, costs=costs))


def label_costs(cost: Any, labels: list) -> np.ndarray:
    """What a label costs by the right one, (L, L): a number, a mapping {(right, wrong): cost}, or its text."""
    import numpy as np

    L = len(labels)
    costs = 1.0 - np.eye(L)
    if isinstance(cost, str) and ">" in cost:
        try:
            parts = [part.rpartition(":") for part in cost.split(",")]
            cost = {tuple(pair.strip().split(">", 1)): float(number) for pair, _, number in parts}
        except ValueError:
            raise LoglinError(f"cost is {cost!r}; write right>wrong:number, separated by commas") from None
    if isinstance(cost, Mapping):
        names = {str(label): i for i, label in enumerate(labels)}
        for (right, wrong), number in cost.items():
            for label in (right, wrong):
                if str(label) not in names:
                    raise LoglinError(f"cost names {label!r}, which is no label of the data")
            costs[names[str(right)], names[str(wrong)]] = number
    else:
        costs *= checked_value("margin's setting cost", cost, NUMBER)
    np.fill_diagonal(costs, 0.0)
    if not np.isfinite(costs).all() or (costs < 0).any():
        raise LoglinError("a cost of a wrong label is negative or no finite number; give numbers of at least 0")
    return costs
