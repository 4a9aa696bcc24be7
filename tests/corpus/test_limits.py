"""Files that are too large: refused as they cross a limit, in one sentence that says how to raise it."""

from __future__ import annotations

import gzip
import os
import re

import pytest

from loglin import LoglinError, Tagger
from loglin.corpus import files
from loglin.corpus.limits import Limits, _too_long, limits, parse
from support.shell import check_sentence, program

NAMES = ["long", "long.conllu", "long.crfsuite", "long.jsonl", "long.txt"]


@pytest.fixture(scope="module")
def bomb(tmp_path_factory):
    """Two hundred kilobytes that unpack to two hundred megabytes of one line, written once."""
    path = tmp_path_factory.mktemp("bomb") / "bomb.gz"
    with gzip.open(path, "wb", 9) as stream:
        for _ in range(200):
            stream.write(b"a" * (1 << 20))
    return path


@pytest.fixture
def folder(tmp_path):
    """A folder with a tagger and a classifier."""
    (tmp_path / "data").write_text("a B\n\nb O\n\n")
    (tmp_path / "docs.jsonl").write_text('{"label": "a", "text": "x"}\n{"label": "b", "text": "y"}\n')
    for command, data, model in (("train", "data", "tagger"), ("classify-train", "docs.jsonl", "classifier")):
        code, _, err = program(tmp_path, [command, data, "-o", model, "--quiet"])
        assert code == 0, err
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "BOMB", "-o", "out"],
        ["train", "data", "--template", "BOMB", "-o", "out"],
        ["train", "data", "--dictionary", "BOMB", "-o", "out"],
        ["tag", "tagger", "BOMB"],
        ["tag", "tagger", "BOMB", "--format", "text"],
        ["tag", "tagger", "BOMB", "--format", "conllu"],
        ["tag", "tagger", "BOMB", "--format", "jsonl"],
        ["eval", "tagger", "BOMB"],
        ["classify-train", "BOMB", "-o", "out"],
        ["classify-train", "BOMB", "--format", "svmlight", "-o", "out"],
        ["classify", "classifier", "BOMB"],
        ["lm", "train", "BOMB", "-o", "out"],
        ["parse-train", "BOMB", "-o", "out"],
        ["parse", "BOMB", "data"],
    ],
)
def test_a_bomb(folder, bomb, arguments):
    code, out, err = program(folder, [bomb if a == "BOMB" else a for a in arguments])
    check_sentence(code, err)
    assert out == ""
    assert not (folder / "out").exists()


def test_what_unpacks_to_too_much(tmp_path):
    path = tmp_path / "much.gz"
    with gzip.open(path, "wb", 9) as stream:
        for _ in range(100):
            stream.write(b"a B\n\n" * (1 << 18))
    with pytest.raises(LoglinError, match=r"unpacks to more than 200 times .* --limits expansion=800"):
        list(files.read_blocks(path, "utf-8", b"\n"))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("given", "words"), [("token=100", "a token of more than 100"), ("line=300", "a line of more")]
)
def test_tokens_and_lines(tmp_path, monkeypatch, name, given, words):
    monkeypatch.setenv("LOGLIN_LIMITS", given)
    (tmp_path / name).write_text("a O\n\n" + "b" * 400 + " O\n")
    with pytest.raises(LoglinError, match=f"line 3: {words}.*LOGLIN_LIMITS in Python"):
        list(files.read_blocks(tmp_path / name, "utf-8", b"\n"))


def test_limits_are_for_files_that_are_too_large_only(folder, monkeypatch):
    monkeypatch.setenv("LOGLIN_LIMITS", "")
    (folder / "long").write_text("b" * 70_000 + " O\n")
    code, _, err = program(folder, ["tag", "tagger", "long"])
    check_sentence(code, err, "long, line 1: a token of more than 65,536 bytes", "--limits token=256K")
    code, out, err = program(folder, ["tag", "tagger", "long", "--limits", "token=256K"])
    assert (code, err) == (0, "")
    assert out.startswith("b" * 70_000)


def test_columns(folder):
    (folder / "wide").write_text("a " * 1001 + "\n")
    code, _, err = program(folder, ["train", "wide", "-o", "out"])
    check_sentence(code, err, "1,001 columns", "--limits columns=4000")


@pytest.mark.parametrize(
    "text", ["line", "line=", "line=x", "lines=3", "line=-1", "line=0", "line=1X", "line=1e9", "=3"]
)
def test_limits_that_are_none(text):
    with pytest.raises(LoglinError, match=re.escape(f"the limit {text!r} cannot be read")):
        parse(text)


def test_limits_are_read(monkeypatch):
    assert parse("line=2K, token=7,") == Limits(line=2048, token=7)
    monkeypatch.setenv("LOGLIN_LIMITS", "columns=3")
    assert limits().columns == 3


@pytest.mark.parametrize("most", [1, 2, 5, 10])
def test_runs_are_found_wherever_they_stand(most):
    separator = re.compile(rb"\n")
    for before in range(30):
        for length in range(25):
            text = b"\n" * before + b"a" * length + b"\n" * 7
            assert (_too_long(text, 0, most, separator) is not None) == (length > most)


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no such device")
@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "data", "--template", "/dev/zero", "-o", "out"],
        ["train", "/dev/zero", "-o", "out"],
        ["train", "data", "--dictionary", "/dev/zero", "-o", "out"],
        ["tag", "/dev/zero", "data"],
        ["tag", "tagger", "/dev/zero"],
        ["classify", "classifier", "/dev/zero"],
        ["parse-eval", "/dev/zero", "/dev/zero"],
        ["lm", "train", "/dev/zero", "-o", "out"],
        ["tag", "FIFO", "data"],
        ["classify", "FIFO", "docs.jsonl"],
        ["inspect", "FIFO"],
        ["tag", ".", "data"],
        ["train", "data", "--template", ".", "-o", "out"],
        ["train", "data", "--dictionary", ".", "-o", "out"],
        ["train", "a\0b", "-o", "out"],
        ["tag", "a\0b", "data"],
    ],
)
def test_devices_pipes_and_folders(folder, arguments):
    os.mkfifo(folder / "FIFO")
    code, out, err = program(folder, arguments)
    check_sentence(code, err)
    assert out == ""


def test_a_template_of_a_device():
    with pytest.raises(LoglinError, match="zero byte"):
        Tagger(template="/dev/zero").fit([["a", "b"]], [["A", "B"]])
