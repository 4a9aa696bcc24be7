"""The one format of model files: a header that says what the model is, and named sections of arrays.

The file is safetensors (a JSON header, then plain arrays), so loading one executes nothing and arrays are mapped, not
copied. Every number is checked before it is used, by the section it stands in (corpus/sections.py).

The header begins with a checksum of the whole file, in which its own eight digits count as zeros. What a disk or a copy
has changed is so found before anything else is read: 13 ms per 100 MB, against 43 ms of SHA-1.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from loglin.corpus.output import Buffer, write_atomically
from loglin.corpus.sections import Section
from loglin.errors import LoglinError

FORMAT = "loglin"
# 2 has base models and ways to decode; 3 tag dictionaries, label sets, candidates, language models; 4 dictionaries that
# say what unknown words may be; 5 parsers; 6 label schemes that are enforced; 7 vectors that tokens carry; 8 sums
# as another program makes them
VERSION = 8
LONGEST_HEADER = 100_000_000  # bytes
DEEPEST = 30  # lists and objects within one another
_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U16": "<u2", "U8": "|u1"}
_NAMES = {np.dtype(dtype): name for name, dtype in _TYPES.items()}
_BEGIN, _ZEROS = b'{"__metadata__":{"crc32":"', b"00000000"
_DIGITS = slice(8 + len(_BEGIN), 8 + len(_BEGIN) + len(_ZEROS))  # where a file keeps its checksum


# ---------------------------------------------------------------------- writing


def write(path: str | os.PathLike, model: Section) -> None:
    """Write a section as it is, see ``kinds.save``; on failure an older file of that name is left as it was."""
    write_atomically(path, pieces(model))


def pieces(model: Section) -> list[Buffer]:
    """The parts of a file with a section as it is."""
    return _pieces(manifest_text(model), model.arrays)


def manifest_text(model: Section) -> str:
    """The manifest as a file has it."""
    return json.dumps({"format": FORMAT} | model.manifest, ensure_ascii=False, default=_plain)


def _pieces(manifest: str, given: dict[str, np.ndarray]) -> list[Buffer]:
    """The parts of a file: header and arrays, those of the widest numbers first so that all are aligned."""
    ordered = sorted(given.items(), key=lambda item: (-item[1].itemsize, item[0]))
    arrays = {name: np.ascontiguousarray(array).reshape(-1) for name, array in ordered}
    entries, end = {}, 0
    for name, array in arrays.items():
        entries[name] = {"dtype": _NAMES[array.dtype], "shape": [len(array)], "data_offsets": [end, end + array.nbytes]}
        end += array.nbytes
    metadata = {"crc32": _ZEROS.decode(), "loglin": manifest}
    header = json.dumps({"__metadata__": metadata} | entries, ensure_ascii=False, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    head = bytearray(len(header).to_bytes(8, "little") + header)
    content = [array.view(np.uint8).data for array in arrays.values() if len(array)]
    crc = zlib.crc32(head)
    for piece in content:
        crc = zlib.crc32(piece, crc)
    head[_DIGITS] = b"%08x" % crc
    return [head, *content]


def _plain(value: object) -> object:
    """JSON for the NumPy numbers that records and labels may hold."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} cannot be stored in a model file")


# ---------------------------------------------------------------------- reading


def read(path: str | os.PathLike, mapped: bool = True) -> Section:
    """A file's arrays, mapped (copy on write), after checking that the file is whole and each lies inside it.

    Without ``mapped`` they are copied, so that whatever is written into the file later does not change them.
    """
    return parsed_file(_opened(path, mapped), path)


def parsed_file(memory: mmap.mmap | bytearray, path: str | os.PathLike) -> Section:
    """The sections in the bytes of a file; ``path`` is what messages call it."""
    with refusing(path, "is no loglin model or is damaged"):
        length = int.from_bytes(memory[:8], "little")
        if length > min(len(memory) - 8, LONGEST_HEADER):
            raise ValueError("its header is longer than the file")
        header = _object(memory[8 : 8 + length].decode())
        metadata = header.pop("__metadata__")
        if metadata.keys() != {"loglin"}:  # files of older versions have no checksum
            _verify(memory, metadata)
        manifest = parsed(metadata["loglin"])
        arrays = {name: _array(memory, 8 + length, entry) for name, entry in header.items()}
    version = manifest["version"]
    if version > VERSION:
        raise LoglinError(
            f"{path} has format version {version}, newer than this loglin reads ({VERSION}); upgrade loglin"
        )
    return Section(manifest, arrays)


def may_be_ours(path: str | os.PathLike) -> bool:
    """Whether a file begins as those that ``write`` writes; true too where ``read`` will say why it cannot be read."""
    try:
        if not os.path.isfile(path):
            return True
        with open(path, "rb") as stream:
            return stream.read(9)[8:] in (b"{", b"")
    except OSError:
        return True


def checksum(path: str | os.PathLike) -> str | None:
    """The checksum that a file which ``read`` takes has; None if it was written by a loglin that gave none."""
    with open(path, "rb") as stream:
        begin = stream.read(_DIGITS.stop)
    return begin[_DIGITS].decode() if begin[8 : _DIGITS.start] == _BEGIN else None


def _opened(path: str | os.PathLike, mapped: bool) -> mmap.mmap | bytearray:
    try:
        if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):  # a pipe may never open
            raise ValueError("it is a pipe or a device")
        with open(path, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            if size < 10:
                raise ValueError(f"it has {size} bytes")
            if mapped:
                return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)
            copied = bytearray(size)
            del copied[stream.readinto(copied) :]
            return copied
    except OSError as error:
        raise LoglinError(f"cannot read the model {path}: {error.strerror}; check the name") from error
    except ValueError as error:
        raise LoglinError(f"{path} is no loglin model: {error}; train one with loglin train") from error


def _verify(memory: mmap.mmap | bytearray, metadata: dict) -> None:
    """Refuse a file whose bytes are not those that were written."""
    if metadata.keys() != {"crc32", "loglin"} or memory[8 : _DIGITS.start] != _BEGIN:
        raise ValueError("its header is not one that loglin writes")
    with memoryview(memory) as whole:
        crc = zlib.crc32(whole[_DIGITS.stop :], zlib.crc32(_ZEROS, zlib.crc32(whole[: _DIGITS.start])))
    if memory[_DIGITS] != b"%08x" % crc:
        raise ValueError("its checksum is wrong, so that it is not what was written")


def parsed(text: str) -> dict:
    """The manifest that a text holds; whatever any section reads is of plain kinds and of a modest size."""
    manifest = _object(text)
    if manifest["format"] != FORMAT:
        raise ValueError("it was not written by loglin")
    Section(manifest).whole("version", most=1 << 31)
    return manifest


def _object(text: str) -> dict:
    """The JSON object in a text: no key twice, whole numbers of 64 bits, whole characters, not nested deeply."""
    found = json.loads(text, parse_int=_whole, object_pairs_hook=_without_doubles)
    if not isinstance(found, dict):
        raise ValueError("its header is no object")
    layer: list[list | dict] = [found]
    depth = 0
    while layer:  # of lists and objects, one within the other
        inside = (x for part in layer for x in (part.values() if isinstance(part, dict) else part))
        layer, depth = [x for x in inside if isinstance(x, list | dict)], depth + 1
        if depth > DEEPEST:
            raise ValueError("its header is nested too deeply")
    if re.search(r"\\u[dD][89a-fA-F]", text):
        json.dumps(found, ensure_ascii=False).encode()  # which half a character is not
    return found


def _whole(digits: str) -> int:
    if len(digits) > 20 or not -(1 << 63) <= int(digits) < 1 << 63:
        raise ValueError(f"the number {digits[:20]}… in its header is too large")
    return int(digits)


def _without_doubles(pairs: list[tuple[str, object]]) -> dict:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(n for n in names if names.count(n) > 1)!r} stands in its header twice")
    return found


def _array(memory: mmap.mmap | bytearray, start: int, entry: dict) -> np.ndarray:
    dtype = np.dtype(_TYPES[entry["dtype"]])
    (count,) = entry["shape"]
    begin, end = entry["data_offsets"]
    if not all(type(number) is int for number in (count, begin, end)):
        raise ValueError("the place of an array is no whole number")
    if not (0 <= begin <= end and start + end <= len(memory) and (end - begin) == count * dtype.itemsize):
        raise ValueError("it ends before its arrays do, or their sizes disagree")
    if (start + begin) % dtype.itemsize:  # kernels need aligned numbers
        return np.frombuffer(bytearray(memory[start + begin : start + end]), dtype)
    return np.frombuffer(memory, dtype, count, start + begin)


@contextmanager
def refusing(path: str | os.PathLike, what: str = "is damaged", remedy: str = "train it again") -> Iterator[None]:
    """Turn whatever is wrong with a file's contents into one sentence that names the file."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        reason = f"no {error} in it" if isinstance(error, KeyError) else error
        raise LoglinError(f"{path} {what}: {reason}; {remedy}") from error
