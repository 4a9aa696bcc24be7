"""Past memory and past one process: a corpus of millions of tokens trained on shard by shard.

    python benchmarks/scale.py [--tokens N] [--fits N] [--shared N] [--sizes N,N,N] [--memory 1GB] [--work DIR]
                               [--output DIR]
    python benchmarks/scale.py --quick            everything at small sizes, benchmarks/labels.py too
    python benchmarks/scale.py --predict DIR      what the constants of DIR/scale.json say of larger corpora

The corpus is CoNLL-2000 over and over, with words of its own each time, one file a copy, and a template of words and
parts of speech whose attributes occur three times or more. Four parts, each training in a process of its own, with one
thread:

memory   --tokens tokens with --memory: peak resident memory, bytes on disk, seconds of preparation and of a pass.
fits     --fits tokens, in memory and in shards: the same objective at a tight tolerance, seconds of a pass both ways.
shared   --shared tokens, in memory, with one worker, with two, and with two of which one is killed in every tenth pass:
         objective, tags of the test file, seconds of a pass, and of those what sums by workers take.
sizes    trainings in shards of so many tokens each, from which the constants of the cost model of docs/scale.md are
         fitted: what they say of these sizes beside what was measured, and of 10^5 to 10^10 tokens on 1 to 256 workers.

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
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cost import Constants, page_of_checks, page_of_predictions
from crf import TEMPLATE, peak_mb, read_sentences
from output import parser_of, report

MIN_COUNT = 3
PASSES = 12  # iterations whose seconds are measured
TIGHT, ROUGH = 1e-8, 1e-6  # tolerances, the second with --quick


def corpus_of(work: Path, n_tokens: int) -> list[Path]:
    """Files of about so many tokens in all, a copy of the corpus each; those that are there are used again."""
    sentences = read_sentences(Path(os.environ["LOGLIN_DATA"]) / "conll2000" / "train.txt")
    ends = np.cumsum([len(s) for s in sentences])
    kept = sentences[: 1 + int(np.searchsorted(ends, n_tokens))]  # less than a copy may be wanted
    size = sum(map(len, kept))
    paths = [work / f"{size}-{k:04}.txt" for k in range(max(1, round(n_tokens / size)))]
    for k, path in enumerate(paths):
        if not path.exists():
            rows = ("\n".join(f"{w}_{k} {p} {y}" for w, p, y in s) + "\n\n" for s in kept)
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
        "tokens": record["tokens"],
        "features": tagger.model_.index.n_features,
        "shards": record.get("shards", 1),
        "prepared": seconds[0] - began,
        "moved": record.get("bytes_moved", 0) / max(1, record["evaluations"]),
        "computing": record.get("worker_seconds", 0.0) / max(1, record["evaluations"]),
        "peak_mb": peak_mb(),
        "deaths": deaths["count"],
        "disk_mb": sum(f.stat().st_size for f in Path(given.work).glob("*")) / 1e6,
    }
    if given.how != "shards" or given.tol > 0:
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


@dataclass(frozen=True)
class Sizes:
    """Tokens of each part, and how much memory a shard may take."""

    tokens: int = 20_000_000
    fits: int = 2_000_000
    shared: int = 1_000_000
    sizes: tuple[int, ...] = (100_000, 1_000_000, 10_000_000)
    memory: str = "1GB"
    shared_memory: str = "400MB"  # so small that there are several shards for every worker


QUICK = Sizes(211_000, 40_000, 80_000, (40_000, 80_000, 211_000), "150MB", "60MB")
HOLDS = {True: "holds", False: "DOES NOT HOLD"}


def part_memory(given: argparse.Namespace) -> tuple[dict, list[str]]:
    """Must show 1: peak memory."""
    from loglin.corpus.shards import memory_of

    large = in_a_process("shards", corpus_of(given.work, given.tokens), given)
    weights, limit = large["features"] * 8 / 1e6, memory_of(given.memory) / 1e6
    most = 1.2 * limit + 2 * weights
    lines = [f"{large['tokens']:,} tokens with --memory {given.memory}, from zero weights on:\n", HEAD]
    lines += [
        row("shards", large),
        f"\nThe weights are {weights:,.0f} MB, the work folder {large['disk_mb']:,.0f}. Peak memory of at most 1.2 "
        f"times --memory and twice the weights, {most:,.0f} MB: {HOLDS[large['peak_mb'] <= most]}.\n",
    ]
    return large, lines


def part_fits(given: argparse.Namespace) -> tuple[list[dict], list[str]]:
    """Must show 1: the objective and the seconds of memory."""
    files = corpus_of(given.work, given.fits)
    here, there = (in_a_process(how, files, given, given.tight, 1000) for how in ("in memory", "shards"))
    lines = [f"{here['tokens']:,} tokens to a tolerance of {given.tight}:\n", HEAD, row("in memory", here)]
    lines += [
        row("shards", there, here),
        f"\nObjectives differ by {relative(there, here):.1e} of themselves; at most 1e-6: "
        f"{HOLDS[relative(there, here) <= 1e-6]}. Seconds a pass at most 1.5 times those in memory: "
        f"{HOLDS[there['pass'] <= 1.5 * here['pass']]}.\n",
    ]
    return [here, there], lines


def part_shared(given: argparse.Namespace) -> tuple[list[dict], list[str]]:
    """Must show 2: workers."""
    files = corpus_of(given.work, given.shared)
    given = argparse.Namespace(**vars(given) | {"memory": given.shared_memory})
    hows = ("in memory", "one worker", "two workers", "killed")
    sides = [in_a_process(how, files, given, given.tight, 1000) for how in hows]
    lines = [f"{sides[0]['tokens']:,} tokens to a tolerance of {given.tight}, single-threaded workers:\n", HEAD]
    lines += [row(how, s, sides[0]) for how, s in zip(hows, sides, strict=True)]
    same = len({s["tags"] for s in sides}) == 1
    faster, apart = sides[1]["computing"] / sides[2]["computing"], max(relative(s, sides[0]) for s in sides)
    lines += [
        f"\nTwo workers compute a sum in {sides[2]['computing']:.3f} s, one in {sides[1]['computing']:.3f}: "
        f"{faster:.2f} times as fast; at least 1.6: {HOLDS[faster >= 1.6]}. With the optimizer, where the user is, "
        f"a pass is {sides[1]['pass'] / sides[2]['pass']:.2f} times as fast. "
        f"{sides[3]['deaths']} workers were killed. Objectives differ from that in memory by at most {apart:.1e}; "
        f"at most 1e-6: {HOLDS[apart <= 1e-6]}. Tags of the test file are {'the same' if same else 'NOT the same'}. "
        f"A pass with two workers moves {sides[2]['moved'] / 1e6:.1f} MB.\n"
    ]
    return sides, lines


def part_sizes(given: argparse.Namespace) -> tuple[dict, list[str]]:
    """The cost model, checked at several sizes, and what it predicts."""
    runs = [in_a_process("shards", corpus_of(given.work, n), given) for n in given.sizes]
    constants = Constants.fitted(runs)
    found = {"runs": runs, "constants": constants.as_dict()}
    return found, [page_of_checks(constants, runs), page_of_predictions(constants)]


PARTS = {"memory": part_memory, "fits": part_fits, "shared": part_shared, "sizes": part_sizes}


def main() -> None:
    parser = parser_of(__doc__)
    for name, kind in (("tokens", int), ("fits", int), ("shared", int), ("memory", str), ("shared-memory", str)):
        parser.add_argument(f"--{name}", type=kind)
    parser.add_argument("--sizes", type=lambda text: tuple(int(n) for n in text.split(",") if n))
    parser.add_argument("--quick", action="store_true", help="small sizes, and a small benchmarks/labels.py behind")
    parser.add_argument("--predict", type=Path, metavar="DIR", help="print predictions from DIR/scale.json alone")
    parser.add_argument("--work", type=Path)
    for name, kind in (("--how", str), ("--tol", float), ("--iterations", int)):
        parser.add_argument(name, type=kind, help=argparse.SUPPRESS)
    parser.add_argument("--files", type=Path, nargs="*", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.how:
        print(json.dumps(side(given)))
        return
    if given.predict:
        known = json.loads((given.predict / "scale.json").read_text())["sizes"]["constants"]
        print(page_of_predictions(Constants(**known)))
        return
    if not os.environ.get("LOGLIN_DATA"):
        sys.exit("set LOGLIN_DATA to the folder that holds conll2000")
    given.tight = ROUGH if given.quick else TIGHT
    for name, size in vars(QUICK if given.quick else Sizes()).items():
        if getattr(given, name) is None:
            setattr(given, name, size)
    with tempfile.TemporaryDirectory() as temporary:
        given.work = given.work or Path(temporary)
        given.work.mkdir(parents=True, exist_ok=True)
        found, lines = {}, []
        for name, part in PARTS.items():
            if getattr(given, "tokens" if name == "memory" else name):
                found[name], told = part(given)
                lines += told
    report(given.output, "scale", "\n".join(lines) + "\n", found)
    if given.quick:
        more = ["--output", str(given.output)] if given.output else []
        subprocess.run([sys.executable, str(Path(__file__).with_name("labels.py")), "--quick", *more], check=True)


if __name__ == "__main__":
    main()
