"""Opening what users give: paths, "-" for standard input, gzip of anything, any encoding."""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from loglin.errors import LoglinError

BLOCK = 1 << 25  # bytes read at a time: bounds the memory of streaming readers


def open_binary(path: str | os.PathLike) -> BinaryIO:
    """Open for reading; gzip is told by its first two bytes, not by the name."""
    if str(path) == "-":
        return sys.stdin.buffer
    try:
        if Path(path).is_dir():
            raise LoglinError(f"{path} is a folder; name a file in it")
        stream = open(path, "rb")  # noqa: SIM115  the caller closes it
        magic = stream.peek(2)[:2]
    except OSError as error:
        raise LoglinError(f"cannot read {path}: {error.strerror}; check the name and its permissions") from error
    if magic == b"\x1f\x8b":
        return gzip.open(stream)  # type: ignore[return-value]
    return stream


def read_blocks(path: str | os.PathLike, encoding: str, cut: bytes) -> Iterator[bytes]:
    """The file as UTF-8 bytes in blocks that end behind ``cut`` (a newline or a blank line)."""
    rest = b""
    with open_binary(path) as stream:
        first = True
        while True:
            try:
                block = stream.read(BLOCK)
            except (OSError, EOFError, zlib.error) as error:
                raise LoglinError(f"{path} is damaged: {error}; unpack it with gzip -t to see where") from error
            if first:
                _refuse_binary(path, block, encoding)
                block = block.removeprefix(b"\xef\xbb\xbf")
                first = False
            if not block:
                break
            if rest:
                block = rest + block
            end = block.rfind(cut)
            end = end + len(cut) if end >= 0 else 0
            rest = block[end:]
            if end:
                yield _to_utf8(path, block[:end], encoding)
    if rest:
        yield _to_utf8(path, rest, encoding)


def _refuse_binary(path, block: bytes, encoding: str) -> None:
    if block[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise LoglinError(f"{path} is UTF-16; save it as UTF-8, for example with iconv -f UTF-16 -t UTF-8")
    nul = block.find(b"\0")
    if nul >= 0 and "16" not in encoding and "32" not in encoding:
        raise LoglinError(f"{path} holds a zero byte at position {nul}, so it is not a text file; give a text file")


def _to_utf8(path, block: bytes, encoding: str) -> bytes:
    if encoding.lower().replace("_", "-") in ("utf-8", "utf8", "ascii"):
        return block
    try:
        return block.decode(encoding).encode()
    except LookupError as error:
        raise LoglinError(f"unknown encoding {encoding!r}; try utf-8 or latin-1") from error
    except UnicodeDecodeError as error:
        raise LoglinError(
            f"{path}: byte 0x{block[error.start]:02x} is not {encoding}; name the right encoding with --encoding"
        ) from error


def refuse_bad_utf8(path, text: bytes, first_line: int) -> None:
    """Raise with file and line if ``text`` is not UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        line = first_line + text.count(b"\n", 0, error.start)
        raise LoglinError(
            f"{path}, line {line}: byte 0x{text[error.start]:02x} is not UTF-8; "
            "name the encoding, for example --encoding latin-1"
        ) from error
