"""Several files tagged into a folder: the same answers as one by one, nothing done twice, nothing lost."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import time

import pytest

from loglin.decoding import tagged_files
from support.shell import PROGRAM, refusal, run

TEXT = "two B-QTY\ncups B-UNIT\nflour B-NAME\n\n3 B-QTY\neggs B-NAME\n\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A model, and three files with one packed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.txt").write_text(TEXT * 3)
    run("train", "train.txt", "-o", "m.model", "--quiet")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text(TEXT)
    (tmp_path / "in" / "b.txt.gz").write_bytes(gzip.compress((TEXT * 2).encode()))
    (tmp_path / "in" / "c.txt").write_text("3\ncups\n\n")
    return tmp_path


def tag(*more, into="out"):
    return json.loads(run("tag", "m.model", *more, "--output-dir", into, "--json").splitlines()[-1])


def test_files_are_tagged_as_one_by_one(folder):
    said = run("tag", "m.model", "in/*", "--output-dir", "out")
    assert said.startswith("3 files tagged, 0 done before; 17 tokens")
    for name, source in (("a.txt", "in/a.txt"), ("b.txt", "in/b.txt.gz"), ("c.txt", "in/c.txt")):
        assert (folder / "out" / name).read_text() == run("tag", "m.model", source)
    run("tag", "m.model", "in", "--output-dir", "probable", "--marginals")
    assert (folder / "probable" / "a.txt").read_text() == run("tag", "m.model", "in/a.txt", "--marginals")


def test_what_is_done_is_not_done_again(folder):
    options = ("in/*.txt", "in/b.txt.gz")
    assert tag(*options)["files"] == 3
    assert (tag(*options)["files"], tag(*options)["done_before"]) == (0, 3)
    (folder / "in" / "a.txt").write_text(TEXT * 2)  # another input
    assert tag(*options)["files"] == 1
    (folder / "out" / "c.txt").write_text("changed")  # another output
    assert tag(*options)["files"] == 1
    assert tag(*options, "--nbest", 2)["files"] == 3  # other answers
    run("train", "train.txt", "-o", "m.model", "--l2", 3, "--quiet")  # another model
    assert tag(*options)["files"] == 3


def test_workers_tag_the_same(folder):
    pytest.importorskip("distributed")
    run("tag", "m.model", "in", "--output-dir", "out")
    run("tag", "m.model", "in", "--output-dir", "there", "--workers", 2)
    for name in ("a.txt", "b.txt", "c.txt"):
        assert (folder / "there" / name).read_bytes() == (folder / "out" / name).read_bytes()


def test_a_tagging_that_is_killed_goes_on(folder):
    for n in range(40):
        (folder / "in" / f"x{n}.txt").write_text(TEXT * 500)
    command = [*PROGRAM, "tag", "m.model", "in", "--output-dir", "out"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while process.poll() is None and not (folder / "out" / "x0.txt").exists():
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    for path in (folder / "out").glob("x*.txt"):  # whole, or not there
        assert path.read_text().count("\n") == 3500
    found = tag("in", into="out-json")
    assert found["files"] == 43
    said = run("tag", "m.model", "in", "--output-dir", "out")
    done, before = int(said.split()[0]), int(said.split()[3])
    assert before >= 2
    assert done + before == 43
    assert sorted(os.listdir("out"))[-1] == "x9.txt"


def test_bad_input(folder, monkeypatch):
    def refused(*arguments):
        return refusal("tag", "m.model", *arguments)

    assert "give --output-dir" in refused("in/a.txt", "in/c.txt")
    assert "give --output-dir" in refused("in")
    assert "give --output-dir" in refused("in/*.txt")
    assert "give --output-dir" in refused("in/a.txt", "--workers", 2)
    assert "give one of them" in refused("in", "--output-dir", "out", "-o", "file")
    assert "standard input" in refused("--output-dir", "out")
    assert "is also an input" in refused("in/a.txt", "--output-dir", "in")
    assert "is also an input" in refused("m.model", "in/a.txt", "--output-dir", ".")
    assert "cannot make the folder" in refused("in", "--output-dir", "m.model")
    assert "would both be written" in refused("in/a.txt", "train.txt", "in/../in/../train.txt", "in", *twins(folder))
    (folder / "in" / "b.txt.gz").write_bytes(b"\x1f\x8bnothing")
    sentence = refused("in", "--output-dir", "out")
    assert "b.txt.gz is damaged" in sentence
    assert "1 of 3 files were not tagged" in sentence
    assert sorted(p.name for p in (folder / "out").glob("*.txt")) == ["a.txt", "c.txt"]  # the others are

    real = tagged_files.tagged

    def changing(decoder, path, *given, **how):
        with open(path, "a") as stream:
            stream.write("\n2 B-QTY\n")
        yield from real(decoder, path, *given, **how)

    monkeypatch.setattr(tagged_files, "tagged", changing)
    assert "a.txt was changed while it was tagged" in refused("in/a.txt", "--output-dir", "new")
    assert not (folder / "new" / "a.txt").exists()


def twins(folder):
    (folder / "other").mkdir()
    (folder / "other" / "a.txt").write_text(TEXT)
    return "other", "--output-dir", "out"
