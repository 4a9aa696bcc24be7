"""Naive Bayes, the joint model over the features of a classifier, as weights of the log-linear one.

    multinomial  P(c, x) = P(c)·Π_a P(a | c)^x_a                      w_ac = log P(a | c),  b_c = log P(c)
    Bernoulli    P(c, x) = P(c)·Π_{a in x} P(a | c)·Π_{a not in x} (1 − P(a | c))
                 w_ac = log P(a | c) / (1 − P(a | c)),  b_c = log P(c) + Σ_a log(1 − P(a | c))

With these weights exp(b_c + Σ x_a w_ac) is P(c, x) up to what does not depend on c (maxent_slides). Counts are
smoothed by ``alpha``: P(a | c) = (n_ac + α) / (n_c + α·A), Bernoulli (n_ac + α) / (N_c + 2α), which is the mode under a
Dirichlet prior.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from loglin.features.design import Incidence

LEAST = -700.0  # log of what has probability 0
KINDS = ("multinomial", "bernoulli")


def presence(lists: Incidence, n_attributes: int) -> Incidence:
    """The lists with every attribute once, of value 1; attributes of value 0 are left out."""
    values = lists.values if lists.values.size else np.ones(len(lists.ids))
    shape = lists.n_lists, n_attributes
    X = sparse.csr_matrix((values, lists.ids, lists.ptr), shape=shape, copy=True)  # they may be the user's
    X.sum_duplicates()
    X.eliminate_zeros()
    return Incidence(X.indptr.astype(np.int64), X.indices.astype(np.int32))


def counts(lists: Incidence, n_attributes: int, codes: np.ndarray, n_classes: int, weight: np.ndarray) -> np.ndarray:
    """n_ac, the sum of values of attribute a in class c: (attributes, classes); codes (examples,) are the classes."""
    values = lists.values if lists.values.size else np.ones(len(lists.ids))
    n = lists.n_lists
    X = sparse.csr_matrix((values, lists.ids, lists.ptr), shape=(n, n_attributes))
    has = sparse.csr_matrix((weight, codes, np.arange(n + 1)), shape=(n, n_classes))
    return (X.T @ has).toarray()


def log_linear(n: np.ndarray, sizes: np.ndarray, alpha: float, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Weights (attributes, classes), and biases (classes,) without log P(c), from counts and class sizes."""
    if kind == "multinomial":
        return log(n + alpha) - log(n.sum(axis=0) + alpha * len(n)), np.zeros(len(sizes))
    yes, no = log(n + alpha), log(sizes - n + alpha)
    return yes - no, (no - log(sizes + 2 * alpha)).sum(axis=0)


def log(x: np.ndarray) -> np.ndarray:
    """log x, where 0 counts as e^−700, so that weights are numbers."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(x), LEAST)
