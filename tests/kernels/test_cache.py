"""Where compiled code is kept, and from where none is read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from loglin.kernels import cache

pytestmark = pytest.mark.skipif(os.name == "nt", reason="other folders and other permissions")


@pytest.fixture
def places(tmp_path, monkeypatch):
    """A home and a folder for temporary files, with nothing in them."""
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir(mode=0o700)
    temporary.mkdir(mode=0o700)
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(cache.tempfile, "tempdir", str(temporary))
    for function in (cache.root, cache.folder):
        function.cache_clear()
        monkeypatch.setattr(cache, function.__name__, function)  # so that it is cleared again below
    yield home, temporary
    cache.root.cache_clear()
    cache.folder.cache_clear()


def closed(monkeypatch, *folders):
    """Make folders that cannot be written, also for root."""
    writable = cache._writable
    monkeypatch.setattr(cache, "_writable", lambda folder: not _within(folder, folders) and writable(folder))


def _within(folder, folders):
    return any(folder.is_relative_to(other) for other in folders)


def test_the_cache_of_the_user(places):
    home, _ = places
    assert cache.root() == home / ".cache/loglin"
    assert cache.folder("vectors").parent == cache.root()
    assert cache.folder("vectors").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("value", ["", "relative/folder"])
def test_xdg_folders_that_are_none(places, monkeypatch, tmp_path, value):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    assert cache.root() == places[0] / ".cache/loglin"


@pytest.mark.parametrize("name", ["NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME"])
@pytest.mark.parametrize("value", ["", ".", "relative/folder"])
def test_nothing_is_read_from_where_we_are(places, monkeypatch, tmp_path, name, value):
    (tmp_path / "here/relative/folder").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv(name, value)
    assert cache.root().is_absolute()
    assert not cache.root().is_relative_to(tmp_path / "here")


@pytest.mark.parametrize("value", [".", "relative"])
def test_temporary_files_where_we_are(places, monkeypatch, tmp_path, value):
    (tmp_path / "relative").mkdir()
    monkeypatch.chdir(tmp_path)
    closed(monkeypatch, places[0])
    monkeypatch.setenv("TMPDIR", value)
    monkeypatch.setattr(cache.tempfile, "tempdir", str(tmp_path / value))
    assert cache.root() != tmp_path / value / f"loglin-{os.getuid()}"  # which others know beforehand
    assert list(cache.root().iterdir()) == []


def test_a_user_without_a_home(places, monkeypatch):
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(cache.os.path, "expanduser", lambda path: path)  # as where the system does not know the user
    assert cache.root() == places[1] / f"loglin-{os.getuid()}"
    assert cache.folder("vectors").parent == cache.root()


@pytest.mark.parametrize(("mode", "kept"), [(0o777, False), (0o757, False), (0o1777, True), (0o755, True)])
def test_folders_that_others_could_put_elsewhere(tmp_path, mode, kept):
    folder = tmp_path / "parent/inside/loglin"
    folder.mkdir(parents=True, mode=0o700)
    (tmp_path / "parent").chmod(mode)
    assert cache.safe(folder) is kept
    (tmp_path / "link").symlink_to(tmp_path / "parent/inside")
    assert cache.safe(tmp_path / "link/loglin") is kept  # where it really lies counts


@pytest.mark.skipif(os.name == "nt" or os.getuid() != 0, reason="only root can give folders away")
@pytest.mark.parametrize("given", ["parent", "parent/loglin"])
def test_folders_of_others(tmp_path, given):
    folder = tmp_path / "parent/loglin"
    folder.mkdir(parents=True, mode=0o700)
    assert cache.safe(folder)
    os.chown(tmp_path / given, 12345, 12345)
    assert not cache.safe(folder)


def test_folders_that_are_chosen(places, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.root() == tmp_path / "xdg/loglin"
    cache.root.cache_clear()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    assert cache.root() == tmp_path / "numba"


def test_a_home_that_cannot_be_written(places, monkeypatch):
    home, temporary = places
    closed(monkeypatch, home)
    assert cache.root() == temporary / f"loglin-{os.getuid()}"
    assert cache.root().stat().st_mode & 0o777 == 0o700
    first = cache.folder("vectors")
    cache.folder.cache_clear()
    assert cache.folder("vectors") == first  # another process finds what this one has compiled


def test_a_filled_cache_that_cannot_be_written(places, monkeypatch):
    home, temporary = places
    filled = cache.folder("vectors")
    (filled / "compiled").write_text("code")
    cache.root.cache_clear()
    cache.folder.cache_clear()
    closed(monkeypatch, home)
    assert (cache.folder("vectors") / "compiled").read_text() == "code"
    assert cache.folder("vectors").is_relative_to(temporary)


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722])
def test_folders_that_others_can_write(places, mode):
    home, temporary = places
    for taken in (home / ".cache/loglin", temporary / f"loglin-{os.getuid()}"):
        taken.mkdir(parents=True)
        taken.chmod(mode)
        assert not cache.safe(taken)
    assert cache.root().parent == temporary  # one for this process alone
    assert cache.root().name != f"loglin-{os.getuid()}"
    assert cache.safe(cache.root())


def test_links_are_not_followed(places, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    link = tmp_path / "link"
    link.symlink_to(elsewhere)
    assert cache.safe(elsewhere)
    assert not cache.safe(link)


def test_compiling_is_announced_once(tmp_path):
    code = (
        "import numpy as np; from loglin.kernels.vectors import difference, dot; "
        "dot(np.ones(3), np.ones(3)); difference(np.ones(3), np.ones(3), np.ones(3))"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "LOGLIN_KERNELS": "jit"}
    runs = [
        subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert [run.stdout for run in runs] == ["", ""]
    assert runs[0].stderr.count("loglin: compiling kernels for this machine") == 1
    assert runs[1].stderr == ""
    assert {path.name.partition("-")[0] for path in Path(tmp_path).iterdir()} == {"vectors"}
