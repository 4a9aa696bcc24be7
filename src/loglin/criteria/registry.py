"""The criteria by name: one registry over all structures.

A subclass of ``Criterion`` that has a name is in the registry once its module is imported. Asked for one, the registry
looks into the module of its name first; asked for all, or for one that is not there, into every module of this folder.
So a new criterion is one file here, and nothing else.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

import loglin.criteria
from loglin.criteria.criterion import REGISTRY, Criterion
from loglin.errors import LoglinError

FIRST = {
    "chain": "crf",
    "local": "likelihood",
    "joint": "naive-bayes",
    "forest": "crf",
    "history": "likelihood",
}  # the defaults of estimators


@cache
def _modules() -> list[str]:
    return [module.name for module in pkgutil.iter_modules(loglin.criteria.__path__)]


def criteria(structure: str) -> dict[str, type[Criterion]]:
    """The criteria for a structure by name, the default one first."""
    for module in _modules():
        importlib.import_module(f"loglin.criteria.{module}")
    found = {name: kind for (where, name), kind in REGISTRY.items() if where == structure}
    return dict(sorted(found.items(), key=lambda item: (item[0] != FIRST[structure], item[0])))


def named(name: str, structure: str) -> type[Criterion] | None:
    """The criterion of that name for a structure, if there is one."""
    if not isinstance(name, str):
        return None
    module = name.replace("-", "_")
    if (structure, name) not in REGISTRY and module in _modules():
        importlib.import_module(f"loglin.criteria.{module}")
    return REGISTRY.get((structure, name)) or criteria(structure).get(name)


def criterion(given: str | Criterion, structure: str, settings: Mapping | None = None) -> Criterion:
    """The criterion that a user names, or has made, with these settings."""
    if not isinstance(given, Criterion):
        found = named(given, structure)
        if found is None:
            raise LoglinError(f"no criterion is called {given!r}; there are {', '.join(criteria(structure))}")
        given = found()
    if structure not in given.structures:
        raise LoglinError(
            f"criterion {given.name} ({type(given).__name__}) is not for this model; there are "
            f"{', '.join(criteria(structure))}"
        )
    return given.with_settings(settings)


def check_optimizer(optimizer: str, criterion: Criterion, l1: float) -> None:
    """Refuse an unknown optimizer, and what is known to make no sense before the data are seen."""
    from loglin.optimize.optimizers import optimizer as named

    chosen = named(optimizer)
    if chosen.is_default:
        return
    if not criterion.optimizes:
        raise LoglinError(f"criterion {criterion.name} has its own way to weights; leave optimizer at auto")
    if not criterion.concave and not chosen.takes_any_curvature:
        raise LoglinError(
            f"criterion {criterion.name} is not concave, which optimizer {optimizer} needs; take auto, lbfgs, gradient "
            "or conjugate-gradient"
        )
    chosen.check(bool(l1))
    own = getattr(criterion, "optimizer", optimizer)
    if own not in ("auto", optimizer):
        raise LoglinError(f"optimizer is {optimizer} and {criterion.name}'s setting optimizer {own}; give one of them")
