"""The decorators of compiled code: kernels, the vector primitives that they are made of, and records of arrays.

    @kernel("int int i8[] u4[] int F[,]")
    def sum_lists(begin, end, ptr, ids, first, table): ...

A kernel is serial, runs without the GIL, and is compiled in one of two ways: ahead of time into an extension
(kernels/build.py), or by Numba when it is first called, and then kept (kernels/jit.py). For the former the decorator
says which types Python calls the kernel with; a kernel that only kernels call needs none. kernels/declare.py has the
notation. ``LOGLIN_KERNELS`` chooses: "jit" leaves the extension aside, "strict" refuses to compile anything.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

# As Numba has it: kernels are then plain Python, which can be stepped through and covered.
PLAIN = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")

# Our zeros are -inf and our NaNs are errors, so no flag that assumes finite numbers.
CONTRACT = frozenset({"contract"})
REORDER = frozenset({"contract", "reassoc", "nsz", "arcp"})


class Declared(NamedTuple):
    """A kernel as its module declares it."""

    function: Callable
    fastmath: frozenset[str]
    inline: bool
    types: tuple[str, ...]  # of the arguments, in each way that Python calls it
    variables: dict[str, str]  # what a letter of ``types`` may stand for
    allocates: bool = True  # arrays; else no reference to an array is counted

    @property
    def module(self) -> str:
        return self.function.__module__.rpartition(".")[2]

    @property
    def name(self) -> str:
        return self.function.__name__


@cache
def _compiler() -> Any:
    """What makes callables of kernels: the extension where there is one, else the JIT."""
    from loglin.kernels import extension

    found = extension.find()
    if found is None:
        from loglin.kernels import jit

        return jit
    return found


def kernel(
    *types: Any,
    fastmath: frozenset[str] = CONTRACT,
    inline: bool = False,
    allocates: bool = True,
    **variables: str,
) -> Any:
    """Compile a function: no GIL, division by zero gives inf; ``types`` are those that Python calls it with.

    A kernel that makes no array says allocates=False: Numba then counts no references, which took a fifth of the time
    of short sentences, as every use of a record's field is one.
    """

    def declare(function: Callable) -> Any:
        declared = Declared(function, fastmath, inline, () if bare else types, variables, allocates)
        return function if PLAIN else _compiler().kernel(declared)

    bare = len(types) == 1 and callable(types[0])
    return declare(types[0]) if bare else declare


def primitive(*arguments: str, returns: bool = False) -> Any:
    """An operation on rows from a function that writes its code: emit(e: Emitter) → result or None.

    arguments: "a" for an array, "i" for an integer, "x" for a number of the first array's type.
    """

    def declare(emit: Callable) -> Any:
        return emit if PLAIN else _compiler().primitive(emit, arguments, returns)

    return declare


RECORDS: dict[str, tuple[type, str]] = {}  # by name, with the types of their fields


def record(types: str) -> Callable[[type], Any]:
    """Say the types of the fields of a named tuple that Python gives to kernels, in the notation of ``kernel``."""

    def declare(fields: type) -> Any:
        RECORDS[fields.__name__] = fields, types
        return fields

    return declare
