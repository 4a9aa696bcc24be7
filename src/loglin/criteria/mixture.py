"""A mixture of a labelled and an unlabelled criterion, on chains and on trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from loglin.criteria.contrastive import WORDS, Contrastive
from loglin.criteria.criterion import Defaults, Way
from loglin.criteria.hidden import STARTS, WithNeighborhood, check_starts
from loglin.criteria.settings import number
from loglin.criteria.trees import BASE, DEVIATION, FromTrees, best_of_random_starts, likelihood_of_trees
from loglin.errors import LoglinError
from loglin.problems.request import Annotation

if TYPE_CHECKING:
    import numpy as np

    from loglin.corpus.trees import Tree
    from loglin.objectives.forest import ForestCriterion
    from loglin.optimize.record import Result
    from loglin.optimize.run import Run
    from loglin.problems.chains import ChainProblem
    from loglin.problems.trees import TreeOptions, TreeProblem


@dataclass(frozen=True)
class Mixture(Contrastive):
    """Σ log p(y | x) of labelled sentences + weight · contrastive estimation of the others."""

    name = "mixture"
    line = (
        "conditional likelihood of labelled sentences, contrastive estimation of the others (Smith & Eisner 2005, §6)"
    )
    needs_some_labels = True
    weight: float = number(1.0, "how much a sentence without labels counts")

    def default_template(self, order: int) -> str:
        """As rich as a CRF's, whose weights the labelled sentences support."""
        # CoNLL-2000, 200 labelled and 200 other sentences: F1 77.7 (words alone 63.3, with spelling 73.5; the CRF 76.3)
        return "windows-trigram" if order == 2 else "windows-bigram"

    def sentence_weights(self, problem: ChainProblem) -> tuple[Any, Any]:
        from loglin.problems.hidden import labeled_sentences

        _, weight = super().sentence_weights(problem)
        assert problem.hidden is not None
        labeled = labeled_sentences(problem.hidden, problem.design.offsets)
        if not labeled.any():
            raise LoglinError("criterion mixture needs some labelled sentences; for none take criterion contrastive")
        weight[~labeled] *= self.weight
        return labeled, weight


# ---------------------------------------------------------------------- trees


@dataclass(frozen=True)
class MixtureTrees(WithNeighborhood, FromTrees):
    """Σ log p(tree | sentence) of annotated trees + weight · contrastive estimation of the other sentences."""

    name = "mixture"
    line = (
        "conditional likelihood of trees, contrastive estimation of sentences without trees (Smith & Eisner 2005, §6)"
    )
    needs = Annotation.HIDDEN
    defaults = Defaults(template=WORDS, max_iter=200)
    concave = False
    takes_unlabeled = True
    base: str = BASE
    weight: float = number(1.0, "how much a sentence without a tree counts")
    starts: int = STARTS
    deviation: float = number(0.3, DEVIATION)

    def check(self) -> None:
        check_starts(self)
        super().check()

    def problem(
        self, trees: Sequence[Tree], options: TreeOptions, sentences: Sequence[Sequence[str]] = (), pcfg: Any = None
    ) -> TreeProblem:
        from loglin.problems.word_types import mixed_problem

        templates = self.templates(options.template)
        assert templates is not None
        return mixed_problem(trees, sentences, options, templates, self.lexicon)

    def objective(self, problem: TreeProblem) -> ForestCriterion:
        """−Σ log p(tree | sentence) + weight · Σ log Z(neighbors) − log Z(sentence)."""
        from loglin.problems.word_types import contrast

        known = likelihood_of_trees(problem, problem.base(self.base))
        return replace(known, terms=[*known.terms, *contrast(problem, self.around, self.weight)], annotated=None)

    def way(self, problem: TreeProblem, run: Run) -> Way:
        objective = self.objective(problem)

        def solve(first: np.ndarray | None, run: Run) -> Result:
            result = best_of_random_starts(objective, problem, first, run, self.starts, self.deviation, False)
            result.more = {"neighborhood": self.around.name, "trees": len(problem.trees), "left_out": problem.left_out}
            return result

        return Way(solve, lambda weights: problem.model(weights, objective.base))
