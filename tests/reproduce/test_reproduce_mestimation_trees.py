"""The table of M-estimation on trees, from a few sentences: its form, its choices, and an order that must hold."""

from __future__ import annotations

import json
import math

import pytest

from loglin.reproduce import mestimation_trees as table
from loglin.reproduce import module_of
from loglin.reproduce.treebank_parsing import splits
from support.corpora import corpus_folder

NAMES = [
    *("PCFG", "M-estimation, PCFG features", "M-estimation, first and last words", "M-estimation, all features"),
    *("CRF-CFG, PCFG features", "CRF-CFG, first and last words", "CRF-CFG, all features", "MECFG"),
]


@pytest.fixture(scope="module")
def made():
    corpus_folder("treebank")
    lines: list[str] = []
    data = splits(table.LONGEST, [3], most=110)
    return table.make_table(data, (), lines.append, 1, max_iter=6), lines


@pytest.fixture(scope="module")
def ours(made):
    return {(row.name, row.metric): row.ours for row in made[0].rows}


@pytest.mark.full
def test_form(made, ours):
    value = json.loads(json.dumps(made[0].as_dict(), allow_nan=False))
    assert module_of("mestimation-trees") is table
    assert value["table"] == "mestimation-trees"
    assert all(row["published"] is None and math.isfinite(row["ours"]) for row in value["rows"])
    assert len(ours) == len(value["rows"])
    assert list(dict.fromkeys(row["name"] for row in value["rows"])) == NAMES
    assert len(made[1]) == len(NAMES)
    for name in NAMES:
        assert {metric for n, metric in ours if n == name} >= {"precision", "recall", "F1", "features"}
        assert ((name, "expectation seconds") in ours) == name.startswith("M-estimation")
    assert "88 for training and 22 for the test in each of 1 splits" in value["remarks"][1]
    assert value["remarks"][0].count("better,") == len(NAMES) - 1


@pytest.mark.full
def test_scores_are_sane(ours):
    for (name, metric), value in ours.items():
        if metric in ("precision", "recall", "F1"):
            assert 40 < value < 90, (name, metric)
    own = ours["M-estimation, PCFG features", "F1"]
    assert own == pytest.approx(ours["PCFG", "F1"], abs=1.5)  # its expectations are nearly what was observed
    sizes = [ours[name, "features"] for name in NAMES[:4]]
    assert sizes == sorted(sizes)
    assert ours["M-estimation, all features", "expectation seconds"] > 0


@pytest.mark.full
def test_penalties_are_of_the_grid(made):
    for row in made[0].rows:
        if row.metric == "training seconds" and row.name != "PCFG":
            grid = table.MEAN_GRID if row.name.startswith("M-estimation") else table.SUM_GRID
            assert row.note.split("l2 = ")[1] in [f"{l2:g}" for l2 in grid]


def test_the_best_held_out_penalty_is_chosen(monkeypatch):
    """The training trees but their last fifth train; of equal scores the larger penalty is taken."""
    seen = []

    class Fake:
        def __init__(self, criterion, l2, **how):
            self.l2 = l2

        def fit(self, trees):
            seen.append((self.l2, list(trees)))
            return self

        def score(self, trees):
            assert trees == [8, 9]
            return {0.1: 0.5, 1.0: 0.7, 2.0: 0.7, 3.0: 0.2}[self.l2]

    monkeypatch.setattr(table, "Parser", Fake)
    split = table.Split(list(range(10)), [])
    assert table._penalty(table.Kind("crf", None, (0.1, 1.0, 2.0, 3.0)), split, {}) == 2.0
    assert seen == [(l2, list(range(8))) for l2 in (0.1, 1.0, 2.0, 3.0)]
    assert table._penalty(table.Kind("pcfg"), split, {}) is None
