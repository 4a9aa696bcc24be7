"""Rules of any length and their binary form have the same trees with the same weights."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from loglin.corpus.trees import Tree
from loglin.errors import LoglinError
from loglin.grammars import files
from loglin.grammars.files import Word
from loglin.grammars.normal_form import encoded, normal_form, restored


def test_a_long_rule():
    rules = files.parse("A -> B 'x' C C [0.5] | B [0.5]\nB -> 'b'[1]\nC -> 'c' 'x'[1]").rules
    found = normal_form(rules)
    weights = dict(zip(found.grammar.rules, found.weights.tolist(), strict=True))
    assert weights == {
        ("A", "B", "@'x',C,C"): 0.5,
        ("@'x',C,C", "@'x'", "@C,C"): 1.0,
        ("@C,C", "C", "C"): 1.0,
        ("C", "@'c'", "@'x'"): 1.0,
        ("A", "B"): 0.5,
    }
    assert found.lexical == {("B", Word("b")): 1.0, ("@'x'", Word("x")): 1.0, ("@'c'", Word("c")): 1.0}


def test_names_that_are_taken():
    found = normal_form(files.parse("A -> B B B [0.5] | @B,B [0.5]\n@B,B -> 'c' [1]\nB -> 'b' [1]").rules)
    assert set(found.grammar.rules) == {("A", "B", "@B,B~"), ("@B,B~", "B", "B"), ("A", "@B,B")}


def test_the_symbols_come_first():
    assert (
        normal_form({("A", "B", "S"): 1.0, ("S", Word("a")): 1.0, ("B", Word("b")): 1.0}, ["S"]).grammar.symbols[0]
        == "S"
    )


def test_circles_are_refused():
    with pytest.raises(LoglinError, match="unary rules go in a circle"):
        normal_form({("A", "A"): 0.5, ("A", Word("a")): 0.5})


def as_tree(node) -> Tree:
    """What the oracle lists as a Tree: a bare word among others is a leaf with the word in quotes as its label."""
    symbol, *children = node
    if len(children) == 1 and isinstance(children[0], str):
        return Tree(symbol, word=children[0])
    return Tree(symbol, tuple(Tree(f"'{c}'", word=c) if isinstance(c, str) else as_tree(c) for c in children))


@st.composite
def cases(draw):
    """Rules over A, B, C and words x, y, as the oracle takes them, and a sentence."""
    names = ["A", "B", "C"]
    rules = {}
    for n, parent in enumerate(names):
        rules[parent, draw(st.sampled_from("xy"))] = -1.0
        unary = st.sampled_from([*names[n + 1 :], "x", "y"]).map(lambda c: [c])
        longer = st.lists(st.sampled_from([*names, "x", "y"]), min_size=2, max_size=4)
        for children in draw(st.lists(unary | longer, max_size=3)):
            rules[(parent, *children)] = draw(st.floats(-3, 0))
    return rules, draw(st.lists(st.sampled_from("xy"), min_size=1, max_size=5))


@given(cases())
@settings(deadline=None, max_examples=60)
def test_trees_against_enumeration(case):
    rules, words = case
    productions = {
        (r[0], *(c if c in "ABC" else Word(c) for c in r[1:])): math.exp(score) for r, score in rules.items()
    }
    found = normal_form(productions)
    binary = dict(zip(found.grammar.rules, found.weights.tolist(), strict=True))
    assert all(len(rule) <= 3 for rule in binary)
    binary |= {(parent, word.text): weight for (parent, word), weight in found.lexical.items()}
    binary = {rule: math.log(weight) for rule, weight in binary.items()}
    for start in "ABC":
        wanted = {as_tree(node): score for node, score in oracle.trees(rules, words, start)}
        listed = oracle.trees(binary, words, start)
        assert {restored(as_tree(node)): score for node, score in listed} == pytest.approx(wanted)
        assert len(listed) == len(wanted)
        assert {encoded(tree) for tree in wanted} == {as_tree(node) for node, _ in listed}


def test_deep_trees():
    tree = Tree("A", word="a")
    for _ in range(5000):
        tree = Tree("A", (tree, Tree("'x'", word="x"), Tree("A", word="a")))
    back = restored(encoded(tree))
    assert back.words() == tree.words()
    assert [len(node.children) for node in (back, back.children[0], encoded(tree))] == [3, 3, 2]
