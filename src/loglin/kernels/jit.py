"""Kernels compiled by Numba when they are first called, and kept in a folder of the user (kernels/cache.py)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

import numba
from llvmlite.binding import get_host_cpu_features
from numba import njit
from numba.core import event

from loglin.kernels import cache as folders
from loglin.kernels.compile import Declared
from loglin.kernels.extension import cpu_of, levels

_SETTINGS: Any = numba.config  # reads its attributes from the environment, which type checkers cannot see


def own_level() -> str:
    """The highest level that this machine has, as dispatch.c finds it where there is an extension to ask."""
    possible = levels()
    if len(possible) == 1:
        return possible[0]
    features = get_host_cpu_features()
    if all(features.get(name) for name in ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")):
        return possible[-1]
    return possible[1 if all(features.get(name) for name in ("avx2", "fma", "bmi", "bmi2")) else 0]


# For the level that an extension would have been compiled for, not for the very processor: vectors are then added up in
# the same order, and the numbers are the same to the last bit whichever way kernels were compiled.
if _SETTINGS.CPU_NAME is None:
    _SETTINGS.CPU_NAME, _SETTINGS.CPU_FEATURES = cpu_of(own_level()), ""


def kernel(declared: Declared) -> Any:
    """Numba's dispatcher of a kernel."""
    _listen()
    outside = _SETTINGS.CACHE_DIR
    _SETTINGS.CACHE_DIR = str(folders.folder(declared.module))
    try:
        flags: dict[str, Any] = {"fastmath": set(declared.fastmath), "_nrt": declared.allocates}
        inline: Any = "always" if declared.inline else "never"
        compiler: Any = njit(nogil=True, cache=True, error_model="numpy", boundscheck=False, inline=inline, **flags)
        made = compiler(declared.function)
        made.declared = declared  # for build.py
        return made
    finally:
        _SETTINGS.CACHE_DIR = outside


def primitive(emit: Callable, arguments: tuple[str, ...], returns: bool) -> Any:
    """Numba's intrinsic of a primitive of rows."""
    from loglin.kernels import emitter

    return emitter.intrinsic_of(emit, arguments, returns)


def with_globals(function: Callable, names: dict[str, Any]) -> Callable:
    """The same function, its global names looked up in ``names``."""
    assert isinstance(function, FunctionType)
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    copy.__module__, copy.__qualname__, copy.__doc__ = function.__module__, function.__qualname__, function.__doc__
    return copy


class _Announcement(event.Listener):
    """Says once that kernels are being compiled, since a first run takes many times as long as the next.

    A warning of the logger "loglin" is seen on a terminal and in a notebook, goes to standard error, and can be
    redirected or silenced like any other.
    """

    told = False

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        if not self.told and function.__module__.startswith("loglin."):
            self.told = True
            logging.getLogger("loglin").warning(
                "loglin: compiling kernels for this machine (%s and what it needs first): about 20 s to tag, "
                "a minute to train, once; loglin compile does it ahead of time",
                function.__name__,
            )

    def on_end(self, event: Any) -> None:
        pass


@cache
def _listen() -> None:
    event.register("numba:compile", _Announcement())
