"""Encode trees of a treebank as the binary trees that grammars are read off and charts hold, and decode them.

In an encoded tree every node has a word or exactly two children. Chains of single children are one symbol, the nodes
that binarization puts in are marked, and parents and annotations stand in the symbols (symbols.py says how). Markov
orders are those of Klein & Manning (2003): the horizontal one counts the sisters that an intermediate symbol
remembers, the vertical one the labels of a symbol, its own included.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from loglin.corpus.trees import Tree
from loglin.errors import LoglinError
from loglin.grammars.annotations import checked, marks_of
from loglin.grammars.stripping import strip
from loglin.grammars.symbols import ROOT, chain_of, escape, intermediate, is_intermediate

_DIRECTIONS = ("right", "left")


@dataclass(frozen=True)
class TreeCoder:
    """How trees are encoded; ``decode(encode(tree)) == strip(tree)`` for every tree and all settings."""

    horizontal: int | None = 2  # sisters in the name of an intermediate symbol, None for all
    vertical: int = 1  # labels in the name of a symbol: 1 its own, 2 its parent's too, …
    annotations: tuple[str, ...] = ()  # by name, or "klein-manning"
    functions: bool = False  # whether function tags stay in the labels
    binarize: str = "right"  # right: the first child is split off first

    def __post_init__(self) -> None:
        if self.horizontal is not None and not _is_count(self.horizontal, 0):
            raise LoglinError(f"horizontal is {self.horizontal!r}; give 0, 1, 2, … or None for all sisters")
        if not _is_count(self.vertical, 1):
            raise LoglinError(f"vertical is {self.vertical!r}; give 1, 2, 3, …")
        if not isinstance(self.functions, bool):
            raise LoglinError(f"functions is {self.functions!r}; give True or False")
        if self.binarize not in _DIRECTIONS:
            raise LoglinError(f"binarize is {self.binarize!r}; give one of {', '.join(_DIRECTIONS)}")
        object.__setattr__(self, "annotations", checked(self.annotations))

    def strip(self, tree: Tree) -> Tree | None:
        """The tree that encoding keeps: no traces, function tags, empty root or X → X; None for a tree of traces."""
        return strip(tree, self.functions)[0]

    def encode(self, tree: Tree) -> Tree | None:
        """The stripped tree in binary normal form; None for a tree of traces.

        Give the tree as the treebank has it: two of the annotations look at traces and function tags.
        """
        stripped, record = strip(tree, self.functions)
        if stripped is None:
            return None
        nodes = stripped.nodes()
        labels = [escape(node.label) for node in nodes]
        names = labels
        if self.annotations:
            names = [a + b for a, b in zip(labels, marks_of(tree, stripped, record, self.annotations), strict=True)]
        if self.vertical > 1:
            names = [a + b for a, b in zip(names, self._parents(nodes, labels), strict=True)]
        encoded: list[Tree] = []  # the subtrees to the right, the nearest one last
        tops: list[str] = []  # their labels
        for node, label, name in zip(reversed(nodes), reversed(labels), reversed(names), strict=True):
            n = len(node.children)
            if n > 1:
                result = self._binarized(name, encoded[: -n - 1 : -1], tops[: -n - 1 : -1])
            elif n == 1:
                only = encoded[-1]
                result = Tree(f"{name}+{only.label}", only.children, only.word)
            else:
                result = Tree(name, (), node.word)
            del encoded[len(encoded) - n :], tops[len(tops) - n :]
            encoded.append(result)
            tops.append(label)
        return encoded[0]

    def _parents(self, nodes: list[Tree], labels: list[str]) -> Iterator[str]:
        """The labels of the vertical − 1 nodes above, as the name of every phrase has them; nothing for tags."""
        above = [ROOT]  # the labels from the top down to the parent at hand
        to_come = [1]  # the children of each that are still to come
        for node, label in zip(nodes, labels, strict=True):
            while not to_come[-1]:
                to_come.pop()
                above.pop()
            to_come[-1] -= 1
            if not node.children:
                yield ""
                continue
            yield "".join(f"^{parent}" for parent in above[: -self.vertical : -1])
            above.append(label)
            to_come.append(len(node.children))

    def _binarized(self, name: str, children: Sequence[Tree], labels: Sequence[str]) -> Tree:
        """A → B₁ A₁, A₁ → B₂ A₂, …, the last with two children; to the left in the mirror."""
        forward = self.binarize == "right"
        produced = labels if forward else labels[::-1]  # in the order in which they are split off
        rest = children[-1] if forward else children[0]
        for step in range(len(children) - 2, -1, -1):
            first = 0 if self.horizontal is None else max(0, step - self.horizontal)
            symbol = intermediate(name, produced[first:step]) if step else name
            pair = (children[step], rest) if forward else (rest, children[-1 - step])
            rest = Tree(symbol, pair)
        return rest

    def decode(self, tree: Tree) -> Tree:
        """The tree that an encoded one stands for, whether a treebank's or a parser's.

        An intermediate node gives its children to the node above; at the root, or over a word, it is taken for the
        node that it is part of.
        """
        labels: list[str] = []
        n_children: list[int] = []
        words: list[str | None] = []
        ahead = [(tree, -1)]  # a node, and the number of the decoded node above it
        while ahead:
            node, above = ahead.pop()
            if is_intermediate(node.label) and node.word is None and above >= 0:
                ahead += [(child, above) for child in reversed(node.children)]
                continue
            chain = chain_of(node.label)
            if above >= 0:
                n_children[above] += 1
            labels += chain
            n_children += [1] * (len(chain) - 1) + [0]
            words += [None] * (len(chain) - 1) + [node.word]
            last = len(labels) - 1
            ahead += [(child, last) for child in reversed(node.children)]
        return Tree.from_preorder(labels, n_children, words)

    def to_dict(self) -> dict[str, Any]:
        """The settings as JSON knows them."""
        return asdict(self) | {"annotations": list(self.annotations)}

    @classmethod
    def from_dict(cls, settings: dict[str, Any]) -> TreeCoder:
        known = [field.name for field in fields(cls)]
        wrong = [name for name in settings if name not in known]
        if wrong:
            raise LoglinError(f"trees have no setting {wrong[0]!r}; there are {', '.join(known)}")
        return cls(**settings)


def _is_count(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
