"""The folders of real corpora, or a visible skip."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def corpus_folder(name: str) -> Path:
    """A folder below LOGLIN_DATA, or a visible skip."""
    root = os.environ.get("LOGLIN_DATA")
    if not root:
        pytest.skip("LOGLIN_DATA is not set: no real corpora here")
    folder = Path(root) / name
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    return folder
