"""Several labels at once: an independent yes-or-no model for each, all on one pass over the attributes.

value(w) = Σ_l Σ_i loss(w_l · x_i, y_il). The sum falls apart by label; what is shared is the reading of x: a row of the
table holds an attribute's weights for all labels, so that one pass serves them all.
"""

from __future__ import annotations

import numpy as np

from loglin.corpus.labels import LabelSets
from loglin.features.design import Design
from loglin.features.index import FeatureIndex, build_index
from loglin.features.scoring import Scorer
from loglin.kernels import independent as kernels
from loglin.kernels.sentences import Parameters
from loglin.threads import Threads, chunks_by_size

LOSSES = {
    "likelihood": kernels.LOGISTIC,
    "margin": kernels.SQUARED_HINGE,
    "least-squares": kernels.SQUARES,
}


class IndependentLosses:
    """Value and gradient of the summed losses of all labels, unpenalized."""

    def __init__(
        self,
        kind: str,
        design: Design,
        targets: LabelSets,
        index: FeatureIndex,
        instance_weights: np.ndarray | None = None,
        dtype: type = np.float64,
        threads: Threads | None = None,
        scorer: Scorer | None = None,
    ):
        self.kind, self.design, self.targets, self.index = kind, design, targets, index
        self.n_features, self.dtype = index.n_features, np.dtype(dtype)
        self.threads = threads or Threads(1)
        self.scorer = scorer or Scorer(design, index, dtype, self.threads)
        self._padded = np.zeros((design.n_tokens, self.scorer.width), self.dtype)
        self._padded[:, : index.n_labels] = targets.has
        self.instance = np.asarray([] if instance_weights is None else instance_weights, self.dtype)
        self.residuals = np.zeros((design.n_tokens + self.scorer.n_heads, self.scorer.width), self.dtype)
        self.n_parts = index.n_labels
        self.losses = np.zeros(index.n_labels)  # of every label at the last weights
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

    @property
    def is_full(self) -> bool:
        """Whether every attribute is a row of weights for all labels, so that weights are a matrix."""
        return self.scorer.n_rows * self.index.n_labels == self.n_features == len(self.index.labels)

    def of(self, labels: list[int]) -> IndependentLosses:
        """The same for some of the labels alone, at least three."""
        targets = LabelSets(self.targets.has[:, labels])
        index = build_index(self.design, targets, True, False, 1)  # type: ignore[arg-type]  # no steps, no Gold
        weights = self.instance if self.instance.size else None
        scorer = self.scorer.narrowed(index)
        return IndependentLosses(self.kind, self.design, targets, index, weights, self.dtype.type, self.threads, scorer)

    def _pass(self, weights: np.ndarray, second: bool) -> None:
        self.evaluations += 1
        x = np.ascontiguousarray(weights, self.dtype)
        self.scorer.load(x)
        n_labels, width = self.index.n_labels, self.scorer.width
        parameters = Parameters(self.scorer.table, x, np.zeros((0, 0)))
        data = (n_labels, self.scorer.tokens, parameters, self._padded, self.instance, second)

        def chunk(begin: int, end: int) -> np.ndarray:
            losses = np.empty(width)
            kernels.losses_and_slopes(begin, end, LOSSES[self.kind], *data, self.residuals, losses)
            return losses[:n_labels]

        self.losses = np.sum(self.threads.map(chunk, self.chunks), axis=0)
