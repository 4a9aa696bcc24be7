"""Count cut-offs: features seen too seldom in training are left out (Ratnaparkhi 1998).

A feature φ_k is an attribute together with its label, or a label n-gram; it stays if it fires in at least
``cutoff`` places of the training data, Σ_i φ_k(x_i, y_i) ≥ cutoff. A label that is not certain counts as every label
that it may be.
"""

from __future__ import annotations

import numpy as np

from loglin.corpus.columns import first_tokens
from loglin.features.design import Design, Incidence
from loglin.features.index import FeatureIndex
from loglin.features.words import positions


def cut_off(
    index: FeatureIndex, design: Design, allowed: np.ndarray, cutoff: float, always=None, by_value: bool = False
) -> FeatureIndex:
    """The index without features that fire in fewer than ``cutoff`` places; allowed (tokens, labels) bool.

    ``by_value``, a place counts as the attribute's value there. ``always`` marks attributes that stay: an intercept,
    without which a rare class would score 0, above others.
    """
    keep = counts(index, design, allowed, by_value) >= cutoff
    if always is not None:
        keep[: len(index.labels)] |= np.repeat(always, np.diff(index.ptr))
    return index.selected(keep)


def counts(index: FeatureIndex, design: Design, allowed: np.ndarray, by_value: bool = False) -> np.ndarray:
    """In how many places of a design each feature fires: (features,)."""
    L = index.n_labels
    token, label = np.nonzero(allowed)
    step = ~first_tokens(design.offsets)  # no step into a first token
    second = step & np.roll(step, 1)  # two labels before
    pair_token, pair = _grams(token, label, step, allowed, L, 1)
    unigrams = _fires(design.unfolded(), token, label, index.ptr, index.labels, L, by_value)
    bigrams = _fires(design.bigrams, pair_token, pair, index.bigram_ptr, index.bigram_pairs, L * L)
    pairs = np.bincount(pair, minlength=L * L)[index.pairs]
    triples = np.empty(0, np.int64)
    if len(index.triples):
        _, triple = _grams(pair_token, pair, second, allowed, L, 2)
        triples = np.bincount(triple, minlength=L**3)[index.triples]
    return np.concatenate([unigrams, bigrams, pairs, triples])


def _grams(token, gram, has, allowed: np.ndarray, L: int, distance: int) -> tuple[np.ndarray, np.ndarray]:
    """Every n-gram of labels grown by the label ``distance`` before its token, where ``has`` says there is one."""
    keep = has[token]
    token, gram = token[keep], gram[keep]
    before = allowed[token - distance]
    row, first = np.nonzero(before)
    return token[row], first * L**distance + gram[row]


def _fires(
    lists: Incidence, token, label, ptr: np.ndarray, labels: np.ndarray, n_labels: int, by_value: bool = False
) -> np.ndarray:
    """In how many places each (attribute, label) of the index fires, or the sum of its values there."""
    if not len(labels):
        return np.empty(0, np.int64)
    lengths = np.diff(lists.ptr)[token]
    start = np.repeat(lists.ptr[token] - np.cumsum(lengths) + lengths, lengths)
    entries = start + np.arange(lengths.sum())
    keys = lists.ids[entries] * np.int64(n_labels) + np.repeat(label, lengths)
    found, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
    if by_value and len(lists.values):
        counts = np.bincount(which, lists.values[entries])
    wanted = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr)) * np.int64(n_labels) + labels
    return np.append(counts, 0)[positions(found, wanted)]  # −1 finds the 0
