"""Commands that are killed, signaled, or cannot write: the old file stays whole or the new one is, and nothing else.

    python tests/faults/run.py --kills 1000 --signals 1000 --seed 0

Every case forks a process that has loglin imported, starts a command whose output exists already, and at a random
instant sends kill -9, SIGTERM or SIGINT; every thirtieth is a new process, so that imports are hit too. Full disks
(a limit for the size of files; as root also a small file system) and folders that cannot be written follow.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from loglin import load
from loglin.cli import interrupts
from loglin.cli.main import main
from support.estimators import LINES, SENTENCES, TREES, X, Y
from support.interrupts import hear_interrupts
from support.shell import wait_until_it_hears

install = interrupts.install
interrupts.install = lambda: None  # in this process, which runs every command once, so that those it forks are quick

NEW_PROCESS = 30  # every so many cases
LONGEST = 60.0  # seconds that a command may take on a busy machine
NOBODY = 65534
LONGEST_SENTENCE = 400  # bytes
FEW = ["--max-iter", "20", "--quiet"]
KEEP = ["--keep-on-interrupt"]
COMMANDS = {
    "train": ["train", "tagged", *FEW],
    "train, keeping": ["train", "tagged", *FEW, *KEEP],
    "tag": ["tag", "tagger.model", "tagged"],
    "classify-train": ["classify-train", "examples.jsonl", *FEW],
    "classify-train, keeping": ["classify-train", "examples.jsonl", *FEW, *KEEP],
    "parse-train": ["parse-train", "trees", *FEW],
    "parse-train, keeping": ["parse-train", "trees", *FEW, *KEEP],
    "lm train": ["lm", "train", "text", *FEW],
    "lm train, keeping": ["lm", "train", "text", *FEW, *KEEP],
    "prune": ["prune", "tagger.model"],
}


def prepare(folder: Path) -> dict[str, bytes]:
    """Write the data, and return an older output of every command."""
    rows = ["".join(f"{w} {y}\n" for w, y in zip(*s, strict=True)) for s in zip(*SENTENCES, strict=True)]
    (folder / "tagged").write_text("\n".join(rows))
    examples = [{"label": y, "features": {k: str(v) for k, v in x.items()}} for x, y in zip(X, Y, strict=True)]
    (folder / "examples.jsonl").write_text("".join(json.dumps(example) + "\n" for example in examples))
    (folder / "trees").write_text("\n".join(TREES))
    (folder / "text").write_text("\n".join(LINES))
    run_here(folder, ["train", "tagged", "--max-iter", "3", "--quiet", "-o", "tagger.model"])
    old = {}
    for name, arguments in COMMANDS.items():
        run_here(folder, [*arguments, "-o", "old"])
        if name != "tag":
            _used(load(folder / "old"))
        old[name] = (folder / "old").read_bytes()
    (folder / "old").unlink()
    return old


# ---------------------------------------------------------------------- processes


def started(
    folder: Path, arguments: list[str], before: Callable[[], None] = lambda: None, logs: Path | None = None
) -> int:
    """Fork a process that runs a command, and return its number; signals wait until it hears them."""
    ending = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, ending)
    process = os.fork()
    if process:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ending)
        return process
    code: Any = 70
    try:
        os.chdir(folder)
        for number, name in ((0, os.devnull), (1, "output"), (2, "errors")):
            os.dup2(os.open((logs or folder) / name, os.O_RDWR | os.O_CREAT | os.O_TRUNC), number)
        before()
        install()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ending)
        sys.argv = ["loglin", *arguments]
        main()
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code or 0)


def code_of(process: int) -> int:
    """How a process ended: its exit code, or the negative number of the signal that killed it."""
    deadline = time.monotonic() + LONGEST
    while True:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            return 1000  # no code of a process: it hung
        time.sleep(0.0005)


def finished(folder: Path, arguments: list[str], **how: Any) -> int:
    return code_of(started(folder, arguments, **how))


def run_here(folder: Path, arguments: list[str]) -> None:
    """Run a command in this process, which imports what it needs."""
    with open(os.devnull, "w") as nowhere, contextlib.chdir(folder), contextlib.redirect_stdout(nowhere):
        sys.argv = ["loglin", *arguments]
        with suppress(SystemExit):  # an output that is not there is told by whoever reads it
            main()


# ---------------------------------------------------------------------- cases


class Faults:
    """Cases, what they came to, and what was wrong."""

    def __init__(self, folder: Path, seed: int):
        self.folder, self.logs, self.random, self.old = folder, folder, random.Random(seed), prepare(folder)
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.seconds = {name: self._seconds(name) for name in COMMANDS}

    def _seconds(self, name: str) -> float:
        began = time.monotonic()
        self.run(name)
        return time.monotonic() - began

    def run(self, name: str, before: Callable[[], None] = lambda: None) -> int:
        (self.folder / "out").write_bytes(self.old[name])
        return finished(self.folder, [*COMMANDS[name], "-o", "out"], before=before)

    def interrupted(self, number: int, case: int) -> None:
        """One command, one signal at a random instant."""
        name = self.random.choice(list(COMMANDS))
        (self.folder / "out").write_bytes(self.old[name])
        arguments = [*COMMANDS[name], "-o", "out"]
        if case % NEW_PROCESS:
            process = started(self.folder, arguments)
            time.sleep(self.random.random() * 1.2 * self.seconds[name])
            with suppress(ProcessLookupError):
                os.kill(process, number)
            code = code_of(process)
        else:
            with open(self.folder / "errors", "wb") as errors, open(os.devnull, "wb") as nowhere:
                command = [sys.executable, "-m", "loglin", *arguments]
                new = subprocess.Popen(command, cwd=self.folder, stdout=nowhere, stderr=errors)
            wait_until_it_hears(new)
            time.sleep(self.random.random())
            new.send_signal(number)
            code = new.wait(LONGEST)
        may_end = (128 + number, 0)
        if number == signal.SIGKILL:
            may_end = (-number, 0)
        self.counts["done before" if code == 0 else "ended"] += 1
        self.check(f"{name}, {signal.Signals(number).name}", name, code, may_end)
        if left := self.left():
            self.counts["temporary files left"] += len(left)
            if number != signal.SIGKILL:
                self.wrong.append(f"{name}: {left} left after {signal.Signals(number).name}")
            elif self.run(name) or self.left():
                self.wrong.append(f"{name}: {self.left()} not removed by the next run")
            self.clear()

    def check(self, what: str, name: str, code: int, may_end: tuple[int, ...]) -> None:
        errors = (self.logs / "errors").read_text()
        if code not in may_end or "Traceback" in errors:
            self.wrong.append(f"{what}: ended with {code}: {errors[-300:]}")
        content = (self.folder / "out").read_bytes() if (self.folder / "out").exists() else b""
        if content == self.old[name]:
            self.counts["old file"] += 1
            return
        self.counts["new file"] += 1
        try:
            if name == "tag":
                assert len(content) == len(self.old[name])
            else:
                _used(load(self.folder / "out"))
        except Exception as error:
            self.wrong.append(f"{what}: neither the old file nor a new one: {error}")

    def left(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir() if path.name.startswith("."))

    def clear(self) -> None:
        for name in self.left():
            (self.folder / name).unlink()

    def cannot_write(self) -> None:
        """Every command on a full disk and in a folder that cannot be written."""
        for name in COMMANDS:
            for how, before in self._obstacles(name):
                code = self.run(name, before)
                self.counts["could not write"] += 1
                self.check(f"{name}, {how}", name, code, (1,))
                if (self.folder / "errors").read_text().count("\n") != 1:
                    self.wrong.append(f"{name}, {how}: not one sentence")
                if self.left():
                    self.wrong.append(f"{name}, {how}: {self.left()} left")
        if os.geteuid() == 0:
            self._small_file_system()

    def _obstacles(self, name: str) -> Iterator[tuple[str, Callable[[], None]]]:
        limit = self.random.randrange(LONGEST_SENTENCE, len(self.old[name]) - 1)  # which the log of errors has too
        yield "full disk", lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        self.folder.chmod(0o555)
        for path in self.folder.iterdir():
            path.chmod(0o666)
        try:
            yield "read-only folder", lambda: os.seteuid(NOBODY) if os.geteuid() == 0 else None
        finally:
            self.folder.chmod(0o755)

    def _small_file_system(self) -> None:
        """Every command where there is room for the old file but not for the new one."""
        whole = self.folder
        with mounted(whole / "small") as small:
            if small is None:
                return
            for name in COMMANDS:
                for path in small.iterdir():
                    path.unlink()
                needed = next((a for a in COMMANDS[name] if (whole / a).is_file()), "")
                for source in {needed, "tagger.model"} - {""}:
                    shutil.copy(whole / source, small / source)
                (small / "out").write_bytes(self.old[name])
                fill(small / "filling")
                code = finished(small, [*COMMANDS[name], "-o", "out"], logs=whole)
                self.counts["could not write"] += 1
                self.folder = small
                self.check(f"{name}, full file system", name, code, (1,))
                if self.left():
                    self.wrong.append(f"{name}, full file system: {self.left()} left")
                self.folder = whole


def _used(estimator: Any) -> None:
    """Ask a model something."""
    kind = type(estimator).__name__
    if kind == "LanguageModel":
        estimator.scores(LINES[:2])
    else:
        estimator.predict({"Tagger": SENTENCES[0][:2], "Parser": [["dogs", "bark"]]}.get(kind, X[:2]))


@contextmanager
def mounted(place: Path) -> Iterator[Path | None]:
    """A file system of a few megabytes; None where none may be made."""
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)], capture_output=True)
    try:
        yield place if done.returncode == 0 else None
    finally:
        if done.returncode == 0:
            subprocess.run(["umount", str(place)], check=True)
        place.rmdir()


def fill(path: Path) -> None:
    """Write a file until its file system is full."""
    with open(path, "wb", buffering=0) as stream, suppress(OSError):
        while stream.write(b"." * 4096):
            pass


def run(kills: int, signals: int, seed: int) -> Faults:
    """Run all cases in a folder of their own."""
    with tempfile.TemporaryDirectory() as name:
        faults = Faults(Path(name), seed)
        for case in range(kills):
            faults.interrupted(signal.SIGKILL, case)
        for case in range(signals):
            faults.interrupted((signal.SIGTERM, signal.SIGINT)[case % 2], case // 2)
        faults.cannot_write()
        return faults


def told(faults: Faults, kills: int, signals: int, seconds: float) -> str:
    counts = faults.counts
    return (
        f"{kills} kills and {signals} signals in {seconds:.0f} s: {counts['ended']} ended a command, "
        f"{counts['done before']} came too late; {counts['could not write']} commands could not write; the old file "
        f"stayed {counts['old file']} times, the new one was there {counts['new file']} times; "
        f"{counts['temporary files left']} temporary files left by kill -9, removed by the next run; "
        f"{len(faults.wrong)} failures"
    )


if __name__ == "__main__":
    hear_interrupts()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--signals", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    began = time.monotonic()
    result = run(given.kills, given.signals, given.seed)
    for line in result.wrong:
        print(line, file=sys.stderr)
    print(told(result, given.kills, given.signals, time.monotonic() - began))
    sys.exit(bool(result.wrong))
