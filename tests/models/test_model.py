"""Model files: round trips, and everything that may be wrong with one."""

from __future__ import annotations

import os

import numpy as np
import pytest

from loglin import LoglinError, Tagger
from loglin.models.chain import Model
from support.model_files import rewritten

NESTED: list = []
for _ in range(500):
    NESTED = [NESTED]
X = [["a", "b", "c"], ["b", "a"], ["c"]]
Y = [["X", "Y", "O"], ["Y", "X"], ["O"]]


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model"
    Tagger(template="U0:%x[0,0]\nU1:%suffix[-1,0,1]\nB\nB1:%x[0,0]", max_iter=5).fit(X, Y).save(path)
    return path


def test_round_trip(saved):
    model = Model.load(saved)
    assert model.labels == ["X", "Y", "O"]
    assert model.record["stopped"]
    model.save(saved.parent / "again")
    assert np.array_equal(Model.load(saved.parent / "again").weights, model.weights)
    assert [p.name for p in saved.parent.iterdir() if p.name.startswith(".")] == []


def test_truncated_at_every_length(saved):
    content = saved.read_bytes()
    for size in [*range(0, min(len(content), 400), 7), *range(400, len(content), 97), len(content) - 1]:
        saved.write_bytes(content[:size])
        with pytest.raises(LoglinError, match=str(saved)):
            Model.load(saved)


@pytest.mark.parametrize(
    "change",
    [
        lambda h, m: h.pop("__metadata__"),
        lambda h, m: m.update(format="other"),
        lambda h, m: m.update(version="x"),
        lambda h, m: m.update(labels=["X"]),
        lambda h, m: m.update(labels=["X", "Y", "X"]),
        lambda h, m: m.update(labels=["X", "Y", float("nan")]),
        lambda h, m: m.update(labels=["X", "Y", "\ud800"]),
        lambda h, m: m.update(labels=["X", "Y", 10**400]),
        lambda h, m: m.update(labels=list(range(70_000))),
        lambda h, m: m.update(order=float("inf")),
        lambda h, m: m.update(order=10**400),
        lambda h, m: m.update(decoding={"steps": "scaled", "scale": [1, 1, 1, float("nan")]}),
        lambda h, m: m.update(decoding={"beam": 2**70}),
        lambda h, m: m.update(decoding=[]),
        lambda h, m: m.update(features=[1]),
        lambda h, m: m["record"].update(options=[1]),
        lambda h, m: m["record"].update(iterations="many"),
        lambda h, m: m["record"].update(note=NESTED),
        lambda h, m: m["features"].update(template="U0:" + "%x[0,0]" * 400 + "\nB"),
        lambda h, m: m["features"].update(template='U0:%x[0,0]\nU1:%t[-1,0,"' + "(" * 5000 + ")" * 5000 + '"]\nB'),
        lambda h, m: m.update(labels=[]),
        lambda h, m: m.update(order=7),
        lambda h, m: m.update(task="steal"),
        lambda h, m: m["features"].update(kind="pickle"),
        lambda h, m: m["features"].update(template="U0:%x[0,9]\nB"),
        lambda h, m: m["features"].update(template="nonsense"),
        lambda h, m: h["weights"].update(dtype="I64"),
        lambda h, m: h["weights"].update(shape=[10**12]),
        lambda h, m: h["weights"].update(data_offsets=[0, 10**15]),
        lambda h, m: h["weights"].update(data_offsets=[-8, 0]),
        lambda h, m: h.pop("index.ptr"),
        lambda h, m: h["index.ptr"].update(dtype="BOOL"),
    ],
)
def test_hostile_headers(saved, change):
    rewritten(saved, change)
    with pytest.raises(LoglinError):
        Model.load(saved)


@pytest.mark.parametrize("version", [-5, 0, "1", 1.5, True, None, 10**30, [1]])
def test_versions_that_there_are_not(saved, version):
    rewritten(saved, lambda h, m: m.update(version=version))
    with pytest.raises(LoglinError, match=r"version|too large"):
        Model.load(saved)


def test_newer_version(saved):
    rewritten(saved, lambda h, m: m.update(version=99))
    with pytest.raises(LoglinError, match="version 99, newer"):
        Model.load(saved)


def test_foreign_files(tmp_path):
    import pickle

    bomb = tmp_path / "bomb"
    bomb.write_bytes(pickle.dumps(os.getcwd))
    for path, content in ((bomb, None), (tmp_path / "text", b"hello world, I am text"), (tmp_path / "empty", b"")):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(LoglinError, match="no loglin model"):
            Model.load(path)
    with pytest.raises(LoglinError, match="cannot read"):
        Model.load(tmp_path / "missing")


def test_a_failed_write_leaves_the_old_file(saved, monkeypatch):
    old = saved.read_bytes()
    model = Model.load(saved)

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(LoglinError, match="No space left"):
        model.save(saved)
    assert saved.read_bytes() == old
    assert [p.name for p in saved.parent.iterdir()] == [saved.name]


@pytest.mark.parametrize("change", [{"record": [1]}, {"labels": [["X"], ["Y"], ["O"]]}, {"labels": {"X": 1}}])
def test_hostile_records_and_labels(saved, change):
    rewritten(saved, lambda h, m: m.update(change))
    with pytest.raises(LoglinError):
        Model.load(saved)
