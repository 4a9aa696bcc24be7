"""What tells one training from another: a checkpoint goes on with the same data, features and settings alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np

from loglin.criteria.criterion import Criterion
from loglin.optimize.run import Run

# parts of problems, as people call them
_WORDS = {
    "design": "the texts or features",
    "extractor": "the texts or features",
    "gold": "the labels",
    "labels": "the labels",
    "hidden": "the labels",
    "options": "the penalties or options",
    "pcfg": "the grammars",
    "vectors": "the vectors",
    "weight": "the weights of the examples",
    "text": "the texts",
}
_OF_RUN = ("optimizer", "max_iter", "tol", "dtype", "seed", "certify", "warm_start")
_SIMPLE = (str, int, float, bool, bytes, type(None), np.generic, Enum)


def identity(problem: Any, criterion: Criterion, run: Run, start: Any, held_out: Any) -> dict[str, Any]:
    """Everything that a training's weights depend on: what is short as it is, data as digests."""
    import loglin

    about = {"loglin's version": loglin.__version__, "structure": problem.structure, "criterion": criterion.name}
    about |= {name: getattr(run, name) for name in _OF_RUN}
    about["the settings of the criterion"] = digest(criterion)
    parts: dict[str, list] = {}
    for name, value in _attributes(problem).items():
        parts.setdefault(_WORDS.get(name, f"the parts of the data called {name}"), []).append(value)
    about |= {words: digest(values) for words, values in parts.items()}
    about["the models to start from"] = digest(getattr(start, "weights", start))
    return about | {"the held-out data": digest(held_out)}


def digest(value: Any) -> str:
    """A short text that differs where the value does, whatever it is made of; threads do not count."""
    found, seen, todo = hashlib.blake2b(digest_size=16), dict[int, Any](), [value]
    while todo:
        one = todo.pop()
        found.update(type(one).__name__.encode())
        if isinstance(one, _SIMPLE):
            found.update(repr(one).encode("utf-8", "surrogatepass"))
            continue
        if id(one) in seen:  # of two that hold one another
            continue
        seen[id(one)] = one  # which keeps the number from being another object's
        if isinstance(one, np.ndarray) and one.dtype != object:
            found.update(f"{one.dtype}{one.shape}".encode() + np.ascontiguousarray(one).tobytes())
            continue
        inside = list(_inside(one))
        found.update(str(len(inside)).encode())
        todo += reversed(inside)
    return found.hexdigest()


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return [part for item in value.items() for part in item]
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    if isinstance(value, list | tuple | np.ndarray):
        return value
    if isinstance(value, Callable) and not is_dataclass(value):  # type: ignore[arg-type]
        return [getattr(value, "__module__", ""), getattr(value, "__qualname__", type(value).__qualname__)]
    return [part for item in _attributes(value).items() for part in item]


def _attributes(value: Any) -> dict[str, Any]:
    """What an object was made of: not what it has computed since, nor threads."""
    if is_dataclass(value):
        names = [f.name for f in fields(value) if f.init]
    else:
        names = [*getattr(type(value), "__slots__", ()), *getattr(value, "__dict__", ())]
    kept = [name for name in names if name != "threads" and not name.startswith("_")]
    kept = [name for name in kept if not isinstance(getattr(type(value), name, None), cached_property)]
    return {name: getattr(value, name) for name in kept if hasattr(value, name)}
