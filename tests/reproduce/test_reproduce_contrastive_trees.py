"""The table of grammars learnt from tags: its data, its grammar, and that it runs."""

from __future__ import annotations

import numpy as np

from loglin.corpus.trees import Tree
from loglin.evaluation.trees import evaluate_trees
from loglin.generative.pcfg import PCFG
from loglin.reproduce import contrastive_trees as table
from support.corpora import corpus_folder

TREE = Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBD ran) (ADVP (RB off))) (. .))")


def test_trees_over_tags():
    assert str(table._over_tags(TREE)) == "(S (NP (DT DT) (NN NN)) (VP (VBD VBD) (ADVP (RB RB))))"
    assert table._over_tags(Tree.parse("(S (. .))")) is None


def test_branching():
    tree = table._over_tags(TREE)
    assert str(table.branching(tree, True)) == "(X (DT DT) (X (NN NN) (X (VBD VBD) (RB RB))))"
    assert str(table.branching(tree, False)) == "(X (X (X (DT DT) (NN NN)) (VBD VBD)) (RB RB))"
    report = evaluate_trees([tree], [table.branching(tree, True)], table.BRACKETS)
    assert (report.gold, report.found, report.correct) == (4, 3, 2)  # ADVP over one word, NP; VP and S agree


def test_head_grammar(tmp_path):
    path = tmp_path / "heads.grammar"
    path.write_text(table.head_grammar([table._over_tags(TREE)]))
    grammar = PCFG.read(path)
    assert (grammar.grammar.n_symbols, grammar.grammar.n_rules) == (4, 4 * 7)
    assert np.allclose(np.exp(grammar.roots), 0.25)


def test_the_table(monkeypatch):
    corpus_folder("treebank")
    monkeypatch.setattr(table, "QUICK", 70)
    monkeypatch.setattr(table, "QUICK_ITERATIONS", 2)
    lines: list[str] = []
    found = table.run(quick=True, progress=lines.append, threads=1)
    f1 = {row.name: row.ours for row in found.rows if row.metric.endswith("F1")}
    assert list(f1) == [
        "right-branching",
        "left-branching",
        *(f"head grammar, {name}" for name in ("em", "del1word", "trans1", "delortrans1")),
        *(f"50 trees, {name}" for name in ("pcfg", "crf", "mixture")),
    ]
    assert f1["right-branching"] > f1["left-branching"]
    assert f1["50 trees, pcfg"] > 40
    assert len(lines) == 7
