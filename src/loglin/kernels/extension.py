"""Kernels compiled ahead of time: the extension beside this file, if it fits the processor and the sources.

build.py writes one file per level of the processor. A kernel whose module, or a module that it imports, was edited
since is left to the JIT, and so is a call with types that were not declared; only then is Numba imported.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import platform
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from loglin.kernels import digests
from loglin.kernels.compile import Declared

FORMAT = "1"  # of the table that build.py writes into an extension
LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
SUFFIX = importlib.machinery.EXTENSION_SUFFIXES[0]


def mode() -> str:
    """How kernels shall be compiled: "jit", "strict", or "" for the extension with the JIT behind it."""
    chosen = os.environ.get("LOGLIN_KERNELS", "")
    if chosen not in ("", "jit", "strict"):
        raise ValueError(f"LOGLIN_KERNELS={chosen}: write jit or strict, or leave it unset")
    return chosen


def levels() -> tuple[str, ...]:
    """The levels that an extension can be built for on this kind of machine, lowest first."""
    machine = platform.machine().lower()
    if machine not in ("x86_64", "amd64"):
        return (machine,)
    return LEVELS[:2] if os.name == "nt" else LEVELS  # dispatch.c cannot tell level 4 there


def cpu_of(level: str) -> str:
    """The level as LLVM names it; other machines than x86-64 have one, which is what all of them can do."""
    return level if level in LEVELS else "generic"


def path_of(level: str, folder: Path = digests.FOLDER) -> Path:
    return folder / f"compiled-{level}{SUFFIX}"


def _load(name: str, path: Path) -> Any:
    """A module of an extension file, which holds several."""
    loader = importlib.machinery.ExtensionFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def find_fitting() -> Path | None:
    """The extension file of the highest level that this processor has."""
    there = [level for level in levels() if path_of(level).exists()]
    if not there:
        return None
    highest = _load("dispatch", path_of(there[0])).LEVEL  # needs no more than any processor has
    fitting = [level for level in there if level not in LEVELS or LEVELS.index(level) + 2 <= highest]
    return path_of(fitting[-1]) if fitting else None


@cache
def find() -> Extension | None:
    """The extension for this processor; none if there is none or it shall not be used."""
    if mode() == "jit":
        return None
    try:
        path = find_fitting()
        if path is not None:
            return Extension(path)
        reason = "there are no compiled kernels for this machine"
    except ImportError as error:  # made for another Python or NumPy, or damaged
        reason = str(error)
    if mode() == "strict":
        raise ImportError(f"LOGLIN_KERNELS=strict, and {reason}: run python -m loglin.kernels.build")
    return None


class Extension:
    """Kernels from one extension file."""

    def __init__(self, path: Path):
        self.path, self.dispatch = path, _load("dispatch", path)
        self.parts: dict[str, Any] = {}
        self.digests: dict[str, str] = {}
        self.overloads: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
        header, *lines = self.dispatch.TABLE.split("\n")
        for line in lines if header == FORMAT else []:
            module, kernel, *rest = line.split(" ")
            if rest:
                self.overloads.setdefault((module, kernel), []).append((rest[0], rest[1], rest[2]))
            else:
                self.digests[module] = kernel

    def fresh(self, module: str) -> bool:
        """Whether the compiled code of a kernel module is that of its source."""
        return self.digests.get(module) == digests.digest(module)

    def _part(self, name: str) -> Any:
        if name not in self.parts:
            self.parts[name] = _load(name, self.path)
        return self.parts[name]

    def kernel(self, declared: Declared) -> Any:
        """A callable: the compiled overload that fits its arguments, else the JIT."""
        found = self.overloads.get((declared.module, declared.name), []) if self.fresh(declared.module) else []
        compiled = tuple((pattern.encode(), getattr(self._part(part), symbol)) for part, symbol, pattern in found)
        return self.dispatch.Compiled(compiled, Uncompiled(declared, self))

    def primitive(self, emit: Callable, arguments: tuple[str, ...], returns: bool) -> Any:
        return Primitive(emit, arguments, returns)


class Primitive:
    """A primitive of rows that no one has asked for yet."""

    def __init__(self, emit: Callable, arguments: tuple[str, ...], returns: bool):
        self.emit, self.arguments, self.returns = emit, arguments, returns

    @cached_property
    def made(self) -> Any:
        from loglin.kernels import jit

        return jit.primitive(self.emit, self.arguments, self.returns)


class Uncompiled:
    """What a kernel does with arguments for which the extension has no code."""

    def __init__(self, declared: Declared, extension: Extension):
        self.declared, self.extension, self.py_func = declared, extension, declared.function
        self.__doc__ = declared.function.__doc__

    @cached_property
    def made(self) -> Any:
        from loglin.kernels import jit

        function = self.declared.function
        return jit.kernel(self.declared._replace(function=jit.with_globals(function, _twins(function.__globals__))))

    def __call__(self, *args: Any, **named: Any) -> Any:
        if mode() == "strict":
            raise TypeError(self._missing((*args, *named.values())))
        return self.made(*args, **named)

    def _missing(self, args: tuple) -> str:
        declared = self.declared
        where = f"{declared.module}.{declared.name}"
        if not self.extension.fresh(declared.module):
            return f"{where}: its source is newer than the compiled kernels; run python -m loglin.kernels.build"
        given = " ".join(map(described, args))
        return (
            f"{where}: not compiled for the types {given}; declare them in kernels/{declared.module}.py "
            "and run python -m loglin.kernels.build"
        )


_TWINS: dict[int, dict[str, Any]] = {}


def _twins(names: dict[str, Any]) -> dict[str, Any]:
    """The globals of a kernel module with the JIT's kernels in place of the extension's."""
    if id(names) not in _TWINS:
        twins = _TWINS[id(names)] = dict(names)
        for name, value in names.items():
            made = getattr(value, "made", None) if type(value).__name__ in ("Compiled", "Primitive") else None
            if made is not None:
                twins[name] = made
    return _TWINS[id(names)]


def described(value: Any) -> str:
    """The type of an argument in the notation of declare.py, as far as it can be said."""
    import numpy as np

    if isinstance(value, np.ndarray):
        flags = "" if value.flags.c_contiguous else " (not contiguous)"
        constant = "" if value.flags.writeable else "const "
        return f"{constant}{value.dtype.str[1:]}[{',' * (value.ndim - 1)}]{flags}"
    if isinstance(value, tuple):
        name = type(value).__name__ if hasattr(value, "_fields") else ""
        return f"{name}({' '.join(map(described, value))})"
    return "none" if value is None else type(value).__name__
