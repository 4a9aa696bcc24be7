"""Choosing among models by the criterion on text without labels, and what an oracle would have chosen.

grid {"l2": [0.5, 2]} ──► one trial for each combination ──► selected: best criterion on held-out text
                                                         └─► oracle: best accuracy, where there are labels to compare
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loglin.criteria.criterion import Criterion
from loglin.criteria.registry import criteria
from loglin.errors import LoglinError
from loglin.models.chain import Model
from loglin.problems.request import Annotation


@dataclass(frozen=True, eq=False)
class Trial:
    parameters: dict[str, Any]
    model: Model
    held_criterion: float  # per held-out text, to be maximized
    accuracy: float | None  # on labelled text: of ambiguous words, or of all if no word is

    def as_dict(self) -> dict[str, Any]:
        record = self.model.record
        held = self.held_criterion if math.isfinite(self.held_criterion) else None  # which JSON cannot write
        found = {"parameters": self.parameters, "held_criterion": held, "accuracy": self.accuracy}
        return found | {"objective": record["objective"], "iterations": record["iterations"]}


@dataclass(frozen=True, eq=False)
class Selection:
    trials: list[Trial]

    @property
    def selected(self) -> Trial:
        """The trial with the best criterion on the held-out text; one that holds it impossible is never chosen."""
        return max(self.trials, key=lambda t: -math.inf if math.isnan(t.held_criterion) else t.held_criterion)

    @property
    def oracle(self) -> Trial | None:
        """The trial with the best accuracy."""
        return max((t for t in self.trials if t.accuracy is not None), key=lambda t: t.accuracy or 0.0, default=None)

    def as_dict(self) -> dict[str, Any]:
        oracle = self.oracle
        found = {"trials": [t.as_dict() for t in self.trials], "selected": self.selected.parameters}
        return found | ({} if oracle is None else {"oracle": oracle.parameters})

    def report(self) -> str:
        """A line for each trial."""
        judged = any(t.accuracy is not None for t in self.trials)
        lines = [f"{'held-out criterion':>20}  {'accuracy  ' if judged else ''}parameters"]
        for t in self.trials:
            accuracy = "" if t.accuracy is None else f"{100 * t.accuracy:7.2f}%  "
            marks = [word for word, one in (("selected", self.selected), ("oracle", self.oracle)) if one is t]
            names = ", ".join(f"{name} {_shown(value)}" for name, value in t.parameters.items())
            line = f"{t.held_criterion:>20,.3f}  {accuracy}{names}"
            lines.append(f"{line}  ({', '.join(marks)})" if marks else line)
        return "\n".join(lines)


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def check_grid(grid: Mapping[str, Sequence], criterion: Criterion, dev: Any) -> None:
    """Refuse, before anything is trained, what cannot be chosen by a criterion on held-out text."""
    if criterion.needs != Annotation.HIDDEN or dev is None:
        hidden = [name for name, c in criteria("chain").items() if c.needs == Annotation.HIDDEN]
        raise LoglinError(
            "models are chosen by their criterion on text without labels; give held-out text (dev) and one of the "
            f"criteria {', '.join(hidden)}"
        )
    if "neighborhood" in grid:
        raise LoglinError(
            "the grid names neighborhood, but criteria of different neighborhoods cannot be compared: the smaller one "
            "would win; choose for each neighborhood by itself, and compare by accuracy"
        )
    if not grid or not all(len(values) for values in grid.values()):
        raise LoglinError(f"the grid is {dict(grid)!r}; give every parameter at least one value, such as l2: 0.5, 1, 2")


def combinations(grid: Mapping[str, Sequence]) -> Iterator[dict[str, Any]]:
    """Every choice of one value for each parameter."""
    for values in itertools.product(*grid.values()):
        yield dict(zip(grid, values, strict=True))


def separated(parameters: dict[str, Any], criterion: Criterion) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters that are settings of the criterion, and the others."""
    known = {f.name for f in criterion.settings()}
    inside = {name: value for name, value in parameters.items() if name in known}
    return inside, {name: value for name, value in parameters.items() if name not in known}


def select(
    grid: Mapping[str, Sequence],
    train: Callable[[dict[str, Any]], Model],
    accuracy: Callable[[Model], float] | None = None,
) -> Selection:
    """Train a model for every combination; each must have been told of held-out text."""
    found = []
    for parameters in combinations(grid):
        model = train(parameters)
        trial = Trial(parameters, model, model.record["held_criterion"], None if accuracy is None else accuracy(model))
        found.append(trial)
    return Selection(found)
