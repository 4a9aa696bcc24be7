"""loglin against python-crfsuite: the same data, template, features and objective, in one run.

    python benchmarks/crf.py [--quick] [--output DIR]

Each side runs in a process of its own, one after the other, so that peak memory is its own; seconds are
wall clock inside the process, without the start of the interpreter and with compiled code cached (loglin
does everything once before it is timed). The data is CoNLL-2000, found through LOGLIN_DATA.
With --output, writes crf.json and crf.md.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from output import parser_of, report

TEMPLATE = "\n".join(
    [f"U0{i}:%x[{i - 2},0]" for i in range(5)]
    + ["U05:%x[-1,0]/%x[0,0]", "U06:%x[0,0]/%x[1,0]"]
    + [f"U1{i}:%x[{i - 2},1]" for i in range(5)]
    + [f"U1{i + 5}:%x[{i - 2},1]/%x[{i - 1},1]" for i in range(4)]
    + [f"U2{i}:%x[{i - 2},1]/%x[{i - 1},1]/%x[{i},1]" for i in range(3)]
    + ["B", ""]
)
OPTIMUM = 8932.674  # of the penalized objective with l2 = 1, from a long run in float64
GOAL_F1 = 0.934


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# ---------------------------------------------------------------------- python-crfsuite


def read_sentences(path):
    sentences, current = [], []
    for line in Path(path).read_text(encoding="utf-8").split("\n"):
        fields = line.split()
        if fields:
            current.append(fields)
        elif current:
            sentences.append(current)
            current = []
    return [*sentences, current] if current else sentences


WORDS = [(-2,), (-1,), (0,), (1,), (2,), (-1, 0), (0, 1)]
TAGS = [(-2,), (-1,), (0,), (1,), (2,), (-2, -1), (-1, 0), (0, 1), (1, 2), (-2, -1, 0), (-1, 0, 1), (0, 1, 2)]


def string_features(sentence):
    """The template's attributes as strings, as a user of python-crfsuite builds them."""
    n = len(sentence)
    pad = [("_B+",) * 2] * 2
    padded = [("_B-",) * 2] * 2 + [(t[0], t[1]) for t in sentence] + pad
    rows = []
    for t in range(2, n + 2):
        row = []
        for k, offsets in enumerate(WORDS):
            row.append(f"w{k}:" + "/".join([padded[t + o][0] for o in offsets]))
        for k, offsets in enumerate(TAGS):
            row.append(f"p{k}:" + "/".join([padded[t + o][1] for o in offsets]))
        rows.append(row)
    return rows


def crfsuite_train(train, model, algorithm, parameters):
    import pycrfsuite

    seconds, t0 = {}, time.perf_counter()
    sentences = read_sentences(train)
    t1 = time.perf_counter()
    X, Y = [string_features(s) for s in sentences], [[t[2] for t in s] for s in sentences]
    t2 = time.perf_counter()
    trainer = pycrfsuite.Trainer(algorithm=algorithm, verbose=False)
    for x, y in zip(X, Y, strict=True):
        trainer.append(x, y)
    t3 = time.perf_counter()
    trainer.set_params(parameters)
    trainer.train(str(model))
    t4 = time.perf_counter()
    seconds = {"read": t1 - t0, "features": t2 - t1, "append": t3 - t2, "train": t4 - t3, "total": t4 - t0}
    return seconds, trainer.logparser.iterations


def crfsuite_tag(model, test, output):
    import pycrfsuite

    t0 = time.perf_counter()
    tagger = pycrfsuite.Tagger()
    tagger.open(str(model))
    with open(output, "w", encoding="utf-8") as stream:
        for sentence in read_sentences(test):
            for token, label in zip(sentence, tagger.tag(string_features(sentence)), strict=True):
                stream.write(" ".join([*token, label]) + "\n")
            stream.write("\n")
    return time.perf_counter() - t0, tagger


def f1_of(path):
    from loglin.evaluation.sequences import evaluate_labels

    sentences = read_sentences(path)
    return evaluate_labels([[t[-2] for t in s] for s in sentences], [[t[-1] for t in s] for s in sentences]).f1


def side_crfsuite(data, work, quick):
    train, test = data / "train.txt", data / "test.txt"
    limit = {"max_iterations": 15} if quick else {}
    seconds, iterations = crfsuite_train(
        train, work / "lbfgs.crfsuite", "lbfgs", {"c1": 0, "c2": 0.5, "feature.possible_transitions": False} | limit
    )
    result = {"seconds": seconds, "peak_memory_mb": peak_mb(), "iterations": len(iterations)}
    result["objective"] = float(iterations[-1]["loss"])
    result["seconds_per_pass"] = sum(float(i["time"]) for i in iterations) / len(iterations)
    reached = [k for k, i in enumerate(iterations) if float(i["loss"]) <= OPTIMUM * 1.001]
    if reached:
        within = sum(float(i["time"]) for i in iterations[: reached[0] + 1])
        setup = seconds["train"] - sum(float(i["time"]) for i in iterations)
        result["iterations_to_0.1%"] = reached[0] + 1
        result["seconds_to_0.1%"] = seconds["read"] + seconds["features"] + seconds["append"] + setup + within
    result["tag_seconds"], tagger = crfsuite_tag(work / "lbfgs.crfsuite", test, work / "crfsuite.out")
    result["f1"] = f1_of(work / "crfsuite.out")
    sentences = read_sentences(test)[:500]
    began = time.perf_counter()
    for sentence in sentences:
        tagger.tag(string_features(sentence))
    result["single_sentence_ms"] = (time.perf_counter() - began) / len(sentences) * 1e3
    seconds, iterations = crfsuite_train(train, work / "ap.crfsuite", "ap", {"max_iterations": 10})
    crfsuite_tag(work / "ap.crfsuite", test, work / "ap.out")
    result["perceptron"] = {"seconds": seconds, "f1": f1_of(work / "ap.out")}
    return result


# ---------------------------------------------------------------------- loglin


def loglin_train(train, template, model, threads, *extra):
    from loglin.cli.main import cli

    out = subprocess_stdout(
        lambda: cli.main(
            [
                "train",
                str(train),
                "--template",
                str(template),
                "-o",
                str(model),
                "--threads",
                str(threads),
                "--json",
                *extra,
            ],
            standalone_mode=False,
        )
    )
    return json.loads(out)


def subprocess_stdout(function):
    import contextlib
    import io

    buffer = io.StringIO()
    with contextlib.redirect_stdout(buffer):
        function()
    return buffer.getvalue()


def loglin_tag(model, test, output, threads):
    from loglin.cli.main import cli

    began = time.perf_counter()
    cli.main(["tag", str(model), str(test), "-o", str(output), "--threads", str(threads)], standalone_mode=False)
    return time.perf_counter() - began


def best_of(function, repeats=3):
    results = [function() for _ in range(repeats)]
    return min(results, key=lambda r: r["seconds"]["total"] if isinstance(r, dict) else r)


def side_loglin(data, work, quick, threads):
    train, test, template = data / "train.txt", data / "test.txt", work / "template"
    template.write_text(TEMPLATE)
    model = work / "loglin.models.chain"
    loglin_train(train, template, model, threads)  # compiled code is loaded
    result = best_of(lambda: loglin_train(train, template, model, threads))
    result["peak_memory_mb"] = peak_mb()
    loglin_tag(model, test, work / "loglin.out", threads)
    result["tag_seconds"] = best_of(lambda: loglin_tag(model, test, work / "loglin.out", threads), 5)
    result["f1"] = f1_of(work / "loglin.out")
    from loglin import Tagger

    tagger = Tagger.load(model)
    sentences = [[tuple(t[:2]) for t in s] for s in read_sentences(test)[:500]]
    tagger.predict(sentences[:2])
    began = time.perf_counter()
    for sentence in sentences:
        tagger.predict([sentence])
    result["single_sentence_ms"] = (time.perf_counter() - began) / len(sentences) * 1e3
    result["seconds_per_pass"] = seconds_per_pass(train, threads)
    quick_model = work / "perceptron.model"
    for epochs in range(3, 11):
        extra = ("--criterion", "perceptron", "--max-iter", str(epochs))
        loglin_train(train, template, quick_model, threads, *extra)
        run = best_of(lambda extra=extra: loglin_train(train, template, quick_model, threads, *extra))
        loglin_tag(quick_model, test, work / "perceptron.out", threads)
        score = f1_of(work / "perceptron.out")
        if score >= GOAL_F1:
            break
    result["perceptron"] = {"seconds": run["seconds"], "epochs": epochs, "f1": score}
    if not quick:
        run = loglin_train(train, template, work / "converged.model", threads, "--tol", "1e-7")
        result["converged_objective"] = run["objective"]
        run = loglin_train(train, template, work / "all.model", threads, "--all-features")
        result["all_features"] = {
            "objective": run["objective"],
            "seconds": run["seconds"],
            "n_features": run["n_features"],
        }
    return result


def seconds_per_pass(train, threads):
    import numpy as np

    from loglin.corpus import conll
    from loglin.corpus.columns import Corpus
    from loglin.corpus.labels import gold_of_column
    from loglin.features.extract import TemplateExtractor
    from loglin.features.index import build_index
    from loglin.features.template import parse_templates
    from loglin.objectives.likelihood import ConditionalLikelihood
    from loglin.threads import Threads

    corpus = conll.read(train)
    design = TemplateExtractor(parse_templates(TEMPLATE)).fit(Corpus(corpus.columns[:2], corpus.offsets))
    _, gold = gold_of_column(corpus.columns[2])
    index = build_index(design, gold, False, True, 1)
    criterion = ConditionalLikelihood(design, gold, index, None, np.float32, Threads(threads))
    weights = np.zeros(index.n_features)
    criterion(weights)
    times = []
    for _ in range(10):
        began = time.perf_counter()
        criterion(weights)
        times.append(time.perf_counter() - began)
    return sorted(times)[len(times) // 2]


# ---------------------------------------------------------------------- report


def run_side(name, data, work, quick, threads=0):
    command = [sys.executable, __file__, "--side", name, "--work", str(work), "--threads", str(threads)]
    done = subprocess.run(
        command + (["--quick"] if quick else []),
        capture_output=True,
        text=True,
        env=os.environ | {"LOGLIN_DATA": str(data.parent)},
    )
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def table(peer, ours):
    """Markdown: one row per measurement, ratios where they mean something."""
    full = "seconds_to_0.1%" in peer
    reference = peer.get("seconds_to_0.1%", peer["seconds"]["total"])
    name = "file to model within 0.1 % of the optimum, s" if full else "file to model, s (peer cut short)"

    def row(label, theirs, values, ratio=True, digits=2):
        cells = [f"{theirs:,.{digits}f}" if theirs is not None else "–"]
        for value in values:
            cell = f"{value:,.{digits}f}" if value is not None else "–"
            if ratio and theirs and value:
                cell += f" ({theirs / value:.1f} ×)"
            cells.append(cell)
        return f"| {label} | " + " | ".join(cells) + " |"

    def stage(key):
        return [r["seconds"].get(key) for r in ours]

    lines = [
        "| CoNLL-2000, 8,936 sentences, 456,436 features | python-crfsuite | loglin, 1 thread | loglin, 2 threads |",
        "|---|---|---|---|",
        row(name, reference, stage("total")),
        row("reading, s", peer["seconds"]["read"], stage("read")),
        row("features, s", peer["seconds"]["features"] + peer["seconds"]["append"], stage("features")),
        row("training, s", peer["seconds"]["train"], stage("train")),
        row("seconds a pass", peer["seconds_per_pass"], [r["seconds_per_pass"] for r in ours], digits=4),
        row("passes", peer["iterations"], [r["evaluations"] for r in ours], False, 0),
        row("objective", peer["objective"], [r["objective"] for r in ours], False),
        row("objective at convergence", peer["objective"], [r.get("converged_objective") for r in ours], False),
        row("test F1, %", 100 * peer["f1"], [100 * r["f1"] for r in ours], False),
        row("peak memory of training, MB", peer["peak_memory_mb"], [r["peak_memory_mb"] for r in ours], True, 0),
        row("file to tagged file, s", peer["tag_seconds"], [r["tag_seconds"] for r in ours], digits=4),
        row("one sentence, ms", peer["single_sentence_ms"], [r["single_sentence_ms"] for r in ours], digits=3),
        row(
            "averaged perceptron, file to model, s",
            peer["perceptron"]["seconds"]["total"],
            [r["perceptron"]["seconds"]["total"] for r in ours],
        ),
        row("its test F1, %", 100 * peer["perceptron"]["f1"], [100 * r["perceptron"]["f1"] for r in ours], False),
    ]
    for r, count in zip(ours, (1, 2), strict=True):
        if "all_features" in r:
            a = r["all_features"]
            lines.append(
                f"\nAll {a['n_features']:,} features, {count} thread{'s' * (count > 1)}: "
                f"objective {a['objective']:,.1f} in {a['seconds']['total']:.1f} s."
            )
    return "\n".join(lines) + "\n"


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--quick", action="store_true", help="stop python-crfsuite after 15 iterations")
    parser.add_argument("--side")
    parser.add_argument("--work")
    parser.add_argument("--threads", type=int, default=0)
    given = parser.parse_args()
    if not os.environ.get("LOGLIN_DATA"):
        sys.exit("set LOGLIN_DATA to the folder that holds conll2000")
    data = Path(os.environ["LOGLIN_DATA"]).resolve() / "conll2000"
    if given.side == "crfsuite":
        print(json.dumps(side_crfsuite(data, Path(given.work), given.quick)))
    elif given.side == "loglin":
        print(json.dumps(side_loglin(data, Path(given.work), given.quick, given.threads)))
    else:
        with tempfile.TemporaryDirectory() as work:
            ours = [run_side("loglin", data, Path(work), given.quick, n) for n in (1, 2)]
            peer = run_side("crfsuite", data, Path(work), given.quick)
            text = table(peer, ours)
        for result in (peer, *ours):
            result.pop("model", None)
        report(given.output, "crf", text, {"crfsuite": peer, "loglin": ours})


if __name__ == "__main__":
    main()
