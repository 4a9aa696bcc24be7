"""The tutorial of sklearn-crfsuite on the Spanish CoNLL-2002 data: loglin.crfsuite against python-crfsuite.

    python benchmarks/crfsuite.py [--output DIR]

The features of the tutorial as dicts, c1 = c2 = 0.1, L-BFGS, 100 iterations, all possible transitions; python-crfsuite
is what sklearn-crfsuite calls. Each side runs in a process of its own, one after the other, on one thread; seconds are
processor time, and wall clock in brackets, inside the process. The features are made by the same Python code on both
sides, and counted apart. F1 is the tutorial's: of tokens, weighted by label, without O. With --output, writes
crfsuite.json and crfsuite.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from output import parser_of, report

PARAMETERS = {"c1": 0.1, "c2": 0.1, "max_iterations": 100, "feature.possible_transitions": True}
SIDES = ("python-crfsuite", "loglin", "loglin, all cores")


def word2features(sentence, i):
    word, tag = sentence[i][:2]
    features = {
        "bias": 1.0,
        "word.lower()": word.lower(),
        "word[-3:]": word[-3:],
        "word[-2:]": word[-2:],
        "word.isupper()": word.isupper(),
        "word.istitle()": word.istitle(),
        "word.isdigit()": word.isdigit(),
        "postag": tag,
        "postag[:2]": tag[:2],
    }
    for step, end in ((-1, "BOS"), (1, "EOS")):
        if not 0 <= i + step < len(sentence):
            features[end] = True
            continue
        word, tag = sentence[i + step][:2]
        features |= {
            f"{step:+}:word.lower()": word.lower(),
            f"{step:+}:word.istitle()": word.istitle(),
            f"{step:+}:word.isupper()": word.isupper(),
            f"{step:+}:postag": tag,
            f"{step:+}:postag[:2]": tag[:2],
        }
    return features


def read(path):
    """Features and labels of the sentences in a file of columns."""
    blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
    sentences = [[line.split() for line in block.split("\n")] for block in blocks]
    X = [[word2features(s, i) for i in range(len(s))] for s in sentences]
    return X, [[token[2] for token in s] for s in sentences]


class Clock:
    """Processor time and wall clock of what was done since the last look."""

    def __init__(self):
        self.look()

    def look(self):
        now = time.process_time(), time.perf_counter()
        passed = [b - a for a, b in zip(getattr(self, "last", now), now, strict=True)]
        self.last = now
        return passed


def peer(train, test, clock, model):
    import pycrfsuite

    trainer = pycrfsuite.Trainer("lbfgs", PARAMETERS, verbose=False)
    for x, y in zip(*train, strict=True):
        trainer.append(x, y)
    seconds = {"append": clock.look()}
    trainer.train(str(model))
    seconds["train"] = clock.look()
    tagger = pycrfsuite.Tagger()
    tagger.open(str(model))
    clock.look()
    found = [tagger.tag(x) for x in test[0]]
    seconds["tag"] = clock.look()
    return seconds, trainer.logparser, found


def ours(train, test, clock, model, threads):
    from loglin.crfsuite import CRF, Trainer

    small = CRF(c1=0.1, c2=0.1, threads=threads).fit(train[0][:50], train[1][:50])  # compiled code is loaded
    small.predict(test[0][:50])
    clock.look()
    trainer = Trainer("lbfgs", PARAMETERS, verbose=False)
    trainer.threads = threads
    for x, y in zip(*train, strict=True):
        trainer.append(x, y)
    seconds = {"append": clock.look()}
    trainer.train(model)
    seconds["train"] = clock.look()
    crf = CRF(model_filename=model, threads=threads)
    crf.predict(test[0][:1])
    clock.look()
    found = crf.predict(test[0])
    seconds["tag"] = clock.look()
    return seconds, trainer.logparser, found


def side(name, folder, model):
    from loglin.crfsuite import metrics

    clock = Clock()
    train = read(folder / "train.txt")
    features = clock.look()
    test = read(folder / "testb.txt")
    clock.look()
    threads = None if "cores" in name else 1
    seconds, log, found = (
        peer(train, test, clock, model) if name == SIDES[0] else ours(train, test, clock, model, threads)
    )
    labels = sorted({label for y in train[1] for label in y} - {"O"})
    cpu, wall = seconds["train"]
    scale = 1.0 if name == SIDES[0] else cpu / wall  # CRFsuite's log counts processor time, ours wall clock
    return {
        "seconds": {"features": features} | seconds,
        "features": log.featgen_num_features,
        "losses": [iteration["loss"] for iteration in log.iterations],
        "times": [scale * iteration["time"] for iteration in log.iterations],  # processor time
        "active": log.last_iteration["active_features"],
        "f1": 100 * metrics.flat_f1_score(test[1], found, average="weighted", labels=labels, zero_division=0),
    }


def until(result, loss):
    """Processor seconds of append and train until the loss was reached; None if it never was."""
    reached = [i for i, value in enumerate(result["losses"]) if value <= loss]
    if not reached:
        return None
    after = sum(result["times"][reached[0] + 1 :])
    return sum(result["seconds"][part][0] for part in ("append", "train")) - after


def table(results):
    first = results[SIDES[0]]
    names = [name for name in SIDES if name in results]
    lines = ["| | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]

    def row(what, value):
        lines.append(f"| {what} | " + " | ".join(value(results[name]) for name in names) + " |")

    for part, what in (("features", "the script's own feature code"), ("append", "dicts to numbers"),
                       ("train", "training and the model file"), ("tag", "tagging testb")):  # fmt: skip
        row(f"{what}, s", lambda r, part=part: "{:.2f} ({:.2f})".format(*r["seconds"][part]))
    fit = [sum(first["seconds"][part][i] for part in ("append", "train")) for i in (0, 1)]

    def share(r):
        took = [sum(r["seconds"][part][i] for part in ("append", "train")) for i in (0, 1)]
        return f"{took[0]:.2f} ({took[1]:.2f}): 1/{fit[0] / took[0]:.1f} (1/{fit[1] / took[1]:.1f})"

    row("`fit`, s", share)
    loss = first["losses"][-1]
    row("iterations", lambda r: str(len(r["losses"])))
    row("loss", lambda r: f"{r['losses'][-1]:.2f}")
    row("`fit` to python-crfsuite's last loss, s of processor time", lambda r: _shown(until(r, loss), fit[0]))
    row("features", lambda r: f"{r['features']:,}")
    row("features with a weight", lambda r: f"{r['active']:,}")
    row("F1", lambda r: f"{r['f1']:.2f}")
    return "\n".join(lines) + "\n"


def _shown(seconds, of):
    return "–" if seconds is None else f"{seconds:.2f}: 1/{of / seconds:.1f}"


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--side", choices=SIDES, help="run one side and print its figures as JSON")
    given = parser.parse_args()
    folder = Path(os.environ["LOGLIN_DATA"]) / "conll2002_es"
    if given.side:
        with tempfile.TemporaryDirectory() as work:
            print(json.dumps(side(given.side, folder, Path(work) / "model")))
        return
    results = {}
    for name in SIDES:
        done = subprocess.run([sys.executable, __file__, "--side", name], capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        results[name] = json.loads(done.stdout.splitlines()[-1])
    report(given.output, "crfsuite", table(results), results)


if __name__ == "__main__":
    main()
