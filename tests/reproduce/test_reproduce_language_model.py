"""The table of language models on a small part of the Brown corpus: its rows, its remarks, its figures."""

from __future__ import annotations

import json

import pytest

from loglin import reproduce
from loglin.reproduce import language_model
from support.corpora import corpus_folder


@pytest.fixture(scope="module")
def table():
    corpus_folder("brown")
    pytest.importorskip("matplotlib")
    tiny = language_model.Size(1_200, 600, (300, 600), 15, 100, 50, 300, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(language_model, "QUICK", tiny)
        return reproduce.run("language-model", quick=True, threads=1)


@pytest.mark.full
def test_rows(table):
    value = json.loads(json.dumps(table.as_dict(), allow_nan=False))
    ours = {row["name"]: row["ours"] for row in value["rows"]}
    assert len(ours) == 12
    assert ours["modified Kneser–Ney, 3-grams"] < ours["Kneser–Ney, 3-grams"]
    assert ours["1- to 3-grams"] < ours["Kneser–Ney, 3-grams"]
    assert ours["1- to 3-grams, cache"] < ours["1- to 3-grams"]
    assert ours["+ classes"] < ours["1- to 3-grams"]
    assert ours["+ all these, cache"] < ours["+ all these"] < ours["1- to 3-grams"]
    assert all(row["published"] is None for row in value["rows"])
    assert "300 to 600 words" in value["remarks"][2]


@pytest.mark.full
def test_files(table, tmp_path):
    names = ["language-model-quick-perplexity.png", "language-model-quick-pass.png"]
    assert table.figures == names
    for path in table.save(tmp_path):
        assert path.stat().st_size > 1000
