"""Weighted grammars from tags alone, after §3.2 and §6 of Smith and Eisner (2005): EM, neighborhoods, a few trees.

tags of short treebank sentences × head grammar ──► brackets found without labels; with 50 trees, labelled brackets
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from loglin.corpus.datasets import load_trees
from loglin.corpus.trees import Tree
from loglin.estimators.parser import Parser
from loglin.evaluation.trees import PUNCTUATION, Conventions, ParseReport, evaluate_trees
from loglin.grammars.transforms import TreeCoder
from loglin.reproduce.table import Progress, Row, Table

LONGEST, LABELED = 10, 50
NEIGHBORHOODS = ("del1word", "trans1", "delortrans1")
ITERATIONS, QUICK_ITERATIONS, QUICK = 40, 5, 120
L2, WEIGHT = 0.1, 0.1  # of the penalty, and of a sentence without a tree
SYMBOLS = {"$", "#", "``", "''", "-LRB-", "-RRB-", "SYM", "LS", "UH"}  # tags of words that are not spoken, or alone
BRACKETS = Conventions(punctuation=(), equal_labels=(), left_out=("",), labeled=False, errors_count=True)
LABELS = Conventions(punctuation=(), equal_labels=(), left_out=("",), errors_count=True)
REMARKS = [
    "Penn Treebank sample, the tags in the place of the words and without punctuation, sentences of 2 to {longest} "
    "tags: {training} for training, {test} for the test. The paper names weighted CFGs as what lattices of neighbors "
    "serve next, and gives no numbers; its companion (Smith and Eisner, 2005, IJCAI workshop) has dependency grammars.",
    "The head grammar has a symbol for every tag, which takes another's phrase to its left or right and is named after "
    "its head: H → H G | G H | tag. F1 is that of brackets without labels in the best trees, the whole sentence among "
    "them. EM starts at equal probabilities, contrastive estimation at weights of zero, l2 = {l2}, at most "
    "{iterations} iterations each; binary trees have more brackets than the treebank's, so their precision is bounded.",
    "The last rows learn from {labeled} trees, the mixture from the other training sentences besides, as TRANS1 sees "
    "them; labelled brackets.",
]


def run(quick: bool, progress: Progress, threads: int | None) -> Table:
    iterations = QUICK_ITERATIONS if quick else ITERATIONS
    trees = tagged_trees(LONGEST)[: QUICK if quick else None]
    cut = int(0.8 * len(trees))
    training, test = trees[:cut], trees[cut:]
    rows = branching_rows(test)
    how: dict[str, Any] = {"threads": threads, "max_iter": iterations, "l2": L2}
    with tempfile.TemporaryDirectory() as folder:
        grammar = Path(folder) / "heads.grammar"
        grammar.write_text(head_grammar(trees))
        for name, criterion, around in (("em", "em", None), *((n, "contrastive", n) for n in NEIGHBORHOODS)):
            progress(f"{name}: {len(training)} sentences")
            parser = Parser(criterion, neighborhood=around, grammar=grammar, **how)
            parser.fit([tree.words() for tree in training])
            rows += rows_of(f"head grammar, {name}", parser, test, BRACKETS)
    rows += few_trees(training, test, how, progress)
    sizes = {"longest": LONGEST, "training": len(training), "test": len(test), "labeled": LABELED}
    remarks = [remark.format(**sizes, l2=L2, iterations=iterations) for remark in REMARKS]
    title = "Grammars of tags: without trees, and with a few"
    return Table("contrastive-trees", title, rows, remarks)


def few_trees(training: list[Tree], test: list[Tree], how: dict, progress: Progress) -> list[Row]:
    """A CRF of some trees, and a mixture of these with the sentences of the others."""
    few, rest = training[:LABELED], [tree.words() for tree in training[LABELED:]]
    known = {word for tree in few for word in tree.words()}
    rest = [words for words in rest if known.issuperset(words)]
    rows: list[Row] = []
    how = how | {"template": "U01:%x[0,0]\n", "horizontal": 1}
    counted = how | {"template": None}
    mixed = how | {"neighborhood": "trans1", "settings": {"weight": WEIGHT}}
    for criterion, own, unlabeled in (("pcfg", counted, None), ("crf", how, None), ("mixture", mixed, rest)):
        progress(f"{criterion}: {len(few)} trees" + (f", {len(rest)} sentences" if unlabeled else ""))
        parser = Parser(criterion, **own).fit(few, unlabeled=unlabeled)
        rows += rows_of(f"{len(few)} trees, {criterion}", parser, test, LABELS)
    return rows


def rows_of(name: str, parser: Parser, test: list[Tree], conventions: Conventions) -> list[Row]:
    report = evaluate_trees(test, parser.predict([tree.words() for tree in test]), conventions)
    record = parser.model_.record
    note = "" if record["converged"] else f"{record['iterations']} iterations, not converged"
    kind = "brackets" if not conventions.labeled else "labelled brackets"
    return [*_scores(name, report, kind), Row(name, "training seconds", None, record["seconds"], note)]


def _scores(name: str, report: ParseReport, kind: str) -> list[Row]:
    measures = {"precision": report.precision, "recall": report.recall, "F1": report.f1}
    return [Row(name, f"{kind}, {measure}", None, 100 * value, digits=1) for measure, value in measures.items()]


def branching_rows(test: Sequence[Tree]) -> list[Row]:
    """Trees that always branch to one side."""
    rows = []
    for name, right in (("right-branching", True), ("left-branching", False)):
        report = evaluate_trees(test, [branching(tree, right) for tree in test], BRACKETS)
        rows += _scores(name, report, "brackets")
    return rows


def branching(tree: Tree, right: bool) -> Tree:
    leaves = tree.leaves()
    whole = leaves[-1] if right else leaves[0]
    for leaf in leaves[-2::-1] if right else leaves[1:]:
        whole = Tree("X", (leaf, whole) if right else (whole, leaf))
    return whole


def tagged_trees(longest: int, seed: int = 0) -> list[Tree]:
    """Treebank trees over tags, without punctuation, in a random order."""
    coder, found = TreeCoder(), []
    for tree in map(coder.strip, load_trees("treebank")):
        kept = None if tree is None else _over_tags(tree)
        if kept is not None and 2 <= len(kept.leaves()) <= longest:
            found.append(kept)
    return [found[i] for i in np.random.default_rng(seed).permutation(len(found))]


def _over_tags(node: Tree) -> Tree | None:
    """The tree with every word replaced by its tag, without punctuation and what it leaves empty."""
    if node.word is not None:
        silent = node.label in SYMBOLS or node.label in PUNCTUATION
        return None if silent else Tree(node.label, (), node.label)
    children = tuple(child for child in map(_over_tags, node.children) if child is not None)
    return Tree(node.label, children) if children else None


def head_grammar(trees: Sequence[Tree]) -> str:
    """A grammar file: every tag heads phrases, and takes the phrases of all tags to either side."""
    tags = sorted({word for tree in trees for word in tree.words()})
    symbol = {tag: f"H{n}" for n, tag in enumerate(tags)}
    lines = ["%start TOP", "TOP -> " + " | ".join(f"{symbol[tag]} [{1 / len(tags)!r}]" for tag in tags)]
    for tag in tags:
        head = symbol[tag]
        pairs = [f"{head} {symbol[other]}" for other in tags]
        pairs += [f"{symbol[other]} {head}" for other in tags if other != tag]
        share = 0.5 / len(pairs)
        lines.append(f"{head} -> " + " | ".join(f"{pair} [{share!r}]" for pair in pairs) + f" | '{tag}' [0.5]")
    return "\n".join(lines) + "\n"
