"""Grammars counted from the Treebank: what they expect is what was counted."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from loglin.corpus.trees import read_trees
from loglin.generative.pcfg import PCFG
from loglin.generative.tree_expectations import Spans
from loglin.grammars.transforms import TreeCoder
from support.corpora import corpus_folder


@pytest.fixture(scope="module")
def trees():
    coder = TreeCoder()
    encoded = [coder.encode(tree) for tree in read_trees(corpus_folder("treebank"))]
    return [tree for tree in encoded if tree is not None and len(tree.words()) <= 15]


@pytest.fixture(scope="module")
def pcfg(trees):
    return PCFG.count(trees)


def test_expectations_are_what_was_counted(trees, pcfg):
    """Relative frequencies make a tight grammar (Chi and Geman, 1998) that uses every rule as often as the trees do."""
    assert len(trees) > 900
    assert pcfg.grammar.n_symbols > 390
    assert pcfg.is_tight()
    assert pcfg.expected_length() == pytest.approx(np.mean([len(tree.words()) for tree in trees]), rel=1e-9)
    counts = Counter()
    for tree in trees:
        counts.update((node.label, *(c.label for c in node.children)) for node in tree.nodes() if node.children)
    rules, _ = pcfg.expected_rules()
    np.testing.assert_allclose(rules, [counts[rule] / len(trees) for rule in pcfg.grammar.rules], rtol=1e-8)
    assert pcfg.expected_count("(S NP (VP VBZ NP))") == pytest.approx(
        rules[pcfg.grammar.rule_number["S", "NP", "VP"]]
        * np.exp(pcfg.rules[pcfg.grammar.rule_number["VP", "VBZ", "NP"]])
    )


def test_words_at_spans_against_samples(pcfg):
    """z-scores of rules with first and last words, joined with short lengths, are those of a normal distribution."""
    n, spans = 1500, Spans(pcfg)
    word = {pcfg.lexicon.text(row): row for row in range(len(pcfg.lexicon.terminals))}
    counts = [Counter(), Counter()]
    for tree in pcfg.sample(n, np.random.default_rng(1)):
        words, number = tree.words(), pcfg.grammar.rule_number
        at, uses = 0, Counter()
        for node in tree.nodes():
            length = len(node.leaves())
            if node.children:
                rule = number[node.label, *(c.label for c in node.children)]
                for place, t in (("first", at), ("last", at + length - 1)):
                    uses[rule, word[words[t]], place, length == 2] += 1
            at += node.word is not None
        for use, k in uses.items():
            counts[0][use] += k
            counts[1][use] += k * k
    z = []
    for place in ("first", "last"):
        for short in (True, False):
            seen = [(rule, w) for rule, w, p, s in counts[0] if (p, s) == (place, short)]
            rules, words = np.array(seen).T
            found = spans.expected(rules, {place: words}, *((2, 2) if short else (3, None)))
            for (rule, w), mean in zip(seen, found.tolist(), strict=True):
                if mean * n > 10:
                    total, squares = (c[rule, w, place, short] for c in counts)
                    z.append((total / n - mean) / np.sqrt((squares / n - (total / n) ** 2) / n))
    assert len(z) > 100
    assert abs(np.mean(z)) < 0.5
    assert 0.8 < np.std(z) < 1.2
    assert np.abs(z).max() < 5
