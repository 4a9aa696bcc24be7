"""Learning sentence by sentence: a quick start for the batch optimizer, and the averaged perceptron.

A few epochs, one step per sentence, come near the optimum; L-BFGS then finishes and alone decides
convergence. Dual ascent computes its steps; gradient descent searches its step size on a sample (docs/training.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from loglin.features.design import Design
from loglin.features.scoring import Scorer
from loglin.kernels import stochastic as kernels
from loglin.kernels.gradient import fill_table
from loglin.kernels.perceptron import Learned, perceptron_epoch
from loglin.kernels.sentences import Exponentials, Parameters, Sentences
from loglin.kernels.vectors import dot
from loglin.objectives.dual import MOST_EPOCHS, DualAscent, has_ended
from loglin.optimize.checkpoint import Stage
from loglin.optimize.penalties import shortest
from loglin.optimize.reporter import Reporter

if TYPE_CHECKING:
    from loglin.objectives.likelihood import ConditionalLikelihood

BLOCKS = 16  # the penalty is applied so often per epoch of gradient descent
SAMPLE_TOKENS = 12_000  # on which the step size is searched
FALLING_STEPS = (1.0, 1.0, 0.8, 0.56, 0.4, 0.24)  # of gradient descent, by epoch
LONGEST_CUT = 2.0  # l1/l2 in dual ascent: a smaller l2 is taken as larger, else weights would rise from zero too late


@dataclass(frozen=True)
class Penalties:
    """Strengths by weight, by row of the table, and for label bigrams."""

    l1: np.ndarray
    l2: np.ndarray
    l1_rows: np.ndarray
    l2_rows: np.ndarray
    l1_pairs: np.ndarray
    l2_pairs: np.ndarray


class StochasticLearner:
    """Weights that change with every sentence, stored where the kernels read them."""

    def __init__(self, criterion: ConditionalLikelihood, seed: int = 0):
        self.criterion, self.index, self.dtype = criterion, criterion.index, criterion.dtype
        self.weights = np.zeros(self.index.n_features, self.dtype)
        self.order = criterion.order
        self.rng = np.random.default_rng(seed)
        self.sentences = np.flatnonzero(np.diff(criterion.design.offsets) > 0)

    @cached_property
    def scorer(self) -> Scorer:
        """The features of every token, those of heads and vectors unfolded."""
        design = self.criterion.design
        unfolded = Design(design.offsets, design.unfolded(), design.bigrams, design.n_attributes, 0)
        return Scorer(unfolded, self.index, self.dtype.type, self.criterion.threads, trains=False)

    @property
    def table(self) -> np.ndarray:
        """Weights of all rows."""
        return self.scorer.table

    @cached_property
    def T(self) -> np.ndarray:
        """Weights of label bigrams: (L, width)."""
        return np.zeros((self.index.n_labels, self.scorer.width), self.dtype)

    @cached_property
    def cube(self) -> np.ndarray:
        """Weights of label trigrams: (L, L, L), or (0, L, L) in first order."""
        L = self.index.n_labels
        return np.zeros((L if self.order == 2 else 0, L, L))

    @cached_property
    def known(self) -> kernels.Known:
        """Which labels, label bigrams and trigrams have weights."""
        L = self.index.n_labels
        pair_number = np.full(L * L, -1, np.int32)
        pair_number[self.index.pairs] = np.arange(len(self.index.pairs))
        triples = np.zeros(L**3 if self.order == 2 else 0, bool)
        triples[self.index.triples] = True
        return kernels.Known(self._allowed_bits(), pair_number.reshape(L, L), triples.reshape(-1, L, L))

    @property
    def text(self) -> Sentences:
        """The sentences as kernels read them, without heads."""
        return self.criterion.text_of(self.scorer.tokens)

    def _allowed_bits(self) -> np.ndarray:
        """Labels that each row of the table has weights for, as bits (rows, width / 8)."""
        allowed = np.zeros((len(self.table), self.scorer.width), bool)
        index, row_of = self.index, self.scorer.row_of
        fill_table(0, len(row_of), index.ptr, index.labels, row_of, np.ones(len(index.labels), bool), allowed)
        return np.packbits(allowed, axis=1, bitorder="little")

    # ------------------------------------------------------------------ weights in and out

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where the weights are: rows of the table, single weights, label bigrams."""
        return self.table, self.weights, self.T

    @property
    def _steady(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same without labels × labels where no bigram has a weight."""
        return self.table, self.weights, self.T if len(self.index.pairs) else self.table[:0]

    def get(self, arrays: Sequence[np.ndarray] | None = None) -> np.ndarray:
        """All weights as one vector; those in ``arrays`` instead of our own."""
        table, single, T = self._steady if arrays is None else arrays
        weights = single.astype(np.float64)
        self._read_rows(table, weights)
        if len(self.index.pairs):
            self.index.split(weights)[2][:] = T[:, : self.index.n_labels].reshape(-1)[self.index.pairs]
        if arrays is None and self.order == 2:
            self.index.split(weights)[3][:] = self.cube.reshape(-1)[self.index.triples]
        return weights

    def _read_rows(self, table: np.ndarray, out: np.ndarray) -> None:
        counts = np.diff(self.index.ptr)
        rows = np.repeat(self.scorer.row_of, counts)
        place = np.flatnonzero(rows >= 0)
        out[place] = table[rows[place], self.index.labels[place]]

    def reset(self, weights: np.ndarray) -> None:
        index = self.index
        self.weights[:] = weights
        self.scorer.load(self.weights)
        if len(index.pairs):
            self.T[:, : index.n_labels] = index.transitions(np.asarray(weights, np.float64))
        self.cube[:] = self.criterion.log_trigrams(weights)

    def state(self, *more: np.ndarray) -> dict[str, Any]:
        """Weights, random numbers, and ``more`` arrays, for a checkpoint."""
        return {"arrays": [*self._steady, *more], "random": self.rng.bit_generator.state}

    def restore(self, state: dict[str, Any], *more: np.ndarray) -> None:
        for mine, kept in zip([*self._steady, *more], state["arrays"], strict=True):
            mine[...] = kept
        self.rng.bit_generator.state = state["random"]

    # ------------------------------------------------------------------ gradient descent

    @property
    def parameters(self) -> Parameters:
        return Parameters(self.table, self.weights, self.T)

    def exponentials(self) -> Exponentials:
        """Room for exp of the transitions."""
        return Exponentials(*(np.zeros((self.scorer.width, self.scorer.width), self.dtype) for _ in range(2)))

    def descend(self, order: np.ndarray, step: float) -> float:
        """One step for each sentence of ``order``; returns the sum of losses met on the way."""
        self.criterion.epochs += len(order) / max(len(self.sentences), 1)
        return kernels.descend(order, self.text, self.known, self.parameters, self.exponentials(), step)

    def shrink(self, penalty: Penalties, amount: float) -> None:
        """The penalty's share of a step: w ← soft(w, amount·l1) / (1 + amount·l2)."""
        for weights, l1, l2 in (
            (self.table, penalty.l1_rows, penalty.l2_rows),
            (self.weights, penalty.l1, penalty.l2),
            (self.T, penalty.l1_pairs, penalty.l2_pairs),
        ):
            if np.any(l1):
                weights -= np.clip(weights, -amount * l1, amount * l1).astype(self.dtype, copy=False)
            if np.any(l2):
                weights *= np.asarray(1 / (1 + amount * l2), self.dtype)

    def penalties(self, l1: np.ndarray, l2: np.ndarray) -> Penalties:
        counts = np.diff(self.index.ptr)
        has_row = (self.scorer.row_of >= 0) & (counts > 0)
        rows, first = self.scorer.row_of[has_row], self.index.ptr[:-1][has_row]

        def by_row(strength: np.ndarray) -> np.ndarray:
            if np.array_equal(strength[: len(self.index.labels)], np.repeat(_first(strength, self.index.ptr), counts)):
                table = np.zeros((len(self.table), 1))
                table[rows, 0] = strength[first]
                return shortest(table)
            table = np.zeros(self.table.shape)
            fill_table(0, len(counts), self.index.ptr, self.index.labels, self.scorer.row_of, strength, table)
            return table

        def pairs(strength: np.ndarray) -> np.ndarray:
            part = shortest(self.index.split(strength)[2])
            if len(part) > 1:
                part = np.zeros(self.T.shape)
                part[:, : self.index.n_labels] = self.index.transitions(strength)
            return part if len(part) else np.zeros(1)

        return Penalties(shortest(l1), shortest(l2), by_row(l1), by_row(l2), pairs(l1), pairs(l2))

    def comes_near(self, l1: np.ndarray, l2: np.ndarray) -> bool:
        return True

    def warm_start(
        self,
        l1: np.ndarray,
        l2: np.ndarray,
        report: Callable[[int, float], None] | None = None,
        tol: float = 5e-4,
        stage: Stage | None = None,
    ) -> np.ndarray:
        """Weights near the optimum of the penalized criterion.

        Dual ascent where all weights have the same penalties, l2 among them, else gradient descent with falling steps.
        ``report`` may raise to end it: after every epoch, and as epoch 0 between parts of the search and of epochs.
        ``stage`` keeps the state between epochs.
        """
        stage = stage or Stage(Reporter())
        if len(self.sentences) < 2:
            return self.get()
        report = report or (lambda epoch, loss: None)
        strength = strength_of_ascent(l1, l2)
        if strength > 0:
            self.ascend_dual(strength, float(l1[0]), report, tol, stage)
        else:
            self.descend_with_falling_steps(self.penalties(l1, l2), report, stage)
        weights = self.get()
        return weights if np.isfinite(weights).all() else np.zeros_like(weights)

    def descend_with_falling_steps(
        self, penalty: Penalties, report: Callable[[int, float], None], stage: Stage
    ) -> None:
        """Epochs of gradient descent whose first step size is searched; weights are zero again if they diverge."""

        def pause() -> None:
            report(0, np.nan)

        step, done = (0.0, 0) if stage.state is None else (stage.state["step"], stage.state["done"])
        if not stage.resume(self.restore):
            step = self.search_step(penalty, pause)
        for epoch, share in list(enumerate(FALLING_STEPS))[done:]:
            stage.save(self.state() | {"step": step, "done": epoch})
            loss = self.descent_epoch(lambda done, size=step * share: size, penalty, pause)  # type: ignore[misc]
            report(epoch + 1, loss)
            if not np.isfinite(loss):  # the steps were too long after all: leave it to the batch optimizer
                self.reset(np.zeros(self.index.n_features))
                break

    def ascend_dual(
        self, strength: float, l1: float, report: Callable[[int, float], None], tol: float, stage: Stage
    ) -> None:
        """Rounds of dual ascent, most of them over the hard sentences alone, until the gap is small or time is up."""
        ascent, visited, number = DualAscent(self, strength, l1), 0.0, 0
        last = 0.0, np.inf  # epochs and gap after the last round over all sentences
        if stage.state is not None:
            visited, number, last = (stage.state[name] for name in ("visited", "number", "last"))
        stage.resume(lambda state: self.restore(state, *ascent.arrays))
        while visited < MOST_EPOCHS:
            stage.save(self.state(*ascent.arrays) | {"visited": visited, "number": number, "last": last})
            order = ascent.order(number)
            loss, share = ascent.round(order)
            visited, number = visited + share, number + 1
            report(number, loss)
            if len(order) < len(self.sentences):
                continue
            if has_ended(ascent.gap, tol * (loss + self.penalty(strength, l1)), visited, last):
                break
            last = visited, ascent.gap
        self.criterion.epochs += visited

    def penalty(self, l2: float, l1: float) -> float:
        """½·l2·‖w‖² + l1·Σ|w| of the weights as they are."""
        parts = [part.reshape(-1) for part in (*self.arrays, self.cube)]
        size = sum(float(np.abs(part).sum()) for part in parts) if l1 else 0.0
        return l1 * size + 0.5 * l2 * sum(dot(part, part) for part in parts)

    def descent_epoch(
        self, step_at: Callable[[float], float], penalty: Penalties, block_done: Callable[[], None] = lambda: None
    ) -> float:
        """A step for each sentence in random order, of the size that step_at(share done) tells; the losses met."""
        n, loss, done = len(self.sentences), 0.0, 0
        for block in np.array_split(self.rng.permutation(self.sentences), min(BLOCKS, n)):
            step = step_at(done / n)
            loss += self.descend(block, step)
            self.shrink(penalty, step * len(block) / n)
            done += len(block)
            block_done()
        return loss

    def search_step(self, penalty: Penalties, block_done: Callable[[], None] = lambda: None) -> float:
        """The step size, a power of two, with the least loss met in one pass over a sample."""
        order = self.rng.permutation(self.sentences)
        lengths = np.diff(self.criterion.design.offsets)[order]
        sample = order[: max(2, int(np.searchsorted(np.cumsum(lengths), SAMPLE_TOKENS)))]
        zero = np.zeros(self.index.n_features)
        share = len(sample) / len(self.sentences)

        def loss(step: float) -> float:
            self.reset(zero)
            met = 0.0
            with np.errstate(all="ignore"):
                for block in np.array_split(sample, 4):
                    met += self.descend(block, step)
                    self.shrink(penalty, step * share / 4)
                    block_done()
            return met if np.isfinite(met) else np.inf

        step, best = 0.125, loss(0.125)
        for factor in (2.0, 0.5):
            improved = False
            while 1e-12 < step * factor < 1e6:
                trial = loss(step * factor)
                if not trial < best:
                    break
                step, best, improved = step * factor, trial, True
            if improved:
                break
        self.reset(zero)
        return step

    def safe_step(self) -> float:
        """1 / max ‖f‖², with which no step rises above the loss of its own sentence: its Hessian is below ½·‖f‖²."""
        tokens, offsets = self.criterion.design.unfolded(), self.criterion.design.offsets
        squares = tokens.values**2 if tokens.values.size else np.ones(len(tokens.ids))
        by_token = np.diff(np.concatenate([[0.0], np.cumsum(squares)])[tokens.ptr])
        roots = np.concatenate([[0.0], np.cumsum(np.sqrt(by_token) + 1.0)])  # 1 for the step from the label before
        return float(1 / max(np.diff(roots[offsets]).max(initial=1.0) ** 2, 1.0))

    # ------------------------------------------------------------------ perceptron

    def perceptron(
        self,
        epochs: int,
        report: Callable | None = None,
        averaged: bool = True,
        stage: Stage | None = None,
        settled: bool = False,
    ) -> np.ndarray:
        """Weights of the structured perceptron: their average over all sentences met, or the last ones.

        After every epoch ``report(epoch, mistakes, weights)`` may end it by returning True. If ``settled``, the average
        counts the last weights too, and the epochs behind one without a mistake, in which nothing changes.
        """
        cube = self.criterion.log_trigrams(self.weights)
        alone, no_steps = self.criterion.alone, np.zeros((0, 0), np.int32)  # independent decisions among many
        known = kernels.Known(self._allowed_bits(), no_steps, np.zeros((0, 0, 0), bool)) if alone else self.known
        weights = Learned(self.table, self.weights, self.table[:0] if alone else self.T, cube)
        sums = Learned(*(np.zeros_like(a) for a in weights))
        predicted = np.zeros(self.criterion.design.n_tokens, np.int32)
        clock, text, done, stage = 0.0, self.text, 0, stage or Stage(Reporter())
        if stage.state is not None:
            clock, done = stage.state["clock"], stage.state["done"]
        stage.resume(lambda state: self.restore(state, cube, *sums))
        for epoch in range(done, epochs):
            stage.save(self.state(cube, *sums) | {"clock": clock, "done": epoch})
            order = self.rng.permutation(self.sentences)
            clock, mistakes = perceptron_epoch(order, text, known, weights, sums, clock, predicted)
            if mistakes == 0 and settled:
                clock += len(order) * (epochs - epoch - 1)

            def learned(clock=clock) -> np.ndarray:
                total, last = self.get(sums[:3]), self.get()
                self.index.split(total)[3][:] = sums.cube.reshape(-1)[self.index.triples]
                self.index.split(last)[3][:] = cube.reshape(-1)[self.index.triples]
                return last - total / max(clock + settled, 1.0) if averaged else last

            if (report is not None and report(epoch + 1, int(mistakes), learned)) or mistakes == 0:
                break
        return learned()


def strength_of_ascent(l1: np.ndarray, l2: np.ndarray) -> float:
    """The l2 of dual ascent; 0 where there is none or penalties differ."""
    alike = len(l2) and np.all(l2 == l2[0]) and np.all(l1 == l1[0])
    return max(float(l2[0]), float(l1[0]) / LONGEST_CUT) if alike else 0.0


def _first(strength: np.ndarray, ptr: np.ndarray) -> np.ndarray:
    """That of every attribute's first weight; anything for one without weights."""
    return strength[np.minimum(ptr[:-1], len(strength) - 1)]
