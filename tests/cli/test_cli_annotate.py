"""loglin annotate from the shell: what is read, what is written, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from loglin import MaxEnt, Tagger
from loglin.cli.annotating import classifying_of, tagging_of
from loglin.cli.main import cli
from loglin.errors import LoglinError

TAGGED = "Ann B-PER\nmet O\nBo B-PER\n\nshe O\nsaw O\nRome B-LOC\n"
NOTHING = dict.fromkeys(("labels", "dictionary", "model", "labeled", "template", "threshold"))
GIVEN = NOTHING | {"each_token": False, "mixture": False, "tokenizer": "words", "encoding": "utf-8"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("raw.txt").write_text("Ann saw New York.\nBo slept\n")
    Path("train.txt").write_text(TAGGED)
    Path("words.dict").write_text("New York\tGPE\nBo PER\n")
    Path("docs.jsonl").write_text('{"text": "a goal", "label": "sport"}\n{"text": "a court"}\n')
    X = [["Ann", "met", "Bo"], ["she", "saw", "Rome"]]
    Tagger(threads=1).fit(X, [["B-PER", "O", "B-PER"], ["O", "O", "B-LOC"]]).save("names.model")
    Tagger(threads=1).fit(X, [["N", "V", "N"], ["P", "V", "N"]]).save("pos.model")
    MaxEnt(threads=1).fit(["a goal", "a court"], ["sport", "law"]).save("topics.model")
    return tmp_path


@pytest.mark.parametrize(
    ("given", "types"),
    [
        ({"labels": "PER, LOC"}, ["PER", "LOC"]),
        ({"labeled": "train.txt"}, ["PER", "LOC"]),
        ({"model": "names.model"}, ["LOC", "PER"]),
        ({"dictionary": "words.dict"}, ["GPE", "PER"]),
        ({"labels": "LOC", "labeled": "train.txt", "dictionary": "words.dict"}, ["LOC", "PER", "GPE"]),
        ({"model": "pos.model"}, ["N", "P", "V"]),
        ({"labels": "N,V", "each_token": True}, ["N", "V"]),
    ],
)
def test_labels_come_from_all_that_is_given(folder, given, types):
    task, items = tagging_of("raw.txt", GIVEN | given)
    assert (task.types if "labels" in given or "labeled" in given else sorted(task.types)) == types
    assert [item.words for item in items] == [["Ann", "saw", "New", "York", "."], ["Bo", "slept"]]
    assert task.single == (given.get("each_token", False) or given.get("model") == "pos.model")
    from loglin.annotate.work import Work

    model = task.learn(items, Work(), None)
    assert (model is None) == ("labeled" not in given and "model" not in given)
    assert isinstance(task.proposal(model, items[0], Work())["spans"], list)


def test_documents_bring_their_labels(folder):
    task, items = classifying_of("docs.jsonl", GIVEN | {"labels": "law"})
    assert task.types == ["law", "sport"]
    assert [task.given(item) for item in items] == [{"label": "sport"}, None]
    assert classifying_of("docs.jsonl", GIVEN | {"model": "topics.model"})[0].types == ["sport", "law"]


def test_what_is_done_is_exported_without_serving(folder):
    Path("tagged.jsonl").write_text('{"tokens": ["Ann", "ran"], "labels": ["B-PER", "O"]}\n{"text": "Bo slept"}\n')
    for name in ("out.conll", "out.jsonl"):
        done = CliRunner().invoke(cli, ["annotate", "tagged.jsonl", "--export", name], catch_exceptions=False)
        assert done.output == f"1 of 2 written to {name}\n"
    assert Path("out.conll").read_text() == "Ann\tB-PER\nran\tO\n\n"
    assert json.loads(Path("out.jsonl").read_text())["entities"] == [{"start": 0, "end": 3, "type": "PER"}]
    assert len(Path("tagged.jsonl.journal.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["raw.txt"], "no labels to choose from"),
        (["raw.txt", "--labels", "A B,C"], "holds a blank"),
        (["raw.txt", "--labels", "A", "--tokenizer", "best"], "tokenizer is 'best'"),
        (["raw.txt", "--labels", "A", "--export", "x.pdf"], "ends in one of"),
        (["raw.txt", "--labels", "A", "--export", "x.conll"], "nothing is annotated yet"),
        (["raw.txt", "--labels", "A", "--journal", "no/j"], "give another name by --journal"),
        (["raw.txt", "--model", "topics.model"], "is a classifier"),
        (["raw.txt", "--task", "classify", "--model", "names.model"], "is a tagger"),
        (["raw.txt", "--task", "classify", "--labels", "A", "--mixture"], "is about tokens"),
        (["empty.txt", "--labels", "A"], "holds nothing to annotate"),
        (["lost.txt", "--labels", "A"], "lost.txt"),
    ],
)
def test_what_cannot_be_annotated_is_refused(folder, arguments, said):
    Path("empty.txt").write_text("\n")
    with pytest.raises(LoglinError, match=said):
        CliRunner().invoke(cli, ["annotate", *arguments], catch_exceptions=False)
