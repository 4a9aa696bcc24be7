"""Independent decisions: row i of ``scores`` is a choice among L labels, p(l) = exp(scores[i, l]) / Z[i]."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from loglin.errors import LoglinError

MOST = 10_000_000  # sequences, trees or draws that may be asked for at once
LARGEST = 1e300  # beyond it sums of scores could overflow
MODEST = 1e6  # scores up to it are summed as they are
PRECISE = 1e9  # beyond it a sum of scores is wrong by 1e-7 or more, and so are probabilities


def checked_scores(name: str, scores: object) -> np.ndarray:
    """Copy ``scores`` to contiguous float64; every entry is -inf (forbidden) or an ordinary number."""
    try:
        array = np.array(scores, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as problem:
        raise LoglinError(f"{name} must be an array of numbers: {problem}.") from None
    bad = ~((np.abs(array) <= LARGEST) | (array == -np.inf))
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        raise LoglinError(
            f"{name}{list(place)} is {array[place]}; a score must be -inf (forbidden) "
            f"or a number between -{LARGEST:g} and {LARGEST:g}."
        )
    return array


def shifted_scores(scores: np.ndarray) -> np.ndarray:
    """Scores (n, L) less the largest of each row where some are huge, which changes no probability and keeps digits."""
    finite = np.where(scores > -np.inf, scores, 0.0)
    if np.abs(finite).max(initial=0.0) <= MODEST:
        return scores
    peak = scores.max(axis=1, keepdims=True)
    return scores - np.where(peak > -np.inf, peak, 0.0)


def check_precise(log_sums: float | np.ndarray) -> None:
    """Refuse sums of scores, log Z, of which too few digits are left for probabilities."""
    sums = np.atleast_1d(log_sums)
    wrong = sums[~((np.abs(sums) <= PRECISE) | (sums == -np.inf))]
    if len(wrong):
        raise LoglinError(f"scores add up to {wrong[0]:.3g}, which leaves no digits for probabilities; {_SMALLER}")


def checked_shares(shares: np.ndarray) -> np.ndarray:
    """Probabilities (n, L), unless rounding has lost them: every row sums to one."""
    sums = shares.sum(axis=1)
    wrong = sums[~(np.abs(sums - 1) < 1e-6)]
    if len(wrong):
        raise LoglinError(f"scores are so large that probabilities sum to {wrong[0]:.3g}; {_SMALLER}")
    return shares


_SMALLER = "give attributes smaller values, as in another unit, or train weights with a stronger penalty"


def checked_count(value: object, what: str, least: int = 0) -> int:
    """How many of something, such as ``sequences``, are asked for: a whole number that memory could hold."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if not least <= number <= MOST:
        raise LoglinError(f"Cannot list {value!r} {what}; give a whole number from {least} to {MOST:,}.")
    return number


def restricted_scores(scores: np.ndarray, allowed: Mapping[int, int | Iterable[int]], place: str) -> np.ndarray:
    """A copy of ``scores`` (n, L) with -inf at every label that ``allowed`` does not list for its row."""
    n, L = scores.shape
    result = scores.copy()
    if not isinstance(allowed, Mapping):
        raise LoglinError(f"Cannot restrict to {allowed!r}; give {{{place}: label}} or {{{place}: labels}}.")
    for row, labels in allowed.items():
        if not isinstance(row, int | np.integer) or not 0 <= row < n:
            raise LoglinError(f"Cannot restrict {place} {row!r}; give a {place} from 0 to {n - 1}.")
        try:
            chosen = [operator.index(l) for l in ([labels] if isinstance(labels, int | np.integer) else labels)]
        except TypeError:
            raise LoglinError(f"Cannot restrict {place} {row} to {labels!r}; give a label or a list of them.") from None
        outside = [l for l in chosen if not 0 <= l < L]
        if outside:
            raise LoglinError(f"Cannot restrict {place} {row} to label {outside[0]}; give a label from 0 to {L - 1}.")
        forbidden = np.ones(L, dtype=bool)
        forbidden[chosen] = False
        result[row, forbidden] = -np.inf
    return result


@dataclass(frozen=True, eq=False)
class Local:
    """N independent choices among L labels, or each among its own candidates."""

    scores: np.ndarray  # (N, L) float64, -inf where a label is no candidate
    candidates: np.ndarray | None = None  # (N, L) bool; None lets every label compete

    def __post_init__(self) -> None:
        scores = checked_scores("scores", self.scores)
        if scores.ndim != 2 or scores.shape[1] == 0:
            raise LoglinError(f"scores must have shape (N, L) with at least one label, not {scores.shape}.")
        if self.candidates is not None:
            try:
                candidates = np.array(self.candidates, dtype=bool)
            except ValueError:
                raise LoglinError("candidates must be an array of true and false.") from None
            if candidates.shape != scores.shape:
                raise LoglinError(f"candidates must have the shape of scores, {scores.shape}, not {candidates.shape}.")
            empty = np.flatnonzero(~candidates.any(axis=1))
            if empty.size:
                raise LoglinError(f"Row {empty[0]} has no candidates; give it at least one label.")
            scores[~candidates] = -np.inf
            object.__setattr__(self, "candidates", candidates)
        object.__setattr__(self, "scores", scores)

    def partition(self) -> np.ndarray:
        """log Z of each row: (N,); -inf where no label is possible."""
        with np.errstate(divide="ignore"):
            return self._shift() + np.log(self._weights().sum(axis=1))

    def marginals(self) -> np.ndarray:
        """Probability of each label: (N, L)."""
        self._check_possible()
        weights = self._weights()
        return weights / weights.sum(axis=1, keepdims=True)

    def best(self) -> tuple[np.ndarray, np.ndarray]:
        """The best label of each row, of equals the lowest, and its score: (N,), (N,)."""
        self._check_possible()
        return self.scores.argmax(axis=1), self.scores.max(axis=1)

    def nbest(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k best labels of each row in order, and their scores: (N, min(k, L)) both.

        A row with fewer possible labels ends in label -1, score -inf.
        """
        k = checked_count(k, "labels")
        labels = np.argsort(-self.scores, axis=1, kind="stable")[:, :k]
        scores = np.take_along_axis(self.scores, labels, axis=1)
        return np.where(scores > -np.inf, labels, -1), scores

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n independent draws of all rows: (n, N)."""
        n = checked_count(n, "draws")
        self._check_possible()
        weights = self._weights()  # (N, L)
        L = weights.shape[1]
        cumulative = weights.cumsum(axis=1)
        last = L - 1 - (weights[:, ::-1] > 0).argmax(axis=1)
        draws = np.empty((n, len(weights)), dtype=np.int64)
        for i in range(n):
            threshold = rng.random(len(weights)) * cumulative[:, -1]
            draws[i] = np.minimum((cumulative <= threshold[:, None]).sum(axis=1), last)
        return draws

    def entropy(self) -> np.ndarray:
        """Entropy of each row in nats: (N,)."""
        p = self.marginals()
        return 0.0 - (p * np.log(p, where=p > 0, out=np.zeros_like(p))).sum(axis=1)

    def restrict(self, allowed: Mapping[int, int | Iterable[int]]) -> Local:
        """Limit rows to one label or several: ``{row: label}`` or ``{row: labels}``."""
        return replace(self, scores=restricted_scores(self.scores, allowed, "row"))

    def _shift(self) -> np.ndarray:  # (N,)
        peak = self.scores.max(axis=1)
        return np.where(peak > -np.inf, peak, 0.0)

    def _weights(self) -> np.ndarray:  # (N, L), all zero in a row where no label is possible
        return np.exp(self.scores - self._shift()[:, None])

    def _check_possible(self) -> None:
        impossible = np.flatnonzero((self.scores == -np.inf).all(axis=1))
        if impossible.size:
            raise LoglinError(f"No label is possible in row {impossible[0]}; allow at least one.")
