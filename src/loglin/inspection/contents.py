"""What is in a model, for a page: strongest features by label, transitions, how it was trained."""

from __future__ import annotations

from typing import Any

import numpy as np

from loglin.drawing.records import TrainingRecord
from loglin.models.strongest import top_weights

TOP = 12  # features of each side of a label
SHOWN = 60  # labels in a table of transitions; of more, those with the largest weights
CURVE = 200  # points of the training curve


def contents(model: Any, top: int = TOP) -> dict[str, Any]:
    """What a page shows of a model of any kind; no name of a file is told."""
    found: dict[str, Any] = {"kind": model.kind.noun, "curve": curve_of(model.record)}
    about: list[tuple[str, Any]] = [("kind", model.kind.noun)]
    if hasattr(model, "outcomes"):
        found["labels"] = [str(y) for y in model.labels]
        found["weights"] = top_weights(model, top)
        found["transitions"] = transitions(model) if model.kind.has_transitions else None
        about += [
            ("labels", f"{len(model.labels):,}"),
            ("attributes", f"{model.extractor.n_attributes:,}"),
            ("features", f"{model.index.n_features:,}"),
        ]
    found["about"] = [*about, *TrainingRecord(model.record).rows()]
    return found


def curve_of(record: dict[str, Any]) -> list[dict[str, float]]:
    """The objective by iteration; of many iterations some."""
    history = record.get("history")
    if not isinstance(history, list):
        return []
    points = [
        {"number": one["number"], "value": float(one["value"])}
        for one in history
        if isinstance(one, dict) and isinstance(one.get("value"), int | float) and np.isfinite(one["value"])
    ]
    step = max(1, len(points) // CURVE)
    return [*points[:-1:step], *points[-1:]]


def transitions(model: Any) -> dict[str, Any] | None:
    """The weight of every step from a label to the next, None where there is none; None: the model has no steps."""
    index = model.index
    pairs = index.split(model.weights)[2]
    if not len(pairs):
        return None
    L = index.n_labels
    table = np.full((L, L), np.nan)
    table[index.pairs // L, index.pairs % L] = pairs
    size = np.nansum(np.abs(table), axis=0) + np.nansum(np.abs(table), axis=1)
    kept = np.sort(np.argsort(-size, kind="stable")[:SHOWN])
    rows = [[None if np.isnan(w) else round(float(w), 4) for w in row] for row in table[np.ix_(kept, kept)]]
    return {"labels": [str(model.labels[y]) for y in kept], "weights": rows}
