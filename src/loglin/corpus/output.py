"""Writing so that a failure loses nothing: into a temporary file beside the target, then one rename."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from loglin.errors import LoglinError


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
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=target.parent)
    except OSError as error:
        raise _failure(path, error) from error
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.writelines([content] if isinstance(content, bytes) else content)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
    except OSError as error:
        os.unlink(name)
        raise _failure(path, error) from error
    except BaseException:
        os.unlink(name)
        raise


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
