"""Bracketed trees: the leaves of small strings and of the Penn Treebank sample, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import corpus_folder
from loglin.corpus import datasets, trees
from loglin.errors import LoglinError

CAT = "( (S (NP-SBJ (DT The) (NN cat) )\n  (VP (VBD sat) (NP (-NONE- *T*-1) )) (. .) ))\n"


def leaves(text: str):
    return list(trees.sentences(text, "file"))


def test_leaves_without_traces():
    assert leaves(CAT) == [[("The", "DT"), ("cat", "NN"), ("sat", "VBD"), (".", ".")]]


def test_forms_of_brackets():
    assert leaves("(NN cat)(NN dog)") == [[("cat", "NN")], [("dog", "NN")]]
    assert leaves("(S(NN a)\r\n\t(-LRB- -LRB-))") == [[("a", "NN"), ("-LRB-", "-LRB-")]]
    assert leaves("((NN a) (NN b))") == [[("a", "NN"), ("b", "NN")]]
    assert leaves("(S (NP (-NONE- *)))" + CAT) == leaves(CAT)  # a tree of traces alone
    assert leaves(" \n") == []


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (CAT + "(S\n(NN a)", ["file, line 3", "1 of the brackets", "never closed"]),
        ("((S (NN a)\n", ["file, line 1", "2 of the brackets"]),
        (CAT + ")", ["file, line 3", "closing bracket too many"]),
        ("(S (NN a)))\n", ["file, line 1", "closing bracket too many"]),
        (CAT + "word (NN a)", ["file, line 3", "'word'", "outside all brackets"]),
        ("(S\n(NN a b))", ["file, line 2", "(NN a b)", "(TAG word)"]),
        ("(S\n(NN ))", ["file, line 2", "(NN)", "(TAG word)"]),
        ("(S (NN a) b)", ["(S (…) b)", "(TAG word)"]),
        ("(S x (NN a))", ["(S x (…))"]),
        ("()", ["file, line 1", "()"]),
    ],
)
def test_refusals(text, parts):
    with pytest.raises(LoglinError) as caught:
        leaves(text)
    for part in parts:
        assert part in str(caught.value)
    assert ";" in str(caught.value)


def test_files_and_folders(tmp_path: Path):
    (tmp_path / "b.mrg").write_text("(NN second)")
    (tmp_path / "a.mrg").write_text("(NN first)")
    (tmp_path / "readme").write_text("no tree")
    assert trees.read(tmp_path).sentences() == [[("first", "NN")], [("second", "NN")]]
    assert trees.read(tmp_path / "b.mrg").sentences() == [[("second", "NN")]]
    (tmp_path / "c.mrg").write_bytes(b"(NN a)\n(NN \xe9)")
    with pytest.raises(LoglinError, match=r"c\.mrg, line 2: byte 0xe9"):
        trees.read(tmp_path)
    assert trees.read(tmp_path / "c.mrg", "latin-1").n_tokens == 2


def test_nothing_to_read(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "blank.mrg").write_text("\n")
    for name, part in (("empty", "no file"), ("blank.mrg", "no words"), ("nowhere", "cannot read")):
        with pytest.raises(LoglinError, match=part):
            trees.read(tmp_path / name)


def test_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("LOGLIN_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "treebank").mkdir()
    with pytest.raises(LoglinError, match=r"treebank was not found.*\*\.mrg"):
        datasets.load("treebank")
    (tmp_path / "treebank" / "wsj_0001.mrg").write_text(CAT)
    assert [len(s) for s in datasets.load("treebank").sentences()] == [4]


def test_the_treebank_sample():
    corpus_folder("treebank")
    corpus = datasets.load("treebank")
    assert (corpus.n_sentences, corpus.n_tokens) == (3914, 94084)
    words, tags = corpus.columns
    assert len(tags.vocabulary) == 45
    assert trees.TRACE not in tags.vocabulary.strings
    assert corpus.sentences()[0][:2] == [("Pierre", "NNP"), ("Vinken", "NNP")]
    assert words.strings()[-1] == "."
