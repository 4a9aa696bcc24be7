"""Shared fixtures: where real corpora lie, and a template used by many tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.register_assert_rewrite("support")

from support.corpora import corpus_folder  # noqa: E402  assertions in support/ are rewritten too
from support.interrupts import hear_interrupts  # noqa: E402

hear_interrupts()
if os.environ.get("LOGLIN_DATA"):  # some tests change the folder they are in
    os.environ["LOGLIN_DATA"] = str(Path(os.environ["LOGLIN_DATA"]).resolve())


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
