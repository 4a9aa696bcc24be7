"""Training time of the criteria, one thread, same features, each to its own convergence, in one run.

    python benchmarks/criteria.py [--output DIR]

NP chunking (CoNLL-2000, the extended features of m_estimation.txt): M-estimation with its base model and
expectations, against the CRF by plain L-BFGS and by the default trainer. Parts of speech (1,154 treebank
sentences, 45 labels, every feature with the label before): pieces with selected none-of-the-above instances
against the same two. Then one M-estimation run from file to model against python-crfsuite's CRF from file to
model. The data is found through LOGLIN_DATA. With --output, writes criteria.json and
criteria.md.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from crf import crfsuite_train, loglin_train, peak_mb, read_sentences
from loglin.corpus import datasets
from loglin.corpus.columns import Column, Corpus, encode_strings
from loglin.decoding.chains import Decoder
from loglin.estimators.tagger import Tagger
from loglin.evaluation.sequences import evaluate
from loglin.reproduce import np_chunks
from loglin.reproduce.fitting import fit_columns
from loglin.reproduce.piecewise_table1 import POS_ITEMS, crossed
from output import parser_of, report

PLAIN = {"optimizer": "lbfgs"}  # L-BFGS as the papers used it


def timed(inputs, labels, template, test, repeats=1, **options):
    """Features to model with one thread, and the score of the model; kernels are compiled before."""
    best = None
    for _ in range(repeats):
        began = time.perf_counter()
        model = fit_columns(Tagger(template=template, threads=1, **options), inputs, labels)
        seconds = time.perf_counter() - began
        if best is None or seconds < best["seconds"]:
            best = {"seconds": seconds}
    record = model.record
    best |= {k: record[k] for k in ("iterations", "evaluations", "objective", "n_features", "stopped")}
    test_inputs, test_labels, constrain = test
    known = {name: i for i, name in enumerate(model.labels)}
    right = np.array([known.setdefault(y, len(known)) for y in test_labels.vocabulary.strings])[test_labels.codes]
    decoder = Decoder(model, None, constrain)
    result = evaluate(right, decoder.best(decoder.design(test_inputs)), list(known), test_inputs.offsets)
    return best | {"score": result.f1 if constrain else result.accuracy}


def compare(title, inputs, labels, template, test, quick_name, quick_options, l2):
    """One row per method; the quick one twice, as its time is small."""
    small = (inputs.select(np.arange(50)), _head(labels, inputs.offsets[50]))
    rows = {}
    for name, repeats, options in (
        (quick_name, 3, quick_options),
        ("CRF, default trainer", 1, {"l2": l2}),
        ("CRF, plain L-BFGS", 1, {"l2": l2} | PLAIN),
    ):
        timed(*small, template, test, **options)  # compiles
        rows[name] = timed(inputs, labels, template, test, repeats, **options)
        print(f"{title}: {name}: {rows[name]['seconds']:.2f} s, score {rows[name]['score']:.4f}", flush=True)
    return rows


def _head(labels, n):
    return Column(labels.codes[:n], labels.vocabulary)


def np_chunking():
    whole, held = np_chunks.np_chunks("train"), np_chunks.np_chunks("test")
    test = (held.inputs, held.labels, "bio")
    options = {"criterion": "m-estimation", "l2": 1 / 2.154, "settings": {"base": "hmm"}}
    arguments = (whole.inputs, whole.labels, np_chunks.EXTENDED, test, "M-estimation", options, 1.0)
    return compare("NP chunking", *arguments)


def parts_of_speech():
    corpus = datasets.load("treebank")
    order = np.random.default_rng(0).permutation(corpus.n_sentences)
    training, test = _parts(corpus.select(order[:1154])), _parts(corpus.select(order[1154:]))
    options = {"criterion": "piecewise", "l2": 0.1, "settings": {"nota": "selected"}}
    return compare("parts of speech", *training, crossed(POS_ITEMS), (*test, None), "pieces, selected", options, 0.1)


def _parts(corpus):
    return Corpus(corpus.columns[:-1], corpus.offsets, corpus.source), encode_strings(corpus.columns[-1].strings())


# ---------------------------------------------------------------------- from file to model


def np_file(path, part):
    """The NP chunks of a part as a column file."""
    lines = []
    for sentence in read_sentences(datasets.path("conll2000", part)):
        lines += [f"{w} {t} {c[0] if c.endswith('-NP') else 'O'}" for w, t, c in sentence] + [""]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def file_to_model(work):
    train_file, template = work / "np.txt", work / "template"
    np_file(train_file, "train")
    template.write_text(np_chunks.EXTENDED)
    extra = ("--criterion", "m-estimation", "--set", "base=hmm", "--l2", str(1 / 2.154))
    runs = [loglin_train(train_file, template, work / "m.loglin", 1, *extra) for _ in range(3)]
    ours = min(run["seconds"]["total"] for run in runs)
    seconds, iterations = crfsuite_train(train_file, work / "crf.model", "lbfgs", {"c1": 0, "c2": 0.5})
    return {
        "loglin_seconds": ours,
        "loglin_features": runs[0]["n_features"],
        "crfsuite_seconds": seconds["total"],
        "crfsuite_iterations": len(iterations),
        "crfsuite_objective": float(iterations[-1]["loss"]),
        "ratio": seconds["total"] / ours,
    }


def markdown(result) -> str:
    lines = [
        "Training with one thread to each method's own convergence, features, base model and expectations included "
        "(`benchmarks/criteria.py`).",
        "",
        "| data | method | seconds | of plain L-BFGS | iterations | score |",
        "|---|---|---|---|---|---|",
    ]
    for title, rows in result["training"].items():
        plain = rows["CRF, plain L-BFGS"]["seconds"]
        for name, r in rows.items():
            share = f"1/{plain / r['seconds']:.1f}" if r["seconds"] < plain else f"{r['seconds'] / plain:.2f}"
            lines.append(f"| {title} | {name} | {r['seconds']:.2f} | {share} | {r['iterations']} | {r['score']:.2%} |")
    f = result["file_to_model"]
    lines += [
        "",
        "The score is F1 of phrases or accuracy of tags on the test data.",
        "",
        f"From file to model, one thread: M-estimation with {f['loglin_features']:,} features, E_q0 included, "
        f"{f['loglin_seconds']:.2f} s; python-crfsuite's CRF {f['crfsuite_seconds']:.1f} s "
        f"({f['crfsuite_iterations']} iterations): {f['ratio']:.0f} times. python-crfsuite has the same predicates "
        "with labels, and label bigrams; it cannot cross predicates with label pairs, so it has about a third of the "
        "features.",
        "",
        f"Peak memory {result['peak_memory_mb']:.0f} MB.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    output = parser_of(__doc__).parse_args().output
    with tempfile.TemporaryDirectory() as folder:
        files = file_to_model(Path(folder))
        print(f"file to model: {files['loglin_seconds']:.2f} s against {files['crfsuite_seconds']:.1f} s", flush=True)
    training = {"NP chunking": np_chunking(), "parts of speech": parts_of_speech()}
    result = {"training": training, "file_to_model": files, "peak_memory_mb": peak_mb()}
    report(output, "criteria", markdown(result), result)


if __name__ == "__main__":
    sys.exit(main())
