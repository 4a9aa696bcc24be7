"""A file of what was done: one JSON object a line, on the disk before ``append`` returns.

A process that is killed while it writes leaves a torn last line, which was never said to be saved and is left out when
the file is opened again. The file is locked while a process has it open: two processes do not write into each other.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from loglin.corpus import jsonlines
from loglin.errors import LoglinError

VERSION = 1


class Journal:
    """An open journal: ``entries`` holds what was done before and since."""

    def __init__(self, path: str | os.PathLike, header: dict[str, Any]):
        self.path = Path(path)
        try:
            self._file = open(self.path, "a+b")  # noqa: SIM115  # open as long as the journal is
        except OSError as error:
            raise LoglinError(
                f"cannot write {path}: {error.strerror or error}; give another name by --journal"
            ) from None
        try:
            self._lock()
            self.entries = self._opened({"journal": VERSION} | header)
        except BaseException:
            self._file.close()
            raise

    def append(self, entry: dict[str, Any]) -> int:
        """Write one entry and return its number, once it is on the disk; where that fails, the file is as before."""
        try:
            line = _line(entry)
        except UnicodeEncodeError:
            raise LoglinError("the entry holds half a character; write both halves or neither") from None
        before = self._file.seek(0, os.SEEK_END)
        try:
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            self._cut(before)
            raise LoglinError(
                f"cannot write {self.path}: {error.strerror or error}; nothing was saved, free some space and try again"
            ) from None
        self.entries.append(entry)
        return len(self.entries)

    def close(self) -> None:
        self._file.close()

    # ------------------------------------------------------------------ opening

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # Windows
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LoglinError(
                f"{self.path} is open in another process; end that one, or give another journal by --journal"
            ) from None
        except OSError:  # a file system without locks
            pass

    def _opened(self, header: dict[str, Any]) -> list[dict[str, Any]]:
        """What the file says was done; a new file begins with the header."""
        self._file.seek(0)
        text = self._file.read()
        whole = self._without_torn_line(text)
        if not whole:
            self._file.write(_line(header))
            self._file.flush()
            os.fsync(self._file.fileno())
            return []
        lines = ((number, line.decode()) for number, line in enumerate(whole.split(b"\n")[:-1], 1))
        try:
            (_, first), *entries = jsonlines.read(self.path, lines=lines)
        except UnicodeDecodeError:
            raise LoglinError(f"{self.path} is no UTF-8; it is not the journal of loglin annotate") from None
        for name, value in header.items():
            if first.get(name) != value:
                raise LoglinError(
                    f"{self.path} is the journal of other work: its {name} is {_short(first.get(name))}, here it is "
                    f"{_short(value)}; give the same data and labels, or another journal by --journal"
                )
        return [entry for _, entry in entries]

    def _without_torn_line(self, text: bytes) -> bytes:
        """What was written whole; what follows the last line break is kept only if it is a whole entry."""
        end = text.rfind(b"\n") + 1
        torn = text[end:]
        if not torn:
            return text
        try:
            json.loads(torn)
        except ValueError:
            self._cut(end)
            return text[:end]
        self._file.write(b"\n")
        return text + b"\n"

    def _cut(self, size: int) -> None:
        try:
            os.ftruncate(self._file.fileno(), size)
        except OSError as error:
            raise LoglinError(f"cannot write {self.path}: {error.strerror or error}; free some space") from None


def _line(entry: dict[str, Any]) -> bytes:
    return (json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n").encode()


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:60] + "…"
