"""Bars and curves as PNG files: the same numbers give the same bytes."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from typing import Any

from loglin.corpus.output import write_atomically
from loglin.errors import LoglinError

# Okabe and Ito's colors and one more, told apart by color-blind readers too; the markers and dashes differ as well
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999", "#882255")
MARKERS = "osD^vPX*h"
DASHES = ("-", "--", "-.", ":")
DPI = 150
MANY = 1000  # a logarithmic axis that spans more is marked at powers of ten only, for want of room
_SETTINGS = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that pictures do not depend on the machine
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
}


def require_matplotlib() -> Any:
    """matplotlib, or a sentence on how to get it."""
    try:
        import matplotlib
    except ImportError as error:
        raise LoglinError("figures need matplotlib, which is not installed: pip install 'loglin[plots]'") from error
    return matplotlib


def bars(path: str | os.PathLike, title: str, names: Sequence[str], values: Sequence[float], xlabel: str) -> None:
    """Horizontal bars, the first at the top, each with its value."""
    _same_length(names, values, title)
    matplotlib = require_matplotlib()
    with matplotlib.rc_context(_SETTINGS):
        figure, axes = _canvas(1.2 + 0.38 * len(names))
        drawn = axes.barh(range(len(names)), values, color=COLORS[0], height=0.65)
        axes.bar_label(drawn, fmt="{:,.4g}", padding=4)
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.margins(x=0.12)  # room for the values
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)
        axes.set(title=title, xlabel=xlabel)
        _write(path, figure)


def curves(
    path: str | os.PathLike,
    title: str,
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    xlabel: str,
    ylabel: str,
    logx: bool = False,
    logy: bool = False,
    circled: Mapping[str, int] | None = None,
    ticks: Mapping[float, str] | None = None,
) -> None:
    """One curve a name, through marked points, in the order in which they are given.

    ``circled`` tells the point of a curve that gets a circle, ``ticks`` what to write at places of a logarithmic x.
    """
    for name, (xs, ys) in lines.items():
        _same_length(xs, ys, f"{title}, {name}")
        for wanted, numbers in ((logx, xs), (logy, ys)):
            if wanted and any(number <= 0 for number in numbers):
                raise LoglinError(
                    f"{title}, {name}: {min(numbers)} has no place on a logarithmic axis; give positive numbers"
                )
    matplotlib = require_matplotlib()
    with matplotlib.rc_context(_SETTINGS):
        figure, axes = _canvas(4.2)
        for i, (name, (xs, ys)) in enumerate(lines.items()):
            color, marker, dash = (cycle[i % len(cycle)] for cycle in (COLORS, MARKERS, DASHES))
            axes.plot(xs, ys, label=name, color=color, marker=marker, linestyle=dash, markersize=5, linewidth=1.6)
            if circled and name in circled:
                point = circled[name]
                axes.plot(xs[point], ys[point], marker="o", markersize=13, fillstyle="none", color=color)
        if logx:
            from matplotlib.ticker import LogLocator, NullFormatter

            axes.set_xscale("log")
            left, right = axes.get_xlim()
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if right < MANY * left else (1,)))
            named = {f"{place:,.6g}": name for place, name in (ticks or {}).items()}
            axes.xaxis.set_major_formatter(lambda x, _: named.get(f"{x:,.6g}", f"{x:,.6g}"))
            axes.xaxis.set_minor_formatter(NullFormatter())
        if logy:
            axes.set_yscale("log")
        axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
        if lines:
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))  # beside the curves, never over them
        _write(path, figure)


def _canvas(height: float) -> tuple[Any, Any]:
    """A figure of its own, unknown to pyplot: no window, nothing to close."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots()


def _write(path: str | os.PathLike, figure: Any) -> None:
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=DPI, metadata={"Software": None})  # a PNG carries no date by itself
    write_atomically(path, stream.getvalue())


def _same_length(xs: Sequence, ys: Sequence, place: str) -> None:
    if len(xs) != len(ys):
        raise LoglinError(f"{place}: {len(xs)} against {len(ys)} values; give as many of each")
