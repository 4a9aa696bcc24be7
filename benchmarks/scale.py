"""Past memory and past one process: a corpus of millions of tokens trained on shard by shard.

    python benchmarks/scale.py [--tokens N] [--fits N] [--shared N] [--memory 1GB] [--work DIR] [--output DIR]

The corpus is CoNLL-2000 over and over, with words of its own each time, one file a copy, and a template of words and
parts of speech whose attributes occur three times or more. Three parts, each training in a process of its own, with one
thread:

memory   --tokens tokens with --memory: peak resident memory, bytes on disk, seconds of preparation and of a pass.
fits     --fits tokens, in memory and in shards: the same objective at a tight tolerance, seconds of a pass both ways.
shared   --shared tokens, in memory, with one worker, with two, and with two of which one is killed in every tenth pass:
         objective, tags of the test file, seconds of a pass.

Data is found through LOGLIN_DATA; --work keeps the corpus between runs. With --output, writes scale.json and scale.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

from crf import TEMPLATE, peak_mb, read_sentences
from output import parser_of, report

MIN_COUNT = 3
PASSES = 12  # iterations whose seconds are measured
TIGHT = 1e-8


def corpus_of(work: Path, n_tokens: int) -> list[Path]:
    """Files of about so many tokens in all, a copy of the corpus each; those that are there are used again."""
    sentences = read_sentences(Path(os.environ["LOGLIN_DATA"]) / "conll2000" / "train.txt")
    copy = sum(map(len, sentences))
    paths = [work / f"copy-{k:04}.txt" for k in range(max(1, round(n_tokens / copy)))]
    for k, path in enumerate(paths):
        if not path.exists():
            rows = ("\n".join(f"{w}_{k} {p} {y}" for w, p, y in s) + "\n\n" for s in sentences)
            part = path.with_suffix(".part")
            part.write_text("".join(rows), encoding="utf-8")
            part.rename(path)
    return paths


# ---------------------------------------------------------------------- one training, in a process of its own


def side(given: argparse.Namespace) -> dict:
    """Train as ``given.how`` says on the files of ``given.files`` and tell what it took."""
    from loglin import Tagger

    moments: list[tuple[float, int]] = []
    deaths = {"next": 10, "count": 0}

    def watch(iteration) -> None:
        moments.append((time.perf_counter(), iteration.evaluations))
        if given.how == "killed" and iteration.evaluations >= deaths["next"]:
            deaths["next"] += 10
            deaths["count"] += kill_one()

    tagger = Tagger(
        template=TEMPLATE, min_count=MIN_COUNT, max_iter=given.iterations, tol=given.tol, threads=1, callbacks=[watch]
    )
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that max_iter was reached
        if given.how == "in memory":
            tagger.fit(*in_memory(given.files))
        elif given.how == "shards":
            tagger.fit(given.files, work_dir=given.work, memory=given.memory)
        else:
            from loglin.objectives.distributed import connected

            with connected(workers=1 if given.how == "one worker" else 2) as client:
                tagger.fit(given.files, work_dir=given.work, memory=given.memory, client=client)
    seconds, passes = zip(*moments, strict=True)
    record = tagger.model_.record
    found = {
        "how": given.how,
        "whole": time.perf_counter() - began,
        "pass": (seconds[-1] - seconds[0]) / max(1, passes[-1] - passes[0]),
        "iterations": len(moments),
        "objective": record["objective"],
        "features": tagger.model_.index.n_features,
        "peak_mb": peak_mb(),
        "deaths": deaths["count"],
        "disk_mb": sum(f.stat().st_size for f in Path(given.work).glob("*")) / 1e6,
    }
    if given.how != "shards" or given.tol == TIGHT:
        found["tags"] = digest(tagger)
    return found


def in_memory(files: list[Path]) -> tuple:
    from loglin.corpus import conll
    from loglin.corpus.columns import Corpus, concatenate

    corpus = concatenate([conll.read(path) for path in files], str(files[0]))
    return Corpus(corpus.columns[:-1], corpus.offsets), corpus.columns[-1]


def digest(tagger) -> str:
    """Of the tags of the test file."""
    test = read_sentences(Path(os.environ["LOGLIN_DATA"]) / "conll2000" / "test.txt")
    tags = tagger.predict([[(f"{w}_0", p) for w, p, _ in s] for s in test])
    return hashlib.sha256(json.dumps(tags).encode()).hexdigest()[:12]


def kill_one() -> int:
    """Kill a worker of this process's cluster."""
    found = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in found.splitlines()[1:]]
    children = {os.getpid()}
    for _ in range(3):
        children |= {int(pid) for pid, parent, _ in rows if int(parent) in children}
    workers = [int(pid) for pid, _, args in rows if int(pid) in children and "multiprocessing.spawn" in args]
    if workers:
        os.kill(random.choice(workers), signal.SIGKILL)
    return len(workers) > 0


def in_a_process(how: str, files: list[Path], given: argparse.Namespace, tol: float = 0.0, iterations: int = PASSES):
    with tempfile.TemporaryDirectory(dir=given.work) as folder:
        command = [sys.executable, __file__, "--how", how, "--work", folder, "--memory", given.memory]
        command += ["--tol", str(tol), "--iterations", str(iterations), "--files", *map(str, files)]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    found = json.loads(done.stdout.splitlines()[-1])
    print(json.dumps(found), file=sys.stderr, flush=True)
    return found


# ---------------------------------------------------------------------- report


def row(name: str, found: dict, beside: dict | None = None) -> str:
    ratio = "" if beside is None else f" ({found['pass'] / beside['pass']:.2f} ×)"
    cells = [f"{found['features']:,}", f"{found['pass']:.3f}{ratio}", f"{found['iterations']}", f"{found['whole']:.1f}"]
    cells += [f"{found['objective']:,.4f}", f"{found['peak_mb']:,.0f}"]
    return f"| {name} | " + " | ".join(cells) + " |"


HEAD = (
    "| | features | seconds a pass | iterations | seconds in all | objective | peak memory, MB |\n" + "|---" * 7 + "|"
)


def relative(one: dict, other: dict) -> float:
    return abs(one["objective"] - other["objective"]) / abs(other["objective"])


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--tokens", type=int, default=20_000_000)
    parser.add_argument("--fits", type=int, default=2_000_000)
    parser.add_argument("--shared", type=int, default=1_000_000)
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--work", type=Path)
    for name, kind in (("--how", str), ("--tol", float), ("--iterations", int)):
        parser.add_argument(name, type=kind, help=argparse.SUPPRESS)
    parser.add_argument("--files", type=Path, nargs="*", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.how:
        print(json.dumps(side(given)))
        return
    if not os.environ.get("LOGLIN_DATA"):
        sys.exit("set LOGLIN_DATA to the folder that holds conll2000")
    with tempfile.TemporaryDirectory() as temporary:
        given.work = given.work or Path(temporary)
        given.work.mkdir(parents=True, exist_ok=True)
        found, lines = {}, []
        if given.tokens:
            found["memory"] = large = in_a_process("shards", corpus_of(given.work, given.tokens), given)
            weights = large["features"] * 8 / 1e6
            lines += [f"{given.tokens:,} tokens with --memory {given.memory}, from zero weights on:\n", HEAD]
            lines += [
                row("shards", large),
                f"\nThe weights are {weights:,.0f} MB, the work folder {large['disk_mb']:,.0f}.\n",
            ]
        if given.fits:
            files = corpus_of(given.work, given.fits)
            here, there = (in_a_process(how, files, given, TIGHT, 1000) for how in ("in memory", "shards"))
            found["fits"] = [here, there]
            lines += [f"{given.fits:,} tokens to a tolerance of {TIGHT}:\n", HEAD, row("in memory", here)]
            lines += [
                row("shards", there, here),
                f"\nObjectives differ by {relative(there, here):.1e} of themselves.\n",
            ]
        if given.shared:
            files = corpus_of(given.work, given.shared)
            hows = ("in memory", "one worker", "two workers", "killed")
            sides = [in_a_process(how, files, given, TIGHT, 1000) for how in hows]
            found["shared"] = sides
            lines += [f"{given.shared:,} tokens to a tolerance of {TIGHT}, single-threaded workers:\n", HEAD]
            lines += [row(how, s, sides[0]) for how, s in zip(hows, sides, strict=True)]
            same = len({s["tags"] for s in sides}) == 1
            lines += [
                f"\nTwo workers take {sides[1]['pass'] / sides[2]['pass']:.2f} times fewer seconds a pass than one. "
                f"{sides[3]['deaths']} workers were killed. Objectives differ from that in memory by at most "
                f"{max(relative(s, sides[0]) for s in sides):.1e} of it; tags of the test file are "
                f"{'the same' if same else 'NOT the same'}."
            ]
    report(given.output, "scale", "\n".join(lines) + "\n", found)


if __name__ == "__main__":
    main()
