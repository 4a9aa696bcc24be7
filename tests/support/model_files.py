"""Headers of model files: read, and changed in place."""

from __future__ import annotations

import json


def rewritten(path, change) -> None:
    """Change the header of a model file in place."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    manifest = json.loads(header["__metadata__"]["loglin"])
    change(header, manifest)
    if "__metadata__" in header:
        header["__metadata__"]["loglin"] = json.dumps(manifest)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])


def header_of(path) -> tuple[dict, dict]:
    """The header of a model file and the manifest within it."""
    content = path.read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return header, json.loads(header["__metadata__"]["loglin"])
