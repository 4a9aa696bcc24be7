"""Tables of M-estimation on a small part of the data: their rows, what must hold of them, their JSON."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from loglin import reproduce
from loglin.reproduce import m_estimation_figures, m_estimation_table1, m_estimation_table2, np_chunks
from loglin.reproduce.np_chunks import EXTENDED, GRID, chosen, extended

SENTENCES, SCORED = 900, 250  # of training; of development and test


# ---------------------------------------------------------------------- without data


def test_templates():
    past = extended(look_ahead=False)
    assert set(past.splitlines()) < set(EXTENDED.splitlines())
    assert "[1," not in past
    assert "[2," not in past
    assert "*0:%x[0,0]" in past
    assert "%x[-2,1]/%x[-1,1]/%x[0,1]" in past


def test_the_grid_is_the_papers():
    assert [round(c, 3) for c in GRID] == [0.1, 0.215, 0.464, 1.0, 2.154, 4.642, 10.0]
    for kind, published in m_estimation_table1.PUBLISHED.items():
        for criterion in published:
            if criterion != "hmm":
                usual = m_estimation_table1.grid(kind, criterion, quick=True)
                assert len(usual) == 1
                assert set(usual) <= set(GRID)


def test_published_scores_agree_with_themselves():
    table1 = [numbers for part in m_estimation_table1.PUBLISHED.values() for numbers in part.values()]
    for precision, recall, f1 in [*table1, *m_estimation_table2.PUBLISHED.values(), m_estimation_table2.BY_PRECISION]:
        assert 2 * precision * recall / (precision + recall) == pytest.approx(f1, abs=0.011)


def test_choice_by_development_data():
    fits = [
        SimpleNamespace(c=c, development=SimpleNamespace(f1=f1, precision=precision))
        for c, f1, precision in [(0.1, 0.5, 0.9), (1.0, 0.7, 0.8), (10.0, 0.7, 0.6)]
    ]
    assert chosen(fits).c == 1.0  # of equals the stronger penalty
    assert chosen(fits, "precision").c == 0.1


# ---------------------------------------------------------------------- on a part of the data


@pytest.fixture(scope="module")
def small(conll2000):
    """Quick runs on less data still. Unsmoothed transitions need the first one-token sentence, number 867."""
    whole = np_chunks.load(SENTENCES)
    development, test = (np_chunks._slice(part, 0, SCORED) for part in (whole.development, whole.test))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np_chunks, "load", lambda sentences=None: np_chunks.Data(whole.training, development, test))
        yield


def made(name):
    lines = []
    table = reproduce.run(name, quick=True, progress=lines.append, threads=2)
    value = json.loads(json.dumps(table.as_dict(), allow_nan=False))
    assert value["table"] == name
    assert value["remarks"]
    assert lines
    for row in value["rows"]:
        assert set(row) == {"name", "metric", "published", "ours", "note"}
        assert row["ours"] is not None
    return {(row["name"], row["metric"]): row for row in value["rows"]}, value


def test_data(small):
    data = np_chunks.load()
    assert data.training.inputs.n_sentences == SENTENCES
    assert data.first(10).training.inputs.n_sentences == 10
    assert set(data.training.labels.strings()) == {"B", "I", "O"}
    assert len(data.training.inputs.columns) == 2


@pytest.mark.full
def test_table1(small):
    rows, value = made("m-estimation-table1")
    f1 = {name: row["ours"] for (name, metric), row in rows.items() if metric == "F1"}
    assert len(f1) == 12
    assert len(rows) == 36
    published = [row for row in rows.values() if row["published"] is not None]
    assert len(published) == 27
    assert rows["extended CRF", "F1"]["published"] == 93.86
    assert f1["HMM"] > 80
    assert f1["extended CRF"] > f1["HMM features CRF"] > f1["HMM"]
    assert f1["extended CRF"] > f1["extended PL"] > f1["HMM features PL"]
    assert f1["extended MEMM"] > f1["extended MEMM, no look-ahead"]
    assert f1["HMM features M-est."] == pytest.approx(f1["HMM"], abs=0.3)
    assert f1["HMM"] - 1 < f1["extended M-est."] < f1["extended CRF"]
    assert sum("no minimum" in remark for remark in value["remarks"]) == 2
    assert value["figures"] == []


@pytest.mark.full
def test_table2(small):
    rows, _ = made("m-estimation-table2")
    f1 = {name: row["ours"] for (name, metric), row in rows.items() if metric == "F1"}
    precision = {name: row["ours"] for (name, metric), row in rows.items() if metric == "P"}
    assert rows["input-only features", "tuning F1"]["published"] == 89.51
    assert f1["HMM base"] > f1["locally uniform base"] > f1["locally uniform base, by precision"]
    assert precision["locally uniform base, by precision"] > precision["locally uniform base"]
    assert f1["empirical base"] > 80
    assert f1["sampled base"] == pytest.approx(f1["HMM base"], abs=1.5)
    assert f1["input-only features"] == pytest.approx(f1["HMM base"], abs=2)
    assert f1["HMM base, base dropped"] < f1["HMM base"]
    assert f1["CRF from M-estimation"] == pytest.approx(f1["CRF from zero"], abs=0.5)


@pytest.mark.full
def test_figures(small, tmp_path):
    pytest.importorskip("matplotlib")
    table = reproduce.run("m-estimation-figures", quick=True, threads=2)
    rows = {(row.name, row.metric): row for row in table.rows}
    assert rows["M-est., 100 iterations", "seconds"].published == 3840
    assert rows["M-est., default", "seconds"].ours < rows["CRF, default", "seconds"].ours
    assert table.figures == [f"m-estimation-figures-quick-{w}.png" for w in ("times", "learning", "trade-off-300")]
    for path in table.save(tmp_path):
        assert path.stat().st_size > 1000
    assert m_estimation_figures.DRAWS
