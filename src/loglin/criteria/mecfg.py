"""Maximum-entropy grammars: every rule given its symbol and its span."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from loglin.criteria.criterion import Defaults, Way
from loglin.criteria.trees import FromTrees, minimizing_trees
from loglin.errors import LoglinError

if TYPE_CHECKING:
    from loglin.objectives.expansions import ExpansionCriterion, Expansions
    from loglin.optimize.run import Run
    from loglin.problems.trees import TreeProblem


@dataclass(frozen=True)
class RuleByRule(FromTrees):
    """A criterion that looks at one node after the other, without parsing."""

    defaults = Defaults(template="paper", max_iter=200)

    by_parts = True

    def require_spans(self, problem: TreeProblem) -> None:
        """Refuse templates that see no spans."""
        if problem.span_design is None:
            raise LoglinError(
                f"criterion {self.name} looks at spans, but the template has none of them; add lines such as "
                "R01:%first[0], or take the template paper"
            )


@dataclass(frozen=True)
class MECFG(RuleByRule):
    """Σ log p(rule | symbol, span) over the nodes of annotated trees."""

    name = "mecfg"
    line = "every rule given its symbol and span: a locally normalized grammar (Sutton & McCallum 2005, §5)"

    def way(self, problem: TreeProblem, run: Run) -> Way:
        self.require_spans(problem)
        return minimizing_trees(problem, right_rules, problem.base("roots"), "local")


def right_expansions(problem: TreeProblem) -> Expansions:
    """The inner nodes of the annotated trees."""
    from loglin.objectives.expansions import Expansions

    assert problem.span_design is not None
    return Expansions.of_trees(problem.span_design, problem.uses.nodes, problem.weight)


def right_rules(problem: TreeProblem, dtype: type) -> ExpansionCriterion:
    """The likelihood of the rules of annotated trees."""
    return local_rules(problem, right_expansions(problem))


def local_rules(problem: TreeProblem, instances: Expansions, nota: bool = False) -> ExpansionCriterion:
    """The likelihood of expansions, each normalized at its span; ``nota``: none of the above is an outcome too."""
    from loglin.objectives.expansions import ExpansionCriterion

    index = problem.index
    return ExpansionCriterion(index.grammar, index.spans, instances, nota, index.n_features, problem.threads)
