"""Dense vectors: a CRF on 384 numbers a token, beside the plain matrix products and python-crfsuite.

    python benchmarks/vectors.py [--dimensions N] [--slice SENTENCES] [--output DIR]

Words and labels are those of CoNLL-2003 (LOGLIN_DATA). The vector of a token is a random projection of what a template
sees of it, its word and spelling and the words around it, with noise: numbers like the states of an encoder, which know
something of all of that and hold none of it by itself. A pass is value and gradient at some weights; the products are
tokens·weights and weightsᵀ·tokens in float32, which no pass can do without; of both the least processor time of several
runs, in turns. python-crfsuite gets the same numbers as attributes of the first sentences, and trains until its
objective is as low as that where loglin's default ends; feature.minfreq is below zero, as it leaves out the rest.
One thread everywhere. With --output, writes vectors.json and vectors.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from loglin import Tagger
from loglin.corpus import datasets
from loglin.criteria.registry import criterion
from loglin.optimize.run import Run
from output import parser_of, report

NOISE = 0.5
REPEATS = 9


def least(*work: Callable[[], Any]) -> list[float]:
    """The least processor seconds of each of several things, done in turns."""
    found = np.empty((REPEATS, len(work)))
    for turn in range(REPEATS):
        for k, one in enumerate(work):
            began = time.process_time()
            one()
            found[turn, k] = time.process_time() - began
    return found.min(axis=0).tolist()


def seen(sentence: list[str], t: int) -> list[str]:
    """What is projected of a token."""
    word = sentence[t]
    before, after = sentence[t - 1] if t else "<s>", sentence[t + 1] if t + 1 < len(sentence) else "</s>"
    shape = "".join("X" if c.isupper() else "x" if c.isalpha() else "d" if c.isdigit() else c for c in word)[:6]
    return [f"w{word}", f"l{word.lower()}", f"b{before}", f"a{after}", f"p{word[:3]}", f"s{word[-3:]}", f"h{shape}"]


def data(part: str, dimensions: int, known: dict[str, np.ndarray]) -> tuple[list, list, list]:
    """Words, labels and vectors of every sentence; ``known`` has the projections met so far, and gets new ones."""
    text = datasets.load("conll2003", part)
    X, y, rng = text.strings(0), text.strings(-1), np.random.default_rng(len(known))
    vectors = []
    for sentence in X:
        rows = NOISE * rng.standard_normal((len(sentence), dimensions), dtype=np.float32)
        for t in range(len(sentence)):
            for name in seen(sentence, t):
                if name not in known:
                    known[name] = rng.standard_normal(dimensions, dtype=np.float32)
                rows[t] += known[name]
        vectors.append(rows)
    return X, y, vectors


def passes(X: list, y: list, vectors: list) -> list[float]:
    """Seconds of a pass, and of the matrix products alone."""
    problem = Tagger(template="B\n", threads=1).problem(X, y, vectors=vectors)
    objective = criterion("crf", "chain").way(problem, Run()).objective(np.float32)
    weights = 0.01 * np.random.default_rng(0).standard_normal(objective.n_features)
    rows = problem.design.vectors[0].rows
    W = np.zeros((rows.shape[1], len(problem.labels)), np.float32)
    scores = np.empty((len(rows), W.shape[1]), np.float32)

    def products() -> None:
        np.matmul(rows, W, out=scores)
        np.matmul(scores.T, rows)

    with threadpool_limits(1):
        return least(lambda: objective(weights), products)


def train(X: list, y: list, vectors: list, test: tuple, **more: Any) -> dict[str, Any]:
    began, began_working = time.perf_counter(), time.process_time()
    tagger = Tagger(threads=1, **more).fit(X, y, vectors=vectors)
    seconds, record = time.perf_counter() - began, tagger.model_.record
    began = time.perf_counter()
    f1 = tagger.score(test[0], test[1], test[2])
    return {
        "seconds": seconds,
        "iterations": record["iterations"],
        "processor_seconds": time.process_time() - began_working,
        "objective": record["objective"],
        "stopped": record["stopped"],
        "f1": f1,
        "test_seconds": time.perf_counter() - began,
    }


def ours(X: list, y: list, vectors: list) -> dict[str, float]:
    """A training from arrays to a model: processor seconds in all and of an iteration, iterations, the objective."""
    moments = [time.process_time()]
    tagger = Tagger(template="B\n", threads=1, callbacks=[lambda _: moments.append(time.process_time())])
    record = tagger.fit(X, y, vectors=vectors).model_.record
    return {
        "seconds": time.process_time() - moments[0],
        "iteration": float(np.median(np.diff(moments[1:]))),
        "iterations": record["iterations"],
        "objective": record["objective"],
    }


class Reached(Exception):
    pass


def theirs(X: list, y: list, vectors: list, objective: float, folder: Path) -> dict[str, float]:
    """The same in python-crfsuite, with numbers as values of attributes, until its loss is ``objective``."""
    import pycrfsuite

    losses: list[float] = []
    moments: list[float] = []

    class Trainer(pycrfsuite.BaseTrainer):
        def message(self, message):
            if message.startswith("Loss: "):
                losses.append(float(message.split()[1]))
                moments.append(time.process_time())
                if losses[-1] <= objective:
                    raise Reached

    began = time.process_time()
    trainer, names = Trainer(algorithm="lbfgs"), [f"d{k}" for k in range(vectors[0].shape[1])]
    trainer.set_params({"c1": 0.0, "c2": 0.5, "max_iterations": 5000, "epsilon": 1e-12, "delta": 1e-12})
    trainer.set_params({"feature.minfreq": -1e30})
    for labels, rows in zip(y, vectors, strict=True):
        trainer.append([dict(zip(names, row, strict=True)) for row in rows.tolist()], labels)
    with suppress(Reached):
        trainer.train(str(folder / "vectors.crfsuite"))
    return {
        "seconds": moments[-1] - began,
        "iteration": float(np.median(np.diff(moments))),
        "iterations": len(losses),
        "objective": losses[-1],
    }


def main() -> None:
    import tempfile

    parser = parser_of(__doc__)
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--slice", type=int, default=1000, help="sentences for python-crfsuite")
    given = parser.parse_args()
    known: dict[str, np.ndarray] = {}
    X, y, vectors = data("train", given.dimensions, known)
    test = data("test", given.dimensions, known)
    n_tokens, n = sum(map(len, X)), given.slice
    whole, products = passes(X, y, vectors)
    one = ours(X[:n], y[:n], vectors[:n])
    with tempfile.TemporaryDirectory() as folder:
        other = theirs(X[:n], y[:n], vectors[:n], one["objective"], Path(folder))
    times = {name: f"{other[name] / one[name]:.0f} ×" for name in ("iteration", "seconds")}
    head = train(X, y, vectors, test, template="B\n")
    both = train(X, y, vectors, test)
    page = f"""# Dense vectors

`python benchmarks/vectors.py`: {len(X):,} sentences, {n_tokens:,} tokens of CoNLL-2003, {given.dimensions} numbers
each, one thread.

| | processor seconds |
|---|---:|
| matrix products of a pass, alone | {products:.3f} |
| a pass | {whole:.3f} ({whole / products:.2f} × the products) |

| the first {n:,} sentences | loglin | python-crfsuite | |
|---|---:|---:|---:|
| an iteration of L-BFGS, s | {one["iteration"]:.4f} | {other["iteration"]:.4f} | {times["iteration"]} |
| iterations to this objective | {one["iterations"]} | {other["iterations"]} | |
| from arrays to the objective, s | {one["seconds"]:.2f} | {other["seconds"]:.2f} | {times["seconds"]} |
| objective | {one["objective"]:,.2f} | {other["objective"]:,.2f} | |

| trained to convergence | seconds | iterations | F1 on testb |
|---|---:|---:|---:|
| vectors and label pairs | {head["seconds"]:.1f} | {head["iterations"]} | {head["f1"]:.4f} |
| vectors and the default template | {both["seconds"]:.1f} | {both["iterations"]} | {both["f1"]:.4f} |
"""
    found = {"pass": whole, "products": products, "to_objective": [one, other]}
    report(given.output, "vectors", page, found | {"head": head, "with_template": both, "tokens": n_tokens})


if __name__ == "__main__":
    main()
