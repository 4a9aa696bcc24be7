"""Files of a work folder make arrays and loglin's own objects, nothing else."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from loglin.corpus import stored
from support.errors import refused_with_remedy


@pytest.mark.parametrize("at_once", [True, False])
def test_what_is_stored_is_loaded(tmp_path, at_once):
    value = {"a": np.arange(5), "zeros": np.zeros((2, 3)), "none": np.empty((0, 4), np.float32), "text": ["x", None]}
    stored.store(tmp_path / "file", value)
    found = stored.load(tmp_path / "file", at_once)
    assert found["text"] == value["text"]
    for name in ("a", "zeros", "none"):
        np.testing.assert_array_equal(found[name], value[name])
        assert found[name].dtype == value[name].dtype


def test_changes_are_in_the_file_if_they_are_asked_for(tmp_path):
    stored.store(tmp_path / "file", (np.zeros((3, 4)), np.ones(5, np.float32)), zeros=True)
    for changes in (False, True):
        zeros, ones = stored.load(tmp_path / "file", changes=changes)
        assert not zeros.any()
        assert np.array_equal(ones, np.ones(5))
        zeros[1, 2], ones[3] = 7, 8
        del zeros, ones
    zeros, ones = stored.load(tmp_path / "file")
    assert zeros[1, 2] == zeros.sum() == 7
    assert ones[3] == 8


@pytest.mark.parametrize(
    ("module", "name"),
    [("numpy.testing._private.utils", "runstring"), ("loglin.corpus.output", "write_atomically"), ("os", "system")],
)
def test_a_file_that_asks_for_functions_is_refused(tmp_path, module, name):
    class Hostile:
        def __reduce__(self):
            return getattr(importlib.import_module(module), name), ("x", "y")

    stored.store(tmp_path / "file", Hostile())
    refused_with_remedy(lambda: stored.load(tmp_path / "file"), f"{module.split('.')[0]}", "damaged", "train again")
