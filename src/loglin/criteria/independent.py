"""Several labels at once: an independent yes-or-no model for each, all on one pass over the attributes.

value(w) = Σ_i Σ_l loss(w_l · x_i, y_il). The sum falls apart by label; what is shared is the reading of x: a row of the
table holds an attribute's weights for all labels, so that one pass serves them all.
"""

from __future__ import annotations

import numpy as np

from loglin.corpus.labels import LabelSets
from loglin.criteria.scoring import Scorer
from loglin.features.design import Design
from loglin.features.index import FeatureIndex
from loglin.kernels import independent as kernels
from loglin.parallel.threads import Threads, chunks_by_size

LOSSES = {
    "likelihood": kernels.LOGISTIC,
    "margin": kernels.SQUARED_HINGE,
    "least-squares": kernels.SQUARES,
}


class IndependentLosses:
    """Value and gradient of the summed losses of all labels, unpenalized."""

    stochastic = None  # nothing to warm up from

    def __init__(
        self,
        kind: str,
        design: Design,
        targets: LabelSets,
        index: FeatureIndex,
        instance_weights: np.ndarray | None = None,
        dtype: type = np.float64,
        threads: Threads | None = None,
    ):
        self.index, self.n_features, self.dtype = index, index.n_features, np.dtype(dtype)
        self.threads = threads or Threads(1)
        self.kind = LOSSES[kind]
        self.scorer = Scorer(design, index, dtype, self.threads)
        self.targets = np.zeros((design.n_tokens, self.scorer.width), self.dtype)
        self.targets[:, : index.n_labels] = targets.has
        self.instance = np.asarray([] if instance_weights is None else instance_weights, self.dtype)
        self.residuals = np.zeros((design.n_tokens + self.scorer.n_heads, self.scorer.width), self.dtype)
        self.losses = np.zeros(design.n_tokens)
        self.chunks = chunks_by_size(design.tokens.ptr)
        self.evaluations = 0

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        self._pass(weights, second=False)
        gradient = np.empty(self.n_features, self.dtype)
        self.scorer.gradient(self.residuals, gradient)
        return float(self.losses.sum()), gradient

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        """The Hessian's diagonal."""
        self._pass(weights, second=True)
        diagonal = np.empty(self.n_features, self.dtype)
        self.scorer.gradient(self.residuals, diagonal, squared=True)
        return diagonal

    def _pass(self, weights: np.ndarray, second: bool) -> None:
        self.evaluations += 1
        x = np.ascontiguousarray(weights, self.dtype)
        self.scorer.load(x)
        data = (self.index.n_labels, self.scorer.tokens, self.scorer.table, x, self.kind, self.targets, self.instance)
        self.threads.map(
            lambda b, e: kernels.losses_and_slopes(b, e, *data, second, self.residuals, self.losses), self.chunks
        )
