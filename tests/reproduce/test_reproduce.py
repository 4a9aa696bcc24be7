"""Published tables: forms of a table, figures, the command with a table of the test's own."""

from __future__ import annotations

import json
import sys
from functools import partial
from itertools import cycle
from pathlib import Path
from types import ModuleType

import pytest

from loglin import reproduce
from loglin.errors import LoglinError
from loglin.reproduce import figures
from loglin.reproduce.table import Row, Table
from support.shell import check_sentence, program, refused

ROWS = [
    Row("HMM", "F1", 89.0, 88.5),
    Row("CRF | all", "F1", 93.81, 94.0, "extended features"),
    Row("CRF", "seconds", None, 12345.6),
    Row("MEMM", "F1", 90.0, float("nan"), "did not end"),
]
BARS = partial(figures.bars, title="Times", names=["HMM", "CRF"], values=[1.0, 20.0], xlabel="seconds")
PNG = b"\x89PNG\r\n\x1a\n"


def a_table(**more) -> Table:
    return Table("fake", "Chunking", ROWS, ["A remark."], seconds=61.25, **more)


@pytest.fixture
def fake(monkeypatch):
    """A table called fake, and the calls of its run."""
    module, calls = ModuleType("loglin.reproduce.fake"), []

    def make(quick, progress, threads):
        calls.append((quick, threads))
        progress("half way")
        return a_table(drawings={"times": BARS})

    module.run, module.DRAWS = make, True
    monkeypatch.setattr(reproduce, "perf_counter", cycle([100.0, 161.25]).__next__)
    monkeypatch.setitem(sys.modules, "loglin.reproduce.fake", module)
    monkeypatch.setitem(reproduce.TABLES, "fake", ("fake", "A table of the tests."))
    monkeypatch.setitem(reproduce.TABLES, "absent", ("no_such_module", "A table without a module."))
    return calls


# ---------------------------------------------------------------------- forms


def test_dictionary():
    value = json.loads(json.dumps(a_table().as_dict(), allow_nan=False))
    assert list(value)[:3] == ["table", "rows", "seconds"]
    assert set(value) == {"table", "rows", "seconds", "remarks", "figures"}
    assert value["rows"][1] == {
        "name": "CRF | all", "metric": "F1", "published": 93.81, "ours": 94.0, "note": "extended features",
    }  # fmt: skip
    assert value["rows"][2]["published"] is None
    assert value["rows"][3]["ours"] is None  # JSON has no nan


def test_text_is_aligned():
    lines = a_table().text().splitlines()
    assert lines[0] == "Chunking"
    header, rows = lines[1], lines[3:7]
    for name in ("published", "ours", "difference"):  # numbers end where the heading does
        end = header.index(name) + len(name)
        assert all(row[end - 1] != " " and row[end : end + 1] in ("", " ") for row in rows), name
    assert rows[0].split() == ["HMM", "F1", "89.00", "88.50", "-0.50"]
    assert "+0.19" in rows[1]
    assert rows[2].split() == ["CRF", "seconds", "–", "12,346", "–"]
    assert lines[-2:] == ["A remark.", "61.2 seconds"]


def test_markdown():
    lines = a_table(drawings={"times": BARS}, quick=True).markdown().splitlines()
    assert lines[0].startswith("# Chunking (quick run")
    assert lines[2] == "| name | metric | published | ours | difference | note |"
    assert "| CRF \\| all | F1 | 93.81 | 94.00 | +0.19 | extended features |" in lines
    assert "![times](fake-quick-times.png)" in lines
    assert "`loglin reproduce fake --quick`" in lines[-1]


def test_an_empty_table():
    table = Table("none", "Nothing", [])
    assert table.as_dict()["rows"] == []
    assert "published" in table.text()
    assert "published" in table.markdown()


# ---------------------------------------------------------------------- figures


def test_figures_are_the_same_bytes_every_time(tmp_path):
    pytest.importorskip("matplotlib")
    lines = {"HMM": ([1, 10, 100], [50, 60, 70]), "CRF": ([1, 10, 100], [40, 70, 90])}
    for name in ("one", "two"):
        BARS(tmp_path / f"{name}-bars.png")
        figures.curves(tmp_path / f"{name}-curves.png", "Learning", lines, "sentences", "F1", logx=True)
    for kind in ("bars", "curves"):
        one, two = ((tmp_path / f"{name}-{kind}.png").read_bytes() for name in ("one", "two"))
        assert one == two
        assert one.startswith(PNG)
        assert b"tEXt" not in one  # neither date nor version
        assert b"tIME" not in one


def test_figures_refuse(tmp_path):
    path = tmp_path / "x.png"
    with pytest.raises(LoglinError, match="1 against 2 values"):
        figures.bars(path, "T", ["a"], [1, 2], "x")
    with pytest.raises(LoglinError, match="T, a: 2 against 1 values"):
        figures.curves(path, "T", {"a": ([1, 2], [1])}, "x", "y")
    with pytest.raises(LoglinError, match="logarithmic axis"):
        figures.curves(path, "T", {"a": ([0, 2], [1, 2])}, "x", "y", logx=True)
    assert not path.exists()


# ---------------------------------------------------------------------- the command


def test_list(tmp_path):
    code, out, err = program(tmp_path, ["reproduce"])
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == list(reproduce.TABLES)
    assert all(len(line) <= 100 for line in out.splitlines())
    code, out, _ = program(tmp_path, ["reproduce", "--json"])
    assert list(json.loads(out)) == list(reproduce.TABLES)


def test_run_writes_and_prints(tmp_path, fake):
    pytest.importorskip("matplotlib")
    output = ("--output", "docs/results")
    code, out, err = program(tmp_path, ["reproduce", "fake", "--threads", 1, *output])
    assert code == 0
    assert err == "half way\n"
    assert out.startswith(a_table().text())
    assert "written to docs/results/fake.json" in out
    folder = tmp_path / "docs" / "results"
    full = {p.name: p.read_bytes() for p in folder.iterdir()}
    assert set(full) == {"fake.json", "fake.md", "fake-times.png"}
    assert full["fake-times.png"].startswith(PNG)
    code, out, err = program(tmp_path, ["reproduce", "fake", "--quick", "--json", *output])
    assert (code, err) == (0, "")
    assert json.loads(out) == json.loads((folder / "fake-quick.json").read_text())
    assert json.loads(out)["figures"] == ["fake-quick-times.png"]
    assert {name: (folder / name).read_bytes() for name in full} == full  # full results are as they were
    assert fake == [(False, 1), (True, None)]


def test_nothing_is_written_unasked(tmp_path, fake, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # what is not drawn needs no matplotlib
    code, out, err = program(tmp_path, ["reproduce", "fake"])
    assert (code, err) == (0, "half way\n")
    assert out.startswith(a_table().text())
    assert out.splitlines()[-1] == "nothing was written; --output DIR writes the table and its figures into a folder"
    code, out, err = program(tmp_path, ["reproduce", "fake", "--json"])
    assert (code, err) == (0, "")
    assert json.loads(out)["table"] == "fake"
    assert list(tmp_path.iterdir()) == []


def test_another_folder(tmp_path, fake):
    pytest.importorskip("matplotlib")
    assert program(tmp_path, ["reproduce", "fake", "--output", "a/b"])[0] == 0
    assert {p.name for p in (tmp_path / "a" / "b").iterdir()} == {"fake.json", "fake.md", "fake-times.png"}


def test_refusals_come_before_any_work(tmp_path, fake):
    (tmp_path / "file").write_text("")
    (tmp_path / "taken" / "fake.json").mkdir(parents=True)
    refused(tmp_path, ["reproduce", "table9"], "'table9'", "piecewise-table1")
    refused(tmp_path, ["reproduce", "absent"], "absent", "not in this version")
    refused(tmp_path, ["reproduce", "fake", "--output", "file"], "file", "no folder")
    refused(tmp_path, ["reproduce", "fake", "--output", "file/below"], "file/below", "no folder")
    refused(tmp_path, ["reproduce", "fake", "--output", "taken"], "fake.json", "it is a folder")
    refused(tmp_path, ["reproduce", "fake", "--output", ""], "output")
    refused(tmp_path, ["reproduce", "fake", "--threads", "0"], "--threads")
    assert fake == []


def test_a_folder_without_permission(tmp_path, fake, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    refused(tmp_path, ["reproduce", "fake", "--output", "new"], "cannot create new", "no permission")
    assert fake == []


def test_a_folder_that_takes_nothing(tmp_path, fake, monkeypatch):
    """A file system may refuse though permissions allow it."""
    if Path("/proc/self").exists():
        refused(tmp_path, ["reproduce", "fake", "--output", "/proc/x"], "cannot write into /proc/x", "name another")
        refused(tmp_path, ["reproduce", "fake", "--output", "/proc/x/y"], "cannot write into /proc/x/y")
    refused(tmp_path, ["reproduce", "fake", "--output", f"new/{'x' * 300}"], "cannot write into new/", "too long")

    def full(**options):
        raise OSError(28, "No space left on device")

    (tmp_path / "there").mkdir()
    monkeypatch.setattr("tempfile.TemporaryFile", full)
    for folder in ("there", "new/er"):
        refused(tmp_path, ["reproduce", "fake", "--output", folder], f"cannot write into {folder}", "No space left")
    assert fake == []
    assert [p.name for p in tmp_path.iterdir()] == ["there"]  # what was tried is gone


def test_without_matplotlib(tmp_path, fake, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    refused(tmp_path, ["reproduce", "fake", "--output", "new"], "matplotlib", "pip install 'loglin[plots]'")
    assert fake == []


def test_missing_data(tmp_path, fake, monkeypatch):
    def make(quick, progress, threads):
        from loglin.corpus import datasets

        return datasets.load("treebank")

    monkeypatch.setattr(sys.modules["loglin.reproduce.fake"], "run", make)
    monkeypatch.setattr(sys.modules["loglin.reproduce.fake"], "DRAWS", False)
    monkeypatch.setenv("LOGLIN_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    code, out, err = program(tmp_path, ["reproduce", "fake"])
    check_sentence(code, err, "treebank was not found", "LOGLIN_DATA")
    assert out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_broken_module_is_not_called_missing(fake, monkeypatch):
    def broken(name):
        raise ModuleNotFoundError("No module named 'other'", name="other")

    monkeypatch.setattr("importlib.import_module", broken)
    with pytest.raises(ModuleNotFoundError, match="other"):
        reproduce.module_of("fake")
