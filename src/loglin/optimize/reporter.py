"""Following training: one reporter hears of every iteration, scores held-out data, and ends training when asked.

optimizer ──► note(value, norm, weights) ──► score on held-out data ──► callback ──► history, or StopTraining
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from loglin.optimize.record import HELD_OUT, INTERRUPTED, Callback, Iteration, Result, Stop, StopTraining

if TYPE_CHECKING:
    from loglin.optimize.checkpoint import Checkpoint, Stage

PATIENCE = 10  # iterations without a better score on held-out data


@dataclass(frozen=True)
class Judge:
    """Scores what has been learned on held-out data; more is better."""

    score: Callable[[Any], float]  # weights, or a generative model → score
    metric: str = "f1"
    patience: int = PATIENCE


@dataclass(frozen=True)
class Best:
    score: float
    learned: Any
    number: int  # of the iteration


class Reporter:
    """Numbers the iterations of all phases and starts as one history; a request to stop holds for all of them."""

    def __init__(
        self,
        callback: Callback | None = None,
        judge: Judge | None = None,
        parent: Reporter | None = None,
        checkpoint: Checkpoint | None = None,
        looks: bool = False,  # whether the callback looks at what is learned
    ):
        self.callback, self.judge, self.parent, self.looks = callback, judge, parent, looks
        self.checkpoint: Checkpoint | None = checkpoint if parent is None else parent.checkpoint
        self.iterations: list[Iteration] = []
        self.began = time.perf_counter()
        self.evaluations = 0  # of the optimizer runs that have ended
        self.best: Best | None = None
        self.question: Callable[[], Stop | None] = lambda: None  # asked after every iteration
        self.view: Callable[[np.ndarray], np.ndarray] | None = None  # from the optimizer's variables to weights
        self.searching = False  # whether weights are searched for, or were found: something can be kept
        self._asked: Stop | None = None
        self._listens = False

    def note(
        self,
        value: float,
        norm: float,
        learned: Any,
        evaluations: int,
        *,
        active: int | None = None,
        skipped: int = 0,  # iterations since the last one noted that were not looked at
    ) -> None:
        """Record an iteration; raises StopTraining when training shall end."""
        number = (self.iterations[-1].number if self.iterations else 0) + skipped + 1
        seconds = time.perf_counter() - self.began
        if self.view is not None and (self.judge is not None or self.callback is not None):
            learned = self.view(learned)
        active = int(np.count_nonzero(learned)) if active is None else active
        iteration = Iteration(number, value, norm, active, self.evaluations + evaluations, seconds)
        try:
            self._tell(iteration, learned)
            if reason := self.question():
                raise StopTraining(reason)
        except StopTraining as request:
            self._asked = request.stop
            raise
        self.check()

    def _tell(self, iteration: Iteration, learned: Any) -> None:
        if self.judge is not None:
            iteration = replace(iteration, score=self.judge.score(learned))
            if self.best is None or iteration.score > self.best.score:  # type: ignore[operator]
                kept = learned.copy() if isinstance(learned, np.ndarray) else learned
                self.best = Best(iteration.score, kept, iteration.number)  # type: ignore[arg-type]
        self.iterations.append(iteration)
        if self.callback is not None:
            self.callback(iteration, learned)
        judge, best = self.judge, self.best
        if judge is not None and best is not None and iteration.number - best.number >= judge.patience:
            text = (
                f"the development data's {judge.metric} has not risen for {judge.patience} iterations; the weights of "
                f"iteration {best.number} ({best.score:.4f}) are kept"
            )
            raise StopTraining(Stop(HELD_OUT, text))

    @property
    def asked(self) -> Stop | None:
        """The reason to end, if a signal or a callback has asked for it."""
        return self._asked or (self.parent.asked if self.parent is not None else None)

    def check(self) -> None:
        """Raise StopTraining if training was asked to end."""
        if reason := self.asked:
            raise StopTraining(reason)

    def quietly(self) -> Reporter:
        """A reporter for an auxiliary run: no callback hears of its iterations, but requests to stop end it too."""
        return Reporter(parent=self)

    def stage(self, function: Any = None, **learned: Any) -> Stage:
        """The next loop of this training, which a checkpoint may know already."""
        from loglin.optimize.checkpoint import Stage

        return Stage(self, function, **learned)

    def since(self, first: int) -> list[Iteration]:
        """The iterations from the ``first`` on."""
        return self.iterations[first:]

    def chosen(self, result: Result) -> Any:
        """The weights or model to keep: the best on held-out data, as the result's stop then says; else the last."""
        if self.best is None:
            return result.learned
        if result.stop.kind != HELD_OUT:
            result.stop = result.stop.also(
                f"the best on the development data, of iteration {self.best.number}, are kept"
            )
        return self.best.learned

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Let Ctrl-C ask a search for weights to end with what it has.

        When all in here is done, the program hears of it: its own handler is called, and KeyboardInterrupt raised. A
        second Ctrl-C, or one outside the search, is the program's at once. Inside another ``listening`` this is none.
        """
        host = signal.getsignal(signal.SIGINT)
        if self._listens or threading.current_thread() is not threading.main_thread() or not callable(host):
            yield
            return
        interrupted = False

        def handle(number: int, frame: Any) -> None:
            nonlocal interrupted
            if not self.searching or interrupted:
                host(number, frame)
                return
            interrupted = True
            self._asked = Stop(INTERRUPTED, "interrupted; the best weights so far are kept")

        self._listens = True
        signal.signal(signal.SIGINT, handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, host)
            self._listens = False
        if interrupted:
            host(signal.SIGINT, None)
            raise KeyboardInterrupt
