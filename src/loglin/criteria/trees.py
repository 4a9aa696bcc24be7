"""What criteria on trees share: how a problem is made of trees and sentences, and a way in double precision."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from loglin.criteria.criterion import Criterion, Defaults, Way
from loglin.criteria.hidden import STARTS, check_starts
from loglin.criteria.settings import choice, number, whole
from loglin.errors import LoglinError
from loglin.problems.request import Annotation

if TYPE_CHECKING:
    import numpy as np

    from loglin.corpus.trees import Tree
    from loglin.features.span_templates import GrammarTemplates
    from loglin.objectives.forest import ForestCriterion
    from loglin.optimize.record import Result
    from loglin.optimize.run import Run
    from loglin.problems.trees import TreeOptions, TreeProblem
    from loglin.structures.tree_scores import Base

RARE = whole(1, "words seen so often or less stand for unknown ones too")
BASE = choice("pcfg", "lexicon", help="what weights add to: a counted grammar, or its lexicon alone")
DEVIATION = "standard deviation of random weights to start from"


@dataclass(frozen=True)
class OnTrees(Criterion):
    """A criterion for parsers."""

    structures = ("forest",)
    defaults = Defaults(template="spans", max_iter=200)
    takes_template: ClassVar[bool] = True
    takes_sentences: ClassVar[bool] = False  # in the place of trees
    takes_unlabeled: ClassVar[bool] = False  # sentences besides trees
    takes_weights: ClassVar[bool] = True  # of trees and sentences
    as_terminals: ClassVar[bool] = False  # templates see words as the lexicon reads them

    def templates(self, given: Any = None) -> GrammarTemplates | None:
        """What spans and words are described by, as given or by default; None: nothing."""
        from loglin.features.read import read_grammar_templates

        if given is not None and not self.takes_template:
            raise LoglinError(
                f"criterion {self.name} counts rules and words alone; leave the template out, or take another"
            )
        template = self.defaults.template if given is None else given
        return None if template is None else read_grammar_templates(template)

    @abstractmethod
    def problem(
        self, trees: Sequence[Tree], options: TreeOptions, sentences: Sequence[Sequence[str]] = (), pcfg: Any = None
    ) -> TreeProblem:
        """The problem that these trees and sentences without trees are to this criterion."""


@dataclass(frozen=True)
class FromTrees(OnTrees):
    """A criterion that learns from annotated trees."""

    rare: int = RARE
    smoothing: float = number(0.1, "how much the words of a spelling weigh in a word's tags")

    @property
    def lexicon(self) -> dict[str, Any]:
        """How words are counted."""
        return {"smoothing": self.smoothing, "rare": self.rare}

    def problem(
        self, trees: Sequence[Tree], options: TreeOptions, sentences: Sequence[Sequence[str]] = (), pcfg: Any = None
    ) -> TreeProblem:
        from loglin.problems.trees import TreeProblem

        templates = self.templates(options.template)
        return TreeProblem.of_trees(trees, sentences, options, templates, self.lexicon, self.as_terminals, pcfg)


@dataclass(frozen=True)
class FromSentences(OnTrees):
    """A criterion that starts from a grammar, and sees sentences, or trees by their words or brackets."""

    needs = Annotation.HIDDEN
    takes_sentences = True
    takes_unlabeled = True
    symbols: int = whole(0, "without a grammar: how many nameless symbols there are")
    rare: int = RARE
    starts: int = STARTS

    def check(self) -> None:
        check_starts(self)

    def problem(
        self, trees: Sequence[Tree], options: TreeOptions, sentences: Sequence[Sequence[str]] = (), pcfg: Any = None
    ) -> TreeProblem:
        from loglin.problems.hidden_trees import hidden_text
        from loglin.problems.word_types import problem_of_text

        templates = self.templates(options.template)
        hidden = hidden_text(trees, sentences, options, self.name, self.symbols, self.rare)
        return problem_of_text(hidden, options, templates)


def exact(run: Run) -> Run:
    """The same search in double precision, from where it is told to start."""
    return replace(run, dtype="float64", warm_start=False)


def minimizing_trees(
    problem: TreeProblem,
    make: Callable[[TreeProblem, type], Any],
    base: Base,
    decoding: str = "global",
    finished: Callable[[Result], None] | None = None,  # adds to the result
) -> Way:
    """The way of an objective with the problem's features and penalties, as it scores on top of ``base``.

    ``make`` makes the objective of a problem, or of a part of it: what is minimized is the sum over the parts.
    """
    from loglin.optimize.minimize import minimize

    objective = problem.objective(make)

    def solve(first: np.ndarray | None, run: Run) -> Result:
        result = minimize(objective, problem.penalties, exact(run), first, problem.feature_name)
        if finished is not None:
            finished(result)
        return result

    return Way(solve, lambda weights: problem.model(weights, base, decoding))


def likelihood_of_trees(problem: TreeProblem, base: Base) -> ForestCriterion:
    """−Σ log p(tree | sentence)."""
    import numpy as np

    from loglin.objectives.forest import Annotated, ForestCriterion, Term

    uses, n = problem.uses, len(problem.uses.lengths)
    words = problem.design.leaves[np.arange(len(uses.tags)), uses.tags]
    rules = base.rules[uses.nodes.rules]
    by_tree = np.bincount(uses.nodes.sentences, rules, n) + base.roots[uses.roots]
    annotated = Annotated(problem.features, by_tree, np.bincount(np.repeat(np.arange(n), uses.lengths), words, n))
    if problem.weight is None:
        goals = np.tile([0.0, 1.0], (n, 1))
        observed = np.asarray(problem.features.sum(axis=0)).ravel()
        fixed = float(rules.sum() + base.roots[uses.roots].sum() + words.sum())
    else:
        weight = problem.weight[:n]
        goals = np.column_stack([0 * weight, weight])
        observed = problem.features.T @ weight
        fixed = float(weight @ (annotated.rules + annotated.words))
    term = Term(problem.forests, problem.design, goals)
    return ForestCriterion(problem.index, base, [term], observed, fixed, problem.threads, annotated)


def best_of_random_starts(
    objective: ForestCriterion,
    problem: TreeProblem,
    first: np.ndarray | None,
    run: Run,
    starts: int,
    deviation: float,
    blind: bool,  # at zero all symbols are alike, so that even the first start is random
) -> Result:
    """The best of several starts; the first is at zero, or as given."""
    import numpy as np

    from loglin.optimize.optimizers import optimizer
    from loglin.optimize.starts import best_of_starts, report_divergence

    by, penalties, rng = optimizer(run.optimizer), problem.penalties, np.random.default_rng(run.seed)
    plain = replace(exact(run), scaled=False)  # an objective that is not convex has no Hessian to scale by
    drawn = ((n > 0 or blind) * deviation * rng.standard_normal(objective.n_features) for n in range(starts))
    begins = (first if first is not None and n == 0 else weights for n, weights in enumerate(drawn))

    def solve(weights: np.ndarray) -> Result:
        return by.minimize(lambda dtype: objective, penalties, plain, weights, problem.feature_name)

    result = best_of_starts(begins, solve, run.reporter)
    report_divergence(result, penalties.free, len(problem.trees) + len(problem.sentences))
    return result
