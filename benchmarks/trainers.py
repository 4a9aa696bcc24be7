"""The default trainer against L-BFGS alone, on data it was not tuned for.

    python benchmarks/trainers.py [--quick] [--output DIR]

For each problem: passes over the data and seconds until the objective is within 0.1 % of the optimum, one
thread, float32; where the default stopped by itself; and the optimum, from a long run in float64.
With --output, writes trainers.json and trainers.md.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np

from loglin.corpus import conll
from loglin.corpus.columns import from_sentences
from loglin.corpus.labels import gold_of_sequences
from loglin.demo import ingredients
from loglin.features.attributes import AttributeExtractor
from loglin.features.extract import TemplateExtractor
from loglin.features.index import build_index
from loglin.features.read import DEFAULT
from loglin.features.template import parse_templates
from loglin.objectives.likelihood import ConditionalLikelihood
from loglin.optimize.fit import fit_weights
from loglin.optimize.penalties import Penalties
from loglin.optimize.record import StopTraining
from loglin.optimize.reporter import Reporter
from loglin.optimize.run import Run
from loglin.threads import Threads
from output import parser_of, report

WITHIN = 1.001
LONGEST = 400  # iterations that a run may take


def columns(data: Path, file: str, n: int, label: int):
    """The first n sentences of a column file: words and the chosen label column."""
    sentences = conll.read(data / file).sentences()[:n]
    return [[t[0] for t in s] for s in sentences], [[t[label] for t in s] for s in sentences]


def characters(data: Path, n: int):
    """Word segmentation, as for languages written without blanks: characters, two labels."""
    words, _ = columns(data, "conll2000/train.txt", n, 1)
    X = [[c for w in s for c in w] for s in words]
    y = [["B" if i == 0 else "I" for w in s for i in range(len(w))] for s in words]
    return X, y


def many_labels(data: Path, n: int, size: int = 100):
    """As many labels as there are frequent words: the word itself, or OTHER, seen only by its spelling."""
    words, _ = columns(data, "conll2000/train.txt", n, 1)
    counts: dict[str, int] = {}
    for s in words:
        for w in s:
            counts[w] = counts.get(w, 0) + 1
    frequent = set(sorted(counts, key=counts.get, reverse=True)[: size - 1])  # type: ignore[arg-type]
    y = [[w if w in frequent else "OTHER" for w in s] for s in words]
    return [[w[:1] + str(len(w)) for w in s] for s in words], y


def real_values(data: Path, n: int):
    """Attributes with real values: length, vowels, position."""
    X, y = columns(data, "conll2000/train.txt", n, 1)

    def features(s):
        return [
            {
                "w": w.lower(),
                "s": w[-2:],
                "length": len(w) / 3,
                "vowels": sum(c in "aeiou" for c in w) / len(w),
                "at": t / len(s),
            }
            for t, w in enumerate(s)
        ]

    return [features(s) for s in X], y


def problems(data: Path, scale: float):
    """(name, sentences, labels, template or None, l2) of every problem."""
    chunk = columns(data, "conll2000/train.txt", int(3000 * scale), 2)
    for l2 in (0.01, 0.1, 1.0, 10.0, 100.0):
        yield f"chunks, {len(chunk[0])} sentences", *chunk, DEFAULT, l2
    yield "named entities", *columns(data, "conll2003/eng.train", int(3000 * scale), 3), DEFAULT, 1.0
    yield "parts of speech", *columns(data, "conll2000/train.txt", int(2000 * scale), 1), DEFAULT, 1.0
    segment = "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nU2:%x[0,0]/%x[1,0]\nU3:%x[-2,0]/%x[-1,0]/%x[0,0]\nB\n"
    yield "word segmentation, characters", *characters(data, int(500 * scale)), segment, 1.0
    yield "100 labels", *many_labels(data, int(500 * scale)), "U0:%x[0,0]\nU1:%x[-1,0]\nU2:%x[1,0]\nB\n", 1.0
    yield "real-valued features", *real_values(data, int(1500 * scale)), None, 1.0
    lines = ingredients.generate(int(1500 * scale), 1, "train")
    yield "ingredients", [[t for t, _ in s] for s in lines], [[y for _, y in s] for s in lines], DEFAULT, 0.3


def measure(X, y, template, l2):
    extractor = TemplateExtractor(parse_templates(template)) if template else AttributeExtractor()
    design = extractor.fit(from_sentences(X) if template else X)
    labels, gold = gold_of_sequences(y, np.diff(design.offsets).tolist())
    index = build_index(design, gold, False, True, 1)
    n = index.n_features
    penalty = Penalties.uniform(n, 0.0, l2)

    def make(dtype):
        return ConditionalLikelihood(design, gold, index, None, dtype, Threads(1))

    best = fit_weights(make, penalty, Run(dtype="float64", tol=1e-8, max_iter=3 * LONGEST)).value

    def run(**extra):
        reached = {}

        def watch(iteration, weights):
            if iteration.value <= best * WITHIN and not reached:
                reached.update(passes=iteration.evaluations, seconds=iteration.seconds)
                if extra:
                    raise StopTraining("near enough")

        began = time.perf_counter()
        result = fit_weights(make, penalty, Run(max_iter=LONGEST, reporter=Reporter(watch), **extra))
        return reached | {
            "total": time.perf_counter() - began,
            "off": result.value / best - 1,
            "stopped": result.stopped,
        }

    default = run()
    plain = run(warm_start=False, scaled=False, tol=0.0)
    return {"labels": len(labels), "features": n, "optimum": best, "default": default, "lbfgs": plain}


def table(rows) -> str:
    head = ["problem", "labels", "l2", "features", "passes: default / L-BFGS", "seconds: default / L-BFGS"]
    head.append("default stops above the optimum by")
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for r in rows:
        d, p = r["default"], r["lbfgs"]
        passes = f"{d.get('passes', '–')} / {p.get('passes', f'> {LONGEST}')}"
        seconds = f"{d.get('seconds', d['total']):.2f} / {p.get('seconds', p['total']):.2f}"
        cells = [
            r["name"],
            r["labels"],
            f"{r['l2']:g}",
            f"{r['features']:,}",
            passes,
            seconds,
            f"{100 * d['off']:.3f} %",
        ]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the data")
    given = parser.parse_args()
    if not os.environ.get("LOGLIN_DATA"):
        sys.exit("set LOGLIN_DATA to the folder that holds conll2000 and conll2003")
    data, rows = Path(os.environ["LOGLIN_DATA"]), []
    for name, X, y, template, l2 in problems(data, 0.1 if given.quick else 1.0):
        rows.append({"name": name, "l2": l2} | measure(X, y, template, l2))
        print(table(rows[-1:]).splitlines()[-1], flush=True)
    page = (
        "Passes over the data and seconds until the objective is within 0.1 % of the optimum, one thread. The passes "
        "of the default trainer come after its warm start, whose time is in the seconds.\n\n"
    )
    report(given.output, "trainers", page + table(rows), rows)


if __name__ == "__main__":
    main()
