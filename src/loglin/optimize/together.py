"""Many small problems on one pass: each has its own L-BFGS, and all are evaluated together.

    labels ──► each yields the weights it asks about ──► one pass answers all ──► …

Labels that have converged leave, so that later passes have fewer columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from loglin.features.scoring import ROW_LABELS
from loglin.kernels import vectors as kernels
from loglin.kernels.rows import padded
from loglin.optimize.descent import Descent, Goal, Steps
from loglin.optimize.lbfgs import QuasiNewton
from loglin.optimize.objective import HasParts
from loglin.optimize.record import LIMIT, Result, Stop, StopTraining, converged
from loglin.optimize.reporter import Reporter


def minimize_together(
    criterion: HasParts,
    start: np.ndarray,
    *,
    l1: np.ndarray,
    l2: np.ndarray,
    scale: np.ndarray | None = None,
    diagonal: np.ndarray | None = None,  # a guess of the Hessian's, by which convergence is judged
    memory: int = 8,
    max_iter: int = 1000,
    tol: float = 1e-4,
    reporter: Reporter | None = None,
) -> Result:
    """Minimize criterion(w) + Σ l1·|w| + ½ Σ l2·w² label by label.

    The reporter gets the weights of the labels that still run, (labels, attributes).
    """
    L = criterion.n_parts

    def by_label(flat: np.ndarray) -> np.ndarray:  # (labels, attributes)
        return np.ascontiguousarray(flat.reshape(-1, L).T, np.float64)

    strengths, scales = by_label(l1), [None] * L if scale is None else by_label(scale)
    curved = [None] * L if diagonal is None else by_label(diagonal)
    runs = [
        Descent(w, QuasiNewton(scales[j], memory), l1=strengths[j], goal=Goal(tol, diagonal=curved[j]))
        for j, w in enumerate(by_label(start))
    ]
    shared = _SharedPass(criterion, by_label(start), by_label(l2))
    late, passes, reporter = set(range(L)), 0, reporter or Reporter()
    stop, first = None, len(reporter.iterations)
    stage = reporter.stage(criterion)
    if stage.ended:
        return stage.outcome
    running, told = set(range(L)), stage.state
    stage.resume(lambda state: _restore(state, runs, shared))
    if told is not None:
        running, late, passes = set(told["running"]), set(told["late"]), told["passes"]
    loops, asked = [run.steps(max_iter) for run in runs], {}
    for j in sorted(running):
        asked[j] = _caught_up(runs[j], loops[j])
    try:
        while asked:
            about = {"running": sorted(asked), "late": sorted(late), "passes": passes}
            labels = [_state(run, j in asked) for j, run in enumerate(runs)]
            stage.save(about | {"members": shared.members, "W": shared.W, "labels": labels})
            for j, answer in shared.answers(asked).items():
                try:
                    asked[j] = loops[j].send(answer)
                except StopIteration as end:
                    del asked[j]
                    late -= {j} if end.value.converged else set()
            passes += 1
            value, norm = sum(run.here.value for run in runs), sum(kernels.norm(run.here.gradient) for run in runs)
            reporter.note(value, norm, shared.W, passes)
    except StopTraining as request:
        stop = request.stop
    if stop is None:
        stop = converged(f"all {L} labels have converged, each to tol = {tol:g}")
        if late:
            stop = Stop(LIMIT, f"{len(late)} of {L} labels had not converged after max_iter = {max_iter} iterations")
    value = float(sum(run.here.value for run in runs))
    return stage.end(Result(_joined(runs), value, stop, not late, reporter.since(first), passes))


def _state(run: Descent, runs: bool) -> dict[str, Any]:
    """Where a label is: as its iteration began, and what it was answered since; where it ended, if it does not run."""
    return {"top": run.top, "answers": run.answers} if runs else {"top": run.state(), "answers": []}


def _restore(state: dict[str, Any], runs: list[Descent], shared: _SharedPass) -> None:
    for run, label in zip(runs, state["labels"], strict=True):
        if label["top"] is not None:
            run.restore(label["top"])
        run.answers = [(value, gradient) for value, gradient in label["answers"]]
    members = list(state["members"])
    if members != shared.members:
        shared.criterion = shared.criterion.of(members)
    shared.W, shared.members = np.ascontiguousarray(state["W"].reshape(len(members), -1)), members


def _caught_up(run: Descent, loop: Steps[Result]) -> np.ndarray:
    """The weights that a loop asks about after the answers that it was given already."""
    given, run.answers = run.answers or [], []
    asked = next(loop)
    for answer in given:
        asked = loop.send(answer)
    return asked


def _joined(runs: list[Descent]) -> np.ndarray:
    return np.stack([run.here.w for run in runs], axis=1).ravel()


class _SharedPass:
    """Value and gradient of every label that asks, from one pass; labels that have left may still be in it."""

    def __init__(self, criterion: HasParts, weights: np.ndarray, l2: np.ndarray):
        self.criterion, self.l2 = criterion, l2
        self.members = list(range(len(weights)))
        self.W = weights  # (members, attributes)

    def answers(self, asked: dict[int, np.ndarray]) -> dict[int, tuple[float, np.ndarray]]:
        if padded(max(len(asked), ROW_LABELS)) < padded(len(self.members)):
            done = [j for j in self.members if j not in asked]
            stay = set(asked) | set(done[: max(0, ROW_LABELS - len(asked))])
            keep = [place for place, j in enumerate(self.members) if j in stay]
            self.criterion, self.W = self.criterion.of(keep), self.W[keep]
            self.members = [self.members[place] for place in keep]
        for place, j in enumerate(self.members):
            if j in asked:
                self.W[place] = asked[j]
        _, gradient = self.criterion(self.W.T.ravel())
        G = np.ascontiguousarray(gradient.reshape(-1, len(self.members)).T)
        found = {}
        for place, j in enumerate(self.members):
            if j in asked:
                value = float(self.criterion.losses[place]) + kernels.add_ridge(self.l2[j], asked[j], G[place])
                found[j] = value, G[place]
        return found
