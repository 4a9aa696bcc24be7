"""Trees in SVG: labels over the middle of their children, the words in one line at the bottom.

A mark that is a number is a probability, written below the label, and red where it is low, as is every mark in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from loglin.corpus.trees import Tree
from loglin.drawing.svg import FILE, FONT, document, text_width, xml
from loglin.drawing.trees import Marks, TreeNode, layout, nodes_of
from loglin.errors import LoglinError

ROW = 46  # from a level to the next
GAP, MARGIN, BETWEEN = 14, 12, 30  # beside subtrees, around the picture, between trees
SMALL = 0.75  # of the font, for marks
LOW = 0.5  # a probability below is red
INK, RED, GRAY = "currentColor", "#d32f45", "#777777"  # readable on light and on dark
_CLEAR = 4.0  # between a text and the line to it


@dataclass(frozen=True)
class TreeText:
    """A label, mark or word and its place."""

    content: str
    x: float  # center
    y: float  # base line
    size: float  # of letters, relative to the font
    color: str = INK
    bold: bool = False

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, right, bottom."""
        half, height = text_width(self.content) * self.size / 2, FONT * self.size
        return self.x - half, self.y - 0.8 * height, self.x + half, self.y + 0.25 * height


@dataclass(frozen=True)
class TreeLine:
    """A line between two texts."""

    begin: tuple[float, float]
    end: tuple[float, float]
    color: str = INK
    dashed: bool = False


@dataclass(frozen=True)
class TreePicture:
    """The places of all texts and lines of one tree."""

    texts: list[TreeText]
    lines: list[TreeLine]
    width: float
    height: float


def svg(trees: Sequence[Tree], title: str, marks: Sequence[Marks | None] = (), ground: str = FILE) -> str:
    """The SVG of trees, one below the other; ``marks`` are those of each tree."""
    if not trees or (marks and len(marks) != len(trees)):
        raise LoglinError(f"there are {len(trees)} trees to draw and marks of {len(marks)}; give as many, at least one")
    content, top, widest = [], 0.0, 0.0
    for tree, marked in zip(trees, marks or [None] * len(trees), strict=True):
        picture = picture_of(tree, marked)
        content += [f'<g transform="translate(0 {top:.1f})">', *_drawn(picture), "</g>"]
        top, widest = top + picture.height + BETWEEN, max(widest, picture.width)
    return document((-MARGIN, -MARGIN, widest + MARGIN, top - BETWEEN + MARGIN), title, content, ground)


def picture_of(tree: Tree, marks: Marks | None = None) -> TreePicture:
    """The places of everything that is drawn of a tree."""
    nodes = nodes_of(tree, marks)
    centers, width = layout(nodes, _extents, GAP)
    bottom = ROW * (1 + max(node.depth for node in nodes)) + FONT
    texts: list[TreeText] = []
    lines: list[TreeLine] = []
    path: list[tuple[int, TreeText]] = []  # center and lowest text of the nodes above
    for node, x in zip(nodes, centers, strict=True):
        del path[node.depth :]
        color = RED if _is_low(node) else INK
        label = TreeText(node.label, x, ROW * node.depth + FONT, 1.0, color, bold=node.word is None)
        lowest = TreeText(node.note, x, label.y + FONT * 0.95, SMALL, color) if node.note else label
        texts += [label] if lowest is label else [label, lowest]
        if path:
            above, parent = path[-1]
            lines.append(TreeLine((above, parent.box[3] + _CLEAR), (x, label.box[1] - _CLEAR), color, _is_low(node)))
        if node.word is not None:
            word = TreeText(node.word, x, bottom, 1.0)
            texts.append(word)
            lines.append(TreeLine((x, lowest.box[3] + _CLEAR), (x, word.box[1] - _CLEAR), GRAY, dashed=True))
        path.append((x, lowest))
    return TreePicture(texts, lines, width, bottom + FONT)


def _is_low(node: TreeNode) -> bool:
    return isinstance(node.mark, str) or (node.mark is not None and node.mark < LOW)


def _extents(node: TreeNode) -> tuple[int, int]:
    """Half of the widest text on either side."""
    wide = max(1.1 * text_width(node.label), SMALL * text_width(node.note), text_width(node.word or ""))
    return ceil(wide / 2), ceil(wide / 2)


def _drawn(picture: TreePicture) -> list[str]:
    drawn = []
    for line in picture.lines:
        (a, b), (c, d) = line.begin, line.end
        dashes = ' stroke-dasharray="2 3"' if line.dashed else ""
        drawn.append(f'<path d="M{a:.1f} {b:.1f} L{c:.1f} {d:.1f}" fill="none" stroke="{line.color}"{dashes}/>')
    for text in picture.texts:
        size = f' font-size="{FONT * text.size:g}"' if text.size != 1 else ""
        bold = ' font-weight="bold"' if text.bold else ""
        fill = f' fill="{text.color}"' if text.color != INK else ""
        drawn.append(f'<text x="{text.x:.1f}" y="{text.y:.1f}"{size}{bold}{fill}>{xml(text.content)}</text>')
    return drawn
