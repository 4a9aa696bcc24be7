"""What the tables about parsing share: splits of the treebank sample, parsers trained and judged on them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from loglin.corpus.datasets import load_trees
from loglin.corpus.trees import Tree
from loglin.estimators.parser import Parser
from loglin.evaluation.trees import CONVENTIONS, ParseReport, evaluate_trees
from loglin.grammars.transforms import TreeCoder


@dataclass(frozen=True)
class Split:
    training: list[Tree]  # as the treebank has them
    test: list[Tree]  # without traces, function tags and the empty root


def splits(longest: int, seeds: Sequence[int], most: int | None = None) -> list[Split]:
    """Sentences of 2 to so many words, four fifths of a random order for training and the rest for the test."""
    coder = TreeCoder()
    pairs = [(tree, coder.strip(tree)) for tree in load_trees("treebank")]
    fitting = [(tree, bare) for tree, bare in pairs if bare is not None and 2 <= len(bare.leaves()) <= longest]
    found = []
    for seed in seeds:
        order = np.random.default_rng(seed).permutation(len(fitting)).tolist()[:most]
        cut = int(0.8 * len(order))
        found.append(Split([fitting[i][0] for i in order[:cut]], [fitting[i][1] for i in order[cut:]]))
    return found


@dataclass
class Scores:
    """One parser on several splits."""

    reports: list[ParseReport] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)
    parsing_seconds: float = 0.0

    def mean(self, measure: str) -> float:
        """In percent."""
        return 100 * float(np.mean([getattr(report, measure) for report in self.reports]))

    def spread(self, measure: str) -> str:
        """How far the splits are apart, as a note."""
        values = [100 * getattr(report, measure) for report in self.reports]
        return f"{min(values):.1f} to {max(values):.1f} in {len(values)} splits" if len(values) > 1 else ""

    def of_record(self, name: str) -> float:
        return float(np.mean([record[name] for record in self.records]))


def judged(parser: Parser, split: Split, scores: Scores) -> None:
    """Train a parser on a split, parse its test sentences, and note how good the trees are."""
    parser.fit(split.training)
    began = time.perf_counter()
    parses = parser.parse([tree.words() for tree in split.test])
    scores.parsing_seconds += time.perf_counter() - began
    flags, trees = [parse.complete for parse in parses], [parse.tree for parse in parses]
    scores.reports.append(evaluate_trees(split.test, trees, CONVENTIONS["plain"], complete=flags))
    scores.records.append(parser.model_.record)
