"""Bracketed trees, read and written: ( (S (NP (DT The) (NN cat)) (VP (VBD sat)) (. .)) ), as in the Penn Treebank.

Trees may be thousands of levels deep, so nothing here recurses: a tree is walked with a stack, and built from its
nodes in preorder (top-down, left to right), read backwards.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loglin.corpus.columns import Corpus, from_sentences
from loglin.corpus.files import read_text
from loglin.corpus.output import write_atomically
from loglin.corpus.shown import Shown
from loglin.errors import LoglinError

TRACE = "-NONE-"  # the tag of a leaf that stands for no word
# (TAG word) · an opening bracket with its label · a closing bracket · text that belongs to neither
_SYMBOL = re.compile(r"\(\s*([^\s()]+)\s+([^\s()]+)\s*\)|\(\s*([^\s()]*)|(\))|[^\s()]+", re.ASCII)
_LEAF, _OPENING, _CLOSING = 2, 3, 4  # the last group that matched
_UNWRITABLE = re.compile(r"[\s()]", re.ASCII)

Sentence = list[tuple[str, str]]  # (word, tag)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tree(Shown):
    """A node and what is below it: a preterminal has a word and no children, any other node has children."""

    label: str
    children: tuple[Tree, ...] = ()
    word: str | None = None

    @classmethod
    def parse(cls, text: str) -> Tree:
        """The one tree that is written in ``text``."""
        found = list(parse_trees(text, "the text"))
        if len(found) != 1:
            raise LoglinError(
                f"the text {text[:40]!r} holds {len(found)} trees, not one; write (LABEL …), or use parse_trees"
            )
        return found[0]

    @classmethod
    def from_preorder(cls, labels: Sequence[str], n_children: Sequence[int], words: Sequence[str | None]) -> Tree:
        """The tree whose nodes, top-down and left to right, have these labels, numbers of children and words."""
        built: list[Tree] = []  # what stands to the right of the node at hand, the nearest one last
        for label, n, word in zip(reversed(labels), reversed(n_children), reversed(words), strict=True):
            if n > len(built):
                break
            children = tuple(built[: -n - 1 : -1])
            del built[len(built) - n :]
            built.append(cls(label, children, word))
        if len(built) != 1 or len(labels) != 1 + sum(n_children):
            raise LoglinError(f"{len(labels)} nodes with {sum(n_children)} children make no tree; give all its nodes")
        return built[0]

    def nodes(self) -> list[Tree]:
        """This node and all below it, top-down and left to right."""
        found, ahead = [], [self]
        while ahead:
            node = ahead.pop()
            found.append(node)
            ahead += reversed(node.children)
        return found

    def leaves(self) -> list[Tree]:
        """The preterminals from left to right."""
        return [node for node in self.nodes() if node.word is not None]

    def words(self) -> list[str]:
        return [node.word for node in self.nodes() if node.word is not None]

    def tags(self) -> list[str]:
        """The labels of the preterminals."""
        return [node.label for node in self.leaves()]

    def spans(self) -> list[tuple[str, int, int]]:
        """(label, i, j) of every node that is no preterminal, top-down: it stands over words i … j − 1."""
        nodes = self.nodes()
        begins, position = [], 0
        for node in nodes:
            begins.append(position)
            position += node.word is not None
        ends: list[int] = []  # of the subtrees to the right, the nearest one last
        found = []
        for node, begin in zip(reversed(nodes), reversed(begins), strict=True):
            if not node.children:
                ends.append(begin + (node.word is not None))
                continue
            end = ends[-len(node.children)]  # where the last child ends
            del ends[-len(node.children) :]
            ends.append(end)
            found.append((node.label, begin, end))
        return found[::-1]

    def to_nltk(self) -> Any:
        """The same tree as NLTK has it; NLTK must be installed."""
        try:
            from nltk.tree import Tree as Node
        except ImportError:
            raise LoglinError("trees of NLTK need NLTK; install it") from None
        built: list = []  # what stands to the right of the node at hand, the nearest one last
        for node in reversed(self.nodes()):
            n = len(node.children)
            below = built[: -n - 1 : -1] if n else [node.word]
            del built[len(built) - n :]
            built.append(Node(node.label, below))
        return built[0]

    def __str__(self) -> str:
        return _one_line(self)

    def __repr__(self) -> str:
        return f"Tree.parse({_one_line(self, check=False)!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        ahead = [(self, other)]
        while ahead:
            a, b = ahead.pop()
            if a is b:
                continue
            if a.label != b.label or a.word != b.word or len(a.children) != len(b.children):
                return False
            ahead += zip(a.children, b.children, strict=True)
        return True

    def __hash__(self) -> int:
        return hash(tuple((node.label, len(node.children), node.word) for node in self.nodes()))

    def __reduce__(self):
        """Pickled and copied as flat lists, however deep."""
        nodes = self.nodes()
        return Tree.from_preorder, ([n.label for n in nodes], [len(n.children) for n in nodes], [n.word for n in nodes])


# ---------------------------------------------------------------------------------------------------- reading


def read_trees(path: str | os.PathLike, encoding: str = "utf-8", refused: list[str] | None = None) -> list[Tree]:
    """The trees of a file, or of all files *.mrg of a folder in the order of their names, traces and all.

    Where ``refused`` is given, trees that cannot be read are left out, and why is added to it.
    """
    found = [tree for text, source in _texts(path, encoding) for tree in parse_trees(text, source, refused)]
    if not found:
        raise LoglinError(f"{path} holds no words in brackets; expected trees such as (S (NN word))")
    return found


def read(path: str | os.PathLike, encoding: str = "utf-8") -> Corpus:
    """Words and tags of a file of trees, or of all files *.mrg of a folder in the order of their names."""
    found = [sentence for text, source in _texts(path, encoding) for sentence in sentences(text, source)]
    if not found:
        raise LoglinError(f"{path} holds no words in brackets; expected trees such as (S (NN word))")
    return from_sentences(found, str(path))


def _texts(path: str | os.PathLike, encoding: str) -> Iterator[tuple[str, str]]:
    """Every file's text and name."""
    paths = sorted(Path(path).glob("*.mrg")) if Path(path).is_dir() else [path]
    if not paths:
        raise LoglinError(f"{path} holds no file *.mrg; name a folder of bracketed trees, or a file of them")
    for one in paths:
        yield read_text(one, encoding), str(one)


def sentences(text: str, source: str = "input") -> Iterator[Sentence]:
    """The (word, tag) leaves of every tree, without traces; a tree of nothing else is left out."""
    for tree in parse_trees(text, source):
        leaves = [(n.word, n.label) for n in tree.nodes() if n.word is not None and n.label != TRACE]
        if leaves:
            yield leaves


def parse_trees(text: str, source: str = "input", refused: list[str] | None = None) -> Iterator[Tree]:
    """The trees of a text; the outermost bracket of each may have no label, "" then. White space is ASCII's.

    Lines before and between trees that begin with # are comments. A word beside phrases, (S (NP …) ,), is a
    preterminal of its own: a sign's tag is the sign, another word's is the label of the bracket. Where ``refused`` is
    given, a tree that cannot be read is left out, why is added to it, and reading goes on at the next line that begins
    with "(".
    """
    begin = [0]  # where the tree at hand begins
    while True:
        try:
            yield from _trees_from(text, begin, source)
            return
        except LoglinError as error:
            if refused is None:
                raise
            refused.append(str(error))
            begin[0] = text.find("\n(", begin[0]) + 1
            if not begin[0]:
                return


def _trees_from(text: str, begin: list[int], source: str) -> Iterator[Tree]:
    """The trees of a text from a place on; ``begin`` becomes the place of the tree that is being read."""
    opened: list[tuple[str, int, list[Tree | str]]] = []  # per open bracket: label, where it stands, children
    end = begin[0]
    while match := _SYMBOL.search(text, end):
        kind, end = match.lastindex, match.end()
        if not opened:
            begin[0] = match.start()
            if kind is None and match[0][0] == "#" and not text[text.rfind("\n", 0, begin[0]) + 1 : begin[0]].strip():
                line_end = text.find("\n", begin[0])
                end = len(text) if line_end < 0 else line_end
                continue
        if kind == _LEAF:
            node = Tree(sys.intern(match[1]), (), match[2])
        elif kind == _OPENING:
            if opened and not match[3]:
                raise _no_label(text, match.start(), source)
            opened.append((sys.intern(match[3]), match.start(), []))
            continue
        elif not opened:
            wrong = "a closing bracket too many" if kind == _CLOSING else f"{match[0]!r} stands outside all brackets"
            raise LoglinError(f"{_place(text, match.start(), source)}: {wrong}; write every tree as (LABEL …)")
        elif kind == _CLOSING and any(isinstance(child, Tree) for child in opened[-1][2]):
            label, _, children = opened.pop()
            node = Tree(label, tuple(c if isinstance(c, Tree) else _preterminal(c, label) for c in children))
        elif kind is None:
            opened[-1][2].append(match[0])
            continue
        else:  # a bracket that holds nothing, or two words
            raise _no_node(text, opened[-1][1], source)
        if opened:
            opened[-1][2].append(node)
        else:
            yield node
    if opened:
        raise LoglinError(
            f"{_place(text, opened[0][1], source)}: {len(opened)} of the brackets that this tree opens are never "
            "closed; close them, or look for an end of the file that is missing"
        )


def _preterminal(word: str, label: str) -> Tree:
    """A word that stands beside phrases in a bracket of this label."""
    return Tree(sys.intern(label if label and any(map(str.isalnum, word)) else word), (), word)


def _place(text: str, position: int, source: str) -> str:
    line = text.count("\n", 0, position) + 1
    return f"{source}, line {line}"


def _no_label(text: str, start: int, source: str) -> LoglinError:
    if _shown(text, start) == "()":
        return _no_node(text, start, source)
    return LoglinError(
        f"{_place(text, start, source)}: a bracket inside a tree has no label; write (LABEL (…) …), "
        "only the outermost bracket may go without"
    )


def _no_node(text: str, start: int, source: str) -> LoglinError:
    return LoglinError(
        f"{_place(text, start, source)}: {_shown(text, start)[:60]} is neither (TAG word) nor (LABEL (…) …); correct it"
    )


def _shown(text: str, start: int) -> str:
    """The bracket that opens at ``start``, brackets in it as (…)."""
    held: list[str] = []
    depth = 0
    for match in _SYMBOL.finditer(text, start):
        if depth <= 1 and match.lastindex == _OPENING:
            held.append("(…)" if depth else match[3])
        elif depth == 1 and match.lastindex != _CLOSING:
            held.append("(…)" if match.lastindex == _LEAF else match[0])
        depth += (match.lastindex == _OPENING) - (match.lastindex == _CLOSING)
        if depth == 0 or len(held) > 20:
            break
    return f"({' '.join(held)})"


# ---------------------------------------------------------------------------------------------------- writing


def without_brackets(tokens: Iterable[str]) -> list[str]:
    """Tokens as they can stand in a tree."""
    return [token.replace("(", "-LRB-").replace(")", "-RRB-") for token in tokens]


def write_trees(path: str | os.PathLike, trees: Iterable[Tree]) -> None:
    """One tree a line, as UTF-8."""
    write_atomically(path, _lines(path, trees))


def _lines(path: str | os.PathLike, trees: Iterable[Tree]) -> Iterator[bytes]:
    for number, tree in enumerate(trees, 1):
        try:
            yield f"{tree}\n".encode()
        except LoglinError as error:
            raise LoglinError(f"cannot write {path}, tree {number}: {error}") from error


def _one_line(tree: Tree, check: bool = True) -> str:
    parts: list[str] = []
    ahead: list[Tree | str] = [tree]
    while ahead:
        node = ahead.pop()
        if isinstance(node, str):
            parts.append(node)
            continue
        if check:
            _refuse_unwritable(node, node is tree)
        if not node.children:
            parts.append(f"({node.label} {node.word})")
            continue
        parts.append(f"({node.label}")
        ahead.append(")")
        for child in reversed(node.children):
            ahead += (child, " ")
    return "".join(parts)


def _refuse_unwritable(node: Tree, outermost: bool) -> None:
    """Raise where brackets would be read back as another tree."""
    for kind, text in (("label", node.label), ("word", node.word)):
        if text is not None and _UNWRITABLE.search(text):
            raise LoglinError(
                f"the {kind} {text!r} holds a bracket or white space, which bracketed trees cannot; "
                "write -LRB- and -RRB- for brackets and _ for a space"
            )
    if node.word == "" or not (node.label or (outermost and node.children)):
        raise LoglinError(
            f"a node of the tree has {'an empty word' if node.word == '' else 'no label'}, which cannot be written; "
            "give it one"
        )
    if (node.word is None) == (not node.children):
        has = "both a word and children" if node.children else "neither a word nor children"
        raise LoglinError(f"the node {node.label!r} has {has}, which cannot be written; give it one of the two")
