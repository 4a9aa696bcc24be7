"""What is summed over, and how: partition, marginals, best, n-best, samples, entropy; imported when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loglin.structures.automaton import Automaton, Divergence
    from loglin.structures.chain import Chain
    from loglin.structures.forest import Forest, Forests
    from loglin.structures.lattice import Lattice, Lattices, Sites
    from loglin.structures.local import Local

__all__ = ["Automaton", "Chain", "Divergence", "Forest", "Forests", "Lattice", "Lattices", "Local", "Sites"]

_HOMES = {
    "Automaton": "automaton",
    "Chain": "chain",
    "Divergence": "automaton",
    "Forest": "forest",
    "Forests": "forest",
    "Lattice": "lattice",
    "Lattices": "lattice",
    "Local": "local",
    "Sites": "lattice",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'loglin.structures' has no attribute {name!r}")
    return getattr(import_module(f"loglin.structures.{_HOMES[name]}"), name)
