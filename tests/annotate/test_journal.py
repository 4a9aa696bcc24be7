"""The journal: nothing that was said to be saved is lost, nothing torn is believed, nobody else writes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from loglin.annotate.journal import Journal
from loglin.errors import LoglinError

HEADER = {"task": "tag", "data": "abc", "labels": ["X"]}


def test_entries_are_there_again_with_their_numbers(tmp_path):
    path = tmp_path / "j.jsonl"
    journal = Journal(path, HEADER)
    assert [journal.append({"do": "skip", "item": n}) for n in (4, 2)] == [1, 2]
    journal.close()
    journal = Journal(path, HEADER)
    assert journal.entries == [{"do": "skip", "item": 4}, {"do": "skip", "item": 2}]
    assert journal.append({"do": "skip", "item": 0}) == 3
    journal.close()


@pytest.mark.parametrize("kept", range(1, 25))
def test_a_torn_last_line_is_left_out_wherever_it_was_torn(tmp_path, kept):
    path = tmp_path / "j.jsonl"
    journal = Journal(path, HEADER)
    journal.append({"do": "skip", "item": 1})
    whole = path.stat().st_size
    journal.append({"do": "skip", "item": 23456})
    journal.close()
    os.truncate(path, whole + kept)
    journal = Journal(path, HEADER)
    assert journal.entries == [{"do": "skip", "item": 1}]
    journal.append({"do": "flag", "item": 5})
    journal.close()
    journal = Journal(path, HEADER)
    assert [entry["do"] for entry in journal.entries] == ["skip", "flag"]
    journal.close()


def test_a_last_line_without_its_end_is_kept_where_it_is_whole(tmp_path):
    path = tmp_path / "j.jsonl"
    journal = Journal(path, HEADER)
    journal.append({"do": "skip", "item": 1})
    journal.close()
    os.truncate(path, path.stat().st_size - 1)
    journal = Journal(path, HEADER)
    assert journal.append({"do": "skip", "item": 2}) == 2
    journal.close()


def test_a_second_process_is_refused(tmp_path):
    path = tmp_path / "j.jsonl"
    journal = Journal(path, HEADER)
    script = f"from loglin.annotate.journal import Journal; Journal({str(path)!r}, {HEADER!r})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "is open in another process" in done.stderr
    journal.close()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"journal":1,"task":"tag","data":"other","labels":["X"]}\n', "its data is"),
        ('{"journal":1,"task":"tag","data":"abc","labels":["Y"]}\n', "its labels is"),
        ("tokens\tlabels\n", "line 1: not JSON"),
        (
            '{"journal":1,"task":"tag","data":"abc","labels":["X"]}\nbroken\n{"do":"skip","item":1}\n',
            "line 2: not JSON",
        ),
        ("\udcff\n", "UTF-8"),
    ],
)
def test_other_journals_and_damaged_ones_are_refused_unchanged(tmp_path, text, said):
    path = tmp_path / "j.jsonl"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(LoglinError, match=said):
        Journal(path, HEADER)
    assert path.read_bytes() == text.encode("utf-8", "surrogateescape")


def test_what_cannot_be_written_is_not_saved(tmp_path, monkeypatch):
    path = tmp_path / "j.jsonl"
    journal = Journal(path, HEADER)
    journal.append({"do": "skip", "item": 1})
    before = path.read_bytes()

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LoglinError, match="nothing was saved"):
        journal.append({"do": "skip", "item": 2})
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert journal.append({"do": "skip", "item": 3}) == 2
    journal.close()
