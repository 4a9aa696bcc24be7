"""Contrastive estimation: an observed sentence against its neighborhood, labels summed out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loglin.criteria.hidden import NEIGHBORHOOD, OnLattices, checked_neighborhood

if TYPE_CHECKING:
    from loglin.neighborhoods.named import Neighborhood


@dataclass(frozen=True)
class Contrastive(OnLattices):
    """Σ log Σ_y u(x, y) − log Σ_{x′ ∈ N(x)} Σ_y u(x′, y)."""

    name = "contrastive"
    line = "the observed sentence against its neighbors, labels summed out (Smith & Eisner 2005)"
    neighborhood: Any = NEIGHBORHOOD

    def check(self) -> None:
        super().check()
        object.__setattr__(self, "neighborhood", checked_neighborhood(self.neighborhood))

    @property
    def around(self) -> Neighborhood:
        return self.neighborhood or checked_neighborhood("trans1")
