"""The decorator of every kernel: serial, without the GIL, compiled once and kept.

Numba keeps compiled code per file and looks only at that file's date, so a kernel that calls
another file's kernel goes stale when the other changes. Our cache folder is therefore named by a
digest of all kernel sources: any change starts a new folder. It lies in the user's cache, which can
be written when the installed package cannot.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba import njit


def _digest() -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _cache_folder() -> str:
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    root = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "loglin"
    try:
        folder = root / f"kernels-{_digest()}"
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="loglin-kernels-"))
    return str(folder)


_FOLDER = _cache_folder()
_SETTINGS: Any = numba.config  # reads its attributes from the environment, which type checkers cannot see

# Our zeros are -inf and our NaNs are errors, so no flag that assumes finite numbers.
CONTRACT = frozenset({"contract"})
REORDER = frozenset({"contract", "reassoc", "nsz", "arcp"})


def kernel(function: Callable | None = None, *, fastmath: frozenset[str] = CONTRACT, inline: bool = False) -> Any:
    """Compile ``function`` lazily: no GIL, division by zero gives inf, compiled code cached."""

    def compile_lazily(function: Callable) -> Any:
        outside = _SETTINGS.CACHE_DIR
        _SETTINGS.CACHE_DIR = _FOLDER
        try:
            return njit(
                nogil=True,
                cache=True,
                error_model="numpy",
                boundscheck=False,
                fastmath=set(fastmath),
                inline="always" if inline else "never",
            )(function)
        finally:
            _SETTINGS.CACHE_DIR = outside

    return compile_lazily if function is None else compile_lazily(function)
