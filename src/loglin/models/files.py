"""The one format of model files: a header that says what the model is, and named sections of arrays.

The file is safetensors (a JSON header, then plain arrays), so loading one executes nothing and arrays are mapped, not
copied. Every number is checked before it is used, by the section it stands in (corpus/sections.py).
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from loglin.corpus.output import write_atomically
from loglin.corpus.sections import Section
from loglin.errors import LoglinError

FORMAT = "loglin"
# 2 has base models and ways to decode; 3 tag dictionaries, label sets, candidates, language models; 4 dictionaries that
# say what unknown words may be; 5 parsers; 6 label schemes that are enforced
VERSION = 6
LONGEST_HEADER = 100_000_000  # bytes
_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U16": "<u2", "U8": "|u1"}


def write(path: str | os.PathLike, model: Section) -> None:
    """Write a model; on failure an older file of that name is left as it was."""
    from safetensors.numpy import save

    header = json.dumps({"format": FORMAT} | model.manifest, ensure_ascii=False, default=_plain)
    arrays = {name: np.ascontiguousarray(array) for name, array in model.arrays.items()}
    write_atomically(path, save(arrays, {"loglin": header}))


def _plain(value: object) -> object:
    """JSON for the NumPy numbers that records and labels may hold."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} cannot be stored in a model file")


def read(path: str | os.PathLike) -> Section:
    """Map a file's arrays (copy on write) after checking that each lies inside the file."""
    try:
        with open(path, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            if size < 10:
                raise ValueError(f"it has {size} bytes")
            memory = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)
    except OSError as error:
        raise LoglinError(f"cannot read the model {path}: {error.strerror}; check the name") from error
    except ValueError as error:
        raise LoglinError(f"{path} is no loglin model: {error}; train one with loglin train") from error
    with refusing(path, "is no loglin model or is damaged"):
        length = int.from_bytes(memory[:8], "little")
        if length > min(size - 8, LONGEST_HEADER):
            raise ValueError("its header is longer than the file")
        header = json.loads(memory[8 : 8 + length].decode())
        manifest = json.loads(header.pop("__metadata__")["loglin"])
        if manifest["format"] != FORMAT:
            raise ValueError("it was not written by loglin")
        if type(manifest["version"]) is int and manifest["version"] <= VERSION:
            return Section(manifest, {name: _array(memory, 8 + length, size, entry) for name, entry in header.items()})
    raise LoglinError(
        f"{path} has format version {manifest['version']}, newer than this loglin reads ({VERSION}); upgrade loglin"
    )


def _array(memory: mmap.mmap, start: int, size: int, entry: dict) -> np.ndarray:
    dtype = np.dtype(_TYPES[entry["dtype"]])
    (count,) = entry["shape"]
    begin, end = entry["data_offsets"]
    if not (0 <= begin <= end and start + end <= size and (end - begin) == count * dtype.itemsize):
        raise ValueError("it ends before its arrays do, or their sizes disagree")
    if (start + begin) % dtype.itemsize:  # kernels need aligned numbers
        return np.frombuffer(bytearray(memory[start + begin : start + end]), dtype)
    return np.frombuffer(memory, dtype, count, start + begin)


@contextmanager
def refusing(path: str | os.PathLike, what: str = "is damaged") -> Iterator[None]:
    """Turn whatever is wrong with a file's contents into one sentence that names the file."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        reason = f"no {error} in it" if isinstance(error, KeyError) else error
        raise LoglinError(f"{path} {what}: {reason}; train it again") from error
