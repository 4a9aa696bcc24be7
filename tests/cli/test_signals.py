"""Signals that end a command: its exit code, the old file whole, nothing left beside it, what training keeps."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import termios
import time

import pytest

from loglin import load
from support.estimators import SENTENCES, TREES, X, Y
from support.shell import PROGRAM, wait_until_it_hears

LONG = ["--tol", "0", "--max-iter", "1000000", "--threads", "1"]
COMMANDS = {
    "train": ["train", "tagged", "--l2", "1e-9", *LONG],
    "classify-train": ["classify-train", "examples.jsonl", "--l2", "1e-9", *LONG],
    "parse-train": ["parse-train", "trees", "--l2", "1e-9", *LONG],
    "lm": ["lm", "train", "text", "--variance", "bigram=1e9", *LONG],
}
OLD = b"an older model"


@pytest.fixture
def folder(tmp_path):
    rows = "".join(f"w{i * 7919 % 997} L{i * 31 % 7}\n" + "\n" * (i % 9 == 0) for i in range(20_000))
    (tmp_path / "tagged").write_text(rows)
    examples = [{"label": y, "features": [f"{k}={v}" for k, v in x.items()] + [f"n{i % 7}"]}
                for i, (x, y) in enumerate(zip(X * 40, Y * 40, strict=True))]  # fmt: skip
    (tmp_path / "examples.jsonl").write_text("".join(json.dumps(e) + "\n" for e in examples))
    (tmp_path / "trees").write_text("\n".join(TREES * 30))
    (tmp_path / "text").write_text("\n".join(" ".join(words) for words in SENTENCES[0] * 5))
    (tmp_path / "out").write_bytes(OLD)
    return tmp_path


@contextlib.contextmanager
def begun(folder, command, *more, **how):
    """A training that has done its first iteration."""
    arguments = [*PROGRAM, *COMMANDS[command], "-o", "out", *more]
    how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | how
    with subprocess.Popen(arguments, cwd=folder, **how) as process:
        if process.stderr is not None:
            first = process.stderr.readline()
            assert first.startswith(b"iteration"), first + process.stderr.read()
        try:
            yield process
        finally:
            process.kill()


def others(folder):
    return sorted(p.name for p in folder.iterdir() if p.name.startswith("."))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", COMMANDS)
def test_interrupted_training_writes_nothing(folder, command, number):
    with begun(folder, command) as process:
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 128 + number
    assert (folder / "out").read_bytes() == OLD
    assert out == b""
    assert b"Traceback" not in err
    assert not others(folder)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", COMMANDS)
def test_what_was_learned_is_kept_on_request(folder, command, number):
    with begun(folder, command, "--keep-on-interrupt") as process:
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number, err
    assert b"interrupted; the best weights so far are kept" in out
    assert b"Traceback" not in err
    assert load(folder / "out")
    assert not others(folder)


def test_a_second_signal_ends_what_the_first_keeps(folder):
    with begun(folder, "train", "--keep-on-interrupt") as process:
        process.send_signal(signal.SIGSTOP)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCONT):
            process.send_signal(number)
        process.communicate(timeout=20)
    assert process.returncode in (128 + signal.SIGTERM, 128 + signal.SIGINT)
    assert (folder / "out").read_bytes() == OLD
    assert not others(folder)


def test_ctrl_c_at_a_terminal_keeps_what_was_learned(folder):
    terminal, other = pty.openpty()
    termios.tcsetwinsize(other, (24, 80))
    with begun(folder, "train", stdin=other, stderr=other) as process:
        os.close(other)
        seen = b""
        while b"iteration" not in seen:
            seen += os.read(terminal, 1000)
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(OSError):  # which says that nobody writes any more
            while os.read(terminal, 1000):
                pass
        out, _ = process.communicate(timeout=60)
    os.close(terminal)
    assert process.returncode == 130
    assert b"model written to out" in out
    assert load(folder / "out").predict([["w1"]])


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="when it hears signals cannot be told")
@pytest.mark.parametrize("moment", [0.0, 0.02, 0.1, 0.2, 0.4])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_while_a_command_starts(folder, number, moment):
    arguments = [*PROGRAM, *COMMANDS["train"], "-o", "out", "--keep-on-interrupt"]
    with subprocess.Popen(arguments, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_until_it_hears(process)
        time.sleep(moment)  # imports, kernels, reading
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert b"Traceback" not in err
    assert not others(folder)


def test_no_table_of_weights_that_were_not_reached(folder):
    arguments = [*PROGRAM, "reproduce", "slides-examples", "--output", "."]
    with subprocess.Popen(arguments, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stderr.readline()  # the first line of progress
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == b""
    assert not list(folder.glob("slides*"))
