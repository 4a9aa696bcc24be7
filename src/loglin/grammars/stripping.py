"""Remove from a tree what a treebank annotates beyond phrases, with a record from which the original is restored.

Removed are traces (leaves tagged -NONE-) and the nodes that hold nothing else, function tags (NP-SBJ-1 becomes NP),
the bracket without a label around a tree (S if it holds several), and a node whose only child is a phrase of the same
label. The nodes that stay keep their order, so a record need only name, by their place in the preorder of the
original, the nodes that are gone and those that have another label or number of children than they had.
"""

from __future__ import annotations

import re
from operator import is_
from typing import NamedTuple

from loglin.corpus.trees import TRACE, Tree
from loglin.errors import LoglinError

_FUNCTION = re.compile(r"[-=|]")


class Change(NamedTuple):
    """A node of the original as it was, if it is gone or differs."""

    node: int  # its number in the original, top-down and left to right
    kept: bool  # whether the stripped tree has it, changed
    label: str
    n_children: int
    word: str | None


Record = tuple[Change, ...]  # by node


def without_function(label: str) -> str:
    """NP of NP-SBJ-1, NP=2 or NP|X; a label that begins with such a mark, as -LRB-, stays whole."""
    return _FUNCTION.split(label, maxsplit=1)[0] or label


def strip(tree: Tree, functions: bool = False) -> tuple[Tree | None, Record]:
    """The tree without traces, function tags (unless ``functions``), empty root and X → X; None if nothing is left.

    Preterminals keep their labels.
    """
    nodes = tree.nodes()
    stripped: list[Tree | None] = []  # the subtrees to the right, the nearest one last
    changes = []
    for number in range(len(nodes) - 1, -1, -1):
        node = nodes[number]
        n = len(node.children)
        if (node.word is None) == (n == 0):
            has = "both a word and children" if n else "neither a word nor children"
            raise LoglinError(f"the node {node.label!r} of a tree has {has}; give it one of the two")
        below = tuple(child for child in reversed(stripped[len(stripped) - n :]) if child is not None)
        del stripped[len(stripped) - n :]
        result = _without(node, below, functions)
        if result is None or (len(below) == 1 and result is below[0]):
            changes.append(Change(number, False, node.label, n, node.word))
        elif result.label != node.label or len(result.children) != n:
            changes.append(Change(number, True, node.label, n, node.word))
        stripped.append(result)
    return stripped[0], tuple(reversed(changes))


def _without(node: Tree, below: tuple[Tree, ...], functions: bool) -> Tree | None:
    """The node over what is left of its children, its only child in place of it, or None."""
    if node.word is not None:
        return None if node.label == TRACE else node
    if not below:
        return None
    label = node.label if functions else without_function(node.label)
    if len(below) == 1 and (not label or (below[0].children and below[0].label == label)):
        return below[0]
    label = label or "S"
    unchanged = label == node.label and len(below) == len(node.children) and all(map(is_, below, node.children))
    return node if unchanged else Tree(label, below)


def restore(tree: Tree | None, record: Record) -> Tree:
    """The original of the tree that `strip` gave together with this record."""
    left = tree.nodes()[::-1] if tree is not None else []
    changes = list(reversed(record))
    labels: list[str] = []
    n_children: list[int] = []
    words: list[str | None] = []
    try:
        while left or changes:
            if changes and changes[-1].node == len(labels):
                _, kept, label, n, word = changes.pop()
                if kept:
                    left.pop()
            else:
                node = left.pop()
                label, n, word = node.label, len(node.children), node.word
            labels.append(label)
            n_children.append(n)
            words.append(word)
        return Tree.from_preorder(labels, n_children, words)
    except (IndexError, LoglinError) as error:
        raise LoglinError("the record is of another tree; give the one that strip gave with this tree") from error
