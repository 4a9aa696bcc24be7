"""How a model was trained: for people as lines, as a table, and as the curve of what was minimized."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loglin.corpus.shown import Shown
from loglin.drawing.html import Html, element, frame, heading, table

_KEYS = ("imported", "criterion", "data", "sentences", "tokens", "objective", "iterations", "stopped", "train_seconds")
_TITLES = {"imported": "imported from", "stopped": "stopped because", "train_seconds": "seconds"}
WIDTH, HEIGHT, EDGE = 360.0, 90.0, 6.0  # of a curve


@dataclass(frozen=True)
class TrainingRecord(Shown):
    """The record that a model keeps of its training; that of a foreign file may hold anything."""

    record: dict[str, Any]

    def rows(self, examples: bool = False) -> list[tuple[str, str]]:
        """What is known, each with its title; ``examples``: of a classifier."""
        record, found = self.record, []
        for key in _KEYS:
            if key in record and not (examples and key in ("criterion", "tokens")):
                title = "examples" if examples and key == "sentences" else _TITLES.get(key, key)
                found.append((title, plain(record[key])))
        options = record.get("options")
        if isinstance(options, dict):
            given = [f"{k} {plain(v)}" for k, v in options.items() if v is not None and k != "criterion"]
            found.append(("options", ", ".join(given)))
        if "pruned" in record:
            found.append(("pruned at", plain(record["pruned"])))
        return found

    def curve(self, key: str) -> list[tuple[int, float]]:
        """Iterations and one of their numbers ("value", "score", "seconds", …), as far as there are any."""
        history = self.record.get("history")
        known = [one for one in history if isinstance(one, dict)] if isinstance(history, list) else []
        pairs = [(one.get("number", place), one.get(key)) for place, one in enumerate(known, start=1)]
        return [(int(n), float(x)) for n, x in pairs if _is_number(n) and _is_number(x)]  # type: ignore[arg-type]

    def __str__(self) -> str:
        return "\n".join(f"{title:<15}  {text}" for title, text in self.rows())


def record_parts(record: TrainingRecord, examples: bool = False) -> list[Html]:
    """The table of a record and the curves of its history."""
    parts = [heading("Training"), table([], record.rows(examples), numbers=False)]
    for key, title in (("value", "objective"), ("score", "score on held-out data")):
        points = record.curve(key)
        if len(points) > 1:
            parts.append(curve_svg(points, title))
    return parts


def record_page(record: TrainingRecord) -> Html:
    return frame(*record_parts(record))


def curve_svg(points: Sequence[tuple[int, float]], title: str) -> Html:
    """A curve over iterations, with its first and its last number."""
    xs, ys = [n for n, _ in points], [y for _, y in points]
    wide, high = max(xs[-1] - xs[0], 1), max(ys) - min(ys) or 1.0
    places = [
        (EDGE + (x - xs[0]) / wide * (WIDTH - 2 * EDGE), EDGE + (max(ys) - y) / high * (HEIGHT - 2 * EDGE))
        for x, y in points
    ]
    path = "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    line = element("path", Html(""), d=path, fill="none", stroke="rgb(31,119,200)", **{"stroke-width": "2"})
    text = f"{title}: {plain(ys[0])} at iteration {xs[0]}, {plain(ys[-1])} at iteration {xs[-1]}"
    size = {"width": f"{WIDTH:g}", "height": f"{HEIGHT:g}", "viewBox": f"0 0 {WIDTH:g} {HEIGHT:g}"}
    picture = element("svg", element("title", text), line, xmlns="http://www.w3.org/2000/svg", role="img", **size)
    return element("div", picture, element("div", text, style="opacity:.75"), style="margin:4px 0")


def plain(value: Any) -> str:
    """A value of a record for people."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}" if abs(value) >= 1000 else f"{value:.6g}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
