"""The enumeration of trees against counts known in closed form, and against itself."""

from __future__ import annotations

import math

import pytest

import oracle

SUMS = {("E", "E", "plus", "E"): math.log(0.4), ("E", "T"): math.log(0.6), ("T", "x"): 0.0}


@pytest.mark.parametrize(("n", "catalan"), [(1, 1), (2, 1), (3, 2), (4, 5), (5, 14)])
def test_numbers_of_trees(n, catalan):
    doubling = {("S", "S", "S"): math.log(0.25), ("S", "a"): math.log(0.75)}
    listed = oracle.trees(doubling, ["a"] * n)
    assert len({tree for tree, _ in listed}) == len(listed) == catalan
    for _, score in listed:
        assert score == pytest.approx(n * math.log(0.75) + (n - 1) * math.log(0.25))
    words = ["x", "plus"] * (n - 1) + ["x"]
    assert len(oracle.trees(SUMS, words, "E")) == catalan
    assert oracle.trees(SUMS, words[:-1], "E") == []  # "x plus" lacks its second half


def test_rules_of_a_tree():
    ((tree, score),) = oracle.trees(SUMS, ["x", "plus", "x"], {"E": -1.0, "T": -math.inf})
    assert tree == ("E", ("E", ("T", "x")), "plus", ("E", ("T", "x")))
    assert score == pytest.approx(-1 + math.log(0.4 * 0.6 * 0.6))
    assert oracle.tree_yield(tree) == ["x", "plus", "x"]
    assert oracle.tree_uses(tree) == [
        (("E", "E", "plus", "E"), (0, 1, 2, 3)),
        (("E", "T"), (0, 1)),
        (("T", "x"), (0, 1)),
        (("E", "T"), (2, 3)),
        (("T", "x"), (2, 3)),
    ]


def test_language_is_the_union_over_sentences():
    rules = {("S", "S", "B"): -1.0, ("S", "a"): -2.0, ("S", "B"): -0.5, ("B", "b"): 0.0, ("B", "c"): -3.0}
    listed = oracle.language(rules, "S", 3)
    sentences = {tuple(oracle.tree_yield(tree)) for tree, _ in listed}
    assert {len(s) for s in sentences} == {1, 2, 3}
    again = [one for s in sentences for one in oracle.trees(rules, s, "S")]
    assert len(listed) == len(again)
    assert dict(listed) == dict(again)
    for tree, score in listed:
        assert score == pytest.approx(sum(rules[rule] for rule, _ in oracle.tree_uses(tree)))
