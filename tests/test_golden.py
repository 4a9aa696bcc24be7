"""The golden numbers: cases give what was recorded, and models saved before the redesign predict as they did."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from golden.cases import CASES
from golden.models import SAVED, predictions
from golden.run import differences, numbers_of

FOLDER = Path(__file__).parent / "golden"
NUMBERS = json.loads((FOLDER / "numbers.json").read_text())
EXPECTED = json.loads((FOLDER / "models" / "expected.json").read_text())


def test_every_case_is_recorded():
    assert list(NUMBERS) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_numbers(name):
    assert differences(numbers_of(name), NUMBERS[name], exact=False) == []


@pytest.mark.parametrize("name", SAVED)
def test_saved_models(name):
    found, expected = predictions(name, FOLDER / "models" / f"{name}.model"), EXPECTED[name]
    assert found["predictions"] == expected["predictions"]
    numbers = [float(text) for text in found["numbers"]]  # whose last digits differ between kinds of processors
    assert numbers == pytest.approx([float(text) for text in expected["numbers"]], rel=1e-6, abs=1e-9)
