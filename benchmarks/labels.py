"""A thousand labels: loglin against python-crfsuite and, where it is installed, Wapiti.

    python benchmarks/labels.py [--labels N] [--tokens N] [--file FILE] [--iterations N] [--wapiti PROGRAM]
                                [--quick] [--output DIR]

The corpus is made with the statistics of a morphological tag set (those of Turkish in Universal Dependencies: ten
labels are half of the text, most labels are rare, few of the label pairs ever occur); --file takes columns of word and
label in its place. All have the same columns and attributes, one thread, L-BFGS, l2 = 1, and a process of their own,
so that peak memory is theirs alone. A pass is an iteration of L-BFGS without the first two; tagging has features
included, from file to labels, Wapiti's with the start of its process and its model's opening. Wapiti gives every
attribute a weight with every label. With --output, writes labels.json and labels.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from crf import peak_mb, read_sentences
from output import parser_of, report

SUFFIXES = 4
WINDOW = [((o, 0),) for o in range(-2, 3)] + [((-1, 0), (0, 0)), ((0, 0), (1, 0))]
ENDINGS = [((0, n),) for n in range(1, SUFFIXES + 1)] + [((-1, 3),), ((1, 3),)]
PLACES = WINDOW + ENDINGS  # the (row, column) of each attribute's parts
GIVEN_UP = 1800  # seconds after which Wapiti is stopped
USUAL = {"labels": 1000, "tokens": 37_500, "iterations": 4}
QUICK = {"labels": 500, "tokens": 6_000, "iterations": 3}

# ---------------------------------------------------------------------- the corpus


def generated(n_labels: int, n_tokens: int, seed: int = 0) -> list[list[tuple[str, str]]]:
    """Sentences of words and labels: stems of a label's class with the ending of the label."""
    rng = np.random.default_rng(seed)
    share = np.arange(1, n_labels + 1) ** -1.2
    of_class = rng.permutation(np.arange(n_labels) % 12)
    liked = rng.dirichlet(np.full(12, 0.25), 12) + 1e-4
    follow = share * liked[of_class][:, of_class] * rng.gamma(0.3, size=(n_labels, n_labels))
    follow = np.cumsum(follow / follow.sum(axis=1, keepdims=True), axis=1)
    stems = ["".join(rng.choice(list("aeioubcdfgklmnprstvz"), rng.integers(2, 7))) for _ in range(12 * 1500)]
    endings = ["".join(rng.choice(list("aeiklmnrstuyz"), rng.integers(1, 5))) for _ in range(n_labels)]
    popular = np.cumsum(np.arange(1, 1501) ** -1.0)
    popular /= popular[-1]
    rare = iter(rng.permutation(n_labels).tolist())  # one token each, so that every label occurs

    def word(label: int) -> str:
        return stems[of_class[label] * 1500 + int(np.searchsorted(popular, rng.random()))] + endings[label]

    sentences: list[list[tuple[str, str]]] = []
    while sum(map(len, sentences)) < n_tokens:
        label, sentence = next(rare, int(rng.choice(n_labels, p=share / share.sum()))), []
        for _ in range(int(rng.integers(3, 20))):
            sentence.append((word(label), f"L{label:04d}"))
            label = min(int(np.searchsorted(follow[label], rng.random())), n_labels - 1)
        sentences.append(sentence)
    return sentences


def write(sentences: list[list[tuple[str, str]]], path: Path) -> None:
    """Columns: word, its endings, label."""
    rows = ([" ".join([w, *(w[-n:] for n in range(1, SUFFIXES + 1)), y]) for w, y in s] for s in sentences)
    path.write_text("".join("\n".join(s) + "\n\n" for s in rows), encoding="utf-8")


def statistics(path: Path) -> str:
    labels = [[t[-1] for t in s] for s in read_sentences(path)]
    counts = np.sort(np.unique([y for s in labels for y in s], return_counts=True)[1])[::-1]
    often = counts[:10].sum() / counts.sum()
    pairs = {pair for s in labels for pair in itertools.pairwise(s)}
    return (
        f"{counts.sum():,} tokens, {len(counts):,} labels of which ten are {often:.0%} of the tokens, "
        f"{len(pairs):,} label pairs"
    )


# ---------------------------------------------------------------------- the three sides


def template(start: str = "U", end: str = "B") -> str:
    lines = [f"{start}{k:02d}:" + "/".join(f"%x[{r},{c}]" for r, c in p) for k, p in enumerate(PLACES)]
    return "\n".join([*lines, end, ""])


def attributes(sentence):
    """The template's attributes as strings, as a user of python-crfsuite builds them."""
    edge = [("_B",) * (SUFFIXES + 1)] * 2
    rows, n = edge + [tuple(t[:-1]) for t in sentence] + edge, len(sentence)
    return [[f"{k}:" + "/".join([rows[t + r][c] for r, c in p]) for k, p in enumerate(PLACES)] for t in range(2, n + 2)]


def accuracy(predicted: list[list[str]], sentences: list) -> float:
    pairs = [(a, t[-1]) for s, p in zip(sentences, predicted, strict=True) for a, t in zip(p, s, strict=True)]
    return sum(a == b for a, b in pairs) / len(pairs)


def a_pass(seconds: list[float]) -> float:
    return float(np.median(seconds[2:] or seconds))


def side_loglin(train: Path, test: Path, work: Path, iterations: int) -> dict:
    from loglin import Tagger
    from loglin.corpus import conll
    from loglin.corpus.columns import Corpus

    corpus, moments = conll.read(train), []
    tagger = Tagger(
        template=template(),
        max_iter=max(iterations, 12),
        tol=1e-9,
        threads=1,
        callbacks=[lambda iteration: moments.append(time.process_time())],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that max_iter was reached
        tagger.fit(Corpus(corpus.columns[:-1], corpus.offsets), corpus.columns[-1])
    found = {
        "pass": a_pass(np.diff(moments).tolist()),
        "peak_mb": peak_mb(),
        "features": tagger.model_.index.n_features,
    }
    given, began = conll.read(test), time.process_time()
    predicted = tagger.predict(Corpus(given.columns[:-1], given.offsets))
    found["tag"] = time.process_time() - began
    return found | {"accuracy": accuracy(predicted, read_sentences(test))}


def side_crfsuite(train: Path, test: Path, work: Path, iterations: int) -> dict:
    import pycrfsuite

    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    for sentence in read_sentences(train):
        trainer.append(attributes(sentence), [t[-1] for t in sentence])
    trainer.set_params({"c1": 0.0, "c2": 0.5, "max_iterations": iterations})
    trainer.train(str(work / "crfsuite"))
    seconds = [float(i["time"]) for i in trainer.logparser.iterations]
    found = {"pass": a_pass(seconds), "peak_mb": peak_mb(), "features": trainer.logparser.featgen_num_features}
    tagger, sentences = pycrfsuite.Tagger(), read_sentences(test)
    tagger.open(str(work / "crfsuite"))
    began = time.process_time()
    predicted = [tagger.tag(attributes(sentence)) for sentence in sentences]
    found["tag"] = time.process_time() - began
    return found | {"accuracy": accuracy(predicted, sentences)}


def side_wapiti(train: Path, test: Path, work: Path, iterations: int, program: str) -> dict:
    (work / "pattern").write_text(template(end="B").replace("U", "u").replace("\nB", "\nb"))
    model, out = str(work / "wapiti"), work / "wapiti.out"
    settings = ["--rho1", "0", "--rho2", "1", "--nthread", "1", "-i", str(iterations), "-p", str(work / "pattern")]
    command = [program, "train", "-a", "l-bfgs", *settings, str(train), model]
    said = subprocess.run(command, capture_output=True, text=True, timeout=GIVEN_UP, check=True).stderr
    seconds = [float(s) for s in re.findall(r"time=([0-9.]+)s/", said)]
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    features = re.search(r"nb features: *(\d+)", said)
    began = time.perf_counter()
    subprocess.run([program, "label", "-m", model, str(test), str(out)], capture_output=True, check=True)
    found = {"pass": a_pass(seconds), "peak_mb": peak, "tag": time.perf_counter() - began}
    if features:
        found["features"] = int(features[1])
    predicted = [[t[-1] for t in s] for s in read_sentences(out)]
    return found | {"accuracy": accuracy(predicted, read_sentences(test))}


def in_a_process(side: str, given: argparse.Namespace, work: Path) -> dict | None:
    command = [sys.executable, __file__, "--side", side, "--work", str(work), "--iterations", str(given.iterations)]
    done = subprocess.run([*command, "--wapiti", given.wapiti or ""], capture_output=True, text=True)
    if done.returncode:
        print(f"{side}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


# ---------------------------------------------------------------------- report


def page(about: str, n_test: int, iterations: int, found: dict[str, dict | None]) -> str:
    ours = found["loglin"]
    lines = [f"Training text: {about}; {n_test:,} tokens are tagged.\n"]
    lines += [
        "| one thread | features | seconds a pass | tokens tagged a second | peak memory, MB |",
        "|---|---|---|---|---|",
    ]
    for name, side in found.items():
        if side is None:
            lines.append(f"| {name} | did not end | – | – | – |")
            continue
        ratio = {k: "" if side is ours else f" ({side[k] / ours[k]:.1f} ×)" for k in ("pass", "tag", "peak_mb")}
        row = [f"{side['features']:,}" if "features" in side else "–", f"{side['pass']:.3f}{ratio['pass']}"]
        row += [f"{n_test / side['tag']:,.0f}{ratio['tag']}", f"{side['peak_mb']:,.0f}{ratio['peak_mb']}"]
        lines.append(f"| {name} | " + " | ".join(row) + " |")
    right = ", ".join(f"{name} {side['accuracy']:.1%}" for name, side in found.items() if side)
    lines.append(
        f"\nIn brackets: how many times loglin's. Labels right after {iterations} iterations (loglin: 12 or more): "
        f"{right}."
    )
    return "\n".join(lines) + "\n"


def split_of(given: argparse.Namespace, work: Path) -> None:
    """Write train.txt and test.txt, every tenth sentence for tagging."""
    if given.file:
        rows = ([t for t in s.split("\n") if t] for s in given.file.read_text(encoding="utf-8").split("\n\n"))
        sentences = [[(t.split()[0], t.split()[-1]) for t in s] for s in rows if s]
    else:
        sentences = generated(given.labels, given.tokens * 10 // 9)
    write([s for k, s in enumerate(sentences) if k % 10], work / "train.txt")
    write(sentences[::10], work / "test.txt")


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--labels", type=int)
    parser.add_argument("--tokens", type=int)
    parser.add_argument("--quick", action="store_true", help="few labels and tokens: less than a minute")
    parser.add_argument("--file", type=Path, help="columns whose first is the word and whose last the label")
    parser.add_argument("--iterations", type=int, help="of the peers")
    parser.add_argument("--wapiti", default=shutil.which("wapiti"), help="the program")
    parser.add_argument("--side", help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.side:
        sides = {"loglin": side_loglin, "python-crfsuite": side_crfsuite, "Wapiti": side_wapiti}
        more = [given.wapiti] if given.side == "Wapiti" else []
        files = given.work / "train.txt", given.work / "test.txt", given.work
        print(json.dumps(sides[given.side](*files, given.iterations, *more)))
        return
    for name, size in (QUICK if given.quick else USUAL).items():
        if getattr(given, name) is None:
            setattr(given, name, size)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        split_of(given, work)
        names = ["loglin", "python-crfsuite", *(["Wapiti"] if given.wapiti else [])]
        found = {name: in_a_process(name, given, work) for name in names}
        n_test = sum(map(len, read_sentences(work / "test.txt")))
        text = page(statistics(work / "train.txt"), n_test, given.iterations, found)
    report(given.output, "labels", text, found)


if __name__ == "__main__":
    main()
