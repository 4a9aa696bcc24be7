"""A tree in the terminal, top-down with its words in one line, or indented where it would be too wide.

           S
    ┌──────┴──────┐
    NP            VP
 ┌──┴──┐          │
 DT    NN        VBZ
 │     │          │
The   cat       sleeps
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from loglin.corpus.trees import Tree
from loglin.drawing.svg import columns, printable

GAP = 2  # columns between subtrees
DEEPEST = 100  # levels that are drawn top-down
NAMELESS = "·"  # stands for an empty label

Key = tuple[str, int, int] | tuple[int, int]  # a label and the words i … j − 1 below it, or these alone
Marks = Mapping[Key, float | str]  # what is to be said about nodes: a probability, or a word


@dataclass(frozen=True)
class TreeNode:
    """A node of a tree that is drawn: its texts, its depth, its mark."""

    label: str
    word: str | None
    depth: int  # from 0
    mark: float | str | None
    children: list[int] = field(default_factory=list)  # their places in the list of all nodes

    @property
    def note(self) -> str:
        """The mark as it is written."""
        if self.mark is None:
            return ""
        return f"{self.mark:.2f}" if isinstance(self.mark, float | int) else printable(self.mark)

    @property
    def line(self) -> str:
        return f"{self.label} {self.note}" if self.note else self.label


def draw(tree: Tree, width: int = 80, marks: Marks | None = None) -> str:
    """The tree as lines of at most ``width`` columns if that is possible; ``marks`` are written behind labels."""
    nodes = nodes_of(tree, marks)
    if max(node.depth for node in nodes) <= DEEPEST:
        centers, wide = layout(nodes, _extents, GAP)
        if wide <= width:
            return _top_down(nodes, centers)
    return _indented(nodes)


def nodes_of(tree: Tree, marks: Marks | None = None) -> list[TreeNode]:
    """All nodes, top-down and left to right, with their marks."""
    found: list[TreeNode] = []
    spans, position = iter(tree.spans()), 0
    ahead = [(tree, -1)]  # nodes with the places of their parents
    while ahead:
        node, parent = ahead.pop()
        _, i, j = next(spans) if node.word is None else ("", position, position + 1)
        position += node.word is not None
        mark = None if marks is None else marks.get((node.label, i, j), marks.get((i, j)))
        word = None if node.word is None else printable(node.word)
        depth = 0
        if parent >= 0:
            found[parent].children.append(len(found))
            depth = found[parent].depth + 1
        ahead += [(child, len(found)) for child in reversed(node.children)]
        found.append(TreeNode(printable(node.label) or NAMELESS, word, depth, mark))
    return found


def layout(
    nodes: Sequence[TreeNode], extents: Callable[[TreeNode], tuple[int, int]], gap: int
) -> tuple[list[int], int]:
    """The center of every node, and how wide the tree is.

    ``extents`` are what a node's own text needs left and right of its center. Every subtree has a stretch of its own,
    and a node stands in the middle between its first and its last child.
    """
    left, right = (list(sides) for sides in zip(*map(extents, nodes), strict=True))  # of the whole subtree in the end
    offsets = [0] * len(nodes)  # of a node's center from that of its parent
    for number in range(len(nodes) - 1, -1, -1):
        places, end = [], 0
        for child in nodes[number].children:
            places.append(end + left[child])
            end += left[child] + right[child] + gap
        if places:
            center = (places[0] + places[-1]) // 2
            for child, place in zip(nodes[number].children, places, strict=True):
                offsets[child] = place - center
            left[number], right[number] = max(left[number], center), max(right[number], end - gap - center)
    centers = [left[0]] * len(nodes)
    for node, center in zip(nodes, centers, strict=True):  # parents stand before their children
        for child in node.children:
            centers[child] = center + offsets[child]
    return centers, left[0] + right[0]


# ---------------------------------------------------------------------- in the terminal


def _extents(node: TreeNode) -> tuple[int, int]:
    """Columns before the middle one, and from it on."""
    wide = [columns(text) for text in (node.line, node.word) if text]
    return max((w - 1) // 2 for w in wide), max(w - (w - 1) // 2 for w in wide)


def _top_down(nodes: Sequence[TreeNode], centers: Sequence[int]) -> str:
    deepest = max(node.depth for node in nodes)
    rows: list[list[tuple[int, str]]] = [[] for _ in range(2 * deepest + 3)]  # of each row (column, text)
    for node, center in zip(nodes, centers, strict=True):
        _write(rows[2 * node.depth], center, node.line)
        if node.word is None:
            rows[2 * node.depth + 1].append(_branches(center, [centers[child] for child in node.children]))
            continue
        for row in rows[2 * node.depth + 1 : -1]:
            row.append((center, "│"))
        _write(rows[-1], center, node.word)
    return "\n".join(map(_joined, rows))


def _write(row: list[tuple[int, str]], center: int, text: str) -> None:
    row.append((center - (columns(text) - 1) // 2, text))


def _branches(center: int, children: Sequence[int]) -> tuple[int, str]:
    """The lines from a node to its children: ┌──┼──┬──┐."""
    first, last = children[0], children[-1]
    if first == last:
        return first, "│"
    line = ["─"] * (last - first + 1)
    for child in children:
        line[child - first] = "┬"
    line[0], line[-1] = "┌", "┐"
    line[center - first] = "┼" if center in children else "┴"
    return first, "".join(line)


def _joined(row: Sequence[tuple[int, str]]) -> str:
    line, end = "", 0
    for column, text in sorted(row):
        line += " " * (column - end) + text
        end = column + columns(text)
    return line


def _indented(nodes: Sequence[TreeNode]) -> str:
    last = {0, *(node.children[-1] for node in nodes if node.children)}
    lines = []
    path: list[str] = []  # what stands before the children of the nodes above
    for number, node in enumerate(nodes):
        final = number in last
        del path[node.depth :]
        branch = "" if not path else "└─ " if final else "├─ "
        text = node.line if node.word is None else f"{node.line} {node.word}"
        lines.append("".join(path[1:]) + branch + text)
        path.append("   " if final else "│  ")
    return "\n".join(lines)
