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
from dataclasses import dataclass

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
    n_children: int
    depth: int  # from 0
    mark: float | str | None

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
    nodes, depths = tree.nodes(), _depths(tree)
    spans = iter(tree.spans())
    found, position = [], 0
    for node, depth in zip(nodes, depths, strict=True):
        _, i, j = next(spans) if node.word is None else ("", position, position + 1)
        position += node.word is not None
        mark = None if marks is None else marks.get((node.label, i, j), marks.get((i, j)))
        word = None if node.word is None else printable(node.word)
        found.append(TreeNode(printable(node.label) or NAMELESS, word, len(node.children), depth, mark))
    return found


def layout(
    nodes: Sequence[TreeNode], extents: Callable[[TreeNode], tuple[int, int]], gap: int
) -> tuple[list[int], int]:
    """The center of every node, and how wide the tree is.

    ``extents`` are what a node's own text needs left and right of its center. Every subtree has a stretch of its own,
    and a node stands in the middle between its first and its last child.
    """
    offsets = [0] * len(nodes)  # of a node's center from that of its parent
    built: list[tuple[int, int, int]] = []  # node, left and right extent of the subtrees to the right, nearest last
    for number in range(len(nodes) - 1, -1, -1):
        left, right = extents(nodes[number])
        below = built[: -nodes[number].n_children - 1 : -1]
        if below:
            del built[-len(below) :]
            places, end = [], 0
            for _, l, r in below:
                places.append(end + l)
                end += l + r + gap
            center = (places[0] + places[-1]) // 2
            for (child, _, _), place in zip(below, places, strict=True):
                offsets[child] = place - center
            left, right = max(left, center), max(right, end - gap - center)
        built.append((number, left, right))
    _, left, right = built[0]
    return _absolute(nodes, offsets, left), left + right


def _absolute(nodes: Sequence[TreeNode], offsets: Sequence[int], first: int) -> list[int]:
    """Centers from the offsets of children; ``first`` is the topmost node's."""
    path: list[int] = []  # centers of the nodes above
    centers = []
    for node, offset in zip(nodes, offsets, strict=True):
        del path[node.depth :]
        centers.append(path[-1] + offset if path else first)
        path.append(centers[-1])
    return centers


def _depths(tree: Tree) -> list[int]:
    found, ahead = [], [(tree, 0)]
    while ahead:
        node, depth = ahead.pop()
        found.append(depth)
        ahead += [(child, depth + 1) for child in reversed(node.children)]
    return found


# ---------------------------------------------------------------------- in the terminal


def _extents(node: TreeNode) -> tuple[int, int]:
    """Columns before the middle one, and from it on."""
    wide = [columns(text) for text in (node.line, node.word) if text]
    return max((w - 1) // 2 for w in wide), max(w - (w - 1) // 2 for w in wide)


def _top_down(nodes: Sequence[TreeNode], centers: Sequence[int]) -> str:
    deepest = max(node.depth for node in nodes)
    rows: list[list[tuple[int, str]]] = [[] for _ in range(2 * deepest + 3)]  # of each row (column, text)
    below = _children(nodes)
    for number, (node, center) in enumerate(zip(nodes, centers, strict=True)):
        _write(rows[2 * node.depth], center, node.line)
        if node.word is None:
            rows[2 * node.depth + 1].append(_branches(center, [centers[child] for child in below[number]]))
            continue
        for row in rows[2 * node.depth + 1 : -1]:
            row.append((center, "│"))
        _write(rows[-1], center, node.word)
    return "\n".join(map(_joined, rows))


def _children(nodes: Sequence[TreeNode]) -> list[list[int]]:
    """The numbers of every node's children."""
    below: list[list[int]] = [[] for _ in nodes]
    path: list[int] = []
    for number, node in enumerate(nodes):
        del path[node.depth :]
        if path:
            below[path[-1]].append(number)
        path.append(number)
    return below


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
    last = _are_last(nodes)
    lines = []
    path: list[str] = []  # what stands before the children of the nodes above
    for node, final in zip(nodes, last, strict=True):
        del path[node.depth :]
        branch = "" if not path else "└─ " if final else "├─ "
        text = node.line if node.word is None else f"{node.line} {node.word}"
        lines.append("".join(path[1:]) + branch + text)
        path.append("   " if final else "│  ")
    return "\n".join(lines)


def _are_last(nodes: Sequence[TreeNode]) -> list[bool]:
    """Whether each node is its parent's last child."""
    last = [True] * len(nodes)
    for children in _children(nodes):
        for child in children[:-1]:
            last[child] = False
    return last
