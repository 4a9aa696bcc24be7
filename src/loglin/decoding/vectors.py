"""What the vectors of tokens add to their scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from loglin.features.design import Design, Vectors
from loglin.features.products import products
from loglin.models.chain import Model
from loglin.threads import Threads


def vector_weights(model: Model, width: int) -> np.ndarray:
    """The weights of the dimensions of vectors by label, (dimensions, width) float64."""
    ptr = model.index.ptr[model.extractor.n_attributes :]
    table, place = np.zeros((len(ptr) - 1, width)), slice(ptr[0], ptr[-1])
    table[np.repeat(np.arange(len(table)), np.diff(ptr)), model.index.labels[place]] = model.weights[place]
    return table


def vector_scores(
    design: Design, groups: Sequence[Vectors], weights: np.ndarray, first: int, threads: int | None = 1
) -> np.ndarray:
    """The scores of every token by some of its vectors alone, (tokens, width), in the precision of ``weights``.

    ``first`` is the attribute whose weights are the first row of ``weights``.
    """
    found = np.zeros((design.n_tokens, weights.shape[1]), weights.dtype)
    for vectors in groups:
        W = weights[vectors.first - first :][: vectors.size]
        scores = np.empty((len(vectors.rows), W.shape[1]), weights.dtype)
        products(vectors.rows, W, scores, Threads(threads if len(scores) > 2000 else 1))
        found += scores if vectors.of_token is None else scores[vectors.of_token]
    return found
