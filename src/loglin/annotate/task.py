"""What a task of annotation is asked: to check answers, to learn from them, to propose, to say how sure it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from loglin.annotate.pool import Item
from loglin.annotate.work import Work


class Task(Protocol):
    name: str
    types: list[str]  # labels to choose from

    @property
    def single(self) -> bool:
        """Whether every token has a label by itself."""

    def checked(self, item: Item, given: dict[str, Any]) -> dict[str, Any]:
        """The answer in what a page has sent; a wrong one is refused with a sentence."""

    def given(self, item: Item) -> dict[str, Any] | None:
        """The answer that the file has already, if it has one."""

    def learn(self, items: Sequence[Item], work: Work, before: Any) -> Any:
        """A model of all answers, continued from the one before; None where there is nothing to learn from."""

    def proposal(self, model: Any, item: Item, work: Work) -> dict[str, Any]:
        """What the model, if there is one, and the dictionary say of an item."""

    def doubts(self, model: Any, items: Sequence[Item], measure: str) -> np.ndarray:
        """How uncertain the model is of each item, by one of ``measures``."""

    def agreement(self, answers: Iterable[dict[str, Any]], items: Sequence[Item]) -> tuple[float, int]:
        """How well what was proposed before it was learnt agrees with the answers, and of how many items."""


MEASURES = {  # how items are ordered by doubt
    "entropy": "entropy of the whole answer",
    "token": "the least certain token",
}
