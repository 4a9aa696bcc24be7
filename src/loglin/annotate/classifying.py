"""Annotation of documents: one class each, proposed by a maximum-entropy classifier."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from loglin.annotate.pool import Item
from loglin.annotate.work import Work
from loglin.corpus.plaintext import distinct_words
from loglin.errors import LoglinError
from loglin.estimators.maxent import MaxEnt


@dataclass
class Classifying:
    """Documents with one label."""

    types: list[str]
    examples: list[tuple[str, str]] = field(default_factory=list)  # labelled texts to start from
    teacher: Any = None  # a model to start from
    name = "classify"
    single = False

    def checked(self, item: Item, given: dict[str, Any]) -> dict[str, Any]:
        label = given.get("label")
        if label not in self.types:
            raise LoglinError(f"the label {label!r:.60} is not among {', '.join(self.types)}; give one of these")
        return {"label": label}

    def given(self, item: Item) -> dict[str, Any] | None:
        return None if item.given is None else self.checked(item, {"label": item.given})

    def learn(self, items: Sequence[Item], work: Work, before: Any) -> Any:
        pairs = [*self.examples, *((items[n].text, answer["label"]) for n, answer in work.answers.items())]
        if len({label for _, label in pairs}) < 2:
            return self.teacher
        return MaxEnt(threads=1).fit([features(text) for text, _ in pairs], [label for _, label in pairs])

    def proposal(self, model: Any, item: Item, work: Work) -> dict[str, Any]:
        if model is None:
            return {"label": None, "probabilities": {}}
        row = model.predict_proba([features(item.text)])[0].tolist()
        names = [str(label) for label in model.classes_]
        return {"label": names[int(np.argmax(row))], "probabilities": dict(zip(names, row, strict=True))}

    def doubts(self, model: Any, items: Sequence[Item], measure: str) -> np.ndarray:
        shares = np.asarray(model.predict_proba([features(item.text) for item in items]))
        if measure == "entropy":
            return -(shares * np.log(np.maximum(shares, 1e-300))).sum(axis=1)
        return 1 - shares.max(axis=1)

    def agreement(self, answers: Iterable[dict[str, Any]], items: Sequence[Item]) -> tuple[float, int]:
        """The share of labels that were proposed."""
        told = [answer["proposed"] == answer["label"] for answer in answers if answer.get("proposed") is not None]
        return (float(np.mean(told)) if told else 1.0), len(told)


def features(text: str) -> dict[str, float]:
    """What the classifier looks at, as loglin classify does."""
    return dict.fromkeys(distinct_words(text), 1.0)
