"""A model that is continued in a thread of its own while somebody annotates."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from loglin.annotate.pool import Item
from loglin.annotate.task import Task
from loglin.annotate.work import Work


@dataclass(frozen=True)
class Learned:
    """A model, what it has learnt from, and how uncertain it is of every item."""

    model: Any = None
    entries: int = -1  # of the journal, when it was learnt; before anything is, -1
    doubts: np.ndarray | None = None  # (items,)
    seconds: float = 0.0
    failure: str = ""  # why the last attempt gave no model
    times: int = 0  # how often something was learnt


class Learner:
    """Learns whenever something new was done, as often as it can; ``now`` is the last model."""

    def __init__(self, task: Task, items: Sequence[Item], measure: str, work: Callable[[], Work]):
        self._task, self._items, self._measure, self._work = task, items, measure, work
        self._wanted, self._changed, self._ended = 0, threading.Condition(), False
        self.now = Learned()
        self._thread = threading.Thread(target=self._run, name="learner", daemon=True)
        self._thread.start()

    def ask(self, entries: int) -> None:
        """Learn from so many entries of the journal, after what is being learnt now."""
        with self._changed:
            self._wanted = entries
            self._changed.notify_all()

    def wait(self, seconds: float = 60.0) -> Learned:
        """The model of all that was asked for."""
        with self._changed:
            self._changed.wait_for(lambda: self.now.entries >= self._wanted, seconds)
            return self.now

    def end(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ended or self.now.entries < self._wanted)
                if self._ended:
                    return
            found = self._learned(self._work())
            with self._changed:
                self.now = found
                self._changed.notify_all()

    def _learned(self, work: Work) -> Learned:
        began, number = time.perf_counter(), len(work.entries)
        try:
            model = self._task.learn(self._items, work, self.now.model)
            doubts = None if model is None else self._task.doubts(model, self._items, self._measure)
        except Exception as error:  # whatever it is, the person goes on with the model before and is told
            return Learned(
                self.now.model, number, self.now.doubts, time.perf_counter() - began, str(error), self.now.times
            )
        return Learned(model, number, doubts, time.perf_counter() - began, times=self.now.times + 1)
