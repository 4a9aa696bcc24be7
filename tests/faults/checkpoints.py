"""Trainings with a checkpoint that are killed: the same command goes on, and ends with the weights of one left alone.

    python tests/faults/checkpoints.py --kills 200 --seed 0

A training is started, killed with -9 at a random instant and started again, until it ends by itself; then the next one,
until there were so many kills. After every kill the model file is the old one or the new one, whole. At the end its
arrays are those of an undisturbed training to the last bit, its record is the same but for seconds, and nothing else
is left in the folder.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from faults.run import code_of, finished, prepare, run_here, started
from loglin.models import files
from support.interrupts import hear_interrupts
from support.training import timeless

STATE = ["--checkpoint", "state", "--checkpoint-every", "0"]
TRAININGS = {
    "train, dual ascent and L-BFGS": ["train", "tagged", "--tol", "1e-9", "--max-iter", "60"],
    "train, l2 auto": ["train", "tagged", "--l2", "auto", "--tol", "1e-6"],
    "train, held out": ["train", "tagged", "--dev", "tagged", "--dev-metric", "likelihood", "--optimizer", "lbfgs"],
    "train, l1": ["train", "tagged", "--l1", "0.1", "--max-iter", "40"],
    "train, averaged sgd": ["train", "tagged", "--optimizer", "averaged-sgd", "--max-iter", "40"],
    "train, perceptron": ["train", "tagged", "--criterion", "perceptron", "--max-iter", "30"],
    "train, em": [
        "train",
        "text",
        "--format",
        "text",
        "--criterion",
        "em",
        "--set",
        "labels=4",
        "--set",
        "starts=3",
        "--max-iter",
        "15",
    ],
    "classify-train, newton": ["classify-train", "examples.jsonl", "--optimizer", "newton"],
    "classify-train, margin": ["classify-train", "examples.jsonl", "--criterion", "margin"],
    "parse-train": ["parse-train", "trees", "--tol", "1e-8"],
    "lm train": ["lm", "train", "text", "--features", "bigram,cache", "--max-iter", "40"],
}


class Relay:
    """Trainings that were killed and went on, and what was wrong."""

    def __init__(self, folder: Path, seed: int):
        self.folder, self.random = folder, random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []
        prepare(folder)
        self.kept = {path.name for path in folder.iterdir()} | {"out", "output", "errors"}
        self.whole = {name: self._undisturbed(arguments) for name, arguments in TRAININGS.items()}

    def _undisturbed(self, arguments: list[str]) -> tuple[Any, float]:
        """What a training comes to that nobody disturbs, and its seconds when its state is written."""
        run_here(self.folder, [*arguments, "--quiet", "-o", "out"])
        began = time.monotonic()
        finished(self.folder, [*arguments, "--quiet", *STATE, "-o", "timed"])
        (self.folder / "timed").unlink()
        return content(self.folder / "out"), time.monotonic() - began

    def train(self, name: str, most: int) -> None:
        """One training, killed at random instants, at most so many times, until it ends."""
        whole, seconds = self.whole[name]
        out, old = self.folder / "out", b"an older model"
        out.write_bytes(old)
        arguments = [*TRAININGS[name], *STATE, "-o", "out"]
        for kills in range(most + 1):
            process = started(self.folder, arguments)
            if kills < most:
                time.sleep(self.random.random() * seconds)
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            code, errors = code_of(process), (self.folder / "errors").read_text()
            self.counts["went on"] += "training goes on from iteration" in errors
            if code not in (0, -signal.SIGKILL) or "Traceback" in errors:
                self.wrong.append(f"{name}: ended with {code}: {errors[-300:]}")
                break
            if code == 0:
                self.counts["ended"] += 1
                break
            self.counts["kills"] += 1
            if out.read_bytes() != old and content(out) != whole:
                self.wrong.append(f"{name}: after a kill the model is neither the old one nor the new one")
        if content(out) != whole:
            self.wrong.append(f"{name}: it ended with other weights or another record")
        if left := {path.name for path in self.folder.iterdir()} - self.kept:
            self.wrong.append(f"{name}: {sorted(left)} left")
            for each in left:
                (self.folder / each).unlink()


def content(path: Path) -> tuple[Any, dict[str, bytes]]:
    """A model file's manifest without seconds, and the bytes of its arrays."""
    section = files.read(path)
    return timeless(section.manifest), {name: array.tobytes() for name, array in section.arrays.items()}


def run(kills: int, seed: int) -> Relay:
    """Kill trainings, one after the other, until there were so many kills."""
    with tempfile.TemporaryDirectory() as name:
        relay = Relay(Path(name), seed)
        while relay.counts["kills"] < kills and not relay.wrong:
            for training in TRAININGS:
                relay.train(training, kills - relay.counts["kills"])
        return relay


def told(relay: Relay, seconds: float) -> str:
    counts = relay.counts
    return (
        f"{counts['kills']} kills of trainings with a checkpoint in {seconds:.0f} s: {counts['went on']} times one "
        f"went on from its file; all {counts['ended']} trainings ended; {len(relay.wrong)} failures"
    )


if __name__ == "__main__":
    hear_interrupts()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    began = time.monotonic()
    result = run(given.kills, given.seed)
    for line in result.wrong:
        print(line, file=sys.stderr)
    print(told(result, time.monotonic() - began))
    sys.exit(bool(result.wrong))
