"""Every criterion of labelled chains on five corpora, with its defaults only: F1 or accuracy, seconds, memory.

    python benchmarks/defaults.py [--criteria NAME,…] [--corpora NAME,…] [--sentences N] [--threads N] [--output DIR]

Each cell is `loglin train FILE --criterion NAME` in a process of its own, with no other option than the number of
threads, and `loglin eval` of its model on the held-out part. Seconds are those of the whole process that trains, with
compiled code cached, and memory is its peak. A criterion is within the bounds where it is at most 6 points below crf
and takes at most twice the seconds of crf. With --output, writes defaults.json and defaults.md there; cells of
criteria and corpora that were not asked for are kept from the file that is there already. The data is found through
LOGLIN_DATA.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from loglin.criteria.registry import criteria
from loglin.problems.request import Annotation
from output import parser_of, report

CORPORA = {  # name: title, file to train on, file to test on, column of the labels
    "conll2000": ("CoNLL-2000 chunks", "conll2000/train.txt", "conll2000/test.txt", -1),
    "spanish": ("CoNLL-2002 Spanish entities", "conll2002_es/train.txt", "conll2002_es/testa.txt", -1),
    "conll2003": ("CoNLL-2003 entities", "conll2003/eng.train", "conll2003/eng.testa", -1),
    "xpos": ("UD English XPOS", "ud_english_ewt/train.tsv", "ud_english_ewt/test.tsv", 2),
    "chinese": ("Chinese segmentation", "zh_gsd_chars/train.txt", "zh_gsd_chars/test.txt", -1),
}
MOST_BELOW, MOST_TIMES = 6.0, 2.0  # points of F1, seconds of crf
EXCEPTED = ("hmm",)  # which sees words alone, not the template


def labelled() -> list[str]:
    """The criteria that learn chains from labels, crf first."""
    return [name for name, kind in criteria("chain").items() if kind.needs != Annotation.HIDDEN]


def two_columns(source: Path, target: Path, column: int, most: int | None) -> None:
    """Write the first sentences of a file, with the words and one column of labels where it has several."""
    lines, seen = [], 0
    for line in source.read_text(encoding="utf-8").splitlines():
        fields = line.split("\t") if "\t" in line else line.split()
        if not fields:
            seen += bool(lines and lines[-1])
            if most is not None and seen >= most:
                break
        elif column >= 0:
            line = f"{fields[0]}\t{fields[column]}"
        lines.append(line)
    target.write_text("\n".join([*lines, "", ""]), encoding="utf-8")


def process(*arguments: str) -> tuple[dict, dict]:
    """What `loglin … --json` prints, and what its process took: seconds by the clock, of the CPU, megabytes."""
    command = [sys.executable, "-m", "loglin", *arguments, "--json"]
    with tempfile.TemporaryFile("w+") as out:
        began = time.perf_counter()
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - began
        out.seek(0)
        text = out.read()
    if child.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {child.returncode}: {text}")
    cost = {"seconds": seconds, "cpu_seconds": usage.ru_utime + usage.ru_stime, "peak_mb": usage.ru_maxrss / 1024}
    return json.loads(text), cost


def cell(criterion: str, train: Path, test: Path, model: Path, threads: int) -> dict:
    """One criterion on one corpus."""
    shared = ("--threads", str(threads))
    trained, cost = process("train", str(train), "--criterion", criterion, "-o", str(model), *shared)
    judged, _ = process("eval", str(model), str(test), *shared)
    score = judged["f1"] if judged["unit"] == "phrase" else judged["accuracy"]
    found = {"score": 100 * score, "unit": judged["unit"]} | cost
    found |= {k: trained.get(k) for k in ("iterations", "converged", "stopped", "n_features", "l2", "seconds")}
    return found | {"train": trained["seconds"], "seconds": cost["seconds"]}


def markdown(result: dict) -> str:
    """The table: a row for each criterion, a column for each corpus."""
    corpora, cells, threads = result["corpora"], result["cells"], result["threads"]
    of_labels = f" (accuracy of labels: {result['accuracy']})" if result["accuracy"] else ""
    lines = [
        f"Each cell: F1 of phrases on the held-out part{of_labels}, CPU seconds of the whole process that trains with "
        f"{threads} thread{'s' * (threads > 1)}, and its peak memory in MB (`benchmarks/defaults.py`).",
        "",
        "| criterion | " + " | ".join(CORPORA[c][0] for c in corpora) + " |",
        "|---|" + "---|" * len(corpora),
    ]
    for name in result["criteria"]:
        row = [cells[c][name] for c in corpora]
        told = [f"{r['score']:.2f} · {r['cpu_seconds']:.1f} s · {r['peak_mb']:.0f}" for r in row]
        lines.append(f"| `{name}` | {' | '.join(told)} |")
    return "\n".join([*lines, "", *beyond(result), ""])


def beyond(result: dict) -> list[str]:
    """What is more than 6 points below crf, or more than twice as slow, a line each."""
    found = []
    for corpus in result["corpora"]:
        cells = result["cells"][corpus]
        first = cells.get("crf")
        for name in result["criteria"] if first else ():
            below, times = first["score"] - cells[name]["score"], cells[name]["cpu_seconds"] / first["cpu_seconds"]
            if name not in EXCEPTED and (below > MOST_BELOW or times > MOST_TIMES):
                found.append(
                    f"- `{name}` on {CORPORA[corpus][0]}: {below:.1f} points below `crf`, {times:.1f} × its seconds"
                )
    if not found:
        return ["No criterion is more than 6 points below `crf` or takes more than twice its seconds (`hmm` excepted)."]
    return ["Beyond 6 points or twice the seconds of `crf`:", "", *found]


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--criteria", help="names, separated by commas; default: all that learn from labels")
    parser.add_argument("--corpora", help=f"of {', '.join(CORPORA)}; default: all")
    parser.add_argument("--sentences", type=int, help="only so many sentences of each file")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    names = given.criteria.split(",") if given.criteria else labelled()
    corpora = given.corpora.split(",") if given.corpora else list(CORPORA)
    old = given.output / "defaults.json" if given.output else None
    cells = json.loads(old.read_text())["cells"] if old and old.exists() else {}
    data = Path(os.environ["LOGLIN_DATA"])
    with tempfile.TemporaryDirectory() as folder:
        train, test, model = (Path(folder) / name for name in ("train.tsv", "test.tsv", "model"))
        for corpus in corpora:
            _, train_file, test_file, column = CORPORA[corpus]
            two_columns(data / train_file, train, column, given.sentences)
            two_columns(data / test_file, test, column, given.sentences)
            for name in names:
                found = cells.setdefault(corpus, {})[name] = cell(name, train, test, model, given.threads)
                told = f"{found['seconds']:7.1f} s {found['cpu_seconds']:7.1f} CPU s {found['peak_mb']:6.0f} MB"
                print(
                    f"{corpus:10} {name:18} {found['score']:6.2f} {told} {found['iterations']} iterations", flush=True
                )
    kept = [c for c in CORPORA if c in cells]
    complete = [name for name in labelled() if all(name in cells[c] for c in kept)]
    labels = [c for c in kept if any(found.get("unit", "phrase") != "phrase" for found in cells[c].values())]
    accuracy = ", ".join(CORPORA[c][0] for c in labels)
    result = {"criteria": complete, "corpora": kept, "threads": given.threads, "accuracy": accuracy, "cells": cells}
    report(given.output, "defaults", markdown(result), result)


if __name__ == "__main__":
    sys.exit(main())
