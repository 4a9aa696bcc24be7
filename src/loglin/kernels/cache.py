"""Where code that the JIT has compiled is kept: one folder per digest of a kernel module and its imports.

It lies in the user's cache; if that cannot be written, in a folder of the user's own in the system's folder for
temporary files, into which what the former holds is copied: an image may come with a filled cache that is read-only.
Compiled code is executed, so none is read from a folder that somebody else could have written.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from functools import cache
from pathlib import Path

from loglin.kernels.digests import digest


def _preferred() -> Path:
    """The folder of the environment, else the user's cache; an empty or relative XDG_CACHE_HOME counts as none."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return Path(chosen).absolute()
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if os.path.isabs(home) else Path("~/.cache").expanduser()) / "loglin"


def _temporary() -> Path:
    return Path(tempfile.gettempdir()) / f"loglin-{_user()}"


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def safe(folder: Path) -> bool:
    """Whether the folder is the user's or the administrator's and nobody else can write to it."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(found.st_mode):
        return False
    if os.name == "nt":  # each user has folders of their own there, and no such bits
        return True
    return found.st_uid in (_user(), 0) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            return safe(folder)
    except OSError:
        return False


@cache
def root() -> Path:
    """The folder that holds the folders of all kernel modules; can be written."""
    preferred, temporary = _preferred(), _temporary()
    for folder in (preferred, temporary):
        if _writable(folder):
            return folder
    return Path(tempfile.mkdtemp(prefix="loglin-"))  # somebody else has taken the name: for this process alone


@cache
def folder(module: str) -> Path:
    """Where compiled code of the kernel module ``module`` is kept."""
    name = f"{module}-{digest(module)}"
    chosen, filled = root() / name, _preferred() / name
    if _writable(chosen):
        if filled != chosen and safe(filled) and not any(chosen.iterdir()):
            shutil.copytree(filled, chosen, dirs_exist_ok=True)
        return chosen
    return Path(tempfile.mkdtemp(prefix=f"loglin-{module}-"))
