"""What a decoder answers besides labels: entities with their probabilities, and why a token got its label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Vote:
    """What one active feature says: its weight for every label that it knows."""

    feature: str
    value: float
    votes: dict  # label → weight · value


@dataclass(frozen=True)
class Entity:
    type: str
    start: int
    stop: int
    text: str
    probability: float


@dataclass(frozen=True)
class Explanation:
    """Why a token got its label."""

    token: str
    label: Any
    probabilities: dict  # label → marginal probability
    votes: list[Vote]  # every active feature, largest first
    transitions: dict  # label → weight of the steps from the labels before, if there are any
    following: dict  # label → weight of the steps to the labels after, if there are any

    def __str__(self) -> str:
        ranked = sorted(self.probabilities, key=self.probabilities.get, reverse=True)[:3]  # type: ignore[arg-type]
        lines = [f"{self.token!r} is {self.label}"]
        if ranked[0] != self.label:
            lines[0] += f" in the best sequence of labels, though alone {ranked[0]} is likelier"
            ranked = [*[y for y in ranked if y != self.label][:2], self.label]
        rows = [("probability", [f"{self.probabilities[y]:.4f}" for y in ranked])]
        if self.transitions:
            rows.append(("labels before", [f"{self.transitions.get(y, 0.0):+.3f}" for y in ranked]))
        if self.following:
            rows.append(("labels after", [f"{self.following.get(y, 0.0):+.3f}" for y in ranked]))
        rows += [(v.feature, [f"{v.votes.get(y, 0.0):+.3f}" for y in ranked]) for v in self.votes]
        width = max(len(name) for name, _ in rows)
        widths = [max(len(str(y)), 7) for y in ranked]
        for name, cells in [("", ranked), *rows]:
            aligned = "  ".join(f"{cell!s:>{w}}" for cell, w in zip(cells, widths, strict=True))
            lines.append(f"  {name:<{width}}  {aligned}")
        return "\n".join(lines)
