"""The steps of a chain: scores of label bigrams and trigrams, and what sums need of them, made once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from loglin.kernels import scaled
from loglin.kernels.rows import padded
from loglin.kernels.second import lay_out


@dataclass(frozen=True, eq=False)
class Steps:
    """Scores of steps, which sentences of one text may share."""

    transitions: np.ndarray  # (1, L, L), or (T-1, L, L) with one matrix for each step of a sentence
    trigrams: np.ndarray  # (L, L, L), or (0, L, L) in a first-order chain
    per_token: bool = False  # whether each step has its own matrix

    @cached_property
    def links(self) -> scaled.Links:
        """exp of the scores for sums in scaled probabilities."""
        L = self.transitions.shape[1]
        width = padded(L)
        steps, top, spread = _exponentials(self.transitions)
        S = np.zeros((len(steps) + self.per_token, width, width))
        S[self.per_token :, :L, :L] = steps
        ST = np.ascontiguousarray(S[-1].T) if not self.per_token else np.empty((0, width))
        cube, cube_top, cube_spread = _exponentials(self.trigrams)
        tables = (S.reshape(-1, width), ST, *lay_out(cube, width, np.float64))
        return scaled.Links(*tables, self.per_token, spread + cube_spread, (top, cube_top))


def _exponentials(scores: np.ndarray) -> tuple[np.ndarray, float, float]:
    """exp(scores − the largest), the largest, and how far the others lie below it, forbidden ones left out."""
    possible = scores[scores > -np.inf]
    if not possible.size:
        return np.zeros_like(scores), 0.0, 0.0
    top, least = float(possible.max()), float(possible.min())
    return np.exp(scores - top), top, top - least
