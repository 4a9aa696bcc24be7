"""One sentence as a chain: every sequence of T labels has a score, p(y) = exp(score(y)) / Z.

    score(y) = Σ_t scores[t, y_t] + Σ_t transitions[t, y_t, y_{t+1}] + Σ_{t≥2} trigrams[y_{t-2}, y_{t-1}, y_t]

Without trigrams the chain is of first order. A score of -inf forbids. Everything here is exact. Sums are made in scaled
probabilities (kernels/scaled.py) where these are safe, else, as samples and entropy are, in the log domain
(kernels/logspace.py); the best sequences are in kernels/ranked.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from loglin.errors import LoglinError
from loglin.kernels import logspace, ranked, scaled, search
from loglin.kernels.scaled import Sums
from loglin.structures.links import Steps
from loglin.structures.local import check_precise, checked_count, checked_scores, checked_shares, restricted_scores


@dataclass(frozen=True, eq=False)
class Chain:
    """A distribution over the label sequences of one sentence. The arrays are copied and never change."""

    scores: np.ndarray  # (T, L)
    transitions: np.ndarray  # (L, L), or (T-1, L, L) with one matrix for each step
    trigrams: np.ndarray | None = None  # (L, L, L) in a second-order chain

    def __post_init__(self) -> None:
        scores = checked_scores("scores", self.scores)
        if scores.ndim != 2 or scores.shape[1] == 0:
            raise LoglinError(f"scores must have shape (T, L) with at least one label, not {scores.shape}.")
        T, L = scores.shape
        transitions = checked_scores("transitions", self.transitions)
        if transitions.shape not in ((L, L), (max(T - 1, 0), L, L)):
            raise LoglinError(
                f"transitions must have shape {(L, L)} or {(max(T - 1, 0), L, L)} "
                f"to fit scores of shape {(T, L)}, not {transitions.shape}."
            )
        object.__setattr__(self, "scores", scores)
        object.__setattr__(self, "transitions", transitions)
        if self.trigrams is not None:
            trigrams = checked_scores("trigrams", self.trigrams)
            if trigrams.shape != (L, L, L):
                raise LoglinError(f"trigrams must have shape {(L, L, L)}, not {trigrams.shape}.")
            object.__setattr__(self, "trigrams", trigrams)

    @classmethod
    def of(cls, scores: np.ndarray, steps: Steps) -> Chain:
        """A chain of scores (T, L) that were checked, C-contiguous float64, and of steps that sentences share."""
        chain = object.__new__(cls)
        trigrams = steps.trigrams if len(steps.trigrams) else None
        transitions = steps.transitions if steps.per_token else steps.transitions[0]
        chain.__dict__.update(scores=scores, transitions=transitions, trigrams=trigrams, _steps=steps)
        return chain

    def score(self, labels: Iterable[int]) -> float:
        """The score of one sequence of T labels."""
        try:
            y = np.asarray(labels if isinstance(labels, np.ndarray) else list(labels))
        except (TypeError, ValueError):
            raise LoglinError(f"Cannot score {labels!r}; give a list of labels, integers from 0.") from None
        T, L = self.scores.shape
        if y.shape != (T,):
            raise LoglinError(f"Cannot score labels of shape {y.shape}; the sentence has {T} positions.")
        if T == 0:
            return 0.0
        if y.dtype.kind not in "iu" or y.min() < 0 or y.max() >= L:
            raise LoglinError(f"Cannot score labels {y.tolist()}; give integers from 0 to {L - 1}.")
        steps = np.broadcast_to(self.transitions, (T - 1, L, L))
        total = self.scores[np.arange(T), y].sum() + steps[np.arange(T - 1), y[:-1], y[1:]].sum()
        if self.trigrams is not None:
            total += self.trigrams[y[:-2], y[1:-1], y[2:]].sum()
        return float(total)

    def steps_around(self, labels: np.ndarray, t: int) -> tuple[np.ndarray, np.ndarray]:
        """What each label at t adds by the steps to it and by those from it, the other labels kept: (L,) each."""
        T, L = self.scores.shape
        steps, y = np.broadcast_to(self.transitions, (max(T - 1, 0), L, L)), labels
        before = steps[t - 1, y[t - 1]] if t > 0 else np.zeros(L)
        after = steps[t, :, y[t + 1]] if t + 1 < T else np.zeros(L)
        if self.trigrams is not None:
            before = before + (self.trigrams[y[t - 2], y[t - 1]] if t > 1 else 0.0)
            after = after + (self.trigrams[y[t - 1], :, y[t + 1]] if 0 < t < T - 1 else 0.0)
            after = after + (self.trigrams[:, y[t + 1], y[t + 2]] if t + 2 < T else 0.0)
        return before, after

    def partition(self) -> float:
        """log Z; -inf if no sequence is possible."""
        if self._scaled_partition is not None:
            return self._scaled_partition
        return float(logspace.log_partition(self._alpha))

    def marginals(self) -> np.ndarray:
        """Probability of each label at each position: (T, L)."""
        if self._sums is not None:
            return checked_shares(self._sums.nodes[:, : self.scores.shape[1]].copy())
        logz = self._log_partition()
        nodes = np.empty_like(self.scores)
        logspace.node_marginals(self._alpha, self._beta, logz, nodes)
        return checked_shares(nodes)

    def transition_marginals(self) -> np.ndarray:
        """Probability of labels b, c at positions t, t + 1: (T-1, L, L)."""
        logz = self._log_partition()
        T, L = self.scores.shape
        pairs = np.empty((max(T - 1, 0), L, L))
        logspace.pair_marginals(*self._arrays, self._alpha, self._beta, logz, pairs, np.empty((0, L, L)))
        return pairs

    def best(self) -> tuple[np.ndarray, float]:
        """The best sequence, of equals the lexicographically first, and its score: (T,), float."""
        labels = np.empty(len(self.scores), dtype=np.int64)
        score = float(ranked.best_path(*self._arrays, labels))
        if score == -math.inf:
            raise self._impossible()
        return labels, score

    def nbest(self, k: int) -> list[tuple[np.ndarray, float]]:
        """The k best possible sequences in order of score, ties lexicographically; fewer if fewer exist."""
        T, L = self.scores.shape
        k = min(checked_count(k, "sequences"), L**T)
        labels, totals, counts = np.empty((k, T), np.int64), np.empty((1, k)), np.empty(1, np.int64)
        ranked.rank_sentences(0, 1, np.array([0, T]), *self._arrays, labels, totals, counts)
        return [(labels[r], float(totals[0, r])) for r in range(counts[0])]

    def normalized(self, constant: float = 0.0) -> Chain:
        """The chain whose steps are each normalized by themselves: p(y) = Π exp(step) / (constant + Σ exp(step)).

        With constant 0 the probabilities of all sequences sum to one (an MEMM); 1 leaves room for none of the above.
        """
        T, L = self.scores.shape
        if T == 0:
            return self
        scores, steps = self.scores.copy(), np.array(np.broadcast_to(self.transitions, (T - 1, L, L)), order="C")
        search.normalize_steps(scores, steps, self._arrays[2], float(constant))
        return replace(self, scores=scores, transitions=steps)

    def beam(self, width: int, constant: float = -1.0) -> tuple[np.ndarray, float]:
        """A good sequence, found keeping the ``width`` best states a step (1: greedily), and its score.

        With a constant ≥ 0 steps are normalized as in ``normalized``, as they are met.
        """
        if width < 1:
            raise LoglinError(f"A beam of {width} keeps nothing; give a width of at least 1.")
        labels = np.empty(len(self.scores), dtype=np.int64)
        if not len(labels):
            return labels, 0.0
        score = float(search.beam_path(*self._arrays, float(constant), int(width), labels))
        if score == -math.inf:
            raise LoglinError(f"No possible sequence lies in a beam of {width}; widen it.")
        return labels, score

    def scaled(self, factors: np.ndarray) -> Chain:
        """Every step from label r scores factors[r] times as much; the last factor is for the first label."""
        T, L = self.scores.shape
        factors = np.asarray(factors, float)
        if T == 0:
            return self
        first = np.zeros_like(self.scores)
        first[0] = factors[L] * self.scores[0]
        steps = (np.broadcast_to(self.transitions, (T - 1, L, L)) + self.scores[1:, None, :]) * factors[:L, None]
        trigrams = None if self.trigrams is None else self.trigrams * factors[None, :L, None]
        return Chain(first, steps, trigrams)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n independent draws: (n, T)."""
        n = checked_count(n, "draws")
        self._possible_partition()
        uniforms = rng.random((n, len(self.scores)))
        labels = np.empty(uniforms.shape, dtype=np.int64)
        logspace.sample_paths(*self._arrays, self._beta, uniforms, labels)
        return labels

    def entropy(self) -> float:
        """Entropy of the whole sequence in nats."""
        self._possible_partition()
        return float(logspace.sequence_entropy(*self._arrays, self._beta))

    def span_probability(self, start: int, allowed: np.ndarray) -> float:
        """Probability that every label at start + i, i < k, lies in ``allowed[i]``; allowed (k, L) bool."""
        T, L = self.scores.shape
        allowed = np.array(allowed, dtype=bool, order="C")
        if allowed.ndim != 2 or allowed.shape[1] != L:
            raise LoglinError(f"allowed must have shape (k, {L}), not {allowed.shape}.")
        if not 0 <= start <= start + len(allowed) <= T:
            raise LoglinError(f"A span of {len(allowed)} positions from {start} on does not fit a sentence of {T}.")
        return self.span_probabilities([start], [allowed])[0]

    def span_probabilities(self, starts: Sequence[int], allowed: Sequence[np.ndarray]) -> list[float]:
        """``span_probability`` of several spans, which lie inside the sentence."""
        self._possible_partition()
        if self._sums is None:
            return [self._log_span(start, inside) for start, inside in zip(starts, allowed, strict=True)]
        found, ptr = np.empty(len(starts)), np.zeros(len(starts) + 1, np.int64)
        np.cumsum([len(inside) for inside in allowed], out=ptr[1:])
        inside = np.concatenate([*allowed, np.empty((0, self.scores.shape[1]), bool)])
        with np.errstate(all="ignore"):
            scaled.span_sums(np.array(starts, np.int64), ptr, inside, self._steps.links, self._sums, found)
        return found.tolist()

    def _log_span(self, start: int, allowed: np.ndarray) -> float:
        if len(allowed) == 0:
            return 1.0
        logz = self._log_partition()
        inside = logspace.span_log_sum(*self._arrays, self._alpha, self._beta, int(start), allowed)
        return math.exp(min(inside - logz, 0.0))

    def restrict(self, allowed: Mapping[int, int | Iterable[int]]) -> Chain:
        """Limit positions to one label or several: ``{position: label}`` or ``{position: labels}``."""
        return replace(self, scores=restricted_scores(self.scores, allowed, "position"))

    def forbid(self, legal: np.ndarray, first: np.ndarray | None = None, last: np.ndarray | None = None) -> Chain:
        """Keep only transitions in ``legal`` (L, L), first labels in ``first`` (L,), last in ``last``."""
        L = self.scores.shape[1]
        scores = self.scores.copy()
        if first is not None:
            scores[:1, ~_mask("first", first, (L,))] = -np.inf
        if last is not None:
            scores[-1:, ~_mask("last", last, (L,))] = -np.inf
        transitions = np.where(_mask("legal", legal, (L, L)), self.transitions, -np.inf)
        return replace(self, scores=scores, transitions=transitions)

    @cached_property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """scores (T, L), transitions (K, L, L), trigrams (0 or L, L, L): what every kernel takes."""
        return self.scores, self._steps.transitions, self._steps.trigrams

    @cached_property
    def _steps(self) -> Steps:
        L = self.scores.shape[1]
        trigrams = np.empty((0, L, L)) if self.trigrams is None else self.trigrams
        return Steps(self.transitions.reshape(-1, L, L), trigrams, self.transitions.ndim == 3)

    @cached_property
    def _room(self) -> Sums:
        """Where sums in scaled probabilities stand; forward ones once the partition is known."""
        T, links = len(self.scores), self._steps.links
        width, rows = links.S.shape[1], T * max(len(links.C) // self.scores.shape[1], 1)
        e, nodes = np.empty((2, T, width))
        return Sums(e, np.empty((rows, width)), np.empty(T), np.zeros((rows, width)), nodes)

    @cached_property
    def _scaled_partition(self) -> float | None:
        """log Z in scaled probabilities; None where only the log domain is safe."""
        links = self._steps.links
        if not len(self.scores) or links.range >= scaled.RANGE:
            return None
        with np.errstate(all="ignore"):  # without the JIT, where nothing is possible
            total = float(scaled.forward_sums(self.scores, links, self._room))
        return None if math.isnan(total) else total

    @cached_property
    def _sums(self) -> Sums | None:
        """Sums in scaled probabilities, forward and backward; None where only the log domain is safe."""
        if self._scaled_partition is None:
            return None
        with np.errstate(all="ignore"):
            safe = scaled.backward_sums(self.scores.shape[1], self._steps.links, self._room)
        return self._room if safe else None

    @cached_property
    def _alpha(self) -> np.ndarray:  # (T, H, L)
        return logspace.forward(*self._arrays)

    @cached_property
    def _beta(self) -> np.ndarray:  # (T, H, L)
        return logspace.backward(*self._arrays)

    def _log_partition(self) -> float:
        """log Z of the sums in the log domain, of a chain in which something is possible."""
        logz = float(logspace.log_partition(self._alpha))
        if logz == -math.inf:
            raise self._impossible()
        check_precise(logz)
        return logz

    def _possible_partition(self) -> float:
        logz = self.partition()
        if logz == -math.inf:
            raise self._impossible()
        return logz

    def _impossible(self) -> LoglinError:
        T, L = self.scores.shape
        return LoglinError(f"No sequence of {T} labels out of {L} is possible; allow more labels or transitions.")


def _mask(name: str, mask: object, shape: tuple[int, ...]) -> np.ndarray:
    result = np.array(mask, dtype=bool)
    if result.shape != shape:
        raise LoglinError(f"{name} must have shape {shape}, not {result.shape}.")
    return result
