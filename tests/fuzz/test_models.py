"""Some cases of the fuzzer of model files; more with python tests/fuzz/models.py."""

from __future__ import annotations

import numpy as np
import pytest

from fuzz.models import cases, run
from support.small_models import MADE


def test_damaged_models_are_refused_or_sane():
    assert [f"{f.case.kind}: {f.case.change}\n{f.what}" for f in run(1000, seed=7)] == []


@pytest.mark.full
def test_many_damaged_models_are_refused_or_sane():
    assert [f"{f.case.kind}: {f.case.change}\n{f.what}" for f in run(20_000, seed=8)] == []


def test_cases_are_the_same_for_a_seed():
    first, second = (cases(np.random.default_rng(5)) for _ in range(2))
    pairs = [(next(first), next(second)) for _ in range(30)]
    assert all(a.change == b.change and a.kind == b.kind for a, b in pairs)
    assert {case.kind for case, _ in pairs} <= set(MADE)
