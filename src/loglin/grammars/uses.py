"""What encoded trees use: which rule at which span, split where; the tags of their words; their roots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from loglin.corpus.trees import Tree
from loglin.errors import LoglinError
from loglin.features.spans import Constituents
from loglin.grammars.grammar import Grammar


@dataclass(frozen=True, eq=False)
class TreeUses:
    lengths: np.ndarray  # (trees,) int64: words
    roots: np.ndarray  # (trees,) int32: symbols
    tags: np.ndarray  # (words,) int32: columns of tags, see tree_uses
    nodes: Constituents  # the nodes with children


def tree_uses(trees: Sequence[Tree], grammar: Grammar, tags: np.ndarray) -> TreeUses:
    """The uses of trees in normal form (two children or a word); ``tags`` (K,) are the symbols that have words."""
    column = {int(symbol): k for k, symbol in enumerate(tags)}
    lengths, roots, rows = [], [], []
    columns: list[int] = []
    for t, tree in enumerate(trees):
        before = len(columns)
        rows += _nodes(tree, t, grammar, column, columns)
        lengths.append(len(columns) - before)
        roots.append(grammar.number[tree.label])
    uses = np.array(rows, np.int64).reshape(-1, 5)
    rules = uses[:, 4]
    nodes = Constituents(uses[:, 0], uses[:, 1], uses[:, 2], uses[:, 3], rules, grammar.parents[rules])
    return TreeUses(np.array(lengths, np.int64), np.array(roots, np.int32), np.array(columns, np.int32), nodes)


def _nodes(
    tree: Tree, number: int, grammar: Grammar, column: dict[int, int], columns: list[int]
) -> list[tuple[int, int, int, int, int]]:
    """(tree, i, j, split, rule) of every node with children; adds the tags of its words to ``columns``."""
    found: list[tuple[int, int, int, int, int]] = []
    first = len(columns)
    ends: list[tuple[int, int]] = []  # (begin, end) of the nodes that are done and have no parent yet
    ahead: list[tuple[Tree, bool]] = [(tree, False)]
    while ahead:
        node, is_done = ahead.pop()
        if node.word is not None:
            symbol = grammar.number.get(node.label, -1)
            if symbol not in column:
                raise LoglinError(f"tree {number}: {node.label!r} is no tag of the grammar; count it from these trees")
            i = len(columns) - first
            columns.append(column[symbol])
            ends.append((i, i + 1))
        elif not is_done:
            ahead += [(node, True), *((child, False) for child in reversed(node.children))]
        else:
            (i, k), (_, j) = ends[-2], ends[-1]
            rule = (node.label, *(child.label for child in node.children))
            if rule not in grammar.rule_number:
                raise LoglinError(f"tree {number}: the grammar has no rule {' '.join(rule)}; count it from these trees")
            found.append((number, i, j, k, grammar.rule_number[rule]))
            ends[-2:] = [(i, j)]
    return found
