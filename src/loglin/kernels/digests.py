"""What the compiled code of a kernel module depends on: its source and those of the kernel modules that it imports.

Compiled code is kept under such a digest, so that an edit makes stale what depends on it and nothing else. Numba itself
looks at the date of one file and misses that a kernel of another file has changed.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

try:
    from _blake2 import blake2b  # hashlib loads OpenSSL besides, for 2 ms
except ImportError:
    from hashlib import blake2b

FOLDER = Path(__file__).parent
# How kernels are compiled and kept does not change the compiled code: compile.py imports it within functions, in the
# second form, which counts at the beginning of a line alone.
_FROM_MODULE = re.compile(rb"^ *from loglin\.kernels\.(\w+) import", re.MULTILINE)
_MODULES = re.compile(rb"^from loglin\.kernels import ([\w, ]+)$", re.MULTILINE)


@cache
def _source(name: str) -> tuple[bytes, frozenset[str]]:
    """The source of a kernel module, and the names of the modules that it imports."""
    source = (FOLDER / f"{name}.py").read_bytes()
    listed = b",".join(_MODULES.findall(source)).decode().split(",")
    named = [found.decode() for found in _FROM_MODULE.findall(source)]
    return source, frozenset(name for name in (*named, *map(str.strip, listed)) if name)


def sources(name: str) -> dict[str, bytes]:
    """The sources of the kernel module ``name`` and of its imports, directly or not, by name."""
    closure, new = {name}, [name]
    while new:
        new = [other for module in new for other in _source(module)[1] if other not in closure]
        closure.update(new)
    return {module: _source(module)[0] for module in sorted(closure)}


@cache
def digest(name: str) -> str:
    """Digest of the kernel module ``name`` and, directly or not, its imports."""
    total = blake2b(digest_size=8)
    for module, source in sources(name).items():
        total.update(module.encode() + b"\0" + source + b"\0")
    return total.hexdigest()
