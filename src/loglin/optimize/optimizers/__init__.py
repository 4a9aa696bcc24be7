"""The optimizers by name: one registry, which says what each of them needs.

Every module of this folder is imported when an optimizer is first asked for by name; a subclass of
``Optimizer`` with a name is in the registry from then on. The modules import no compiled code until they minimize.
"""

from __future__ import annotations

import importlib
import pkgutil

from loglin.errors import LoglinError
from loglin.optimize.optimizers.optimizer import REGISTRY, Optimizer


def optimizers() -> dict[str, Optimizer]:
    """All optimizers by name, the default first."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return dict(sorted(REGISTRY.items(), key=lambda item: (not item[1].is_default, item[0])))


def optimizer(name: str) -> Optimizer:
    """The optimizer of this name."""
    known = optimizers()
    if name not in known:
        raise LoglinError(f"no optimizer is called {name!r}; there are {', '.join(known)}")
    return known[name]
