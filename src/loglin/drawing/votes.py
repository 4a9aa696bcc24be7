"""Explanations as tables: what speaks for a label or class in blue, what speaks against it in orange."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from loglin.decoding.reasons import Explanation
from loglin.decoding.trees import SpanExplanation
from loglin.drawing.html import Html, Tinted, bar, frame, heading, remark, table
from loglin.generative.predictor import Votes

CLASSES = 5  # columns of a table of votes
FEATURES = 40  # rows


def explanation_page(explanation: Explanation) -> Html:
    """Why a token got its label."""
    labels, (chances, *rows) = explanation.table(CLASSES)
    shown = [bar(p, f"{100 * p:.2f} %") for p in chances[1]]
    return frame(heading(explanation.verdict()), *_votes(labels, rows, [(chances[0], shown)]))


def votes_page(
    verdict: str, classes: Sequence[Any], rows: Sequence, scores: Sequence[float], chances: Sequence
) -> Html:
    """Why an example got its class: rows of a feature and its votes, the sums of all votes, probabilities if any."""
    above: list[tuple[str, list[Any]]] = []
    if chances:
        above.append(("probability", [bar(p, f"{100 * p:.2f} %") for p in chances]))
    above.append(("sum of votes", [f"{score:+.3f}" for score in scores]))
    return frame(heading(verdict), *_votes(classes, rows, above))


def _votes(classes: Sequence[Any], rows: Sequence, above: Iterable) -> list[Html]:
    shown = rows[:FEATURES]
    largest = max((abs(w) for _, weights in shown for w in weights), default=0.0)
    tinted = [[name, *(Tinted(f"{w:+.3f}", w, largest) for w in weights)] for name, weights in shown]
    rest = len(rows) - len(shown)
    found = [table(["", *classes], [*([name, *cells] for name, cells in above), *tinted])]
    return found + ([remark(f"and {rest:,} more features, each with smaller votes")] if rest else [])


def word_page(votes: Votes) -> Html:
    """Why a word is as likely as it is behind a history."""
    largest = max((abs(vote.weight) for vote in votes), default=0.0)
    title = f"{votes.word!r} with probability {votes.probability:.4g}"
    return frame(heading(title), _weights([(vote.feature, vote.weight) for vote in votes], largest))


def _weights(rows: Sequence[tuple[str, float]], largest: float) -> Html:
    return table(["feature", "vote"], [[name, Tinted(f"{w:+.4f}", w, largest)] for name, w in rows])


def span_page(why: SpanExplanation) -> Html:
    """Why words of a tree are what they are."""
    title = f"{why.label} over words {why.begin} to {why.end}"
    rules = [(why.rule, why.rule_probability), *((f"rival {name}", p) for name, p in why.rivals)]
    chances = [(why.label, why.probability), *rules]
    largest = max((abs(vote.weight) for vote in why.votes), default=0.0)
    return frame(
        heading(title),
        table(["", "probability"], [[name, bar(p, f"{100 * p:.2f} %")] for name, p in chances]),
        _weights([(vote.feature, vote.weight) for vote in why.votes], largest),
    )
