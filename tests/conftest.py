"""Shared fixtures: where real corpora lie, and a template used by many tests."""

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


@pytest.fixture(scope="session")
def conll2000() -> Path:
    return corpus_folder("conll2000")


@pytest.fixture(scope="session")
def crfpp_template() -> str:
    """The CRF++ example template for chunking."""
    return "\n".join(
        [f"U0{i}:%x[{i - 2},0]" for i in range(5)]
        + ["U05:%x[-1,0]/%x[0,0]", "U06:%x[0,0]/%x[1,0]"]
        + [f"U1{i}:%x[{i - 2},1]" for i in range(5)]
        + [f"U1{i + 5}:%x[{i - 2},1]/%x[{i - 1},1]" for i in range(4)]
        + [f"U2{i}:%x[{i - 2},1]/%x[{i - 1},1]/%x[{i},1]" for i in range(3)]
        + ["B", ""]
    )
