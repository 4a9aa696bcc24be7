"""Training on corpora of many shapes: loglin against python-crfsuite with the same features, to the same objective.

    python benchmarks/anywhere.py [--corpus NAME …] [--template NAME …] [--l2 X …] [--limit SECONDS] [--alone]
                                  [--growth] [--output DIR]

For every corpus, template and l2, each in a process of its own and on one thread:

    far        loglin with --tol 1e-7: the optimum
    default    loglin as it is: how far above the optimum, what it says and proves, seconds, peak memory
    certify    with --certify: 0.1 % above the optimum at most, proved
    1e-5 1e-6  with that --tol
    peer       python-crfsuite (L-BFGS, c2 = l2/2) until its objective is as low as the default's; it is stopped then,
               or after --limit seconds, where the ratio is a lower bound

Seconds are inside the process, reading and features included; "whole" is the wall clock of the process. --growth trains
on 10 % and 100 % of Brown. The data is found through LOGLIN_DATA. With --output, writes anywhere.json and anywhere.md.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from crf import read_sentences
from output import parser_of, report
from tagging import feature_function, template_text

CORPORA = {  # name: file, columns of word, part of speech (or none) and label
    "conll2000": ("conll2000/train.txt", (0, 1, 2)),
    "conll2003": ("conll2003/eng.train", (0, 1, 3)),
    "spanish": ("conll2002_es/train.txt", (0, 1, 2)),
    "english": ("ud_english_ewt/train.tsv", (0, 2)),
    "portuguese": ("ud_portuguese_bosque/train.tsv", (0, 1)),
    "chinese": ("zh_gsd_chars/train.txt", (0, 1)),
    "brown": ("brown/brown.tagged.gz", (0, 1)),
    "ingredients": ("", (0, 1)),
}
STEPS = {
    "far": ("--tol", "1e-7"),
    "default": (),
    "certify": ("--certify",),
    "1e-5": ("--tol", "1e-5"),
    "1e-6": ("--tol", "1e-6"),
}
SMALL = 50_000  # tokens


def sentences_of(name: str, data: Path) -> list[list[list[str]]]:
    file, columns = CORPORA[name]
    if name == "ingredients":
        from loglin.demo.ingredients import generate

        return [[[t[0], t[-1]] for t in line] for line in generate(4000, 1)]
    if name == "brown":
        with gzip.open(data / file, "rt", encoding="latin-1") as stream:
            lines = [[token.rsplit("/", 1) for token in line.split()] for line in stream]
        return [[[word, simple_tag(tag)] for word, tag in line] for line in lines if line]
    found = read_sentences(data / file)
    return [[[t[c] for c in columns] for t in s] for s in found if s[0][0] != "-DOCSTART-"]


def simple_tag(tag: str) -> str:
    """A tag of Brown without marks of titles, headlines, foreign words and contracted second words: 89 are left."""
    tag = tag.lower().removeprefix("fw-")
    return (re.split("[-+]", tag)[0].rstrip("*") if tag[:1].isalpha() else tag.split("-")[0]) or tag


def prepare(name: str, data: Path, work: Path, share: float = 1.0) -> Path:
    """The corpus as a file of columns; of a ``share``, sentences drawn at random."""
    path = work / f"{name}.{share:g}.txt"
    if not path.exists():
        sentences = sentences_of(name, data)
        chosen = np.sort(np.random.default_rng(0).permutation(len(sentences))[: int(share * len(sentences))])
        rows = ["".join(" ".join(t) + "\n" for t in sentences[i]) + "\n" for i in chosen]
        path.write_text("".join(rows), encoding="utf-8")
    return path


# ---------------------------------------------------------------------- the two sides


def loglin(train: Path, template: Path, l2: float, *extra: str) -> dict:
    """What `loglin train` says of itself, and the wall clock of its process."""
    model = train.with_suffix(".model")
    command = [sys.executable, "-m", "loglin", "train", str(train), "--template", str(template), "-o", str(model)]
    command += ["--l2", str(l2), "--threads", "1", "--json", *extra]
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    found = json.loads(done.stdout)
    kept = ("objective", "iterations", "stopped", "converged", "certificate", "peak_memory_mb", "n_features", "tokens")
    seconds = {"seconds": found["seconds"]["total"], "whole": time.perf_counter() - began}
    return {k: found[k] for k in kept} | seconds


def crfsuite_side(train: str, template: str, l2: float) -> None:
    """Train python-crfsuite and print a line for every iteration: seconds so far, objective, peak megabytes."""
    import pycrfsuite

    began = time.perf_counter()
    sentences = read_sentences(train)
    features = feature_function(template, len(sentences[0][0]) > 2)

    class Trainer(pycrfsuite.BaseTrainer):
        def message(self, message):
            if message.startswith("Loss: "):
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                print(time.perf_counter() - began, message.split()[1], peak, flush=True)

    trainer = Trainer()
    trainer.select("lbfgs")
    for sentence in sentences:
        trainer.append(features([t[:-1] for t in sentence]), [t[-1] for t in sentence])
    trainer.set_params({"c1": 0, "c2": l2 / 2, "max_iterations": 10_000, "feature.possible_transitions": False})
    trainer.train(train + ".crfsuite")


def crfsuite(train: Path, template: str, l2: float, goal: float, limit: float, whole: bool) -> dict:
    """Seconds of python-crfsuite until its objective is ``goal``, with ``whole`` also until it converges by itself."""
    command = [sys.executable, __file__, "--side", str(train), template, str(l2)]
    reached, last = None, (0.0, np.inf, 0.0)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            last = tuple(float(x) for x in line.split())
            if reached is None and last[1] <= goal:
                reached = last[0]
            if last[0] > limit or (reached is not None and not whole):
                process.kill()
                return {"seconds": reached, "least": last[0], "objective": last[1], "peak_memory_mb": last[2]}
    return {"seconds": reached, "least": last[0], "objective": last[1], "peak_memory_mb": last[2], "converged": last[0]}


def measure(name: str, template: str, l2: float, data: Path, work: Path, given) -> dict:
    """All figures of one corpus, template and strength."""
    train = prepare(name, data, work)
    file = work / f"{name}.{template}.template"
    file.write_text(template_text(template, len(CORPORA[name][1]) > 2))
    loglin(train, file, l2)  # compiled code is loaded once before anything is timed
    found: dict = {"corpus": name, "template": template, "l2": l2}
    found |= {step: loglin(train, file, l2, *extra) for step, extra in STEPS.items()}
    best = min(found[step]["objective"] for step in STEPS)
    for step in STEPS:
        found[step]["above"] = found[step]["objective"] / best - 1
    if not given.alone:
        goal = found["default"]["objective"]
        found["peer"] = crfsuite(train, template, l2, goal, given.limit, given.whole)
    print(row(found), flush=True)
    return found


# ---------------------------------------------------------------------- report


def ratio(found: dict) -> float | None:
    """How many times as long python-crfsuite takes to the same objective; at least so many where it was stopped."""
    if "peer" not in found:
        return None
    return (found["peer"]["seconds"] or found["peer"]["least"]) / found["default"]["seconds"]


def row(r: dict) -> str:
    ours, peer, times = r["default"], r.get("peer"), ratio(r)
    proved = (ours["certificate"] or {}).get("proved")
    slower = [f"{r[s]['seconds'] / ours['seconds']:.1f}" for s in ("certify", "1e-5", "1e-6")]
    cells = [
        f"{r['corpus']}, {r['template']}",
        f"{ours['tokens']:,}",
        f"{r['l2']:g}",
        f"{100 * ours['above']:.3f}",
        "–" if proved is None else f"{100 * proved:.2f}",
        f"{ours['seconds']:.2f}",
        f"{ours['whole']:.2f}",
        " / ".join(slower),
        f"{100 * r['certify']['above']:.3f} / {r['1e-5']['above']:.0e} / {r['1e-6']['above']:.0e}",
        "–" if times is None else f"{'' if peer['seconds'] else '> '}{times:.1f}",
        f"{ours['peak_memory_mb']:.0f} / {peer['peak_memory_mb']:.0f}" if peer else f"{ours['peak_memory_mb']:.0f}",
    ]
    return "| " + " | ".join(cells) + " |"


def table(results: list[dict]) -> str:
    head = [
        "corpus, template", "tokens", "l2", "above the optimum, %", "proved, %", "s", "whole process, s",
        "certify / 1e-5 / 1e-6, times the default's s", "and how far above", "python-crfsuite's s / ours",
        "MB, ours / theirs",
    ]  # fmt: skip
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|", *(row(r) for r in results)]
    times = [ratio(r) for r in results if r["default"]["tokens"] > SMALL and ratio(r)]
    if times:
        mean = float(np.exp(np.mean(np.log(times))))
        lines.append(f"\nAbove {SMALL:,} tokens: {min(times):.1f} times at least, {mean:.1f} in the geometric mean.")
    return "\n".join(lines) + "\n"


def growth(data: Path, work: Path) -> str:
    """Seconds on a tenth and on all of Brown."""
    file = work / "brown.template"
    file.write_text(template_text("rich", False))
    seconds = [loglin(prepare("brown", data, work, share), file, 1.0)["seconds"] for share in (0.1, 1.0)]
    return (
        f"\nBrown: {seconds[0]:.1f} s on 10 %, {seconds[1]:.1f} s on all of it, {seconds[1] / seconds[0]:.1f} times.\n"
    )


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--corpus", action="append", choices=CORPORA)
    parser.add_argument("--template", action="append", choices=("example", "rich"))
    parser.add_argument("--l2", action="append", type=float)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds after which python-crfsuite is stopped")
    parser.add_argument("--whole", action="store_true", help="let python-crfsuite go on until it converges by itself")
    parser.add_argument("--alone", action="store_true", help="without python-crfsuite")
    parser.add_argument("--growth", action="store_true", help="also a tenth of Brown against all of it")
    parser.add_argument("--side", nargs=3, help="one run of python-crfsuite: file, template, l2")
    given = parser.parse_args()
    if given.side:
        crfsuite_side(given.side[0], given.side[1], float(given.side[2]))
        return
    if not os.environ.get("LOGLIN_DATA"):
        sys.exit("set LOGLIN_DATA to the folder that holds the corpora")
    data = Path(os.environ["LOGLIN_DATA"]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        cases = [
            (name, template, l2)
            for name in given.corpus or CORPORA
            for template in given.template or ("example", "rich")
            if template == "rich" or len(CORPORA[name][1]) > 2 or given.template
            for l2 in given.l2 or (0.1, 1.0, 10.0)
        ]
        results = [measure(*case, data, Path(folder), given) for case in cases]
        page = table(results) + (growth(data, Path(folder)) if given.growth else "")
    report(given.output, "anywhere", page, results)


if __name__ == "__main__":
    main()
