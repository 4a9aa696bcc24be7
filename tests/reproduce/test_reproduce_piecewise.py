"""Sutton and McCallum's Table 1 on slices: its rows, its tests, and an order that even little data shows."""

from __future__ import annotations

import json
import math

import pytest

from loglin.evaluation.significance import PairedT
from loglin.features.template import parse_templates
from loglin.reproduce import piecewise_table1 as table1
from support.corpora import corpus_folder

SLICE = table1.Size(
    pos_sentences=200, pos_seeds=(0,), ner_sentences=600, iterations=40, few_sentences=150, few_iterations=5,
    test_sentences=500,
)  # fmt: skip


@pytest.fixture(scope="module")
def made():
    for name in ("treebank", "conll2003"):
        corpus_folder(name)
    lines = []
    return table1.make_table(SLICE, lines.append, threads=1), lines


@pytest.fixture(scope="module")
def ours(made):
    return {(row.name, row.metric): row.ours for row in made[0].rows}


@pytest.mark.full
def test_form(made):
    table, lines = made
    value = json.loads(json.dumps(table.as_dict(), allow_nan=False))
    assert value["table"] == "piecewise-table1"
    assert all(row["ours"] is not None and math.isfinite(row["ours"]) for row in value["rows"])
    assert len({(row["name"], row["metric"]) for row in value["rows"]}) == len(value["rows"])
    assert len(lines) == 1 + sum(map(len, (table1.POS_METHODS, table1.NER_METHODS, table1.UNPUBLISHED)))
    for start in ("POS, as the paper decodes, the published order: piecewise L", "NER, as the paper decodes, the "):
        assert any(remark.startswith(start) for remark in value["remarks"])


@pytest.mark.full
def test_published_numbers_stand_beside_ours(made):
    published = {(row.name, row.metric): row.published for row in made[0].rows}
    assert published["POS, piecewise L", "accuracy"] == 88.8
    assert published["NER, MEMM", "F1"] == 88.90
    assert published["NER, CRF", "F1"] == 89.87
    assert published["NER, piecewise α", "F1"] == 90.47
    assert published["NER, piecewise G", "training F1"] == 99.82
    assert all(number is None for (_, metric), number in published.items() if metric == "seconds")


@pytest.mark.full
def test_scores_are_sane(ours):
    for (name, metric), value in ours.items():
        if metric == "seconds":
            assert 0 < value < 60, name
        elif "150 sentences" not in name:
            assert 40 < value <= 100, (name, metric)
    assert ours["NER, CRF", "F1"] > ours["NER, MEMM", "F1"]
    assert ours["NER, piecewise G", "F1"] > ours["NER, piecewise L", "F1"]
    assert ours["POS, piecewise K", "accuracy"] > ours["POS, MEMM", "accuracy"] - 1
    assert ours["NER, CRF", "training F1"] > 95


@pytest.mark.full
def test_every_test_is_told(made):
    notes = {row.name: row.note for row in made[0].rows if row.metric in ("F1", "accuracy")}
    assert notes["NER, CRF"].startswith("better than MEMM ")
    for name in ("NER, piecewise G", "NER, piecewise α", "POS, piecewise K", "POS, piecewise L"):
        assert "than CRF (p = " in notes[name]
        assert "than MEMM (p = " in notes[name]


def test_features_are_crossed_with_the_label_before():
    templates = parse_templates(table1.crossed(["%x[0,0]", "%x[0,1]"], "#! min_count=2")).templates
    assert [t.name for t in templates] == ["B", "U99", "B00", "U00", "B01", "U01"]
    assert [t.name for t in templates if t.labels == "all"] == ["B", "U99"]
    assert all(t.min_count == 2 for t in templates)


@pytest.mark.parametrize(
    ("tests", "word"),
    [
        ([(1, 0.01), (1, 0.04)], "comes out (p"),
        ([(1, 0.01), (1, 0.2)], "comes out, but may be chance"),
        ([(-1, 0.01), (-1, 0.02)], "is reversed"),
        ([(-1, 0.01), (-1, 0.2)], "does not come out ("),
        ([(1, 0.01), (-1, 0.01)], "does not come out every time"),
    ],
)
def test_verdict_falls_either_way(tests, word):
    runs = [
        table1.Run("POS", {}, {}, {}, {}, {("a", "b"): PairedT(mean=float(side), t=None, freedom=9, p=p)})
        for side, p in tests
    ]
    assert f"a above b {word}" in table1._verdict("POS", runs, [("a", "b")])
