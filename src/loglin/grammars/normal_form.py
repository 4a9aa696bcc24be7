"""Rules of any length as a Grammar of binary and unary rules, and trees of it as trees of the rules they came from.

    A -> B 'x' C D [p]   becomes   A -> B @'x',C,D [p]   @'x',C,D -> @'x' @C,D [1]   @C,D -> C D [1]   @'x' -> 'x' [1]

A symbol that begins with @ stands for what is left of a rule, whatever the parent, or for a word inside one; so each
tree of the normal form is one tree of the rules with the same weight. Unary rules stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from loglin.corpus.trees import Tree
from loglin.grammars.files import Production, Word, shown_word
from loglin.grammars.grammar import Grammar, Rule
from loglin.grammars.symbols import is_intermediate


@dataclass(frozen=True, eq=False)
class NormalForm:
    grammar: Grammar
    weights: np.ndarray  # (rules,)
    lexical: dict[tuple[str, Word], float]  # weights of rules A -> 'word'


def normal_form(rules: Mapping[Production, float], symbols: Iterable[str] = ()) -> NormalForm:
    """The rules in normal form; ``symbols`` come first in its grammar."""
    taken = {symbol for rule in rules for symbol in rule if isinstance(symbol, str)}
    names: dict[tuple[str | Word, ...], str] = {}
    inner: dict[Rule, float] = {}
    lexical: dict[tuple[str, Word], float] = {}

    def name(rest: tuple[str | Word, ...]) -> str:
        """One symbol for what is left of a rule, with its own rules."""
        if len(rest) == 1 and isinstance(rest[0], str):
            return rest[0]
        if rest not in names:
            names[rest] = rest_symbol(rest)
            while names[rest] in taken:
                names[rest] += "~"
            taken.add(names[rest])
            expand(names[rest], rest, 1.0)
        return names[rest]

    def expand(parent: str, children: tuple[str | Word, ...], weight: float) -> None:
        match children:
            case (Word() as word,):
                lexical[parent, word] = weight
            case (child,):
                inner[parent, str(child)] = weight
            case (first, *rest):
                inner[parent, name((first,)), name(tuple(rest))] = weight

    for rule, weight in rules.items():
        expand(str(rule[0]), rule[1:], weight)
    grammar = Grammar.of(inner, [*symbols, *(parent for parent, _ in lexical)])
    return NormalForm(grammar, np.array([inner[rule] for rule in grammar.rules], float), lexical)


def rest_symbol(children: Iterable[str | Word]) -> str:
    return "@" + ",".join(shown_word(c) if isinstance(c, Word) else c for c in children)


def restored(tree: Tree) -> Tree:
    """The tree of the original rules; a word inside a rule is a leaf whose label is the word as rules write it."""

    def finish(node: Tree, below: list[tuple[Tree, ...]]) -> tuple[Tree, ...]:
        children = tuple(part for parts in below for part in parts)
        if children and is_intermediate(node.label):
            return children
        return (Tree(node.label.removeprefix("@"), children, node.word),)

    return _from_below(tree, finish)[0]


def encoded(tree: Tree) -> Tree:
    """The tree of the normal form, of a tree of the original rules or of a piece of one."""

    def finish(node: Tree, below: list[Tree]) -> Tree:
        if len(below) < 2:
            return Tree(node.label, tuple(below), node.word)
        below = [Tree(f"@{t.label}", word=t.word) if is_bare(t) else t for t in below]
        right = below.pop()
        names = [child.label for child in node.children]
        while len(below) > 1:
            right = Tree(rest_symbol(names[len(below) - 1 :]), (below.pop(), right))
        return Tree(node.label, (below[0], right))

    return _from_below(tree, finish)


def is_bare(leaf: Tree) -> bool:
    """Whether a leaf is a word without a tag."""
    signature = leaf.label[:1] == "<" and leaf.label[-1:] == ">"
    return leaf.word is not None and (signature or leaf.label == shown_word(Word(leaf.word)))


def _from_below(tree: Tree, finish: Callable[[Tree, list], Any]) -> Any:
    """The value of ``finish(node, values of its children)`` at the root, computed bottom-up without recursion."""
    done: list = []
    ahead = [(tree, False)]
    while ahead:
        node, visited = ahead.pop()
        if visited:
            first = len(done) - len(node.children)
            done[first:] = [finish(node, done[first:])]
        else:
            ahead.append((node, True))
            ahead += [(child, False) for child in reversed(node.children)]
    return done[0]
