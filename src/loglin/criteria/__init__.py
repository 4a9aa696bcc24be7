"""Criteria: one file each, with a name, settings, the structures it is for, and its way to weights.

from loglin.criteria import Piecewise
Tagger(criterion=Piecewise(nota="selected"))
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """A criterion by the name of its class."""
    if not name.startswith("_"):
        from loglin.criteria.criterion import REGISTRY
        from loglin.criteria.registry import criteria

        criteria("chain")  # every module is looked at
        for kind in REGISTRY.values():
            if kind.__name__ == name:
                return kind
    raise AttributeError(f"module 'loglin.criteria' has no attribute {name!r}")
