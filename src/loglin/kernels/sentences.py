"""Sentences as kernels read them: features of tokens and steps, labels, weights; and what a pass over them fills.

T tokens one behind the other, L labels, rows of W ≥ L numbers (labels padded, see kernels/rows.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loglin.kernels.compile import kernel, record


@record("i8[] u4[] F[] i8[] u4[] u2[] F[]")
class Tokens(NamedTuple):
    """Features of every token: rows of the table, and single weights. Without values, each counts 1."""

    row_ptr: np.ndarray  # (T + 1,) int64: token t has the rows row_ids[row_ptr[t]] … row_ids[row_ptr[t + 1] − 1]
    row_ids: np.ndarray  # uint32
    row_values: np.ndarray  # as long as row_ids, or empty
    entry_ptr: np.ndarray  # (T + 1,) int64
    entry_ids: np.ndarray  # uint32: number of the weight
    entry_labels: np.ndarray  # uint16: label that it is for
    entry_values: np.ndarray  # as long as entry_ids, or empty


@record("i8[] i4[] i8[] i4[] int i8[] i4[]")
class Steps(NamedTuple):
    """Observed bigram features of the step into every token (kernels/steps.py); all empty in a model without any."""

    ptr: np.ndarray  # (T + 1,) int64
    ids: np.ndarray  # int32: attributes
    ends: np.ndarray  # (attributes + 1,) int64: attribute a has the features ends[a] … ends[a + 1] − 1
    pairs: np.ndarray  # (features,) int32: label before · L + label
    base: int  # number of the weight of feature 0
    cell_ptr: np.ndarray  # (T + 1,) int64: the step into token t has the cells cell_ptr[t] … cell_ptr[t + 1] − 1
    cell_pairs: np.ndarray  # int32: the label pair of every cell, one that some feature of the step has


@record("i8[] i8[] i4[] F[] i8[] i4[]")
class Attributes(NamedTuple):
    """What stands at every token of a text, by number."""

    offsets: np.ndarray  # (sentences + 1,) int64
    ptr: np.ndarray  # (tokens + 1,) int64
    ids: np.ndarray  # int32: attributes of tokens, −1 where training has not seen it
    values: np.ndarray  # as long as ids, or empty: 1
    bigram_ptr: np.ndarray  # (tokens + 1,) int64: of the step into each token; empty if the model has no such features
    bigram_ids: np.ndarray  # int32


@record("i4[] b1[,] i4[] F[,]")
class Labels(NamedTuple):
    """What is known of the labels."""

    gold: np.ndarray  # (T,) the label, or ~ the row of ``allowed`` with the labels that it may be
    allowed: np.ndarray  # (sets, L) bool
    candidates: np.ndarray  # (T,) rows of ``allowed`` that every sequence keeps to, or empty
    costs: np.ndarray  # (L, L) added to the score of label j where i is right, or (0, 0)


@record("i8[] int int Tokens Steps Labels F[]")
class Sentences(NamedTuple):
    """Features, labels and weights of sentences; sentence s has the tokens offsets[s] … offsets[s + 1] − 1."""

    offsets: np.ndarray  # (sentences + 1,) int64
    longest: int  # number of tokens of the longest sentence
    n_labels: int
    tokens: Tokens
    steps: Steps
    labels: Labels
    instance: np.ndarray  # (sentences,) weights of the sentences, or empty: 1


@record("F[,] F[] T[,]")
class Parameters(NamedTuple):
    """Weights, laid out for scoring."""

    table: np.ndarray  # (rows, W)
    weights: np.ndarray  # (features,) all of them, of which tokens and steps read single ones
    T: np.ndarray  # (L, L) or (L, W): label bigrams


@record("F[,] F[,]")
class Exponentials(NamedTuple):
    """exp of the label bigrams."""

    M: np.ndarray  # (W, W) exp(T), padded with zeros
    MT: np.ndarray  # (W, W) its transpose


@record("F[,] F[,] f8[,,] F[,] F[,] F[,]")
class Trigrams(NamedTuple):
    """Label trigrams of a chain of second order, and room for its sums; H ≥ L + 1 histories (kernels/second.py)."""

    C: np.ndarray  # (H·L, W) exp(trigram), row a·L + b
    CT: np.ndarray  # (L·W, W) the same by (b, c), then a
    log: np.ndarray  # (L, L, L) trigram
    X: np.ndarray  # (H·L, W) expected trigrams without their factor C, added to
    A: np.ndarray  # (longest·H, W)
    G: np.ndarray  # (longest·H, W)


@record("F[,] f8[] f8[] b1[] F[,] f8[,] f8[,,] bool")
class Residuals(NamedTuple):
    """Derivatives of the losses by scores, and the losses: what a pass over sentences fills."""

    tokens: np.ndarray  # (T or more, W) overwritten
    steps: np.ndarray  # (features of Steps,) float64: their gradient, added to
    losses: np.ndarray  # (sentences,) overwritten
    unsafe: np.ndarray  # (sentences,) bool, overwritten: left out, as the sums need the log domain
    X: np.ndarray  # (W, W) expected label bigrams without their factor M, added to
    pairs: np.ndarray  # (L, L) or (W, W) float64: label bigrams, added to
    triples: np.ndarray  # (L, L, L) float64: label trigrams, added to; (0, L, L) in first order
    curved: bool  # whether ``steps`` gets Σ p·(1 − p) in place of the gradient


@kernel(inline=True)
def weight_of(s, text):
    """The weight of sentence s."""
    return np.float64(text.instance[s]) if text.instance.shape[0] else 1.0


@kernel(inline=True)
def is_certain(first, n, labels):
    """Whether every token has exactly one observed label and every label is a candidate."""
    for t in range(n):
        if labels.gold[first + t] < 0:
            return False
    return labels.candidates.shape[0] == 0
