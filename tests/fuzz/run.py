"""Runs random cases of every kind; each must be answered sanely or refused with a sentence.

    python tests/fuzz/run.py --cases 100000 --seed 1               all kinds, in turn
    python tests/fuzz/run.py --kind templates --case 1234 --seed 1  one case again, with its traceback

A case is a function of a random number generator that is seeded with seed, kind and number. Cases run in processes that
are forked from one with everything imported; one that crashes, hangs or needs too much memory is counted, and the next
process goes on behind it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import select
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz import calls, commands, foreign, models, prepared, structures, templates, texts
from loglin.errors import LoglinError

KINDS = texts.KINDS | templates.KINDS | commands.KINDS | calls.KINDS | structures.KINDS | models.KINDS | foreign.KINDS
SECONDS = 10  # of a case
MEMORY = 4 << 30  # bytes beyond those of the process that is forked
AT_ONCE = 2000  # cases of a process


class TooLong(BaseException):
    """Not an Exception, so that no code under test catches it."""


def refusal(error: BaseException) -> bool:
    """Whether an exception is one that users are meant to read."""
    if isinstance(error, LoglinError) or type(error).__name__ == "NotFittedError":
        return True
    last = traceback.extract_tb(error.__traceback__)[-1]
    return (
        isinstance(error, ValueError | TypeError) and "sklearn" in last.filename
    )  # which checks what its own functions are given


def tried(kind: str, number: int, seed: int) -> str | None:
    """What is wrong with a case: None if it was answered, "" if it was refused, else the error."""
    rng = random.Random(f"{seed}/{kind}/{number}")
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        KINDS[kind](rng)
        return None
    except (Exception, TooLong) as error:
        if refusal(error):
            return ""
        where = traceback.extract_tb(error.__traceback__)[-1]
        notes = " ".join(getattr(error, "__notes__", []))
        return f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno}) {notes}"[:700]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _give_up(*_: object) -> None:
    raise TooLong(f"more than {SECONDS} s")


def prepare() -> None:
    """What a process has before it is forked."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _give_up)
    prepared.prepare()


def _limit_memory() -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))


def _child(write: int, kind: str, numbers: range, seed: int) -> None:
    """Say before each case which one it is, and behind it what came of it."""
    if sys.platform == "linux":
        _limit_memory()
    for number in numbers:
        os.write(write, b"%d\n" % number)
        os.write(write, json.dumps(tried(kind, number, seed)).encode() + b"\n")


def _messages(read: int, process: int) -> Iterator[str]:
    """Lines that a process writes, until it ends or hangs."""
    rest = b""
    while True:
        if not select.select([read], [], [], 3 * SECONDS)[0]:
            os.kill(process, signal.SIGKILL)  # in compiled code, where no alarm is heard
        block = os.read(read, 1 << 16)
        if not block:
            return
        *lines, rest = (rest + block).split(b"\n")
        yield from (line.decode() for line in lines)


def run(kind: str, numbers: range, seed: int) -> Iterator[tuple[int, str | None]]:
    """Every case of a kind with what came of it, whatever happens to the process that runs it."""
    while numbers:
        read, write = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(read)
            try:
                _child(write, kind, numbers[:AT_ONCE], seed)
            finally:
                os._exit(0)
        os.close(write)
        begun: int | None = None
        last = numbers.start - 1
        for line in _messages(read, process):
            if begun is None:
                begun = int(line)
            else:
                yield begun, json.loads(line)
                begun, last = None, begun
        os.close(read)
        _, status = os.waitpid(process, 0)
        if begun is not None:
            yield begun, f"the process ended with status {status}"
            last = begun
        numbers = range(last + 1, numbers.stop)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20_000, help="of all kinds together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=sorted(KINDS), help="this kind alone")
    parser.add_argument("--case", type=int, help="this case of the kind alone, in this process")
    parser.add_argument("--show", type=int, default=5, help="so many failures of a kind, each error once")
    given = parser.parse_args()
    prepare()
    if given.case is not None:
        KINDS[given.kind](random.Random(f"{given.seed}/{given.kind}/{given.case}"))
        return 0
    kinds = [given.kind] if given.kind else list(KINDS)
    total: Counter[str] = Counter()
    begin = time.perf_counter()
    for kind in kinds:
        total += _report(kind, range(given.cases // len(kinds)), given.seed, given.show)
    seconds = time.perf_counter() - begin
    counts = ", ".join(f"{total[name]:,} {name}" for name in ("answered", "refused", "failed"))
    print(f"{total.total():,} cases of {len(kinds)} kinds, seed {given.seed}: {counts}; {seconds:.0f} s")
    return int(total["failed"] > 0)


def _report(kind: str, numbers: range, seed: int, most: int) -> Counter[str]:
    """Run a kind, print its failures, and count."""
    counts: Counter[str] = Counter()
    shown: set[str] = set()
    begin = time.perf_counter()
    for number, what in run(kind, numbers, seed):
        counts["answered" if what is None else "failed" if what else "refused"] += 1
        error = (what or "").rpartition("(")[2] or what or ""
        key = error.partition(")")[0]
        if what and key not in shown and len(shown) < most:
            shown.add(key)
            print(f"--kind {kind} --case {number} --seed {seed}: {what}", flush=True)
    seconds = time.perf_counter() - begin
    print(f"{kind}: {dict(counts)}, {counts.total() / max(seconds, 1e-9):.0f} a second", flush=True)
    return counts


if __name__ == "__main__":
    sys.exit(main())
