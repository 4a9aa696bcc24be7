"""make tables: which tables are made, which are skipped, and how an interrupted run goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
NAMES = ["first", "second", "third"]


@pytest.fixture
def tables(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import tables

    return tables


@pytest.fixture
def make(tables, tmp_path):
    """Runs make_tables and returns its code and the tables that were made; ``ends`` maps a name to how it ends."""

    def run(present="source", force=False, ends=None, names=NAMES):
        made = []

        def one(name, output):
            made.append(name)
            end = (ends or {}).get(name, 0)
            if end is KeyboardInterrupt:
                raise end
            if not end:
                (output / f"{name}.json").write_text(f"numbers of {name}")
            return end

        try:
            code = tables.make_tables(names, tmp_path, tmp_path / "stamps", present, force, one)
        except KeyboardInterrupt:
            code = 130
        return code, made

    return run


def test_tables_made_already_are_skipped(make):
    assert make() == (0, NAMES)
    assert make() == (0, [])
    assert make(names=["second"], force=True) == (0, ["second"])
    assert make(present="other source") == (0, NAMES)


def test_an_interrupted_run_goes_on(make):
    assert make(ends={"second": KeyboardInterrupt}) == (130, ["first", "second"])
    assert make() == (0, ["second", "third"])


def test_a_forced_run_that_is_interrupted_goes_on(make):
    assert make() == (0, NAMES)
    assert make(force=True, ends={"second": KeyboardInterrupt}) == (130, ["first", "second"])
    assert make() == (0, ["second", "third"])


def test_a_table_that_fails_ends_the_run(make):
    assert make(ends={"second": 1}) == (1, ["first", "second"])
    assert make() == (0, ["second", "third"])


def test_a_page_that_is_lost_or_changed_is_made_anew(make, tmp_path):
    make()
    (tmp_path / "first.json").unlink()
    (tmp_path / "third.json").write_text("other numbers")
    assert make() == (0, ["first", "third"])


def test_fingerprint(tables, tmp_path):
    source, data = tmp_path / "source", tmp_path / "data"
    for folder in (source, data):
        folder.mkdir()
    (source / "a.py").write_text("1")
    (data / "corpus").write_text("word")
    first = tables.fingerprint(source, data)
    assert tables.fingerprint(source, data) == first
    assert tables.fingerprint(source, None) != first
    (source / "notes.txt").write_text("no source")
    assert tables.fingerprint(source, data) == first
    (source / "a.py").write_text("2")
    second = tables.fingerprint(source, data)
    (data / "corpus").write_text("words")
    assert len({first, second, tables.fingerprint(source, data)}) == 3


def test_an_unknown_name_is_refused():
    command = [sys.executable, str(BENCHMARKS / "tables.py"), "table9"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no table is called 'table9'; there are m-estimation-table1" in done.stderr
