"""Opening what users give: paths, "-" for standard input, gzip of anything, any encoding."""

from __future__ import annotations

import bisect
import codecs
import gzip
import io
import itertools
import os
import queue
import re
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from loglin.corpus.limits import check_runs, limits, raising
from loglin.errors import LoglinError

NAME_ENCODING = "name the encoding, for example --encoding latin-1"
FREELY = 64 << 20  # bytes that any gzipped file may have
BLOCK = 1 << 23  # bytes read at a time: bounds the memory of streaming readers
AT_ONCE = 1 << 20  # bytes asked of the system at a time
PATIENCE = 0.02  # seconds for which a block waits for more: a program that writes as fast as it can fills it
Item = TypeVar("Item")


class _Counted(io.RawIOBase):
    """A stream that cannot seek and says how far it was read; closing this does not close standard input."""

    def __init__(self, stream: BinaryIO | None = None):
        self._stream, self._read = stream, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        stream = self._stream
        if stream is None:
            if sys.stdin is None:
                raise LoglinError("standard input is closed; name a file")
            stream = sys.stdin.buffer
        data = stream.read1(len(buffer))  # type: ignore[union-attr]
        buffer[: len(data)] = data
        self._read += len(data)
        return len(data)

    def fileno(self) -> int:
        return (sys.stdin if self._stream is None else self._stream).fileno()

    def tell(self) -> int:
        return self._read

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
        super().close()


class _Prompt:
    """A stream whose ``read`` gives what is there, as gzip needs it for input that comes slowly."""

    def __init__(self, stream: io.BufferedReader):
        self.read, self.fileno = stream.read1, stream.fileno


class _Unpacked(io.RawIOBase):
    """What a gzipped stream holds, refused where it is very much more than the stream has."""

    def __init__(self, path: str | os.PathLike, stream: io.BufferedReader):
        self._path, self._packed, self._read = path, stream, 0
        self._gzip = gzip.GzipFile(fileobj=_Prompt(stream))  # type: ignore[call-overload]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        data = self._gzip.read1(len(buffer))
        buffer[: len(data)] = data
        self._read += len(data)
        most = limits().expansion
        if self._read > FREELY and self._read > most * self._packed.tell():
            raise LoglinError(
                f"{self._path} unpacks to more than {most} times its size, {self._read:,} bytes so far; "
                f"{raising('expansion', most)}"
            )
        return len(data)

    def fileno(self) -> int:
        return self._packed.fileno()

    def close(self) -> None:
        self._gzip.close()
        self._packed.close()
        super().close()


def open_binary(path: str | os.PathLike) -> BinaryIO:
    """Open for reading; gzip is told by its first two bytes, not by the name."""
    try:
        if str(path) == "-":
            stream: io.BufferedReader = io.BufferedReader(_Counted())
        elif "://" in str(path):
            stream = _opened(str(path))
        elif Path(path).is_dir():
            raise LoglinError(f"{path} is a folder; name a file in it")
        else:
            stream = open(path, "rb")  # noqa: SIM115  the caller closes it
            if not stream.seekable():
                stream = io.BufferedReader(_Counted(stream))
        magic = stream.peek(4)[:4]
    except OSError as error:
        raise LoglinError(f"cannot read {path}: {error.strerror}; check the name and its permissions") from error
    except TypeError:
        raise LoglinError(f"cannot read {path!r:.60}: it is no name of a file; give one") from None
    except ValueError as error:  # a zero byte in the name
        raise LoglinError(f"cannot read {str(path)!r}: {error}; check the name") from error
    if magic[:2] == b"\x1f\x8b":
        return io.BufferedReader(_Unpacked(path, stream))  # type: ignore[return-value]
    return _without_zstd(path, stream) if magic == b"\x28\xb5\x2f\xfd" else stream


def remote(address: str) -> Any:
    """The file system of an address such as s3://bucket/file, and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise LoglinError(
            f"{address} is an address, for which fsspec is needed; install it, or copy the file"
        ) from None
    try:
        return url_to_fs(address)
    except (ImportError, ValueError, OSError) as error:
        raise LoglinError(f"cannot read {address}: {error}; check the address, or copy the file") from error


def _opened(address: str) -> io.BufferedReader:
    system, path = remote(address)
    try:
        return io.BufferedReader(system.open(path, "rb"))
    except Exception as error:  # of whatever package the address is for
        raise LoglinError(f"cannot read {address}: {error}; check the address, or copy the file") from error


def _without_zstd(path: str | os.PathLike, stream: io.BufferedReader) -> BinaryIO:
    """What a stream holds that zstd has packed."""
    try:
        import zstandard
    except ImportError:
        raise LoglinError(f"{path} is packed by zstd, for which zstandard is needed; install it, or unpack") from None
    return io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(stream))  # type: ignore[arg-type,return-value]


class ReadAhead(Iterator):
    """An iterator that is always one item ahead, in a thread of its own, from the moment it is made.

    The thread ends with the program, so that a reader of standard input that nobody needs any more does not
    keep it waiting. An exception comes where the item would have come.
    """

    def __init__(self, items: Iterable):
        self._queue: queue.Queue = queue.Queue(maxsize=1)
        threading.Thread(target=self._run, args=(items,), daemon=True).start()

    def _run(self, items: Iterable) -> None:
        try:
            for item in items:
                self._queue.put((item, None))
            self._queue.put((None, StopIteration()))
        except BaseException as error:
            self._queue.put((None, error))

    def __next__(self) -> Any:
        item, error = self._queue.get()
        if error is not None:
            self._queue.put((None, error))  # whoever asks again gets the same answer
            raise error
        return item


def read_blocks(path: str | os.PathLike, encoding: str, *cuts: bytes, tokens: bool = True) -> Iterator[bytes]:
    """The file as UTF-8 bytes in blocks that end behind one of ``cuts`` (a newline or a blank line).

    A block is no longer than BLOCK, if it is cut, and comes sooner where more of the input is not there yet. Lines that
    are too long are refused and, if blanks part ``tokens``, so are these.
    """
    rest, to_utf8, first, line = b"", _converter(path, encoding), True, 1
    for read in itertools.chain(_arriving(path), [b""]):
        if first:
            _refuse_binary(path, read, encoding)
            read = read.removeprefix(b"\xef\xbb\xbf")
            first = False
        known, block = len(rest), rest + to_utf8(read)
        check_runs(path, block, known, line, tokens)
        end = max(block.rfind(cut) + len(cut) if cut in block else 0 for cut in cuts) if read else len(block)
        block, rest = block[:end], block[end:]
        line += newlines(block)
        if block:
            yield block


def newlines(text: bytes) -> int:
    """How many newlines a text has, several times as fast as text.count where lines are short."""
    import numpy as np

    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == 10))


def _arriving(path: str | os.PathLike) -> Iterator[bytes]:
    """The bytes of a file in blocks; a block ends where it is full, or where more would have to be waited for."""
    parts: list[bytes] = []
    with open_binary(path) as stream:
        waits, size, due = _waiting(stream), 0, 0.0
        try:
            while part := stream.read1(min(BLOCK - size, AT_ONCE)):  # type: ignore[attr-defined]
                due = due if parts else time.monotonic() + PATIENCE
                parts.append(part)
                size += len(part)
                if size >= BLOCK or not waits(due - time.monotonic()):
                    yield b"".join(parts)
                    parts, size = [], 0
        except (OSError, EOFError, zlib.error) as error:
            if parts:
                yield b"".join(parts)
            raise LoglinError(f"{path} is damaged: {error}; unpack it with gzip -t to see where") from error
    if parts:
        yield b"".join(parts)


def _waiting(stream: BinaryIO) -> Callable[[float], bool]:
    """A function that says, after at most so many seconds, whether a stream has more, or its end, to be read."""
    import select

    try:
        waiting = select.poll()
        waiting.register(stream.fileno(), select.POLLIN)
    except (OSError, ValueError, AttributeError):  # no file of the system, or Windows
        return lambda seconds: True
    return lambda seconds: bool(waiting.poll(max(0.0, 1000 * seconds)))


def batches(items: Iterable[Item], most: int) -> Iterator[list[Item]]:
    """Lists of at most ``most`` items; those before a mistake in the input come before it is told."""
    batch: list[Item] = []
    try:
        for item in items:
            batch.append(item)
            if len(batch) == most:
                yield batch
                batch = []
    except LoglinError:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


def until_mistake(content: bytes, parse: Callable[[bytes], Item]) -> Iterator[Item]:
    """parse(content); if that is refused, first what ``parse`` makes of the sentences before the mistake."""
    try:
        yield parse(content)
    except LoglinError:
        ends = [match.end() for match in re.finditer(rb"\n\r?\n", content)]
        right = bisect.bisect_left(ends, True, key=lambda end: _refused(content[:end], parse))
        if right:
            yield parse(content[: ends[right - 1]])
        raise


def _refused(content: bytes, parse: Callable[[bytes], object]) -> bool:
    try:
        parse(content)
    except LoglinError:
        return True
    return False


def read_text(
    path: str | os.PathLike, encoding: str = "utf-8", remedy: str = NAME_ENCODING, tokens: bool = True
) -> str:
    """The whole file as one string; ``tokens`` as in ``read_blocks``."""
    blocks, size, most = [], 0, limits().whole
    for block in read_blocks(path, encoding, b"\n", tokens=tokens):
        blocks.append(block)
        size += len(block)
        if size > most:
            raise LoglinError(f"{path} has more than {most:,} bytes; {raising('whole', most)}")
    content = b"".join(blocks)
    refuse_bad_utf8(path, content, 1, remedy)
    return content.decode()


def _refuse_binary(path, block: bytes, encoding: str) -> None:
    wide = "16" in encoding or "32" in encoding
    if block[:2] in (b"\xff\xfe", b"\xfe\xff") and not wide:
        raise LoglinError(f"{path} is UTF-16; give --encoding utf-16 (in Python encoding='utf-16')")
    nul = block.find(b"\0")
    if nul >= 0 and not wide:
        raise LoglinError(f"{path} holds a zero byte at position {nul}, so it is not a text file; give a text file")


def _converter(path, encoding: str) -> Callable[[bytes], bytes]:
    """A function from consecutive blocks of a file to UTF-8; an empty block says that the file ends."""
    if encoding.lower().replace("_", "-") in ("utf-8", "utf8", "ascii"):
        return lambda block: block
    try:
        " ".encode(encoding)
    except (LookupError, UnicodeError) as error:
        raise LoglinError(f"unknown encoding {encoding!r}; try utf-8 or latin-1") from error
    decoder, line = codecs.getincrementaldecoder(encoding)(), 1

    def convert(block: bytes) -> bytes:
        nonlocal line
        try:
            text = decoder.decode(block, not block)
        except UnicodeDecodeError as error:
            line += error.object.count(b"\n", 0, error.start)
            raise LoglinError(
                f"{path}, line {line}: byte 0x{error.object[error.start]:02x} is not {encoding}; "
                "name the right encoding with --encoding"
            ) from error
        except UnicodeError as error:  # some codecs do not say where
            raise LoglinError(f"{path} is not {encoding} ({error}); name the right encoding with --encoding") from error
        line += text.count("\n")
        return text.encode("utf-8", "surrogatepass")  # lone surrogates are refused with the rest that is not UTF-8

    return convert


def refuse_bad_utf8(path, text: bytes, first_line: int, remedy: str = NAME_ENCODING) -> None:
    """Raise with file and line if ``text`` is not UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        line = first_line + text.count(b"\n", 0, error.start)
        raise LoglinError(f"{path}, line {line}: byte 0x{text[error.start]:02x} is not UTF-8; {remedy}") from error
