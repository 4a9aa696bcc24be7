"""Figures by matplotlib: training, confusion of labels, transitions. Each draws into given axes or new ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from loglin.errors import LoglinError

if TYPE_CHECKING:
    from loglin.drawing.records import TrainingRecord
    from loglin.models.chain import Model

NUMBERED = 15  # labels, at most, whose cells show numbers


def new_axes(ax: Any, size: tuple[float, float]) -> Any:
    """The given axes, or those of a new figure."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise LoglinError("figures need matplotlib; run: pip install 'loglin[plots]'") from None
    return pyplot.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def plot_training(record: TrainingRecord, ax: Any = None) -> Any:
    """What was minimized and, where there is one, the score on held-out data, over iterations."""
    values, scores = record.curve("value"), record.curve("score")
    if not values:
        raise LoglinError("the record holds no iterations; train a model with an optimizer, not one that counts")
    ax = new_axes(ax, (6, 3.5))
    (line,) = ax.plot(*zip(*values, strict=True), color="C0", marker="o" if len(values) < 3 else None)
    ax.set_xlabel("iteration")
    ax.set_ylabel("objective")
    if scores:
        other = ax.twinx()
        (held,) = other.plot(*zip(*scores, strict=True), color="C1")
        other.set_ylabel("score on held-out data")
        ax.legend([line, held], ["objective", "score on held-out data"], loc="center right")
    return ax


def plot_confusion(right: Sequence[str], found: Sequence[str], ax: Any = None) -> Any:
    """How often each right label (row) was found to be each label (column); shades are shares of a row."""
    if not right:
        raise LoglinError("there is nothing to compare; give at least one sentence and its labels")
    names = sorted({*right, *found})
    place = {name: i for i, name in enumerate(names)}
    counts = np.zeros((len(names), len(names)), np.int64)
    np.add.at(counts, ([place[y] for y in right], [place[y] for y in found]), 1)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    ax = _matrix(shares, names, ax, {"cmap": "Blues", "vmin": 0.0, "vmax": 1.0})
    _write(ax, counts, [[f"{n:,}" if n else "" for n in row] for row in counts.tolist()], shares > 0.5)
    ax.set_xlabel("found")
    ax.set_ylabel("right")
    return ax


def plot_transitions(model: Model, ax: Any = None) -> Any:
    """The weights of steps from each label (row) to each label (column)."""
    from loglin.drawing.models import transition_weights

    weights = transition_weights(model)
    largest = float(np.abs(weights).max(initial=0.0))
    if not largest:
        raise LoglinError("the model has no weights of label pairs; its template has no line B, or it only counts")
    ax = _matrix(weights, [str(y) for y in model.labels], ax, {"cmap": "RdBu", "vmin": -largest, "vmax": largest})
    texts = [[f"{w:+.1f}" if w else "" for w in row] for row in weights.tolist()]
    _write(ax, weights, texts, np.abs(weights) > 0.6 * largest)
    ax.set_xlabel("next label")
    ax.set_ylabel("label")
    return ax


def _matrix(values: np.ndarray, names: Sequence[str], ax: Any, given: dict[str, Any]) -> Any:
    side = 2.0 + 0.42 * min(len(names), 40)
    ax = new_axes(ax, (side + 1.0, side))
    image = ax.imshow(values, **given)
    ax.figure.colorbar(image, ax=ax, shrink=0.8)
    ax.set_xticks(range(len(names)), names, rotation=90)
    ax.set_yticks(range(len(names)), names)
    return ax


def _write(ax: Any, values: np.ndarray, texts: list[list[str]], dark: np.ndarray) -> None:
    """The numbers of a small matrix, white where a cell is dark."""
    if len(values) > NUMBERED:
        return
    for (i, j), is_dark in np.ndenumerate(dark):
        ax.text(j, i, texts[i][j], ha="center", va="center", fontsize=7, color="white" if is_dark else "black")
