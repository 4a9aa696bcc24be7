"""What a trainer says, in CRFsuite's words and order, so that whatever reads CRFsuite's log reads this one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from loglin.crfsuite.algorithms import FEATURES, Algorithm, Parameter, Values
from loglin.decoding.chains import Decoder
from loglin.kernels.vectors import norm
from loglin.optimize.record import ASKED, LIMIT

if TYPE_CHECKING:
    from loglin.features.design import Design
    from loglin.models.chain import Model
    from loglin.optimize.record import Iteration

Say = Callable[[str], None]


@dataclass
class HeldOut:
    """Sentences on which every iteration is scored."""

    design: Design
    codes: np.ndarray  # (tokens,) the right labels
    labels: list

    def report(self, model: Model, threads: int | None) -> list[str]:
        """Scores of every label, their means, and the shares of tokens and sentences that are right."""
        found, L = Decoder(model, threads).best(self.design), len(self.labels)
        right = found == self.codes
        counts = np.stack([np.bincount(c, minlength=L) for c in (self.codes[right], found, self.codes)], axis=1)
        lines, total = ["Performance by label (#match, #model, #ref) (precision, recall, F1):"], np.zeros(3)
        for label, (match, model_, ref) in zip(self.labels, counts.tolist(), strict=True):
            p, r = match / model_ if model_ else 0.0, match / ref if ref else 0.0
            scores = (p, r, 2 * p * r / (p + r) if match else 0.0)
            total += scores
            shown = ", ".join(f"{x:.4f}" for x in scores) if model_ or ref else "******, ******, ******"
            lines.append(f"    {label}: ({match}, {model_}, {ref}) ({shown})")
        lines.append("Macro-average precision, recall, F1: ({:.6f}, {:.6f}, {:.6f})".format(*total / max(L, 1)))
        begins = np.unique(self.design.offsets[:-1][np.diff(self.design.offsets) > 0])  # of sentences with tokens
        whole = np.logical_and.reduceat(right, begins).sum() if len(begins) else 0
        for what, n, of in (("Item", right.sum(), len(right)), ("Instance", whole, len(begins))):
            lines.append(f"{what} accuracy: {n} / {of} ({n / max(of, 1):.4f})")
        return lines


class Log:
    """Says what is done, with the seconds that it took."""

    def __init__(self, say: Say, algorithm: Algorithm, values: Values):
        self.say, self.algorithm, self.values = say, algorithm, values
        self.began = self.last = time.perf_counter()

    def _seconds(self) -> float:
        """Since this was asked last."""
        now = time.perf_counter()
        passed, self.last = now - self.last, now
        return passed

    def _lines(self, lines: Sequence[str]) -> None:
        for line in lines:
            self.say(f"{line}\n")

    # ------------------------------------------------------------------ the parts of a log

    def holdout(self, group: int) -> None:
        self._lines([f"Holdout group: {group + 1}", ""])

    def start(self) -> None:
        self._lines(["Feature generation", "type: CRF1d", *_said(FEATURES, self.values, {})])

    def features(self, n: int) -> None:
        for tenth in range(11):
            self.say(str(tenth))
            for _ in range(4 * (tenth < 10)):
                self.say(".")
        self._lines(["", f"Number of features: {n}", f"Seconds required: {self._seconds():.3f}", ""])
        self._lines([self.algorithm.title, *_said(self.algorithm.parameters, self.values, self.algorithm.log), ""])

    def iteration(self, iteration: Iteration, weights: np.ndarray, trials: int, scores: Sequence[str]) -> None:
        self._lines(
            [
                f"***** {self.algorithm.step} #{iteration.number} *****",
                f"Loss: {iteration.value:.6f}",
                f"{self.algorithm.norm}: {norm(weights):.6f}",
            ]
        )
        if self.algorithm.batch:
            about = [f"Error norm: {iteration.gradient_norm:.6f}", f"Active features: {np.count_nonzero(weights)}"]
            self._lines([*about, f"Line search trials: {trials}"])
        self._lines([f"Seconds required for this iteration: {self._seconds():.3f}", *scores, ""])

    def end(self, stop: str, text: str) -> None:
        """Say why training ended, in CRFsuite's words and in loglin's."""
        why = {
            LIMIT: "terminated with the maximum number of iterations",
            ASKED: "terminated with the stopping criteria",
        }
        self._lines([f"{self.algorithm.log_name} {why.get(stop, 'resulted in convergence')}", f"({text})"])
        self._lines([f"Total seconds required for training: {time.perf_counter() - self.began:.3f}", ""])

    def stored(self, features: tuple[int, int], attributes: tuple[int, int], labels: int) -> None:
        """Say what of the features and attributes has a weight, and that it is written."""
        counts = {"features": features, "attributes": attributes, "labels": (labels, labels)}
        self._lines([f"Number of active {what}: {some} ({of})" for what, (some, of) in counts.items()])
        self._lines([f"Seconds required: {self._seconds():.3f}", ""])

    def storing(self) -> None:
        self._seconds()
        self.say("Storing the model\n")


def _said(parameters: Sequence[Parameter], values: Values, names: Mapping[str, str]) -> list[str]:
    """Parameters with their values, a line each."""
    lines = []
    for p in parameters:
        value = values[p.name]
        shown = value if p.kind is str else f"{value:.6f}" if p.kind is float else int(value)
        lines.append(f"{names.get(p.name, p.name)}: {shown}")
    return lines
