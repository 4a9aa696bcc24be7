"""loglin tag --raw and loglin train --tokenizer: raw text from the shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loglin import Tagger
from support.shell import refusal, run

TEXT = "3 cups brown-sugar, sifted\n\nsalt\n"
TRAIN = "2 B-QTY\ncups B-UNIT\nflour B-NAME\n, O\nsifted B-PREP\n\nsalt B-NAME\n\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("train.txt").write_text(TRAIN * 3)
    Path("raw.txt").write_text(TEXT)
    run("train", "train.txt", "--tokenizer", "words", "-o", "words.model", "--quiet")
    run("train", "train.txt", "--tokenizer", "whitespace", "-o", "blanks.model", "--quiet")
    run("train", "train.txt", "-o", "none.model", "--quiet")
    return tmp_path


def test_lines_become_tokens_with_labels(folder):
    lines = TEXT.splitlines()
    (labels, _, salt) = Tagger.load("words.model").predict(lines)
    tokens = ["3", "cups", "brown-sugar", ",", "sifted"]
    expected = "".join(f"{t}\t{y}\n" for t, y in zip(tokens, labels, strict=True)) + f"\nsalt\t{salt[0]}\n\n"
    assert run("tag", "words.model", "raw.txt", "--raw") == expected
    assert run("tag", "none.model", "raw.txt", "--raw") == expected  # by words, where the model says nothing
    assert run("tag", "words.model", "--raw", given=TEXT) == expected
    assert run("tag", "blanks.model", "raw.txt", "--raw").startswith("3\t")
    assert "brown-sugar,\t" in run("tag", "blanks.model", "raw.txt", "--raw")


def test_as_json_entities_say_their_characters(folder):
    found = [
        json.loads(line)
        for line in run("tag", "words.model", "raw.txt", "--raw", "--json", "--nbest", 2).split("\n")[:-1]
    ]
    assert [value["text"] for value in found] == ["3 cups brown-sugar, sifted", "salt"]
    for value in found:
        assert [value["text"][b:e] for b, e in value["spans"]] == value["tokens"]
        assert value["entities"]
        for entity in value["entities"]:
            assert value["text"][entity["start_char"] : entity["end_char"]] == entity["text"]
        assert value["nbest"][0]["labels"] == value["labels"]


def test_what_does_not_go_together_is_refused(folder):
    assert "add --json" in refusal("tag", "words.model", "raw.txt", "--raw", "--marginals")
    assert "goes without --beam" in refusal("tag", "words.model", "raw.txt", "--raw", "--beam", 2)
    assert "leave out --output-dir" in refusal("tag", "words.model", "raw.txt", "--raw", "--output-dir", "out")
    assert "words, whitespace, characters" in refusal("train", "train.txt", "--tokenizer", "auto", "-o", "x.model")


def test_parsers_read_raw_lines(folder):
    Path("trees.mrg").write_text("(S (NP (D the) (N crow)) (V sat))\n(S (NP (N mice)) (V ate))\n" * 3)
    Path("lines.txt").write_text("the crow sat\n\nmice  ate\n")
    run("parse-train", "trees.mrg", "--criterion", "pcfg", "--tokenizer", "words", "-o", "p.model", "--quiet")
    found = run("parse", "p.model", "lines.txt", "--format", "raw")
    assert found == run("parse", "p.model", "lines.txt", "--format", "text")
    Path("lines.txt").write_text("mice,ate\n")
    tree = run("parse", "p.model", "lines.txt", "--format", "raw")
    assert [word in tree for word in (" mice)", " ,)", " ate)")] == [True] * 3
