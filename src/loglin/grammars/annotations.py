"""Marks on the symbols of a tree that make an unlexicalized grammar accurate (Klein & Manning, 2003).

Each splits a category of the treebank by something that its rules depend on and that context-free rules do not see.
Most look at the stripped tree, which is what a grammar knows; two need the original, its traces and function tags.
A grammar of composite symbols tells single children by itself, so unary-internal adds nothing to it but names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from loglin.corpus.trees import TRACE, Tree
from loglin.errors import LoglinError
from loglin.grammars.stripping import Record, without_function
from loglin.grammars.symbols import ROOT, escape

KLEIN_MANNING = "klein-manning"  # all of them
_FINITE = ("VBD", "VBP", "VBZ", "MD")
_BE = frozenset(["be", "am", "is", "are", "was", "were", "been", "being", "'m", "'re", "'s"])
_HAVE = frozenset(["have", "has", "had", "having", "'ve", "'d"])
_AFTER_HAS = ("been", "got", "had")  # behind them 's is has


@dataclass(frozen=True)
class _Numbered:
    """The nodes of a tree in preorder, with the numbers of their parents and children."""

    nodes: list[Tree]
    categories: list[str]  # labels, of phrases without function tags
    parents: list[int]  # −1 for the root
    children: list[list[int]]

    @classmethod
    def of(cls, tree: Tree) -> _Numbered:
        nodes = tree.nodes()
        parents: list[int] = [-1]
        children: list[list[int]] = [[] for _ in nodes]
        ahead = [-1]  # for every node still to come its parent, the next one last
        for number, node in enumerate(nodes):
            parent = ahead.pop()
            ahead += [number] * len(node.children)
            if number:
                parents.append(parent)
                children[parent].append(number)
        return cls(nodes, [n.label if not n.children else without_function(n.label) for n in nodes], parents, children)

    def is_tag(self, number: int) -> bool:
        return not self.children[number]

    def tags(self) -> Iterator[tuple[int, str, str]]:
        """(number, tag, word in small letters) of every preterminal."""
        for number, node in enumerate(self.nodes):
            if node.word is not None:
                yield number, node.label, node.word.lower()

    def phrases(self, category: str) -> Iterator[int]:
        return (n for n, found in enumerate(self.categories) if found == category and self.children[n])

    def above(self, number: int) -> tuple[int, str]:
        """The parent's number and category, (−1, ROOT) above the root."""
        parent = self.parents[number] if number >= 0 else -1
        return parent, self.categories[parent] if parent >= 0 else ROOT


Marks = Iterator[tuple[int, str]]  # number of a node, mark


class _Annotation(NamedTuple):
    marks: Callable[[_Numbered], Marks]
    of_original: bool = False  # else of the stripped tree


def _unary_internal(tree: _Numbered) -> Marks:
    """Phrases with one child."""
    return ((n, "~U") for n, children in enumerate(tree.children) if len(children) == 1)


def _unary_external(category: str) -> Callable[[_Numbered], Marks]:
    """Tags without sisters: "that" alone is a demonstrative, "also" alone no degree adverb."""

    def marks(tree: _Numbered) -> Marks:
        for number, tag, _ in tree.tags():
            if tag == category and number and len(tree.children[tree.parents[number]]) == 1:
                yield number, "~U"

    return marks


def _split_in(tree: _Numbered) -> Marks:
    """IN six ways: in a number, before a clause in a sentence or elsewhere, in a PP of a noun, sentence or else."""
    for number, tag, _ in tree.tags():
        if tag != "IN":
            continue
        at, parent = tree.above(number)
        _, upper = tree.above(at)
        in_sentence = upper.startswith("S") and not upper.startswith("SBAR")
        if parent == "QP":
            yield number, "~Q"
        elif parent.startswith(("SBAR", "WH")):
            yield number, "~SC" if in_sentence else "~C"
        elif upper.startswith("N"):
            yield number, "~N"
        elif in_sentence:
            yield number, "~S"


def _split_aux(tree: _Numbered) -> Marks:
    """Forms of be and have."""
    for number, tag, word in tree.tags():
        if not tag.startswith("VB"):
            continue
        if word in _HAVE or (word == "'s" and _next_word(tree, number) in _AFTER_HAS):
            yield number, "~HAVE"
        elif word in _BE:
            yield number, "~BE"


def _next_word(tree: _Numbered, number: int) -> str:
    """The first word of what follows a tag, in small letters, "" at the end."""
    return next((node.word.lower() for node in tree.nodes[number + 1 :] if node.word is not None), "")


def _split_cc(tree: _Numbered) -> Marks:
    """The conjunctions "but" and "&", which join other things than "and" does."""
    marks = {"but": "~BUT", "&": "~&"}
    return ((number, marks[word]) for number, tag, word in tree.tags() if tag == "CC" and word in marks)


def _split_percent(tree: _Numbered) -> Marks:
    """The percent sign, which is no noun, just as the dollar sign has a tag of its own."""
    return ((number, "~%") for number, tag, word in tree.tags() if tag == "NN" and word == "%")


def _temporal_np(original: _Numbered) -> Marks:
    """NP-TMP, and what is its head down to the tag."""
    marked: set[int] = set()
    for number in original.phrases("NP"):
        head = number if "TMP" in _functions(original, number) else None
        while head is not None and head not in marked:
            marked.add(head)
            head = _head_of_np(original, head)
    return ((number, "~TMP") for number in marked)


def _functions(original: _Numbered, number: int) -> list[str]:
    return re.split("[-=|]", original.nodes[number].label)[1:]


def _head_of_np(tree: _Numbered, number: int) -> int | None:
    """The last noun, else the first NP, else the last tag that is no trace."""
    children = tree.children[number]
    tags = [n for n in children if tree.is_tag(n) and tree.categories[n] != TRACE]
    nouns = [n for n in tags if tree.categories[n].startswith("NN")]
    phrases = [n for n in children if not tree.is_tag(n) and tree.categories[n] == "NP"]
    return next(iter([*nouns[-1:], *phrases[:1], *tags[-1:]]), None)


def _gapped_s(original: _Numbered) -> Marks:
    """Sentences whose subject is a trace."""
    empty = [node.label == TRACE for node in original.nodes]
    for number in range(len(empty) - 1, -1, -1):
        empty[number] |= bool(original.children[number]) and all(empty[n] for n in original.children[number])
    for number in original.phrases("S"):
        if any(empty[n] and "SBJ" in _functions(original, n) for n in original.children[number]):
            yield number, "~G"


def _possessive_np(tree: _Numbered) -> Marks:
    """NPs that end in 's."""
    return ((n, "~P") for n in tree.phrases("NP") if tree.categories[tree.children[n][-1]] == "POS")


def _split_vp(tree: _Numbered) -> Marks:
    """VPs by the tag of their head, all finite ones as VBF."""
    heads: dict[int, str] = {}
    for number in reversed(list(tree.phrases("VP"))):
        for child in tree.children[number]:
            tag = tree.categories[child]
            if tree.is_tag(child) and tag.startswith(("VB", "MD", "TO")):
                heads[number] = "VBF" if tag in _FINITE else tag
            elif child in heads:
                heads[number] = heads[child]
            else:
                continue
            break
    return ((number, f"~{escape(tag)}") for number, tag in heads.items())


def _base_np(tree: _Numbered) -> Marks:
    """NPs of nothing but tags."""
    return ((n, "~B") for n in tree.phrases("NP") if all(tree.is_tag(child) for child in tree.children[n]))


def _dominates_v(tree: _Numbered) -> Marks:
    """Phrases with a verb somewhere below."""
    verbal = [tree.is_tag(n) and category.startswith(("V", "MD")) for n, category in enumerate(tree.categories)]
    for number in range(len(verbal) - 1, 0, -1):
        verbal[tree.parents[number]] |= verbal[number]
    return ((n, "~V") for n, found in enumerate(verbal) if found and tree.children[n])


def _right_recursive_np(tree: _Numbered) -> Marks:
    """NPs with another NP on their right edge."""
    ends_in_np: dict[int, bool] = {}  # whether the right edge from here down has an NP
    for number in range(len(tree.nodes) - 1, -1, -1):
        if tree.is_tag(number):
            continue
        below = ends_in_np.get(tree.children[number][-1], False)
        is_np = tree.categories[number] == "NP"
        if is_np and below:
            yield number, "~R"
        ends_in_np[number] = is_np or below


def _tag_parent(tree: _Numbered) -> Marks:
    """Tags by the label above, as phrases have it when the vertical order is 2."""
    for number, _, _ in tree.tags():
        parent = tree.parents[number]
        yield number, f"^{escape(tree.nodes[parent].label) if parent >= 0 else ROOT}"


# in the order in which a symbol has the marks
_ANNOTATIONS = {
    "unary-internal": _Annotation(_unary_internal),
    "unary-dt": _Annotation(_unary_external("DT")),
    "unary-rb": _Annotation(_unary_external("RB")),
    "split-in": _Annotation(_split_in),
    "split-aux": _Annotation(_split_aux),
    "split-cc": _Annotation(_split_cc),
    "split-percent": _Annotation(_split_percent),
    "temporal-np": _Annotation(_temporal_np, of_original=True),
    "gapped-s": _Annotation(_gapped_s, of_original=True),
    "possessive-np": _Annotation(_possessive_np),
    "split-vp": _Annotation(_split_vp),
    "base-np": _Annotation(_base_np),
    "dominates-v": _Annotation(_dominates_v),
    "right-recursive-np": _Annotation(_right_recursive_np),
    "tag-parent": _Annotation(_tag_parent),
}
ANNOTATIONS = tuple(_ANNOTATIONS)


def checked(names: str | Iterable[str]) -> tuple[str, ...]:
    """The annotations of these names, each once and in one order; "klein-manning" stands for all."""
    given = [names] if isinstance(names, str) or not isinstance(names, Iterable) else list(names)
    known = {KLEIN_MANNING, *ANNOTATIONS}
    wrong = [name for name in given if not isinstance(name, str) or name not in known]
    if wrong:
        raise LoglinError(
            f"no annotation of trees is called {wrong[0]!r}; there are {', '.join(ANNOTATIONS)}, "
            f"and {KLEIN_MANNING} for all of them"
        )
    return tuple(name for name in ANNOTATIONS if name in given or KLEIN_MANNING in given)


def marks_of(original: Tree, stripped: Tree, record: Record, names: Iterable[str]) -> list[str]:
    """What the symbol of every node of the stripped tree, in preorder, gets behind its label."""
    gone = {change.node for change in record if not change.kept}
    before, after = _Numbered.of(original), _Numbered.of(stripped)
    kept = (number for number in range(len(before.nodes)) if number not in gone)
    place = {number: n for n, number in enumerate(kept)}  # of the original → of the stripped tree
    marks = [""] * len(after.nodes)
    for name in names:
        annotation = _ANNOTATIONS[name]
        for number, mark in annotation.marks(before if annotation.of_original else after):
            n = place.get(number) if annotation.of_original else number
            if n is not None:
                marks[n] += mark
    return marks
