"""Objects kept on disk while a corpus is trained on, their arrays mapped into memory when they are used.

    | "LOGLIN1\n" | length of the rest of the head | head: pickle, sizes of arrays | arrays, each at a multiple of 64 |

An array whose bytes are all zero, such as room for results, takes no space in the file. Arrays are mapped privately,
unless changes are asked for: what is written into them stays in this process and is gone with the object. Only classes
of loglin and arrays of NumPy are made when a file is read; a file that names any function else is refused.
"""

from __future__ import annotations

import io
import json
import mmap
import os
import pickle
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from loglin.corpus.output import write_atomically
from loglin.errors import LoglinError

MAGIC = b"LOGLIN1\n"
ALIGNED = 64
PIECE = 1 << 22  # bytes written, or summed, at a time
_ALLOWED = {
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    *(
        (f"numpy.{core}.{module}", name)
        for core in ("_core", "core")
        for module, name in (("numeric", "_frombuffer"), ("multiarray", "_reconstruct"), ("multiarray", "scalar"))
    ),
    ("scipy.sparse._csr", "csr_matrix"),
    ("functools", "partial"),
    ("builtins", "set"),
    ("builtins", "frozenset"),
    ("builtins", "slice"),
    ("builtins", "range"),
    ("_codecs", "encode"),
}


def store(path: str | os.PathLike, value: Any, zeros: bool = False) -> None:
    """Write an object, arrays of zeros too if ``zeros``; on a full disk nothing of it is left."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    views = [buffer.raw() for buffer in buffers]
    sizes = [(len(view), not zeros and _is_zero(view)) for view in views]

    def pieces() -> Iterator[bytes | memoryview]:
        described = json.dumps({"pickle": len(head), "arrays": sizes}).encode()
        yield MAGIC + struct.pack("<QQ", len(described), zlib.crc32(head)) + described + head
        at = _start(len(described), len(head))
        yield bytes(at - len(MAGIC) - 16 - len(described) - len(head))
        for view, (size, zero) in zip(views, sizes, strict=True):
            if not zero:
                for begin in range(0, size, PIECE):
                    yield view[begin : begin + PIECE]
                yield bytes(-size % ALIGNED)

    write_atomically(path, pieces())


def load(path: str | os.PathLike, at_once: bool = True, changes: bool = False) -> Any:
    """The object that ``store`` wrote, its arrays mapped, ``at_once`` or when they are looked at.

    With ``changes`` what is written into its arrays, those of zeros too if they were stored, is in the file at once.
    """
    try:
        with open(path, "r+b" if changes else "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_WRITE if changes else mmap.ACCESS_COPY)
    except OSError as error:
        raise LoglinError(f"cannot read {path}: {error.strerror or error}; {_AGAIN}") from error
    except ValueError:
        raise LoglinError(f"{path} is empty; {_AGAIN}") from None
    try:
        n, crc = struct.unpack("<QQ", mapped[len(MAGIC) : len(MAGIC) + 16])
        if mapped[: len(MAGIC)] != MAGIC:
            raise ValueError("foreign")
        begin = len(MAGIC) + 16
        described = json.loads(mapped[begin : begin + n])
        head = mapped[begin + n : begin + n + described["pickle"]]
        if zlib.crc32(head) != crc:
            raise ValueError("changed")
        if at_once:
            _advise(mapped, "MADV_POPULATE_READ", 22)
        at, view, arrays = _start(n, len(head)), memoryview(mapped), []
        for length, zero in described["arrays"]:
            if zero:
                arrays.append(_zeros(length))
                continue
            if at + length > size:
                raise ValueError("cut")
            arrays.append(view[at : at + length])
            at += length + -length % ALIGNED
        return _Reader(io.BytesIO(head), buffers=arrays).load()
    except (ValueError, KeyError, struct.error, pickle.UnpicklingError, AttributeError, ImportError) as error:
        raise LoglinError(f"{path} is damaged ({error}); {_AGAIN}") from error


_AGAIN = "remove the work folder, and train again"


@dataclass(frozen=True)
class StoredFile:
    """A file of the work folder as it was written: one that is changed by others is refused."""

    path: str
    size: int
    changed: int  # nanoseconds

    @classmethod
    def write(cls, path: str, value: Any) -> StoredFile:
        store(path, value)
        return cls.of(path)

    @classmethod
    def of(cls, path: str) -> StoredFile:
        found = os.stat(path)
        return cls(path, found.st_size, found.st_mtime_ns)

    def load(self, at_once: bool = True) -> Any:
        try:
            found = StoredFile.of(self.path)
        except OSError:
            raise LoglinError(
                f"{self.path} is gone, or this machine does not see it; give a work folder that stays, and that all "
                "workers see, and train again"
            ) from None
        if found != self:
            raise LoglinError(f"{self.path} was changed while it was in use; train again with a work folder of its own")
        return load(self.path, at_once)


def read_ahead(path: str | os.PathLike) -> None:
    """Ask the system to read a file that will be needed soon; it goes on while other work is done."""
    if not hasattr(os, "posix_fadvise"):
        return
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:  # whoever needs it will say so
        return
    try:
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_WILLNEED)
    finally:
        os.close(handle)


def checksum(path: str | os.PathLike) -> int:
    """The CRC-32 of a file."""
    found = 0
    with open(path, "rb") as stream:
        while piece := stream.read(PIECE):
            found = zlib.crc32(piece, found)
    return found


def _zeros(size: int) -> memoryview:
    if not size:
        return memoryview(bytearray())
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_ANONYMOUS") else {}
    room = mmap.mmap(-1, size, **private)  # shared memory would get no huge pages
    _advise(room, "MADV_HUGEPAGE", 14)
    return memoryview(room)


def _advise(mapped: mmap.mmap, name: str, number: int) -> None:
    """Tell the system how a mapping will be used, where it listens; what that gains is not measured yet."""
    with suppress(OSError, ValueError, AttributeError):
        mapped.madvise(getattr(mmap, name, number))


def _start(described: int, head: int) -> int:
    """Where the first array begins."""
    end = len(MAGIC) + 16 + described + head
    return end + -end % ALIGNED


def _is_zero(view: memoryview) -> bool:
    return not np.frombuffer(view, np.uint8).any() if len(view) else True


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _ALLOWED:
            return super().find_class(module, name)
        if module.startswith("loglin.") and isinstance(found := super().find_class(module, name), type):
            return found
        raise pickle.UnpicklingError(f"it names {module}.{name}")
