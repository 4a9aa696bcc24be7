"""Commands as users run them: a command alone, and the whole program with its streams and exit code."""

from __future__ import annotations

import io
import re
import signal
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from loglin.cli import interrupts
from loglin.cli.main import cli, main

PROGRAM = [sys.executable, "-m", "loglin"]


def run(*arguments: object, given: str | bytes | None = None) -> str:
    """The standard output of a command that must succeed; an exception is passed on."""
    result = CliRunner().invoke(cli, [str(a) for a in arguments], input=given, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def refusal(*arguments: object) -> str:
    """The sentence with which a command refuses, in this process."""
    result = CliRunner().invoke(cli, [str(a) for a in arguments])
    assert result.exit_code != 0
    return f"{result.exception}{result.output}"


def program(folder, arguments, given=b""):
    """Run the program in this process as a user would: exit code, standard output, standard error."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(interrupts, "install", lambda: None)  # signals are for the tests, not for the program in them
        patch.setattr(sys, "argv", ["loglin", *map(str, arguments)])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        with pytest.raises(SystemExit) as ended:
            main()
    return ended.value.code, out.buffer.getvalue().decode(), err.getvalue()


def wait_until_it_hears(process) -> None:
    """Wait until a new process handles SIGTERM itself: before that, Python has not come to the program."""
    status, bit = Path(f"/proc/{process.pid}/status"), 1 << (signal.SIGTERM - 1)
    while process.poll() is None and not int(re.search(r"SigCgt:\s*(\w+)", status.read_text())[1], 16) & bit:
        time.sleep(0.001)


def snapshot(folder):
    return {p.relative_to(folder): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


def check_sentence(code, err, *parts):
    assert code not in (0, None)
    assert err.startswith("loglin: ")
    assert err.count("\n") == 1, err
    assert "Traceback" not in err
    assert re.search(r"[;:,] \w", err.removeprefix("loglin: ")), f"no remedy in {err!r}"
    for part in parts:
        assert part in err


def refused(folder, arguments, *parts, files=None):
    for name, content in (files or {}).items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    before = snapshot(folder)
    code, out, err = program(folder, arguments)
    check_sentence(code, err, *parts)
    assert out == ""
    assert snapshot(folder) == before
