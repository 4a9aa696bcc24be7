"""Rounds of dual ascent over the sentences that a learner holds; kernels/ascent.py has the equations.

    the weights' own share of every sentence (Dual) ──► a round: every sentence, or the hard ones ──► smaller gaps

The sum of the sentences' gaps is the distance of the weights from the optimum, and tells when it is enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from loglin.kernels.ascent import Dual, Raw, Single, ascend, count_single, put_single_first
from loglin.kernels.gradient import fill_table
from loglin.objectives.chain import new_trigrams

if TYPE_CHECKING:
    from loglin.objectives.stochastic import StochasticLearner

EPOCHS, MOST_EPOCHS = 14.0, 40.0  # more than the first if an epoch makes the gap much smaller
FULL_ROUNDS, EVERY = 2, 4  # the first rounds visit all sentences, then every fourth
HARD = 0.5  # of the mean gap: sentences with a smaller one are left out of the other rounds
QUICK = 0.6  # what an epoch beyond EPOCHS must leave of the gap at most
ENOUGH = 4.0  # times tol: a sum of gaps, relative to the objective, that is small enough; it is 3 to 5 times the truth
ROOM_FOR_PAIRS = 60_000_000  # numbers that may be kept for transitions
ROOM_FOR_COUNTS = 1 << 26  # bytes that counting features by token and label may take


class DualAscent:
    """What a learner's weights are made of, and rounds that raise the dual; ``strength`` is the l2 of all weights."""

    def __init__(
        self,
        learner: StochasticLearner,
        strength: float,
        l1: float,
        single: Single | None = None,
        dual: Dual | None = None,
    ):
        """``single`` and ``dual`` go on from an ascent before, with the learner's weights as that left them."""
        self.learner, self.strength = learner, strength
        criterion, dtype = learner.criterion, learner.dtype
        self._single = single or single_first(learner)
        self._known = learner.known._replace(pairs=_by_frequency(learner))
        if dual is None:
            criterion.residuals[:] = 0  # a pass over all sentences will fill them anew
            dual = new_dual(learner, criterion.residuals)
        self.dual = dual
        weights = learner.table, learner.weights, learner.T, learner.cube
        table, single_weights, T, cube = (np.zeros_like(part if l1 else part[:0]) for part in weights)
        self._raw = Raw(table, single_weights, T, cube, l1 / strength)
        self._second = None
        self.arrays: tuple[np.ndarray, ...] = (*self.dual, table, single_weights, T, cube)  # beside the weights
        if learner.order == 2:
            self._second = new_trigrams(learner.cube, criterion.longest, learner.scorer.width, dtype)
            self.arrays = *self.arrays, self._second.log, self._second.C, self._second.CT
        self._exponentials, self._text = learner.exponentials(), learner.text
        self._lengths = np.diff(criterion.design.offsets)

    @property
    def shares(self) -> np.ndarray:
        """−1/λ times the sum of what all sentences contribute: the weights, or with an l1 those before they are cut."""
        learner, raw = self.learner, self._raw
        if not raw.threshold:
            return learner.get()
        found = learner.get((raw.table, raw.weights, raw.T))
        if learner.order == 2:
            learner.index.split(found)[3][:] = raw.cube.reshape(-1)[learner.index.triples]
        return found

    def go_on_from(self, shares: np.ndarray) -> None:
        """Take what was ``shares`` before; the learner has the weights that follow from it."""
        raw, index = self._raw, self.learner.index
        if not raw.threshold:
            return
        row_of, numbers = self.learner.scorer.row_of, shares.astype(raw.weights.dtype)
        fill_table(0, len(row_of), index.ptr, index.labels, row_of, numbers, raw.table)
        raw.weights[:] = numbers
        if len(index.pairs):
            raw.T[:, : index.n_labels] = index.transitions(shares)
        raw.cube[:] = self.learner.criterion.log_trigrams(shares)

    @property
    def gap(self) -> float:
        """The sum of the gaps of all sentences, each as of its last visit."""
        return float(self.dual.gaps[self.learner.sentences].sum())

    def order(self, number: int) -> np.ndarray:
        """The sentences that round ``number`` visits."""
        return self.learner.sentences if number < FULL_ROUNDS or number % EVERY == 0 else self.hard()

    def hard(self) -> np.ndarray:
        """The sentences with a gap that is not small beside the others."""
        order = self.learner.sentences
        gaps = self.dual.gaps[order]
        return order[gaps > HARD * gaps.mean()]

    def round(self, order: np.ndarray) -> tuple[float, float]:
        """Visit sentences in random order: the losses met, and the share of an epoch that it was."""
        learner, visits = self.learner, self.learner.rng.permutation(order)
        given = self._text, self._known, self._single, learner.parameters, self._raw, self._exponentials
        loss, _ = ascend(visits, *given, self._second, self.dual, self.strength)
        return loss, self._lengths[order].sum() / learner.criterion.design.n_tokens


def has_ended(gap: float, goal: float, visited: float, last: tuple[float, float]) -> bool:
    """Whether a gap is small enough beside ``goal``, tol times the objective, or time is up.

    ``last`` is the epochs and the gap when all sentences were visited before.
    """
    slow = gap > last[1] * QUICK ** (visited - last[0])
    return gap < ENOUGH * goal or (visited >= EPOCHS and slow)


def new_dual(learner: StochasticLearner, tokens: np.ndarray) -> Dual:
    """No share of the weights is any sentence's yet; ``tokens`` are zeros, as many as the features of tokens need."""
    design, index, dtype = learner.criterion.design, learner.index, learner.dtype
    grams = len(index.pairs) + len(index.triples)
    kept = min(grams, ROOM_FOR_PAIRS // max(design.n_sentences, 1))
    return Dual(
        tokens,
        np.zeros((design.n_sentences, kept), dtype),
        np.zeros(len(learner.text.steps.cell_pairs), dtype),
        np.full(design.n_sentences, np.inf, np.float32),
        np.zeros(grams, dtype),
    )


def _by_frequency(learner: StochasticLearner) -> np.ndarray:
    """Numbers of the label bigrams, those first that occur most often: (L, L), −1 for none."""
    codes, L, pairs = learner.criterion.gold.codes.astype(np.int64), learner.index.n_labels, learner.index.pairs
    certain = (codes[:-1] >= 0) & (codes[1:] >= 0)
    counts = np.bincount(codes[:-1][certain] * L + codes[1:][certain], minlength=L * L)
    numbers = np.full(L * L, -1, np.int32)
    numbers[pairs[np.argsort(-counts[pairs], kind="stable")]] = np.arange(len(pairs))
    return numbers.reshape(L, L)


def single_first(learner: StochasticLearner) -> Single:
    """Put the features of every token first that occur once in its sentence, and return where they end."""
    tokens, design, width = learner.scorer.tokens, learner.criterion.design, learner.scorer.width
    offsets, n = design.offsets, design.n_tokens
    single = Single(np.empty(n, np.int64), np.empty(n, np.int64), np.zeros((0, width), np.uint8))
    rows = tokens.row_ptr, tokens.row_ids, tokens.entry_labels[:0], tokens.row_values
    put_single_first(offsets, *rows, np.full(len(learner.table), -1), single.rows)
    entries = tokens.entry_ptr, tokens.entry_ids, tokens.entry_labels, tokens.entry_values
    put_single_first(offsets, *entries, np.full(len(learner.weights), -1), single.entries)
    most = (single.rows - tokens.row_ptr[:-1] + single.entries - tokens.entry_ptr[:-1]).max(initial=0)
    if not tokens.row_values.size and most < 256 and n * width <= ROOM_FOR_COUNTS:
        single = single._replace(counts=np.zeros((n, width), np.uint8))
        count_single(tokens, single, learner.known.rows)
    return single
