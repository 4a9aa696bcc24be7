"""loglin train, tag, eval with --vectors."""

from __future__ import annotations

import json

import numpy as np
import pytest

from support.shell import refusal, run

DIMENSIONS = 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, right = tmp_path_factory.mktemp("vectors"), np.random.default_rng(7).standard_normal((DIMENSIONS, 3))
    for name, n, seed in (("train", 120, 0), ("test", 30, 1)):
        rng, rows, lines = np.random.default_rng(seed), [], []
        for _ in range(n):
            for _ in range(rng.integers(1, 8)):
                rows.append(rng.standard_normal(DIMENSIONS))
                lines.append(f"w{rng.integers(9)} {['B-A', 'I-A', 'O'][(rows[-1] @ right).argmax()]}")
            lines.append("")
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
        np.save(folder / f"{name}.npy", np.array(rows, np.float16))
    return folder


def test_train_tag_and_eval(folder, monkeypatch):
    monkeypatch.chdir(folder)
    told = ("--vectors", "train.npy", "--vector-l2", "0.1", "--vector-scale", "--dev", "test.txt")
    found = json.loads(run("train", "train.txt", *told, "--dev-vectors", "test.npy", "-o", "m.model", "--json"))
    assert found["tokens"] == len(np.load("train.npy"))
    tagged = run("tag", "m.model", "test.txt", "--vectors", "test.npy")
    ours = [line.split()[-1] for line in tagged.splitlines() if line]
    right = [line.split()[-1] for line in (folder / "test.txt").read_text().splitlines() if line]
    accuracy = np.mean([a == b for a, b in zip(ours, right, strict=True)])
    scores = json.loads(run("eval", "m.model", "test.txt", "--vectors", "test.npy", "--json"))
    assert scores["accuracy"] == pytest.approx(accuracy)
    assert accuracy > 0.85
    lines = run("tag", "m.model", "test.txt", "--vectors", "test.npy", "--json").splitlines()
    assert [label for line in lines for label in json.loads(line)["labels"]] == ours
    assert f"vector of {DIMENSIONS} dimensions" in run("inspect", "m.model")
    assert "vector[" in run("inspect", "m.model", "--top", "50")
    assert "a typed sentence has not" in refusal("inspect", "m.model", "--explain", "w1 w2")


def test_train_on_shards(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    told = ("train.txt", "--vectors", "train.npy", "--tol", "1e-9", "--json")
    whole = json.loads(run("train", *told, "-o", str(tmp_path / "whole.model")))
    parts = json.loads(run("train", *told, "--work-dir", str(tmp_path / "work"), "-o", str(tmp_path / "parts.model")))
    assert parts["objective"] == pytest.approx(whole["objective"], rel=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tag", "m.model", "test.txt"), "give vectors too"),
        (("tag", "plain.model", "test.txt", "--vectors", "test.npy"), "trained without vectors"),
        (("tag", "m.model", "test.txt", "--vectors", "train.npy"), "but test.txt has"),
        (("tag", "m.model", "train.txt", "--vectors", "test.npy"), "but train.txt has more tokens"),
        (("eval", "m.model", "train.txt", "--vectors", "test.npy"), "but train.txt has more tokens"),
        (("tag", "m.model", "test.txt", "--vectors", "test.txt"), "is no array of numbers"),
        (("tag", "m.model", "test.txt", "--vectors", "cube.npy"), "holds an array of shape"),
        (("tag", "m.model", "test.txt", "--vectors", "objects.npy"), "is no array of numbers"),
        (("tag", "m.model", "test.txt", "--vectors", "none.npy"), "cannot be read"),
        (("train", "train.txt", "--vectors", "test.npy", "-o", "x.model"), "has more tokens"),
        (("train", "train.txt", "--vectors", "train.npy", "--dev", "test.txt", "-o", "x.model"), "the vectors of dev"),
        (("train", "t*.txt", "--vectors", "train.npy", "-o", "x.model"), "--vectors are those of one file"),
    ],
)
def test_wrong_files_are_one_sentence(folder, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    if not (folder / "plain.model").exists():
        np.save("cube.npy", np.zeros((2, 2, 2)))
        np.save("objects.npy", np.array([{}], object))
        run("train", "train.txt", "-o", "plain.model", "--max-iter", "5", "--quiet")
        run("train", "train.txt", "--vectors", "train.npy", "-o", "m.model", "--quiet")
    assert message in refusal(*arguments)
    assert not (folder / "x.model").exists()
