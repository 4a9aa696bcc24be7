"""What criteria share that learn grammars from sentences whose trees are hidden."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loglin.criteria.hidden import STARTS, check_starts
from loglin.criteria.settings import whole
from loglin.criteria.trees import RARE, OnTrees
from loglin.problems.request import Annotation

if TYPE_CHECKING:
    from loglin.corpus.trees import Tree
    from loglin.problems.trees import TreeOptions, TreeProblem


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
