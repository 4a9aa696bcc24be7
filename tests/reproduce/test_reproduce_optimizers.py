"""The comparison of optimizers on a small part of its data."""

from __future__ import annotations

import json

import numpy as np
import pytest

from loglin import reproduce
from loglin.corpus import datasets
from loglin.optimize.optimizers import optimizers as registry
from loglin.reproduce import optimizers
from support.corpora import corpus_folder


@pytest.fixture(scope="module")
def treebank():
    corpus_folder("treebank")
    return datasets.load("treebank")


def test_the_problem_is_the_notes(treebank):
    problem = optimizers.tagging_problem(treebank, optimizers.SENTENCES)
    assert problem.design.n_tokens == 11_784
    assert problem.index.n_features == 209_080
    assert np.all(np.diff(problem.design.tokens.ptr) == 5)
    assert set(optimizers.SHOWN) == set(registry())


def test_every_optimizer_has_its_rows(treebank, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(optimizers, "QUICK", 12)
    monkeypatch.setattr(optimizers.datasets, "load", lambda name: treebank)
    lines = []
    table = reproduce.run("optimizers", quick=True, progress=lines.append, threads=1)
    assert len(lines) == len(registry())
    rows = {(row.name, row.metric): row.ours for row in table.rows}
    assert len(rows) == len(registry()) * 3
    json.dumps(table.as_dict(), allow_nan=False)
    for name in ("L-BFGS", "conjugate gradient", "Newton", "SGD", "averaged SGD", "gradient ascent"):
        passes = [rows[name, f"passes to {goal:g}"] for goal in optimizers.GOALS]
        assert None not in passes, name
        assert passes == sorted(passes)
    assert rows["GIS", "passes to 0.01"] > rows["conjugate gradient", "passes to 0.01"]
    assert rows["IIS", "passes to 0.01"] == pytest.approx(2 * rows["GIS", "passes to 0.01"], abs=2)
    assert any("As the slides say" in remark for remark in table.remarks)
    assert table.figures == ["optimizers-quick-passes.png", "optimizers-quick-seconds.png"]
    assert all(path.stat().st_size > 1000 for path in table.save(tmp_path))
