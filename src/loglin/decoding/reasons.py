"""What a decoder answers besides labels: entities with their probabilities, and why a token got its label."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from loglin.corpus.shown import Shown

if TYPE_CHECKING:
    from loglin.corpus.tokenizing import Span


@dataclass(frozen=True)
class Vote:
    """What one active feature says: its weight for every label that it knows."""

    feature: str
    value: float
    votes: dict  # label → weight · value

    def as_dict(self) -> dict[str, Any]:
        """For JSON, which has only strings as keys."""
        return {"feature": self.feature, "value": self.value, "votes": {str(y): w for y, w in self.votes.items()}}


@dataclass(frozen=True)
class Entity:
    type: str
    start: int
    stop: int
    text: str
    probability: float
    start_char: int | None = None  # in raw text, of which text is text[start_char:end_char]
    end_char: int | None = None

    def within(self, text: str, spans: list[Span]) -> Entity:
        """The entity with its place in the raw text whose tokens have these places."""
        begin, end = spans[self.start][0], spans[self.stop - 1][1]
        return replace(self, text=text[begin:end], start_char=begin, end_char=end)

    def as_dict(self) -> dict[str, Any]:
        """The fields that are known, as numbers and strings that ``json`` can write."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Explanation(Shown):
    """Why a token got its label."""

    token: str
    label: Any
    probabilities: dict  # label → marginal probability
    votes: list[Vote]  # every active feature, largest first
    transitions: dict  # label → weight of the steps from the labels before, if there are any
    following: dict  # label → weight of the steps to the labels after, if there are any

    def as_dict(self) -> dict[str, Any]:
        """For JSON, which has only strings as keys."""
        return {
            "token": self.token,
            "label": self.label,
            "probabilities": {str(y): p for y, p in self.probabilities.items()},
            "transitions": {str(y): w for y, w in self.transitions.items()},
            "following": {str(y): w for y, w in self.following.items()},
            "votes": [vote.as_dict() for vote in self.votes],
        }

    def verdict(self) -> str:
        """One sentence: the label, and which one is likelier alone where that is another."""
        likeliest = max(self.probabilities, key=self.probabilities.get)  # type: ignore[arg-type]
        aside = f" in the best sequence of labels, though alone {likeliest} is likelier"
        return f"{self.token!r} is {self.label}" + (aside if likeliest != self.label else "")

    def table(self, most: int = 3) -> tuple[list, list[tuple[str, list[float]]]]:
        """The likeliest labels and that of the token; probabilities, then rows of what votes for each of them."""
        ranked = sorted(self.probabilities, key=self.probabilities.get, reverse=True)  # type: ignore[arg-type]
        if ranked[0] != self.label:
            ranked = [*[y for y in ranked if y != self.label][: most - 1], self.label]
        ranked = ranked[:most]
        voters = [("labels before", self.transitions), ("labels after", self.following)]
        voters = [pair for pair in voters if pair[1]] + [(vote.feature, vote.votes) for vote in self.votes]
        rows = [(name, [votes.get(y, 0.0) for y in ranked]) for name, votes in voters]
        return ranked, [("probability", [self.probabilities[y] for y in ranked]), *rows]

    def __str__(self) -> str:
        ranked, (chances, *rows) = self.table()
        cells = [(chances[0], [f"{p:.4f}" for p in chances[1]])]
        cells += [(name, [f"{w:+.3f}" for w in weights]) for name, weights in rows]
        width = max(len(name) for name, _ in cells)
        widths = [max(len(str(y)), 7) for y in ranked]
        lines = [self.verdict()]
        for name, line in [("", ranked), *cells]:
            aligned = "  ".join(f"{cell!s:>{w}}" for cell, w in zip(line, widths, strict=True))
            lines.append(f"  {name:<{width}}  {aligned}")
        return "\n".join(lines)
