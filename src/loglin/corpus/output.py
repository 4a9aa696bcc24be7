"""Writing so that a failure loses nothing: into a temporary file beside the target, then one rename.

A temporary file is locked by the process that writes it. One that nobody has locked was left by a process that was
killed, and is removed by the next one that writes the same target.
"""

from __future__ import annotations

import glob
import os
import tempfile
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from loglin.errors import LoglinError

_unfinished: set[str] = set()  # names of temporary files
_change = threading.Lock()  # of the names, together with the files


def write_atomically(path: str | os.PathLike, content: bytes | Iterable[bytes]) -> None:
    """Write ``content`` to ``path``; on any failure the old file, if there was one, is unchanged."""
    target = Path(path)
    if target.exists() and not target.is_file():  # /dev/stdout, a pipe: nothing to keep
        try:
            with open(target, "wb") as stream:
                stream.writelines([content] if isinstance(content, bytes) else content)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _failure(path, error) from error
        return
    check_writable(target)
    name, lock = "", None
    try:
        _remove_abandoned(target)
        handle, name, lock = _temporary(target)
        with os.fdopen(handle, "wb") as stream:
            stream.writelines([content] if isinstance(content, bytes) else content)
        os.chmod(name, 0o666 & ~_umask())
        with _change:
            os.replace(name, target)
            _unfinished.discard(name)
    except OSError as error:
        raise _failure(path, error) from error
    finally:
        with _change, suppress(OSError):
            if name in _unfinished:
                _unfinished.discard(name)
                os.unlink(name)
        if lock is not None:
            os.close(lock)


def remove_unfinished() -> None:
    """Remove all temporary files; whoever wants to write another one waits for ever, since the program ends."""
    _change.acquire()
    for name in _unfinished:
        with suppress(OSError):
            os.unlink(name)


def _temporary(target: Path) -> tuple[int, str, int | None]:
    """A new file beside the target, locked: its handle, its name, and the lock's handle."""
    while True:
        with _change:
            handle, name = tempfile.mkstemp(prefix=_prefix(target), dir=target.parent)
            _unfinished.add(name)
        lock = _locked(handle)
        if os.fstat(handle).st_nlink or os.name != "posix":
            return handle, name, lock
        os.close(handle)  # another process took it for abandoned before it was locked


def _locked(handle: int) -> int | None:
    """Another handle of an open file, which has it locked until it is closed; None where there are no locks."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    with suppress(OSError):  # a file system without locks
        fcntl.flock(handle, fcntl.LOCK_EX)
    return os.dup(handle)


def _remove_abandoned(target: Path) -> None:
    """Remove temporary files of the target that a process which was killed has left: those that none has locked."""
    try:
        import fcntl
    except ImportError:
        return
    for path in target.parent.glob(f"{glob.escape(_prefix(target))}*"):
        with suppress(OSError), open(path, "r+b") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def _prefix(target: Path) -> str:
    return f".{target.name[:40]}.loglin-"


def check_writable(path: str | os.PathLike) -> None:
    """Say before long work that ``path`` cannot be written."""
    target = Path(path)
    if len(os.fsencode(target.name)) > 255:
        raise LoglinError(f"cannot write {path}: the name is too long; give a shorter one")
    if target.is_dir():
        raise LoglinError(f"cannot write {path}: it is a folder; name a file in it")
    if not target.parent.is_dir():
        raise LoglinError(f"cannot write {path}: there is no folder {target.parent}; create it first")
    if not os.access(target.parent, os.W_OK):
        raise LoglinError(f"cannot write {path}: no permission in {target.parent}; choose another place")
    if target.exists() and not os.access(target, os.W_OK):
        raise LoglinError(f"cannot write {path}: the file is write-protected; give another name")


def _failure(path: str | os.PathLike, error: OSError) -> LoglinError:
    return LoglinError(f"cannot write {path}: {error.strerror or error}; free some space or choose another place")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
