"""Following training: held-out data that decides when to stop, and requests to end it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from loglin.corpus.labels import Gold
from loglin.decoding.chains import Decoder
from loglin.evaluation.sequences import evaluate
from loglin.features.design import Design
from loglin.models.chain import Model
from loglin.optimize.record import Iteration, Result, StopTraining

INTERRUPTED = "interrupted by"


@dataclass
class Development:
    """Held-out data that decides when to stop."""

    design: Design
    gold: Gold  # codes may be -1 for labels never seen in training
    label_names: list

    def score(self, model: Model, metric: str, threads: int | None) -> float:
        decoder = Decoder(model, threads)
        if metric == "f1":
            predicted = decoder.best(self.design)
            names = [str(name) for name in self.label_names]
            result = evaluate(
                self.gold.codes, predicted, names, self.design.offsets, tokens_only=model.task == "classify"
            )
            return result.f1
        total, offsets = 0.0, self.design.offsets
        for s, chain in enumerate(decoder.chains(self.design)):
            labels = self.gold.codes[offsets[s] : offsets[s + 1]]
            if (labels < len(model.labels)).all():
                total += chain.score(labels) - chain.partition()
        return total


class Watch:
    """Follows training: scores the development data, keeps the best weights, asks for a stop."""

    def __init__(self, options, development: Development | None, make: Callable[[np.ndarray], Model], callback):
        self.options, self.development, self.callback = options, development, callback
        self.make = make  # weights → model
        self.history: list[Iteration] = []
        self.best: tuple[float, np.ndarray, int] | None = None

    def __call__(self, iteration: Iteration, weights: np.ndarray) -> None:
        if self.development is not None:
            score = self.development.score(
                self.make(weights.astype(np.float32)), self.options.dev_metric, self.options.threads
            )
            iteration = Iteration(**{**iteration.as_dict(), "score": score})
            if self.best is None or score > self.best[0]:
                self.best = (score, weights.copy(), iteration.number)
        self.history.append(iteration)
        if self.callback is not None:
            self.callback(iteration)
        if self.best is not None and iteration.number - self.best[2] >= self.options.patience:
            raise StopTraining(
                f"the development data's {self.options.dev_metric} has not risen for {self.options.patience} "
                f"iterations; the weights of iteration {self.best[2]} ({self.best[0]:.4f}) are kept"
            )

    def choose(self, result: Result) -> tuple[np.ndarray, str]:
        """The weights to keep, and why training ended."""
        if self.best is None:
            return result.weights, result.stopped
        stopped = result.stopped
        if "are kept" not in stopped:
            stopped += f"; the best on the development data, of iteration {self.best[2]}, are kept"
        return self.best[1], stopped


def was_interrupted(record: dict) -> bool:
    """Whether the training that a record tells of was asked to end."""
    return str(record.get("stopped", "")).startswith(INTERRUPTED)


@contextmanager
def interruptible() -> Iterator[Callable[[], str | None]]:
    """Ctrl-C and SIGTERM ask training to end with what it has; a second one ends the program."""
    asked: list[str] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return

    def handle(number: int, frame) -> None:
        if asked:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        asked.append(f"{INTERRUPTED} {signal.Signals(number).name}; the best weights so far are kept")

    old = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: asked[0] if asked else None
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
