"""Writing so that a failure loses nothing: into a temporary file beside the target, then one rename.

A file that is replaced keeps its permissions, a new one has those that the process gives new files, and a symbolic
link stays: what it points to is replaced. File and folder are on the disk when the call returns.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from loglin.errors import LoglinError

Buffer = bytes | bytearray | memoryview
Content = bytes | Iterable[Buffer]
STREAMS = ("/dev/std", "/dev/fd/", "/proc/")  # names of open files, which may be regular ones: nothing to replace


def write_atomically(path: str | os.PathLike, content: Content) -> None:
    """Write ``content`` to ``path``; on any failure the old file, if there was one, is unchanged."""
    if _is_stream(path):
        _append(path, content)
        return
    target = check_writable(path)
    temporary = target.with_name(f".{target.name[:40]}.{secrets.token_hex(6)}")
    try:
        with _new_file(temporary, target) as stream:
            stream.writelines([content] if isinstance(content, bytes) else content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            raise _failure(path, error) from error
        raise
    _sync_folder(target.parent)


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


def _new_file(path: Path, replaced: Path) -> BinaryIO:
    """A new file, open for writing, with the permissions of the one it replaces or, without one, the usual."""
    mode = stat.S_IMODE(replaced.stat().st_mode) if replaced.exists() else None
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else mode)
    stream = os.fdopen(handle, "wb")
    if mode is not None:
        os.chmod(path, mode)  # all of it, whatever the umask
    return stream


def _sync_folder(folder: Path) -> None:
    """See to it that the new name is on the disk; some file systems cannot, and then nothing is lost but that."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _failure(path: str | os.PathLike, error: OSError) -> LoglinError:
    return LoglinError(f"cannot write {path}: {error.strerror or error}; free some space or choose another place")
