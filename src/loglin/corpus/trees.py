"""Bracketed Penn trees, read for their leaves: ( (S (NP (DT The) (NN cat)) (VP (VBD sat)) (. .)) )."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from loglin.corpus.columns import Corpus, from_sentences
from loglin.corpus.files import read_text
from loglin.errors import LoglinError

TRACE = "-NONE-"  # the tag of a leaf that stands for no word
_SYMBOL = re.compile(r"[()\n]|[^\s()]+")

Sentence = list[tuple[str, str]]  # (word, tag)


@dataclass(frozen=True, slots=True)
class Tree:
    """A node and what is below it: a preterminal has a word and no children, any other node has children."""

    label: str
    children: tuple[Tree, ...] = ()
    word: str | None = None

    def leaves(self) -> list[Tree]:
        """The preterminals from left to right."""
        found, ahead = [], [self]
        while ahead:
            node = ahead.pop()
            if node.word is not None:
                found.append(node)
            ahead += reversed(node.children)
        return found

    def words(self) -> list[str]:
        return [leaf.word for leaf in self.leaves() if leaf.word is not None]


def read(path: str | os.PathLike, encoding: str = "utf-8") -> Corpus:
    """Words and tags of a file of trees, or of all files *.mrg of a folder in the order of their names."""
    paths = sorted(Path(path).glob("*.mrg")) if Path(path).is_dir() else [path]
    if not paths:
        raise LoglinError(f"{path} holds no file *.mrg; name a folder of bracketed trees, or a file of them")
    found: list[Sentence] = []
    for one in paths:
        found += sentences(read_text(one, encoding), str(one))
    if not found:
        raise LoglinError(f"{path} holds no words in brackets; expected trees such as (S (NN word))")
    return from_sentences(found, str(path))


def sentences(text: str, source: str = "input") -> Iterator[Sentence]:
    """The (word, tag) leaves of every tree, without traces; a tree of nothing else is left out."""
    leaves: Sentence = []
    nodes: list[list[str | None]] = []  # per open bracket what it holds: label, word, None for a bracket
    opened, line = 1, 1  # the line on which the tree begins, and this one
    for match in _SYMBOL.finditer(text):
        symbol = match.group()
        if symbol == "\n":
            line += 1
        elif symbol == "(":
            if nodes:
                nodes[-1].append(None)
            else:
                opened = line
            nodes.append([])
        elif not nodes:
            wrong = "a closing bracket too many" if symbol == ")" else f"{symbol!r} stands outside all brackets"
            raise LoglinError(f"{source}, line {line}: {wrong}; write every tree as (LABEL …)")
        elif symbol == ")":
            leaf = _leaf(nodes.pop(), f"{source}, line {line}")
            if leaf and leaf[1] != TRACE:
                leaves.append(leaf)
            if not nodes and leaves:
                yield leaves
                leaves = []
        else:
            nodes[-1].append(symbol)
    if nodes:
        raise LoglinError(
            f"{source}, line {opened}: {len(nodes)} of the brackets that this tree opens are never closed; "
            "close them, or look for an end of the file that is missing"
        )


def _leaf(held: list[str | None], place: str) -> tuple[str, str] | None:
    """(word, tag) if a bracket that closes held these two, None if it held brackets, after a label or none."""
    match held:
        case [str(tag), str(word)]:
            return word, tag
        case [None, *rest] | [str(), None, *rest] if not any(rest):
            return None
    shown = " ".join("(…)" if h is None else h for h in held)
    raise LoglinError(f"{place}: ({shown[:60]}) is neither (TAG word) nor (LABEL (…) …); correct it")
