"""spaCy's files of documents: read to train, tagged, written; damaged ones refused."""

from __future__ import annotations

import json

import pytest

from loglin.demo.ingredients import generate
from support.shell import refusal, run

spacy = pytest.importorskip("spacy")
from loglin.spacy import docs_of, labeled_sentences, read_docs, write_docs  # noqa: E402

LINES = generate(80, 1, "train")
X, Y = [[t for t, _ in line] for line in LINES], [[y for _, y in line] for line in LINES]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    vocab = spacy.blank("en").vocab
    write_docs("train.spacy", docs_of(vocab, X, Y))
    write_docs("tags.spacy", docs_of(vocab, X, [["NN" if t.isalpha() else "CD" for t in x] for x in X], "tag"))
    return tmp_path


def test_files_keep_sentences_and_labels(folder):
    assert labeled_sentences(read_docs("train.spacy")) == (X, Y)
    assert [doc.text.split() for doc in read_docs("train.spacy", spacy.blank("en").vocab)] == X


@pytest.mark.parametrize("name", ["train", "tags"])
def test_train_eval_and_tag(folder, name):
    run("train", f"{name}.spacy", "-o", "m.model", "--quiet", "--l2", "0.1")
    scores = json.loads(run("eval", "m.model", f"{name}.spacy", "--json"))
    assert scores["accuracy"] > 0.98
    run("tag", "m.model", f"{name}.spacy", "-o", "tagged.spacy")
    (words, found), (_, right) = (
        labeled_sentences(read_docs(file), "ner" if name == "train" else "tag")
        for file in ("tagged.spacy", f"{name}.spacy")
    )
    assert words == X
    same = sum(a == b for one, other in zip(found, right, strict=True) for a, b in zip(one, other, strict=True))
    assert same / sum(map(len, right)) == pytest.approx(scores["accuracy"])
    lines = run("tag", "m.model", f"{name}.spacy", "--json").splitlines()
    assert [json.loads(line)["labels"] for line in lines] == found


def test_bad_files_are_one_sentence(folder):
    (folder / "text.spacy").write_text("2 B-QTY\n")
    (folder / "half.spacy").write_bytes((folder / "train.spacy").read_bytes()[:200])
    for name in ("text.spacy", "half.spacy"):
        assert "is no file of spaCy's documents" in refusal("train", name, "-o", "m.model")
    assert "cannot be read" in refusal("train", "none.spacy", "-o", "m.model")
    assert "has no label column" in refusal("train", "train.spacy", "--label-column", "3", "-o", "m.model")
    run("train", "train.spacy", "-o", "m.model", "--quiet")
    assert "no room for probabilities" in refusal("tag", "m.model", "train.spacy", "--marginals")
