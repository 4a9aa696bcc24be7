"""The sentences of a text with the scores that a decoder gives them: best sequences, sums and probabilities.

Where all steps of all sentences score alike, as they do without bigram templates, base model and scale factors, one
call of a kernel answers for many sentences; else every sentence is a chain of its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from loglin.errors import LoglinError
from loglin.features.design import Design
from loglin.kernels.decode import step_scores
from loglin.kernels.ranked import rank_sentences
from loglin.kernels.scaled import sum_sentences
from loglin.structures.chain import Chain
from loglin.structures.links import Steps
from loglin.structures.local import (
    check_precise,
    checked_count,
    checked_scores,
    checked_shares,
    shifted_scores,
)
from loglin.threads import Threads, chunks_by_size

if TYPE_CHECKING:
    from loglin.decoding.chains import Decoder

FLOOR = -700.0  # what a base model holds impossible is very unlikely, so that every sentence has some labels


def shared_steps(decoder: Decoder) -> Steps | None:
    """The steps of every sentence; None where they depend on it, or are normalized in it."""
    index, L = decoder.index, decoder.index.n_labels
    if (
        len(index.bigram_pairs)
        or decoder.model.base is not None
        or decoder.decoding["steps"] == "scaled"
        or decoder.constant >= 0
    ):
        return None
    transitions = checked_scores("transitions", decoder.transitions)
    if decoder.legal is not None:
        transitions[~decoder.legal[0]] = -np.inf
    trigrams = np.empty((0, L, L)) if decoder.trigrams is None else checked_scores("trigrams", decoder.trigrams)
    return Steps(transitions[None], trigrams)


class ScoredText:
    """A text and its decoder."""

    def __init__(self, decoder: Decoder, design: Design):
        self.decoder, self.design, self.steps = decoder, design, decoder.shared_steps

    # ------------------------------------------------------------------ answers

    def chains(self) -> Iterator[Chain]:
        """Each sentence as the model's way to decode sees it."""
        constant = self.decoder.constant
        if constant < 0:
            return self._limited_chains()
        return (chain.normalized(constant) for chain in self._limited_chains())

    def best(self) -> np.ndarray:
        """The best labels of every token, (tokens,) int32."""
        beam, constant = self.decoder.decoding["beam"], self.decoder.constant
        if self.steps is not None and not beam:
            labels, _, counts = self._ranked(1, self.steps)
            if not counts.all():
                raise LoglinError("no label sequence obeys the constraint for some sentence; check --constrain")
            return labels[0].astype(np.int32)
        if beam:
            parts = [chain.beam(beam, constant)[0] for chain in self._limited_chains()]
        else:
            parts = [chain.best()[0] for chain in self.chains()]
        return np.concatenate([*parts, np.empty(0, np.int64)]).astype(np.int32)

    def marginals(self) -> np.ndarray:
        """Probabilities of every token's labels, (tokens, labels)."""
        if self.steps is not None:
            return checked_shares(self._summed(self.steps, True)[1])
        nothing = np.empty((0, self.decoder.index.n_labels))
        return np.concatenate([nothing, *(chain.marginals() for chain in self.chains())])

    def nbest(self, k: int) -> Iterator[list[tuple[np.ndarray, float]]]:
        """The k best label sequences of every sentence with their probabilities, best first; fewer if fewer exist."""
        if self.steps is None:
            for chain in self.chains():
                total = chain.partition()
                check_precise(total)
                yield [(labels, min(1.0, math.exp(score - total))) for labels, score in chain.nbest(k)]
            return
        labels, totals, counts = self._ranked(k, self.steps)
        sums = self._summed(self.steps, False)[0]
        check_precise(sums)
        with np.errstate(invalid="ignore"):  # where no sequence is possible
            shares = np.minimum(np.exp(totals - sums[:, None]), 1.0).tolist()
        for s, (first, last) in enumerate(itertools.pairwise(self.design.offsets.tolist())):
            yield [(labels[r, first:last], shares[s][r]) for r in range(counts[s])]

    # ------------------------------------------------------------------ many sentences at once

    def _ranked(self, k: int, steps: Steps) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The best sequences, (k, tokens), their scores, (sentences, k), and how many there are, (sentences,)."""
        k = checked_count(k, "sequences")
        offsets, scores, n = self.design.offsets, self._limited_scores, self.design.n_sentences
        most = self.decoder.index.n_labels ** int(np.diff(offsets).max(initial=0))  # more sequences there are not
        labels = np.empty((min(k, most), self.design.n_tokens), np.int64)
        totals, counts = np.full((n, len(labels)), -np.inf), np.zeros(n, np.int64)
        arrays = (offsets, scores, steps.transitions, steps.trigrams, labels, totals, counts)
        self._share_out(lambda b, e: rank_sentences(b, e, *arrays))
        return labels, totals, counts

    def _summed(self, steps: Steps, nodes: bool) -> tuple[np.ndarray, np.ndarray]:
        """log Z of every sentence, (sentences,), and, if ``nodes`` are asked for, the marginals, (tokens, labels)."""
        offsets, scores = self.design.offsets, self._limited_scores
        totals, found = np.empty(len(offsets) - 1), np.empty(scores.shape if nodes else (0, scores.shape[1]))
        with np.errstate(all="ignore"):  # without the JIT, where nothing is possible
            self._share_out(lambda b, e: sum_sentences(b, e, offsets, scores, steps.links, totals, found))
        for s in np.flatnonzero(np.isnan(totals)).tolist():  # which need the log domain
            chain = Chain.of(scores[offsets[s] : offsets[s + 1]], steps)
            totals[s] = chain.partition()
            if nodes:
                found[offsets[s] : offsets[s + 1]] = chain.marginals()
        return totals, found

    def _share_out(self, work: Callable[[int, int], None]) -> None:
        many = self.design.n_tokens > 2000
        Threads(self.decoder.threads if many else 1).map(work, chunks_by_size(self.design.offsets))

    @cached_property
    def _limited_scores(self) -> np.ndarray:
        """Scores of every token by label, (tokens, labels), -inf where dictionary or scheme forbid one."""
        scores, words = checked_scores("scores", self.decoder.scores(self.design)), self._allowed_words()
        if words is not None:
            scores += words
        if self.decoder.legal is not None:
            offsets = self.design.offsets
            some = np.diff(offsets) > 0
            for tokens, allowed in zip((offsets[:-1], offsets[1:] - 1), self.decoder.legal[1:], strict=True):
                scores[tokens[some][:, None], np.flatnonzero(~allowed)] = -np.inf
        return shifted_scores(scores)

    # ------------------------------------------------------------------ a sentence at a time

    def _limited_chains(self) -> Iterator[Chain]:
        """Each sentence with scale factors, and with what is illegal forbidden, before any step is normalized."""
        cuts = list(itertools.pairwise(self.design.offsets.tolist()))
        if self.steps is not None:
            for first, last in cuts:
                yield Chain.of(self._limited_scores[first:last], self.steps)
            return
        words, decoding, legal = self._allowed_words(), self.decoder.decoding, self.decoder.legal
        for (first, last), chain in zip(cuts, self._scored_chains(), strict=True):
            if decoding["steps"] == "scaled":
                chain = chain.scaled(decoding["scale"])
            if words is not None:
                chain = replace(chain, scores=chain.scores + words[first:last])
            yield chain.forbid(*legal) if legal else chain

    def _allowed_words(self) -> np.ndarray | None:
        """0 where the dictionary allows a token a label, else -inf, (tokens, labels); None: there is no dictionary."""
        dictionary, corpus = self.decoder.dictionary, self.design.corpus
        if dictionary is None or corpus is None or not self.design.n_tokens:
            return None
        return np.where(dictionary.allowed(corpus.columns[0], corpus.offsets, corpus.source), 0.0, -np.inf)

    def _scored_chains(self) -> Iterator[Chain]:
        """Each sentence with the scores of the model's features and of its base model."""
        decoder, design = self.decoder, self.design
        scores, L = decoder.scores(design), decoder.index.n_labels
        text, model = decoder.attributes(design, np.float64), decoder.double
        base = None
        if decoder.model.base is not None:
            assert design.corpus is not None
            base = decoder.model.base.chain_parts(design.corpus)
        for first, last in itertools.pairwise(design.offsets.tolist()):
            transitions, trigrams, part = decoder.transitions, decoder.trigrams, scores[first:last]
            if len(decoder.index.bigram_pairs) and last - first > 1:
                steps = np.empty((last - first - 1, L, decoder.width))
                for t in range(first + 1, last):
                    step_scores(t, text, model, steps[t - first - 1])
                transitions = steps[:, :, :L]
            if base is not None:
                more, steps, triples = next(base)
                part, transitions = part + np.maximum(more, FLOOR), transitions + np.maximum(steps, FLOOR)
                if triples is not None:
                    trigrams = np.maximum(triples, FLOOR) + (0.0 if trigrams is None else trigrams)
            yield Chain(
                shifted_scores(part) if decoder.decoding["steps"] in ("global", "local") else part,
                transitions,
                trigrams,
            )
