"""Plain text in and out of taggers: raw sentences, word/TAG lines, and words from any format."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loglin import Tagger
from loglin.corpus import plaintext
from loglin.corpus.formats import SENTENCES_AT_ONCE, detected, named
from loglin.corpus.tagged import read_raw
from loglin.decoding.chains import Decoder
from loglin.decoding.tagged_text import tagged
from loglin.errors import LoglinError
from support.shell import run

SENTENCES = [["the", "dog", "saw", "the", "saw"], ["the", "cat", "saw"], ["a", "dog"]]
LABELS = [["D", "N", "V", "D", "N"], ["D", "N", "V"], ["D", "N"]]
TAGGED = "".join(
    " ".join(f"{w}/{y}" for w, y in zip(*pair, strict=True)) + "\n" for pair in zip(SENTENCES, LABELS, strict=True)
)
COLUMNS = TAGGED.replace("\n", "\n\n").replace(" ", "\n").replace("/", " ")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    (folder / "data").write_text(TAGGED)
    run("train", folder / "data", "--format", "text", "-o", folder / "model", "--quiet")
    return folder / "model"


def test_seconds_of_starting_are_not_those_of_reading(tmp_path):
    (tmp_path / "data").write_text(TAGGED)
    words = ["train", tmp_path / "data", "--format", "text", "-o", tmp_path / "model"]
    seconds = json.loads(run(*words, "--json"))["seconds"]
    assert list(seconds) == ["start", "read", "features", "train", "total"]
    assert sum(seconds.values()) <= 2 * seconds["total"] + 1e-9
    assert "(starting " in run(*words)


def test_text_trains_what_columns_train(model, tmp_path):
    (tmp_path / "data").write_text(COLUMNS)
    run("train", tmp_path / "data", "-o", tmp_path / "model", "--quiet")
    ours, theirs = Tagger.load(model), Tagger.load(tmp_path / "model")
    assert ours.classes_ == theirs.classes_
    assert ours.model_.weights.tolist() == theirs.model_.weights.tolist()
    assert ours.model_.record["columns"] == theirs.model_.record["columns"] == 2
    assert run("tag", model, tmp_path / "data").startswith("the D D\ndog N N\n")


def test_training_options(tmp_path):
    (tmp_path / "data").write_text("a/I-X b/I-X c/_\n")
    (tmp_path / "dev").write_text("a/B-X\n")
    command = ["train", tmp_path / "data", "--format", "text", "--quiet", "-o", tmp_path / "model"]
    value = json.loads(run(*command, "--partial", "--dev", tmp_path / "dev", "--json", "--max-iter", 3))
    assert (value["labels"], value["sentences"]) == (1, 1)
    (tmp_path / "data").write_text("a/I-X b/I-X c/O\n")
    run(*command, "--scheme", "iob1:iob2")
    assert Tagger.load(tmp_path / "model").classes_ == ["B-X", "I-X", "O"]


def test_tagging_keeps_lines(model, tmp_path):
    raw = "#! author=A\nthe dog saw\n\n  a   dog \n\\#! the\n\n"
    (tmp_path / "raw.txt").write_bytes(gzip.compress(raw.encode()))
    out = run("tag", model, tmp_path / "raw.txt", "--format", "text")
    assert out.splitlines()[:4] == ["#! author=A", "the/D dog/N saw/V", "", "a/D dog/N"]
    assert out.splitlines()[4].startswith("#!/")
    assert out.splitlines()[5] == ""
    assert run("tag", model, "--format", "text", given="the dog\n") == "the/D dog/N\n"
    run("tag", model, tmp_path / "raw.txt", "--format", "text", "-o", tmp_path / "out")
    assert (tmp_path / "out").read_text() == out
    assert run("tag", model, "--format", "text", given="") == ""
    assert run("tag", model, "--format", "text", given="\n\n") == "\n\n"


def test_probabilities_need_json(model, tmp_path):
    (tmp_path / "raw").write_text("the dog\n\nsaw\n")
    lines = run("tag", model, tmp_path / "raw", "--format", "text", "--json", "--marginals").splitlines()
    values = [json.loads(line) for line in lines]
    assert [v["tokens"] for v in values] == [["the", "dog"], ["saw"]]
    assert values[0]["labels"] == ["D", "N"]
    assert set(values[0]["marginals"][0]) == {"D", "N", "V"}
    for option in (["--marginals"], ["--nbest", "2"]):
        with pytest.raises(LoglinError, match="add --json"):
            run("tag", model, tmp_path / "raw", "--format", "text", *option)


def test_evaluation(model, tmp_path):
    (tmp_path / "data").write_text(TAGGED.replace("cat/N", "cat/X"))
    value = json.loads(run("eval", model, tmp_path / "data", "--format", "text", "--json"))
    assert (value["tokens"], value["correct"], value["unseen_labels"]) == (10, 9, ["X"])
    assert "cat: X tagged N" in run("eval", model, tmp_path / "data", "--format", "text", "--words", 5)
    (tmp_path / "data").write_text("the/D dog\n")
    with pytest.raises(LoglinError, match=r"line 1: 'dog' has no tag"):
        run("eval", model, tmp_path / "data", "--format", "text")


@pytest.fixture(scope="module")
def writer():
    return Tagger().fit([["#!", "a/b", "\\#!"]], [["X", "Y", "Z"]])


WORDS = st.text(st.sampled_from("#!\\/ab.="), min_size=1, max_size=4)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(WORDS, min_size=1, max_size=4), max_size=5))
def test_what_is_written_can_be_read_again(writer, tmp_path_factory, sentences):
    """Words of any look, such as #! or with slashes, come back with the labels they got."""
    path, out = (tmp_path_factory.mktemp("text") / name for name in ("raw", "out"))
    path.write_text("".join(" ".join(["\\" * _marked(s[0]) + s[0], *s[1:]]) + "\n" for s in sentences))
    assert plaintext.read(path).sentences() == sentences
    decoder = Decoder(writer.model_)
    out.write_bytes(b"".join(piece for _, piece in tagged(decoder, str(path), named("text"))))
    expected = writer.predict(sentences)
    found = plaintext.read(out, tagged=True).corpus.sentences()
    assert found == [list(zip(s, y, strict=True)) for s, y in zip(sentences, expected, strict=True)]


def _marked(word: str) -> bool:
    """Whether a first word needs a backslash before it: #! and what is backslashes before it."""
    return word.lstrip("\\") == "#!"


def test_many_lines(model):
    """Lines are read in stretches; blank ones may fill a stretch."""
    n = SENTENCES_AT_ONCE + 5
    out = run("tag", model, "--format", "text", given="\n" * n + "the dog\n" * n)
    assert out == "\n" * n + "the/D dog/N\n" * n


@pytest.mark.parametrize("label", ["A/B", "A B"])
def test_labels_that_cannot_be_written(tmp_path, label):
    Tagger(max_iter=2).fit([["a", "b"]], [[label, "X"]]).save(tmp_path / "model")
    with pytest.raises(LoglinError, match=f"the tag {label!r} cannot stand in word/TAG"):
        run("tag", tmp_path / "model", "--format", "text", given="a\n")
    assert run("tag", tmp_path / "model", "--format", "text", "--json", given="a\n")


def test_models_of_attributes(tmp_path):
    Tagger(max_iter=2).fit([[{"w": "a"}]], [["X"]]).save(tmp_path / "model")
    (tmp_path / "data").write_text("a/X\n")
    for command in ("tag", "eval"):
        with pytest.raises(LoglinError, match="looks at attributes"):
            run(command, tmp_path / "model", tmp_path / "data", "--format", "text")


# ---------------------------------------------------------------------- words without labels


def test_formats_by_name():
    """Labelled .txt files are columns, as they always were."""
    assert detected("a.txt") == detected("a") == detected("a", labeled=False) == named("conll")
    assert detected("a.txt", labeled=False) == detected("a.txt.gz", labeled=False) == named("text")
    assert detected("a.txt", "conll", labeled=False) == named("conll")
    assert detected("a.jsonl", labeled=False) == named("jsonl")
    assert detected("a.conllu") == detected("a.conllu.gz") == named("conllu")


@pytest.mark.parametrize(
    ("kind", "text", "column", "expected"),
    [
        ("text", "a b\n\n#! k=v\nc\n", None, [[("a",), ("b",)], [("c",)]]),
        ("text", "a/X b/Y\n", None, [[("a/X",), ("b/Y",)]]),
        ("conll", "a\nb\n\nc\n", None, [[("a",), ("b",)], [("c",)]]),
        ("conll", "a\nb\n\nc\n", -1, [[("a",), ("b",)], [("c",)]]),
        ("conll", "a X\nb Y\n", None, [[("a", "X"), ("b", "Y")]]),
        ("conll", "a X\nb Y\n", -1, [[("a",), ("b",)]]),
        ("conll", "X a p\n", 0, [[("a", "p")]]),
        ("jsonl", '{"tokens": ["a", "b"], "labels": ["X", "Y"]}\n{"tokens": []}\n{"tokens": ["c"]}\n', None,
         [[("a",), ("b",)], [("c",)]]),
        ("jsonl", '{"tokens": [["a", "p"]]}\n', None, [[("a", "p")]]),
    ],
)  # fmt: skip
def test_raw(tmp_path, kind, text, column, expected):
    (tmp_path / "raw").write_text(text)
    assert read_raw(str(tmp_path / "raw"), named(kind), label_column=column).sentences() == expected


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("text", "", "holds no tokens; write a sentence a line"),
        ("text", "\n \n#! a=b\n", "holds no tokens"),
        ("text", "#! what\n", "line 1.*no attribute"),
        ("conll", "\n", "holds no tokens"),
        ("jsonl", "", "holds no tokens"),
        ("jsonl", '{"tokens": []}\n', "holds no tokens"),
        ("jsonl", '{"tokens": [{"w": "a"}]}\n', "attributes, not words"),
        ("crfsuite", "X\ta\n", "attributes, not words"),
    ],
)
def test_raw_refusals(tmp_path, kind, text, message):
    (tmp_path / "raw").write_text(text)
    with pytest.raises(LoglinError, match=message):
        read_raw(str(tmp_path / "raw"), named(kind))


def test_raw_column_that_is_not_there(tmp_path):
    (tmp_path / "raw").write_text("a X\n")
    with pytest.raises(LoglinError, match="no column 2"):
        read_raw(str(tmp_path / "raw"), named("conll"), label_column=2)
