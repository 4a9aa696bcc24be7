"""Reading CRFsuite's log while it is written, message by message.

start ─► featgen_progress … ─► featgen_end ─► prepared ─► iteration … ─► optimization_end ─► end
                                          └─► prepare_error ─────────────────────┘
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple


class LabelScore(NamedTuple):
    """What a model gets right of one label in the held-out sentences; None where the label does not occur."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


_NUMBER = r"(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
_TOLD: dict[str, tuple[str, Callable]] = {  # how lines about an iteration begin, what they tell, as what
    "Loss": ("loss", float),
    "Feature norm": ("feature_norm", float),
    "Error norm": ("error_norm", float),
    "Active features": ("active_features", int),
    "Line search trials": ("linesearch_trials", int),
    "Line search step": ("linesearch_step", float),
    "Seconds required for this iteration": ("time", float),
}
_LINE = re.compile(rf"({'|'.join(_TOLD)}): {_NUMBER}")
_HEAD = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}\n")
_LABEL = re.compile(r" {4}(.+): \((\d+), (\d+), (\d+)\) \((.+), (.+), (.+)\)")
_MEANS = re.compile(rf"Macro-average precision, recall, F1: \({_NUMBER}, {_NUMBER}, {_NUMBER}\)")
_SHARE = re.compile(r"(Item|Instance) accuracy: (\d+) / (\d+)")


class TrainLogParser:
    """What a log has told so far; ``feed`` takes a message and says which part of the log it has ended, if any."""

    def __init__(self) -> None:
        self.log: list[str] = []  # all messages
        self.events: list[tuple[str, int, int]] = []  # parts of the log: name, first message, behind the last
        self.iterations: list[dict[str, Any]] = []
        self.featgen_percent = -2
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self._read: Callable[[str], str | None] = self._beginning

    @property
    def last_iteration(self) -> dict[str, Any] | None:
        """What the last iteration has told: num, loss, time, …, and scores by label of held-out sentences."""
        return self.iterations[-1] if self.iterations else None

    @property
    def last_log(self) -> str:
        """The text of the part that ended last."""
        _, first, end = self.events[-1]
        return "".join(self.log[first:end])

    def feed(self, line: str) -> str | None:
        """Take a message; the name of the part of the log that has ended with it, or None."""
        self.log.append(line)
        event = self._read(line)
        if event is not None:
            begins_next = event in ("prepared", "optimization_end")
            self.events.append((event, self.events[-1][2] if self.events else 0, len(self.log) - begins_next))
        return event

    # ------------------------------------------------------------------ the parts, in their order

    def _beginning(self, line: str) -> str:
        self._read = self._before_features
        self._before_features(line)
        return "start"

    def _before_features(self, line: str) -> None:
        if line.startswith("Feature generation"):
            self._read = self._features

    def _features(self, line: str) -> str | None:
        if line == "." or line.isdigit():
            self.featgen_percent += 2
            return "featgen_progress"
        if found := re.match(r"Number of features: (\d+)", line):
            self.featgen_num_features = int(found[1])
        self.featgen_seconds = _seconds("Seconds required", line)
        if self.featgen_seconds is None:
            return None
        self._read = self._preparation
        return "featgen_end"

    def _preparation(self, line: str) -> str | None:
        if self._begins_iteration(line):
            return "prepared"
        if "terminated with error" in line:
            self._read = self._between
            return "prepare_error"
        return None

    def _iteration(self, line: str) -> str | None:
        if line == "\n":
            self._read = self._between
            return "iteration"
        told = self.iterations[-1]
        if found := _LINE.match(line):
            key, kind = _TOLD[found[1]]
            told[key] = kind(found[2])
        elif found := _LABEL.match(line):
            counts, scores = map(int, found.groups()[1:4]), found.groups()[4:]
            numbers = (None if "*" in score else float(score) for score in scores)
            told["scores"][found[1]] = LabelScore(*counts, *numbers)
        elif found := _MEANS.match(line):
            told |= zip(("avg_precision", "avg_recall", "avg_f1"), map(float, found.groups()), strict=True)
        elif found := _SHARE.match(line):
            key, share = f"{found[1].lower()}_accuracy", Fraction(int(found[2]), max(int(found[3]), 1))
            told |= {key: share, f"{key}_float": float(share)}
        return None

    def _between(self, line: str) -> str | None:
        if self._begins_iteration(line):
            return None
        seconds = _seconds("Total seconds required for training", line)
        self.training_seconds = self.training_seconds if seconds is None else seconds
        if line.startswith("Storing the model"):
            self._read = self._storing
            return "optimization_end"
        return None

    def _storing(self, line: str) -> str | None:
        seconds = _seconds("Seconds required", line)
        self.storing_seconds = self.storing_seconds if seconds is None else seconds
        return "end" if line == "\n" else None

    def _begins_iteration(self, line: str) -> bool:
        head = _HEAD.match(line)
        if head:
            self.iterations.append({"num": int(head[1]), "scores": {}})
            self._read = self._iteration
        return head is not None


def _seconds(what: str, line: str) -> float | None:
    found = re.match(rf"{what}: {_NUMBER}", line)
    return float(found[1]) if found else None
