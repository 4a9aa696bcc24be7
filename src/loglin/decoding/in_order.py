"""The best labels with sums made as another program makes them, so that ties fall as they do there.

Two label sequences may have the same score but for rounding: perceptrons count, attributes that always occur together
have equal weights, and unknown words have none. Then the order and the precision of sums decide. With δ the scores of
the best sequences up to the token before, b of the step and u of the token, each a sum in the order of attributes:

    crfsuite  δ'[j] = max_i (δ[i] + b[i, j]) + u[j]        all in double precision
    crf++     δ'[j] = max_i ((δ[i] + b[i, j]) + u[j])      b and u in single precision
    wapiti    δ'[j] = max_i (δ[i] + (u[j] + b[i, j]))      all in double precision

Of equals the first label is taken. All sentences of a chunk are searched side by side, a token of each at a time; where
that would take too much memory, the kernels search, which add as crfsuite does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from loglin.features.design import Design
from loglin.kernels import decode as kernels
from loglin.kernels.sentences import Attributes
from loglin.threads import Threads, chunks_by_size

if TYPE_CHECKING:
    from loglin.decoding.chains import Decoder

MOST = 1 << 25  # weights in a table of rows, 256 MB; beyond, attributes are summed weight by weight
AT_ONCE = 1 << 22  # numbers in all different steps, and in those of sentences that are searched side by side
MOST_LABELS = 100  # beyond, the kernels search


@dataclass(frozen=True)
class Way:
    """How a program sums: the precision of a token's and a step's scores, and how a step is added."""

    dtype: type[np.floating]
    added: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # δ (n, L, 1), b (n, L, L), u (n, 1, L) → sums
    behind: bool = False  # u is added to the best sum, not to all


WAYS = {
    "crfsuite": Way(np.float64, lambda old, b, u: old + b, True),
    "crf++": Way(np.float32, lambda old, b, u: (old + b) + u),
    "wapiti": Way(np.float64, lambda old, b, u: old + (u + b)),
}


class InOrder:
    """A decoder's weights made ready for sums in the order of attributes."""

    def __init__(self, decoder: Decoder):
        self.decoder, self.way = decoder, WAYS[decoder.decoding["sums"]]
        self.weights = self._rows(self.way.dtype)
        few = decoder.constant < 0 and decoder.index.n_labels <= MOST_LABELS
        self.steps = _steps(decoder, self.way.dtype) if few else None  # None: the kernels search
        self.search = self._rows(np.float64) if self.steps is None else None

    def _rows(self, dtype: type[np.floating]) -> kernels.Weights:
        """Weights of which all attributes are rows, or none: kernels add rows first, so that sums keep their order."""
        index = self.decoder.index
        fits = self.decoder.width * (len(index.ptr) - 1) <= MOST
        return self.decoder.laid_out(dtype, 1 if fits else index.n_labels + 1)

    def best(self, design: Design) -> np.ndarray:
        """The best label sequence of every sentence: (tokens,) int32."""
        decoder, steps, L = self.decoder, self.steps, self.decoder.index.n_labels
        out, text = np.empty(design.n_tokens, np.int32), decoder.attributes(design, self.way.dtype)

        def chunk(begin: int, end: int) -> None:
            offsets = design.offsets[begin : end + 1] - design.offsets[begin]
            first, last = int(design.offsets[begin]), int(design.offsets[end])
            scores = np.empty((last - first, decoder.width), self.way.dtype)
            kernels.score_attributes(first, last, text, self.weights, scores)
            u = scores.astype(np.float64)
            if steps is None:
                self._search(text, offsets, first, u, out[first:last])
                return
            between = design.bigrams.ptr[first : last + 1]
            b = _summed(steps, between, design.bigrams.ids).astype(np.float64)
            out[first:last] = _side_by_side(self.way, offsets, u[:, :L], b)

        share = AT_ONCE // L**2 if steps is not None else None
        threads = Threads(decoder.threads if design.n_tokens > 2000 else 1)
        threads.map(chunk, _chunks(design.offsets, share))
        return out

    def _search(self, text: Attributes, offsets: np.ndarray, first: int, u: np.ndarray, out: np.ndarray) -> None:
        """The kernels' search, given the scores of tokens (tokens, width)."""
        steps = text.bigram_ptr[first : first + len(u) + 1]
        alone = Attributes(
            offsets, np.zeros(len(u) + 1, np.int64), np.zeros(0, np.int32), np.zeros(0), steps, text.bigram_ids
        )
        scored = (alone, np.arange(len(u), dtype=np.int32)[:, None], u, self.search)
        longest = int(np.diff(offsets).max())
        kernels.best_labels(0, len(offsets) - 1, *scored, self.decoder.constant, longest, out)


def _chunks(offsets: np.ndarray, most: int | None) -> list[tuple[int, int]]:
    """Runs of whole sentences; of at most so many tokens, unless a sentence alone has more."""
    if most is None:
        return [(b, e) for b, e in chunks_by_size(offsets) if offsets[b] < offsets[e]]
    cuts = [0]
    while cuts[-1] < len(offsets) - 1:
        fitting = int(np.searchsorted(offsets, offsets[cuts[-1]] + most, side="right")) - 1
        cuts.append(max(fitting, cuts[-1] + 1))
    return [(b, e) for b, e in itertools.pairwise(cuts) if offsets[b] < offsets[e]]


def _steps(decoder: Decoder, dtype: type[np.floating]) -> np.ndarray | None:
    """Scores of label pairs, (1 + bigram attributes, L, L), those without an attribute first; None: too many."""
    index, L = decoder.index, decoder.index.n_labels
    n = len(index.bigram_ptr) if len(index.bigram_pairs) else 1
    if n * L * L > AT_ONCE:
        return None
    steps = np.zeros((n, L * L), dtype)
    steps[0] = decoder.transitions.reshape(-1)
    if n > 1:
        attribute = np.repeat(np.arange(1, n), np.diff(index.bigram_ptr))
        steps[attribute, index.bigram_pairs] = index.split(decoder.model.weights)[1]
    return steps.reshape(n, L, L)


def _summed(steps: np.ndarray, ptr: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Scores of the step into every token, (tokens, L, L); (1, L, L) where all are the same."""
    if len(steps) == 1:
        return steps
    found = np.repeat(steps[:1], len(ptr) - 1, axis=0)
    lengths = np.diff(ptr)
    for k in range(int(lengths.max(initial=0))):
        there = np.flatnonzero(lengths > k)
        which = ids[ptr[there] + k]
        found[there[which >= 0]] += steps[1:][which[which >= 0]]
    return found


def _side_by_side(way: Way, offsets: np.ndarray, u: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The best labels of sentences, given the scores of tokens (tokens, L) and of steps."""
    lengths = np.diff(offsets)
    order = np.argsort(-lengths, kind="stable")  # so that those that go on stand first
    firsts, lengths = offsets[:-1][order], lengths[order]
    back = np.zeros(u.shape, np.int32)
    delta = np.zeros((len(order), u.shape[1]))
    delta[lengths > 0] = u[firsts[lengths > 0]]
    for t in range(1, int(lengths[:1].sum())):
        n = int(np.count_nonzero(lengths > t))
        at = firsts[:n] + t
        here = u[at]
        sums = way.added(delta[:n, :, None], b[at] if len(b) > 1 else b, here[:, None, :])
        back[at] = sums.argmax(axis=1)
        best = sums.max(axis=1)
        delta[:n] = best + here if way.behind else best
    labels = np.empty(len(u), np.int32)
    found = delta.argmax(axis=1)
    for t in range(int(lengths[:1].sum()) - 1, -1, -1):
        n = int(np.count_nonzero(lengths > t))
        at = firsts[:n] + t
        labels[at] = found[:n]
        found[:n] = back[at, found[:n]]
    return labels
