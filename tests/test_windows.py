"""Modules that only POSIX systems have are imported where they are used, so that Windows can do without them."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "loglin"
POSIX = {"resource", "fcntl", "termios", "pwd", "grp", "tty", "pty", "posix", "readline", "syslog"}
HIDE = """
import importlib.abc, sys

class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in {hidden!r}:
            raise ImportError(f"no module {{name}} here")

for name in {hidden!r}:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Hidden())
"""
USED = """
import importlib, pkgutil, loglin
from pathlib import Path
for module in pkgutil.walk_packages(loglin.__path__, "loglin."):
    if module.name.startswith(("loglin.kernels.", "loglin.__main__")) or module.name in sys.modules:
        continue
    try:
        importlib.import_module(module.name)
    except ImportError as error:
        assert not any(name in str(error) for name in {hidden!r}), (module.name, error)
tagger = loglin.Tagger(max_iter=2).fit([["a", "b"]] * 3, [["X", "Y"]] * 3)
tagger.save("m.model")
assert tagger.model_.record["peak_memory_mb"] is None
assert loglin.load("m.model").predict([["a"]]) == [["X"]]
from loglin.corpus.shards import WorkFolder
WorkFolder("work").close()
"""


def at_import(path):
    """What a module imports when it is imported: everything outside of functions."""
    found, ahead = set(), list(ast.parse(path.read_text()).body)
    while ahead:
        node = ahead.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            ahead += ast.iter_child_nodes(node)
    return found


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("**/*.py")), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_module_imports_them_at_its_top(path):
    assert not at_import(path) & POSIX


def test_everything_works_without_them(tmp_path):
    """A stand-in for Windows: no such module can be found, and yet all is imported, trained, saved and loaded."""
    hidden = tuple(sorted(POSIX - {"posix"}))  # which os itself is made of
    script = HIDE.format(hidden=hidden) + USED.format(hidden=hidden)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
