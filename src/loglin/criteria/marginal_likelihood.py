"""Marginal likelihood of sentences under a globally normalized model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loglin.criteria.hidden import OnLattices

if TYPE_CHECKING:
    from loglin.neighborhoods.named import Neighborhood


@dataclass(frozen=True)
class MarginalLikelihood(OnLattices):
    """Σ log Σ_y u(x, y) − log Σ_{all x′} Σ_y u(x′, y), all sentences of all lengths."""

    name = "marginal-likelihood"
    line = "the observed sentence against all sentences of all lengths"

    @property
    def around(self) -> Neighborhood:
        from loglin.neighborhoods.named import Everything

        return Everything()

    def zero(self, objective: Any) -> Any:
        """Small weights whose sum over all sentences converges: (word, label) at 1 / ((L + 1) · words of the label)."""
        import numpy as np
        from scipy.sparse.linalg import lsqr

        features = objective.features
        L, labels = features.sites.n_labels, features.sites.labels
        target = -np.log((L + 1) * np.bincount(labels, minlength=L)[labels])
        return lsqr(features.entries, target, atol=1e-10, btol=1e-10)[0]
