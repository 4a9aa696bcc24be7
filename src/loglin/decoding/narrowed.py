"""The best labels among some of each token: those of a dictionary, and those that its own features make likely.

A cascade (Weiss and Taskar 2010; Müller, Schmid and Schütze 2013): p(y | x_t) ∝ exp(w · f(x, t, y)), the model without
its label n-grams, costs a score a label. What it gives less than a threshold is left out of the exact search, whose
steps cost the product of what neighbors have left, and not labels² or labels³.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from loglin.features.design import Design
from loglin.features.extract import TemplateExtractor
from loglin.threads import Threads

if TYPE_CHECKING:
    from loglin.decoding.chains import Decoder


@dataclass(frozen=True, eq=False)
class Narrowed:
    """A decoder whose steps depend on labels alone."""

    decoder: Decoder
    steps: np.ndarray  # log W of label n-grams with START and STOP: what a lattice needs

    @classmethod
    def of(cls, decoder: Decoder) -> Narrowed | None:
        """The search; None where steps depend on more than labels, or more is asked for than the best sequence."""
        from loglin.decoding.scored_text import FLOOR
        from loglin.errors import LoglinError
        from loglin.features.ends import step_cells

        model, base = decoder.model, decoder.model.base
        told = decoder.legal is not None or decoder.decoding["steps"] != "global" or decoder.decoding["beam"]
        if told or not isinstance(model.extractor, TemplateExtractor):
            return None
        order = max(model.order, 1 if base is None else base.order)
        try:
            cells, features, _ = step_cells(model.extractor, decoder.index, order, unigrams=False)
        except LoglinError:  # some template crosses label bigrams with the text
            return None
        S = decoder.index.n_labels + 2
        shape = (S if order == 2 else 1, S, S)
        W = np.bincount(cells, model.weights[features], shape[0] * S * S).reshape(shape)
        return cls(decoder, W if base is None else W + np.maximum(base.steps(), FLOOR))

    def best(self, design: Design) -> np.ndarray:
        """The best label sequence of every sentence among the labels that are left: (tokens,) int32."""
        from loglin.structures.lattice import Lattices, Sites
        from loglin.structures.word_lattices import WordLattices

        scores = self._scores(design)
        allowed = self._allowed(design, scores)
        begins, ends = design.offsets[:-1], design.offsets[1:]
        tokens = np.arange(design.n_tokens)
        words = WordLattices.chains([tokens[b:e] for b, e in zip(begins, ends, strict=True) if b < e])
        chains = Lattices(words, Sites.of(allowed), tokens, 2 if len(self.steps) > 1 else 1)
        threads = Threads(self.decoder.threads if design.n_tokens > 2000 else 1)
        found = [best[0].labels for best in chains.nbest(self.steps, scores[allowed], 1, threads)]
        return np.concatenate([*found, np.empty(0, np.int64)]).astype(np.int32)

    def allowed(self, design: Design) -> np.ndarray:
        """The labels that are left to every token: (tokens, labels) bool."""
        return self._allowed(design, self._scores(design))

    def _scores(self, design: Design) -> np.ndarray:
        """Scores of every token by label, those of the base model included: (tokens, labels)."""
        from loglin.decoding.scored_text import FLOOR

        scores, base = self.decoder.scores(design), self.decoder.model.base
        if base is not None:
            assert design.corpus is not None
            scores += np.maximum(base.emission_scores(design.corpus), FLOOR)
        return scores

    def _allowed(self, design: Design, scores: np.ndarray) -> np.ndarray:
        """The labels of the dictionary that are not too unlikely; the likeliest of them always is."""
        decoder, allowed = self.decoder, np.ones(scores.shape, bool)
        if decoder.dictionary is not None and design.corpus is not None:
            allowed = decoder.dictionary.allowed(design.corpus.columns[0], design.offsets, design.corpus.source)
        if not decoder.prunes:
            return allowed
        found = np.where(allowed, scores, -np.inf)
        found = np.exp(found - found.max(axis=1, keepdims=True))
        least = decoder.decoding["prune"] * found.sum(axis=1, keepdims=True)
        return (found > 0) & ((found >= least) | (found == 1.0))
