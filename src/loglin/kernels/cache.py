"""Where code that the JIT has compiled is kept: one folder per digest of a kernel module and its imports.

It lies in the user's cache; if that cannot be written, in a folder of the user's own in the system's folder for
temporary files, into which what the former holds is copied: an image may come with a filled cache that is read-only.
Compiled code is executed, so none is read from a folder that somebody else could have written or moved there, nor from
one that lies in whatever folder we are in: that may come from an archive.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from functools import cache
from pathlib import Path

from loglin.kernels.digests import digest


def _preferred() -> Path | None:
    """The folder of the environment, else the user's cache; paths that are empty or relative are none."""
    chosen = os.environ.get("NUMBA_CACHE_DIR", "")
    if os.path.isabs(chosen):
        return Path(chosen)
    home = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(home):
        home = os.path.expanduser("~/.cache")  # as it stands if nobody knows the user's home
    return Path(home) / "loglin" if os.path.isabs(home) else None


def _temporary() -> Path | None:
    """A folder of the user's own among temporary files; none if these go to where we are."""
    system = Path(tempfile.gettempdir())
    return None if system == Path.cwd() or _relative_temporary() else system / f"loglin-{_user()}"


def _relative_temporary() -> bool:
    given = [os.environ.get(name, "") for name in ("TMPDIR", "TEMP", "TMP")]
    return any(path and not os.path.isabs(path) for path in given)


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def safe(folder: Path) -> bool:
    """Whether the folder is the user's or the administrator's and nobody else can write to it or put it elsewhere."""
    try:
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode):
            return False
        if os.name == "nt":  # each user has folders of their own there, and no such bits
            return True
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return False
        parents = [parent.stat() for parent in folder.resolve().parents]
    except OSError:
        return False
    return found.st_uid in (_user(), 0) and all(map(_keeps, parents))


def _keeps(parent: os.stat_result) -> bool:
    """Whether nobody else can rename what lies in a folder: not theirs, and closed to them, or sticky as /tmp is."""
    others = stat.S_IWOTH if parent.st_gid == os.getgid() else stat.S_IWOTH | stat.S_IWGRP  # many have their own group
    return parent.st_uid in (_user(), 0) and (not parent.st_mode & others or bool(parent.st_mode & stat.S_ISVTX))


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
    for folder in (_preferred(), _temporary()):
        if folder is not None and _writable(folder):
            return folder
    return Path(tempfile.mkdtemp(prefix="loglin-"))  # somebody else has taken the name: for this process alone


@cache
def folder(module: str) -> Path:
    """Where compiled code of the kernel module ``module`` is kept."""
    name = f"{module}-{digest(module)}"
    chosen, preferred = root() / name, _preferred()
    if _writable(chosen):
        filled = chosen if preferred is None else preferred / name
        if filled != chosen and safe(filled) and not any(chosen.iterdir()):
            shutil.copytree(filled, chosen, dirs_exist_ok=True)
        return chosen
    return Path(tempfile.mkdtemp(prefix=f"loglin-{module}-"))
