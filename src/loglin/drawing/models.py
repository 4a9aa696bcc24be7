"""Models in a notebook: their size, their strongest weights, their transitions, and how they were trained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from loglin.drawing.html import Html, Tinted, element, frame, heading, remark, table
from loglin.drawing.records import TrainingRecord, record_parts
from loglin.models.chain import Model
from loglin.models.language import PredictorModel
from loglin.models.parser import ParserModel
from loglin.models.strongest import top_transitions, top_weights

LABELS, TOP = 12, 6  # labels whose strongest weights are shown, and how many for each
MATRIX = 16  # labels, at most, whose transitions are shown as a matrix


def chain_page(model: Model, title: Any = None) -> Html:
    """A tagger or classifier."""
    kind, names = model.kind, [str(y) for y in model.outcomes]
    active = int(np.count_nonzero(model.weights))
    size = f"{model.extractor.n_attributes:,} attributes, {len(model.weights):,} features, {active:,} of them active"
    parts = [
        heading(title or kind.noun.capitalize()),
        remark(f"{len(model.labels):,} labels: {_listed(names)}"),
        remark(size),
        _weights(model, names),
    ]
    if kind.has_transitions:
        parts += _transitions(model, names)
    return frame(*parts, *record_parts(TrainingRecord(model.record), not kind.has_transitions))


def _listed(names: Sequence[str], most: int = 30) -> str:
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest:,} more" if rest > 0 else "")


def _weights(model: Model, names: Sequence[str]) -> Html:
    """For every label what speaks most for it and against it."""
    strongest = top_weights(model, TOP)
    every = [abs(w) for sides in strongest.values() for side in sides.values() for _, w in side]
    largest, rows = max(every, default=0.0), []
    for name in names[:LABELS]:
        sides = strongest[name]
        if sides["positive"] or sides["negative"]:
            rows.append([name, _line(sides["positive"], largest), _line(sides["negative"], largest)])
    return table(["label", "strongest for it", "strongest against it"], rows, numbers=False)


def _line(weights: Sequence, largest: float) -> Html:
    found = []
    for name, weight in weights:
        color = Tinted("", weight, largest).color
        style = f"display:inline-block;background:{color};border-radius:3px;padding:0 4px;margin:1px"
        found.append(element("span", f"{name} {weight:+.2f}", style=style))
    return element("div", *found)


def transition_weights(model: Model) -> np.ndarray:
    """The weights of label pairs that count at every step, (label before, label)."""
    index = model.index
    matrix = np.zeros(index.n_labels * index.n_labels)
    matrix[index.pairs] = index.split(model.weights)[2]
    return matrix.reshape(index.n_labels, index.n_labels)


def _transitions(model: Model, names: Sequence[str]) -> list[Html]:
    if len(names) <= MATRIX:
        matrix = transition_weights(model)
        largest = float(np.abs(matrix).max(initial=0.0))
        if not largest:
            return []
        rows = [
            [name, *(Tinted(f"{w:+.2f}" if w else "", w, largest) for w in row)]
            for name, row in zip(names, matrix.tolist(), strict=True)
        ]
        return [heading("From a label (row) to the next (column)"), table(["", *names], rows)]
    strongest = top_transitions(model, 2 * TOP)
    largest = max((abs(t["weight"]) for t in strongest), default=0.0)
    rows = [[" → ".join(t["labels"]), Tinted(f"{t['weight']:+.3f}", t["weight"], largest)] for t in strongest]
    return [heading("Strongest transitions"), table([], rows)] if rows else []


def parser_page(model: ParserModel, title: Any = None) -> Html:
    """A parser: the size of its grammar, and how it was trained."""
    grammar = model.grammar
    numbers = {
        "symbols": len(grammar.symbols),
        "rules": len(grammar.parents),
        "weights": len(model.weights),
    }
    rows = [[name, f"{n:,}"] for name, n in numbers.items()]
    return frame(heading(title or "Parser"), table([], rows), *record_parts(TrainingRecord(model.record)))


def language_page(model: PredictorModel, title: Any = None) -> Html:
    """A language model: its vocabulary and features, and how it was trained."""
    predictor = model.predictor
    rows = [["words", f"{len(predictor.words.strings):,}"], ["features", f"{predictor.n_features:,}"]]
    return frame(heading(title or "Language model"), table([], rows), *record_parts(TrainingRecord(model.record)))
