"""Held-out trees that decide when to stop: the F1 of the best trees of their sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loglin.corpus.trees import Tree
from loglin.criteria.criterion import Way
from loglin.decoding.trees import MEMORY, TreeDecoder
from loglin.errors import LoglinError
from loglin.evaluation.trees import evaluate_trees
from loglin.grammars.transforms import TreeCoder
from loglin.models.parser import ParserModel
from loglin.optimize.reporter import Judge


@dataclass(frozen=True)
class HeldOutTrees:
    """Annotated trees that are not learnt from."""

    gold: list[Tree]
    threads: int | None = None
    memory: int = MEMORY

    @classmethod
    def of(cls, trees: Sequence[Tree], coder: TreeCoder, threads: int | None, memory: int) -> HeldOutTrees:
        """Without what encoding drops; refuses trees that hold no word."""
        gold = [stripped for stripped in map(coder.strip, trees) if stripped is not None]
        if not gold:
            raise LoglinError(f"the development data are {len(trees)} trees without a word; give some with words")
        return cls(gold, threads, memory)

    def judge(self, way: Way) -> Judge:
        """Scores the model of any weights, or of a grammar."""
        return Judge(lambda learned: self.score(way.model(learned)))

    def score(self, model: ParserModel) -> float:
        """Labelled F1 of the best trees."""
        found = TreeDecoder(model, self.threads, self.memory).best([tree.words() for tree in self.gold])
        return evaluate_trees(self.gold, [parse.tree for parse in found]).f1
