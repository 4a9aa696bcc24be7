"""Contiguous pieces of trees as one writes them: (S NP (VP V (NP 'the' N))).

A symbol without brackets is one whose tree is left open; words are written as in grammar files.
"""

from __future__ import annotations

import re

from loglin.corpus.trees import Tree
from loglin.errors import LoglinError
from loglin.grammars.files import Word, shown_word
from loglin.grammars.normal_form import is_bare

_TOKEN = re.compile(
    r"""(?P<open>\() | (?P<close>\)) | '(?P<single>(?:\\[\\'"]|[^'\\])+)' | "(?P<double>(?:\\[\\'"]|[^"\\])+)"
    | (?P<signature><[^\s<>()]+>) | (?P<symbol>(?:\\.|[^\s\\()'"<])(?:\\.|[^\s\\()])*) | (?P<wrong>\S+)""",
    re.VERBOSE,
)


def piece(text: str) -> Tree:
    """The piece as a tree: an open symbol has neither children nor a word; a word among others is a leaf of its own."""
    opened: list[list[str | Tree]] = [[]]  # per open bracket its label and what stands in it
    for match in _TOKEN.finditer(text):
        kind, value = str(match.lastgroup), match[str(match.lastgroup)]
        if kind == "open":
            opened.append([])
        elif kind == "close" and len(opened) > 1:
            opened[-2].append(_node(opened.pop(), text))
        elif kind == "symbol":
            name = re.sub(r"\\(.)", r"\1", value)
            opened[-1].append(Tree(name) if opened[-1] else name)
        elif kind in ("single", "double"):
            word = re.sub(r"\\([\\'\"])", r"\1", value)
            opened[-1].append(Tree(shown_word(Word(word)), word=word))
        elif kind == "signature":
            opened[-1].append(Tree(value, word=value))
        else:
            raise LoglinError(
                f"the piece {text!r} is wrong at {text[match.start() :][:20]!r}; close brackets and quotes"
            )
    if len(opened) > 1 or len(opened[0]) != 1:
        raise LoglinError(f"the piece {text!r} is not one pair of brackets; write one such as (S NP (VP V NP))")
    only = opened[0][0]
    return Tree(only) if isinstance(only, str) else only


def _node(held: list[str | Tree], text: str) -> Tree:
    match held:
        case [str(label), Tree() as only] if is_bare(only):
            return Tree(label, word=only.word)
        case [str(label), *children] if children:
            return Tree(label, tuple(child for child in children if isinstance(child, Tree)))
    raise LoglinError(f"the piece {text!r} has brackets without a symbol and what it becomes; write (SYMBOL …)")
