"""Writing so that a failure loses nothing: into a temporary file beside the target, then one rename.

A file that is replaced keeps its permissions, a new one has those that the process gives new files, and a symbolic
link stays: what it points to is replaced. File and folder are on the disk when the call returns.

A temporary file is locked by the process that writes it. One that nobody has locked was left by a process that was
killed, and is removed by the next one that writes the same target.
"""

from __future__ import annotations

import glob
import os
import stat
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from loglin.errors import LoglinError

Buffer = bytes | bytearray | memoryview
Content = bytes | Iterable[Buffer]
STREAMS = ("/dev/std", "/dev/fd/", "/proc/")  # names of open files, which may be regular ones: nothing to replace
_unfinished: set[str] = set()  # names of temporary files
_change = threading.Lock()  # of the names, together with the files


def write_atomically(path: str | os.PathLike, content: Content) -> None:
    """Write ``content`` to ``path``; on any failure the old file, if there was one, is unchanged."""
    if _is_stream(path):
        _append(path, content)
        return
    target = check_writable(path)
    name, lock = "", None
    try:
        _remove_abandoned(target)
        handle, name, lock = _temporary(target)
        with os.fdopen(handle, "wb") as stream:
            stream.writelines([content] if isinstance(content, bytes) else content)
            stream.flush()
            os.fsync(stream.fileno())
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
    _sync_folder(target.parent)


def remove_unfinished() -> None:
    """Remove all temporary files; whoever wants to write another one waits for ever, since the program ends."""
    _change.acquire()
    for name in _unfinished:
        with suppress(OSError):
            os.unlink(name)


def _temporary(target: Path) -> tuple[int, str, int | None]:
    """A new file beside the target, locked: its handle, its name, and the lock's handle.

    It has the permissions of the file that it will replace or, without one, the usual ones.
    """
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    while True:
        name = str(target.with_name(f"{_prefix(target)}{os.urandom(6).hex()}"))
        with _change:
            handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else mode)
            _unfinished.add(name)
        if mode is not None:
            os.chmod(name, mode)  # all of it, whatever the umask
        lock = _locked(handle)
        if os.fstat(handle).st_nlink or os.name != "posix":
            return handle, name, lock
        os.close(handle)  # another process took it for abandoned before it was locked
        if lock is not None:
            os.close(lock)


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


def check_writable(path: str | os.PathLike) -> Path:
    """The file that ``path`` leads to; one that cannot be written is refused, so that it is said before long work."""
    if _is_stream(path):
        return Path(path)
    try:
        target = Path(os.path.realpath(path) if os.path.islink(path) else path)
        wrong = _obstacle(target)
    except (OSError, ValueError) as error:  # a folder on the way may not be entered
        raise LoglinError(f"cannot write {path}: {error}; give another name") from error
    if wrong:
        raise LoglinError(f"cannot write {path}: {wrong}")
    return target


def _obstacle(target: Path) -> str | None:
    if "\0" in str(target):
        return "the name holds a zero byte; give another one"
    if len(os.fsencode(target.name)) > 255:
        return "the name is too long; give a shorter one"
    if target.is_dir():
        return "it is a folder; name a file in it"
    if target.is_symlink():
        return "it is a link to itself; give another name"
    if not target.parent.is_dir():
        return f"there is no folder {target.parent}; create it first"
    if not os.access(target.parent, os.W_OK):
        return f"no permission in {target.parent}; choose another place"
    if target.exists() and not os.access(target, os.W_OK):
        return "the file is write-protected; give another name"
    return None


def _is_stream(path: str | os.PathLike) -> bool:
    """Whether a name stands for something that takes bytes and keeps no file: a pipe, a terminal, /dev/stdout."""
    name = os.fspath(path)
    try:
        return name.startswith(STREAMS) or stat.S_IFMT(os.stat(name).st_mode) not in (stat.S_IFREG, stat.S_IFDIR)
    except (OSError, ValueError):
        return False


def _append(path: str | os.PathLike, content: Content) -> None:
    try:
        with open(path, "ab") as stream:
            stream.writelines([content] if isinstance(content, bytes) else content)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _failure(path, error) from error


def _sync_folder(folder: Path) -> None:
    """See to it that the new name is on the disk; some file systems cannot, and then nothing is lost but that."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _failure(path: str | os.PathLike, error: OSError) -> LoglinError:
    return LoglinError(f"cannot write {path}: {error.strerror or error}; free some space or choose another place")
