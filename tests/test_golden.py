"""The golden numbers: every case gives the weights, objective and predictions that were recorded before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from golden.cases import CASES
from golden.run import differences, numbers_of

FOLDER = Path(__file__).parent / "golden"
NUMBERS = json.loads((FOLDER / "numbers.json").read_text())


def test_every_case_is_recorded():
    assert list(NUMBERS) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_numbers(name):
    assert differences(numbers_of(name), NUMBERS[name], exact=False) == []
