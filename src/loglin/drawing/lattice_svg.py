"""A word lattice in SVG: left to right as in Fig. 1 of Smith and Eisner (2005), the sentence on top.

A state's column is the length of the longest way to it, its row the number of arcs from the sentence's own path.
Arcs bend around states; a label goes to that place on its arc that covers no state, no label and no other arc.
Where some label finds none, everything is drawn farther apart, and in the end over other arcs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from loglin.drawing.lattices import LatticeDrawing
from loglin.drawing.svg import FILE, FONT, document, text_width, xml
from loglin.errors import LoglinError

MOST = 500  # arcs in a picture
RADIUS, GAP = 13.0, 4.0
COLUMN, ROW = 60.0, 80.0  # least distance of states, besides what their words need
BENDS = [0.0, 0.35, -0.35, 0.7, -0.7, 1.1, -1.1, 1.6, -1.6]  # of an arc, in rows
PLACES = [0.5 + sign * step for step in np.linspace(0, 0.35, 11) for sign in (1, -1)]  # of a label, on the way
SCALES, CROWDED = [1.0, 1.25, 1.6, 2.0, 2.5, 3.2], [2.0]  # tried one after the other; for more than MANY arcs
MANY = 100
_WAY = np.linspace(0, 1, 65)


@dataclass(frozen=True)
class ArcLabel:
    """The words at an arc and the place of their middle."""

    place: np.ndarray  # (2,): its middle
    lines: list[str]

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, right, bottom."""
        half, height = 0.5 * max(map(text_width, self.lines)) + GAP, 0.6 * FONT * len(self.lines) + GAP / 2
        x, y = self.place.tolist()
        return x - half, y - height, x + half, y + height


@dataclass(frozen=True)
class LatticePicture:
    """The places of states, arcs and labels."""

    places: np.ndarray  # (states, 2)
    arcs: dict[tuple[int, int], np.ndarray]  # (3, 2): begin, control, end
    labels: dict[tuple[int, int], ArcLabel]


def svg(drawing: LatticeDrawing, title: str, ground: str = FILE) -> str:
    """The SVG of a lattice; more than MOST arcs are refused."""
    if len(drawing.arcs) > MOST:
        raise LoglinError(
            f"the lattice has {len(drawing.arcs):,} arcs, too many for a picture (at most {MOST:,}); "
            "give a shorter sentence, or use --dot"
        )
    picture = layout(drawing)
    boxes = np.array([label.box for label in picture.labels.values()]).reshape(-1, 4)
    curves = np.concatenate([np.empty((0, 2)), *map(_points, picture.arcs.values())])
    corners = np.concatenate([picture.places - 3 * RADIUS, picture.places + RADIUS, boxes[:, :2], boxes[:, 2:], curves])
    (left, top), (right, bottom) = corners.min(axis=0) - 8, corners.max(axis=0) + 8
    own = set(zip(drawing.observed, drawing.observed[1:], strict=False))
    content = [
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto" markerUnits="userSpaceOnUse"><path d="M0 0.5 L8 4 L0 7.5 z"/></marker></defs>',
        '<g fill="none" stroke="currentColor" marker-end="url(#head)">',
        f'<path d="M{-2.6 * RADIUS:.1f} 0 L{-RADIUS:.1f} 0"/>',
        *(_curve(arc, 2.0 if pair in own else 1.0) for pair, arc in picture.arcs.items()),
        "</g>",
        *(_circle(q, place, drawing, ground) for q, place in enumerate(picture.places.tolist())),
        *(_text(label, pair in own, ground) for pair, label in picture.labels.items()),
    ]
    return document((left, top, right, bottom), title, content, ground)


def layout(drawing: LatticeDrawing) -> LatticePicture:
    """The places of all parts: so far apart that labels cover no state, no label and, at best, no other arc."""
    grid, between = _grid(drawing), drawing.between()
    column = COLUMN + max([0.0, *(text_width(label) for labels in between.values() for label in labels)])
    lines = max([1, *map(len, between.values())])
    tried: list[tuple[tuple[int, int], LatticePicture]] = []
    for scale in SCALES if len(between) <= MANY else CROWDED:
        row = ROW * scale + FONT * (lines - 1)
        places = grid * [column * math.sqrt(scale), row]
        arcs = {pair: _arc(*pair, places, row) for pair in between}
        labels, faults = _labels(between, arcs, places)
        tried.append((faults, LatticePicture(places, arcs, labels)))
        if faults == (0, 0):
            break
    return min(tried, key=lambda one: one[0])[1]


def _grid(drawing: LatticeDrawing) -> np.ndarray:
    """Column and row of each state: (states, 2)."""
    n = len(drawing.final)
    own = set(drawing.observed) or set(range(n))
    column, away = [0] * n, [0 if q in own else n for q in range(n)]
    for q, _, r in drawing.arcs:
        column[r], away[r] = max(column[r], column[q] + 1), min(away[r], away[q] + 1)
    taken: set[tuple[int, int]] = set()
    for q in range(n):
        while (column[q], away[q]) in taken:
            away[q] += 1
        taken.add((column[q], away[q]))
    return np.stack([column, away], axis=1).astype(float)


def _arc(q: int, r: int, places: np.ndarray, row: float) -> np.ndarray:
    """The straightest curve from q to r that meets no other state."""
    others = np.delete(places, [q, r], axis=0)
    middle = (places[q] + places[r]) / 2
    for bend in BENDS:
        arc = np.array([places[q], middle - np.array([0, 2 * bend * row]), places[r]])
        distances = np.linalg.norm(_points(arc)[:, None] - others, axis=2)
        if distances.min(initial=math.inf) > RADIUS + GAP:
            break
    return arc


def _labels(
    between: dict[tuple[int, int], list[str]], arcs: dict[tuple[int, int], np.ndarray], places: np.ndarray
) -> tuple[dict[tuple[int, int], ArcLabel], tuple[int, int]]:
    """Labels, those of the shortest arcs first; how many cover states or labels, and how much of other arcs they do."""
    taken = np.concatenate([places - RADIUS, places + RADIUS], axis=1)  # (boxes, 4)
    points = {pair: _points(arc) for pair, arc in arcs.items()}
    every = np.concatenate([np.empty((0, 2)), *points.values()])
    labels, overlapping, covering = {}, 0, 0
    for pair in sorted(between, key=lambda pair: float(np.linalg.norm(arcs[pair][2] - arcs[pair][0]))):
        best, fewest = ArcLabel(_at(arcs[pair], 0.5), between[pair]), (1, 0)
        for t in PLACES:
            label = ArcLabel(_at(arcs[pair], t), between[pair])
            left, top, right, bottom = label.box
            hits = (taken[:, 0] < right) & (taken[:, 2] > left) & (taken[:, 1] < bottom) & (taken[:, 3] > top)
            if hits.any():
                continue
            faults = 0, _inside(every, label.box) - _inside(points[pair], label.box)
            if faults < fewest:
                best, fewest = label, faults
        labels[pair] = best
        taken = np.concatenate([taken, [best.box]])
        overlapping, covering = overlapping + fewest[0], covering + fewest[1]
    return labels, (overlapping, covering)


def _inside(points: np.ndarray, box: tuple[float, float, float, float]) -> int:
    x, y = points.T
    return int(((x > box[0]) & (x < box[2]) & (y > box[1]) & (y < box[3])).sum())


def _at(arc: np.ndarray, t: float | np.ndarray) -> np.ndarray:
    """(1 − t)² begin + 2 t (1 − t) control + t² end."""
    t = np.asarray(t)[..., None]
    return (1 - t) ** 2 * arc[0] + 2 * t * (1 - t) * arc[1] + t**2 * arc[2]


def _points(arc: np.ndarray) -> np.ndarray:
    return _at(arc, _WAY)


def _curve(arc: np.ndarray, width: float) -> str:
    """The arc from circle to circle."""
    begin, control, end = arc
    first, last = control - begin, control - end
    (a, b), (c, d) = begin + first * RADIUS / np.linalg.norm(first), control
    e, f = end + last * RADIUS / np.linalg.norm(last)
    return f'<path d="M{a:.1f} {b:.1f} Q{c:.1f} {d:.1f} {e:.1f} {f:.1f}" stroke-width="{width:g}"/>'


def _circle(q: int, place: list[float], drawing: LatticeDrawing, ground: str) -> str:
    x, y = place
    circle = f'<circle cx="{x:.1f}" cy="{y:.1f}" fill="none" stroke="currentColor"'
    width = ' stroke-width="2"' if q in drawing.observed else ""
    inner = f'{circle} r="{RADIUS - 3:g}"/>' if drawing.final[q] else ""
    number = f'<text x="{x:.1f}" y="{y + 3.5:.1f}" font-size="10">{q}</text>'
    return f'{circle.replace("none", ground, 1)} r="{RADIUS:g}"{width}/>{inner}{number}'


def _text(label: ArcLabel, own: bool, ground: str) -> str:
    bold = ' font-weight="bold"' if own else ""
    x, y = label.place.tolist()
    left, above, right, below = label.box
    first = y - 0.6 * FONT * (len(label.lines) - 1) + 0.35 * FONT
    size = f'width="{right - left - GAP:.1f}" height="{below - above - GAP:.1f}"'
    box = f'<rect x="{left + GAP / 2:.1f}" y="{above + GAP / 2:.1f}" {size} fill="{ground}"/>'
    return box + "".join(
        f'<text x="{x:.1f}" y="{first + 1.2 * FONT * k:.1f}"{bold}>{xml(line)}</text>'
        for k, line in enumerate(label.lines)
    )
