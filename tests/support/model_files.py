"""Headers of model files: read, and changed in place; the checksum is made right again."""

from __future__ import annotations

import json
import zlib

import pytest

from loglin.corpus.sections import Section
from loglin.errors import LoglinError
from loglin.models import files, kinds

BEGIN = b'{"__metadata__":{"crc32":"'
DIGITS = slice(8 + len(BEGIN), 16 + len(BEGIN))


def with_checksum(content: bytes) -> bytes:
    """A file's bytes with the checksum that belongs to them, if they have one."""
    if content[8 : DIGITS.start] != BEGIN:
        return content
    changed = bytearray(content)
    changed[DIGITS] = b"0" * 8
    changed[DIGITS] = b"%08x" % zlib.crc32(changed)
    return bytes(changed)


def rewritten(path, change) -> None:
    """Change the header of a model file in place."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    manifest = json.loads(header["__metadata__"]["loglin"])
    change(header, manifest)
    if "__metadata__" in header:
        header["__metadata__"]["loglin"] = json.dumps(manifest)
    path.write_bytes(with_header(json.dumps(header, separators=(",", ":")), content))


def with_header(text: str, content: bytes) -> bytes:
    """A file's bytes with another header."""
    encoded = text.encode("utf-8", "surrogatepass")
    encoded += b" " * (-len(encoded) % 8)
    behind = content[8 + int.from_bytes(content[:8], "little") :]
    return with_checksum(len(encoded).to_bytes(8, "little") + encoded + behind)


def header_of(path) -> tuple[dict, dict]:
    """The header of a model file and the manifest within it."""
    content = path.read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return header, json.loads(header["__metadata__"]["loglin"])


def refuse_dictionary(tagger, broken, path) -> None:
    """A tagger with a broken dictionary is neither written nor, if somebody has, read."""
    tagger.save(path)
    whole = files.read(path)
    arrays = {f"dictionary.{name}": array for name, array in broken.to_section().arrays.items()}
    files.write(path, Section(whole.manifest, whole.arrays | arrays))
    with pytest.raises(LoglinError, match="train it again"):
        kinds.load(path)
    kept, tagger.model_.dictionary = tagger.model_.dictionary, broken
    with pytest.raises(LoglinError, match="is not written, since it could not be loaded"):
        tagger.save(path)
    tagger.model_.dictionary = kept
