"""Files are written whole or not at all, where and with the permissions that the user has given them."""

from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys

import pytest

from loglin.corpus.output import check_writable, write_atomically
from support.errors import refused


def test_writing_keeps_the_old_file_on_failure(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")

    def failing():
        yield b"new"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, failing())
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["model"]
    write_atomically(path, [b"a", b"b"])
    assert path.read_bytes() == b"ab"


def test_writing_where_one_cannot(tmp_path):
    refused(lambda: check_writable(tmp_path), tmp_path, "folder")
    refused(lambda: write_atomically(tmp_path / "no" / "x", b""), tmp_path / "no", "no folder")


def mode_of(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_a_new_file_has_the_permissions_that_the_process_gives(tmp_path, mask):
    code = f"import os; os.umask({mask}); from loglin.corpus.output import write_atomically as w; w('new', b'x')"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    assert mode_of(tmp_path / "new") == 0o666 & ~mask


def test_the_umask_of_the_process_is_never_touched(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("other threads would make files that anybody may write"))
    write_atomically(tmp_path / "new", b"x")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755])
def test_a_replaced_file_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "m"
    path.write_bytes(b"old")
    path.chmod(mode)
    write_atomically(path, b"new")
    assert (path.read_bytes(), mode_of(path)) == (b"new", mode)


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_its_target_is_replaced(tmp_path, there):
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "m", tmp_path / "link"
    link.symlink_to("real/m")
    (tmp_path / "second").symlink_to("link")
    if there:
        target.write_bytes(b"old")
    write_atomically(tmp_path / "second", b"new")
    assert link.is_symlink()
    assert (tmp_path / "second").is_symlink()
    assert target.read_bytes() == b"new"
    assert not target.is_symlink()
    assert os.listdir(tmp_path / "real") == ["m"]


def test_links_that_lead_nowhere(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    refused(lambda: write_atomically(tmp_path / "loop", b"x"), "cannot write", "loop", "link")
    (tmp_path / "away").symlink_to("gone/m")
    refused(lambda: write_atomically(tmp_path / "away", b"x"), "cannot write", "no folder", "gone")
    assert (tmp_path / "away").is_symlink()
    refused(lambda: write_atomically("zero\0byte", b"x"), "cannot write", "zero")


def test_content_is_on_the_disk_before_the_name_and_the_name_before_the_end(tmp_path, monkeypatch):
    done = []
    synced, replaced = os.fsync, os.replace

    def sync(handle):
        done.append(stat.S_IFMT(os.fstat(handle).st_mode))
        synced(handle)

    def rename(*names):
        done.append("rename")
        replaced(*names)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", rename)
    write_atomically(tmp_path / "m", b"x" * 100_000)
    assert done == [stat.S_IFREG, "rename", stat.S_IFDIR]


def test_no_room_is_a_sentence_and_loses_nothing(tmp_path):
    """A process that may write no more than some bytes has a disk that is full in the middle of a file."""
    (tmp_path / "m").write_bytes(b"old")
    code = (
        "from loglin.corpus.output import write_atomically as w\nfrom loglin.errors import LoglinError\n"
        "try:\n    w('m', [b'x' * 5000] * 9)\nexcept LoglinError as e:\n    print(e)"
    )
    given = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, **given)
    assert "cannot write m: File too large" in done.stdout, done.stderr
    assert (tmp_path / "m").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["m"]


def test_an_open_file_is_written_into_and_not_replaced(tmp_path):
    """/dev/stdout is a file where the shell says so; what stands in it stays."""
    code = "print('before', flush=True); from loglin.corpus.output import write_atomically as w; w('/dev/stdout', b'x')"
    with open(tmp_path / "out", "wb") as stream:
        subprocess.run([sys.executable, "-c", code], stdout=stream, check=True)
    assert (tmp_path / "out").read_bytes() == b"before\nx"
    assert os.path.lexists("/dev/stdout")
