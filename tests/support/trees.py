"""Treebanks small enough that every tree of a sentence can be listed, and the listing as the package scores trees."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

import oracle
from loglin.corpus.trees import Tree
from loglin.features.spans import Constituents
from loglin.generative.pcfg import PCFG
from loglin.grammars.uses import TreeUses
from loglin.structures.tree_scores import features_of
from support.grammars import ENGLISH


def sampled_trees(seed: int, n: int = 8, longest: int = 7) -> list[Tree]:
    """Random trees of the small English grammar."""
    return PCFG.of(ENGLISH).sample(n, np.random.default_rng(seed), longest)


def uses_of(tree: tuple, problem) -> TreeUses:
    """An enumerated tree as the package describes trees."""
    g, column = problem.pcfg.grammar, {int(s): k for k, s in enumerate(problem.index.tags)}
    inner, tags = [], {}
    for rule, ends in oracle.tree_uses(tree):
        if len(rule) == 3:
            inner.append((0, ends[0], ends[2], ends[1], g.rule_number[rule], g.number[rule[0]]))
        else:
            tags[ends[0]] = column[g.number[rule[0]]]
    columns = np.array(inner, np.int64).reshape(-1, 6)
    nodes = Constituents(*columns.T)
    codes = np.array([tags[t] for t in sorted(tags)], np.int32)
    return TreeUses(np.array([len(tags)]), np.array([g.number[tree[0]]], np.int32), codes, nodes)


def listings(problem, base, weights) -> Iterator[tuple[float, oracle.Listing]]:
    """Of each sentence the score of its gold tree, and every tree with its score; features are weighted by hand."""
    grammar, gold = problem.pcfg.grammar, problem.uses
    model = problem.model(np.zeros(problem.index.n_features), problem.base("pcfg"))
    first = np.concatenate([[0], np.cumsum(gold.lengths)])
    for s, tree in enumerate(problem.trees):
        n, design = len(tree.words()), model.design([tree.words()])

        def score(own, rules, root, tags, n=n, design=design) -> float:
            fixed = base.rules[rules].sum() + base.roots[root] + design.leaves[np.arange(n), tags].sum()
            return float((own @ weights)[0]) + fixed

        rules = dict.fromkeys(grammar.rules, 0.0)
        for t, k in np.argwhere(design.leaves > -math.inf):
            rules[grammar.symbols[problem.index.tags[k]], f"w{t}"] = 0.0
        listing = []
        for found, _ in oracle.trees(rules, [f"w{t}" for t in range(n)]):
            uses = uses_of(found, problem)
            own = features_of(problem.index, design, uses)
            listing.append((found, score(own, uses.nodes.rules, uses.roots[0], uses.tags)))
        chosen = gold.nodes.rules[gold.nodes.sentences == s]
        right = score(problem.features[s], chosen, gold.roots[s], gold.tags[first[s] : first[s + 1]])
        yield right, [one for one in listing if one[1] > -math.inf]


def tree_likelihood(problem, base, weights) -> float:
    """−Σ log p(gold tree | sentence), by listing every tree."""
    return math.fsum(oracle.log_partition(listing) - right for right, listing in listings(problem, base, weights))
