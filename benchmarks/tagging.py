"""Tagging new text, features included: loglin against python-crfsuite with the same attributes.

    python benchmarks/tagging.py [--corpus NAME …] [--template NAME …] [--iterations N] [--work DIR] [--output DIR]

For every corpus and template both are trained on the same attributes, then each tags the test file on one thread:
from file to file, from lists of Python tuples, and a sentence at a time. Tokens per second are of processor time inside
the process, the least of several runs; "whole process" is the wall clock of one call as a person makes it, with the
start of the interpreter and the model's opening. "plain" is loglin with the same template in which
every word function is replaced by the column itself, so that the cost of the functions shows. Data is found through
LOGLIN_DATA; --work keeps the models, so that a second run measures alone. With --output, writes tagging.json and
tagging.md.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from crf import TEMPLATE, read_sentences, string_features
from output import parser_of, report

SINGLE = 300  # sentences that are tagged one at a time


@dataclass(frozen=True)
class Source:
    """A corpus: its files and the columns of word, part of speech (or none) and label."""

    train: str
    test: str
    columns: tuple[int, ...]


SOURCES = {
    "conll2000": Source("conll2000/train.txt", "conll2000/test.txt", (0, 1, 2)),
    "spanish": Source("conll2002_es/train.txt", "conll2002_es/testa.txt", (0, 1, 2)),
    "english": Source("ud_english_ewt/train.tsv", "ud_english_ewt/test.tsv", (0, 2)),
    "chinese": Source("zh_gsd_chars/train.txt", "zh_gsd_chars/test.txt", (0, 1)),
}

WORDS = "".join(f"U0{i}:%x[{i - 2},0]\n" for i in range(5)) + "U05:%x[-1,0]/%x[0,0]\nU06:%x[0,0]/%x[1,0]\n"
RICH = (
    WORDS
    + "U10:%lower[0,0]\n"
    + "".join(f"U2{n}:%prefix[0,0,{n}]\nU3{n}:%suffix[0,0,{n}]\n" for n in range(1, 5))
    + "".join(f"U4{i}:%shape[{i - 1},0]\nU5{i}:%short-shape[{i - 1},0]\n" for i in range(3))
    + "U60:%is-title[0,0]\nU61:%has-digit[0,0]\nU62:%has-hyphen[0,0]\nU63:%is-punctuation[0,0]\n"
)
TAGS = "".join(f"U7{i}:%x[{i - 1},1]\n" for i in range(3))
TEMPLATES = ("example", "rich", "ngrams")


def template_text(name: str, tags: bool) -> str:
    """The template of a name, with parts of speech where there are some."""
    if name == "example":
        return TEMPLATE if tags else WORDS + "B\n"
    return {"rich": RICH, "ngrams": WORDS + "U10:%ngrams[0,0,2,4]\n"}[name] + TAGS * tags + "B\n"


def plain(template: str) -> str:
    """The template with the column itself in the place of every function of it."""
    return re.sub(r"%[a-z-]+\[(-?\d+),(\d+)[^\]]*\]", r"%x[\1,\2]", template)


# ---------------------------------------------------------------------- the same attributes for python-crfsuite


def shape(word):
    return "".join("X" if c.isupper() else "x" if c.isalpha() else "d" if c.isdigit() else c for c in word)


def short_shape(word):
    return re.sub(r"(.)\1+", r"\1", shape(word))


def window(words, t):
    """The words of a window and their bigrams."""
    p2, p1, w, n1, n2 = words[t - 2 : t + 3]
    return ["w-2=" + p2, "w-1=" + p1, "w=" + w, "w+1=" + n1, "w+2=" + n2, f"w-1w={p1}/{w}", f"ww+1={w}/{n1}"]


def around(tags, t):
    return ["p-1=" + tags[t - 1], "p=" + tags[t], "p+1=" + tags[t + 1]]


def word_features(sentence):
    words = ["_B-"] * 2 + [token[0] for token in sentence] + ["_B+"] * 2
    return [window(words, t) for t in range(2, len(words) - 2)]


def rich_features(sentence):
    words = ["_B-"] * 2 + [token[0] for token in sentence] + ["_B+"] * 2
    tags = ["_B-"] * 2 + [token[1] for token in sentence] + ["_B+"] * 2 if len(sentence[0]) > 1 else None
    shapes, short = [shape(w) for w in words], [short_shape(w) for w in words]
    rows = []
    for t in range(2, len(words) - 2):
        w = words[t]
        row = window(words, t)
        row += ["l=" + w.lower()]
        row += ["p1=" + w[:1], "p2=" + w[:2], "p3=" + w[:3], "p4=" + w[:4]]
        row += ["s1=" + w[-1:], "s2=" + w[-2:], "s3=" + w[-3:], "s4=" + w[-4:]]
        row += ["h-1=" + shapes[t - 1], "h=" + shapes[t], "h+1=" + shapes[t + 1]]
        row += ["k-1=" + short[t - 1], "k=" + short[t], "k+1=" + short[t + 1]]
        row.append("title=" + str(w[:1].isupper() and w[1:] == w[1:].lower()))
        row.append("digit=" + str(any(c.isdigit() for c in w)))
        row.append("hyphen=" + str("-" in w))
        row.append("punctuation=" + str(not any(c.isalnum() for c in w)))
        rows.append(row + around(tags, t) if tags else row)
    return rows


def ngram_features(sentence):
    words = ["_B-"] * 2 + [token[0] for token in sentence] + ["_B+"] * 2
    tags = ["_B-"] * 2 + [token[1] for token in sentence] + ["_B+"] * 2 if len(sentence[0]) > 1 else None
    rows = []
    for t in range(2, len(words) - 2):
        marked = f"<{words[t]}>"
        row = window(words, t)
        row += {"g=" + marked[i : i + n] for n in (2, 3, 4) for i in range(len(marked) - n + 1)}
        rows.append(row + around(tags, t) if tags else row)
    return rows


def feature_function(template: str, tags: bool) -> Callable:
    if template == "example":
        return string_features if tags else word_features
    return {"rich": rich_features, "ngrams": ngram_features}[template]


# ---------------------------------------------------------------------- training, kept between runs


def prepare(name: str, data: Path, work: Path) -> tuple[Path, Path]:
    """Training and test files of word, part of speech where there is one, and label."""
    source, files = SOURCES[name], []
    for part, path in (("train", source.train), ("test", source.test)):
        out = work / f"{name}.{part}.txt"
        if not out.exists():
            rows = [[" ".join([t[c] for c in source.columns]) for t in s] for s in read_sentences(data / path)]
            out.write_text("".join("\n".join(s) + "\n\n" for s in rows), encoding="utf-8")
        files.append(out)
    return files[0], files[1]


def loglin_model(train: Path, template: str, model: Path) -> Path:
    """A model file, trained unless it is there."""
    from loglin.cli.main import cli

    if not model.exists():
        pattern = model.with_suffix(".template")
        pattern.write_text(template)
        with open(os.devnull, "w") as silent, contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
            cli.main(["train", str(train), "--template", str(pattern), "-o", str(model)], standalone_mode=False)
    return model


def crfsuite_model(train: Path, features: Callable, model: Path, iterations: int) -> Path:
    import pycrfsuite

    if not model.exists():
        trainer = pycrfsuite.Trainer(verbose=False)
        for sentence in read_sentences(train):
            trainer.append(features([t[:-1] for t in sentence]), [t[-1] for t in sentence])
        trainer.set_params({"c1": 0, "c2": 0.5, "max_iterations": iterations})
        trainer.train(str(model))
    return model


# ---------------------------------------------------------------------- measuring


def least(function: Callable, repeats: int = 5) -> float:
    """Seconds of processor time of the quickest of several runs, after one that is not counted."""
    function()
    found = []
    for _ in range(repeats):
        began = time.process_time()
        function()
        found.append(time.process_time() - began)
    return min(found)


def whole(*arguments: str) -> float:
    """Seconds of wall clock of a process, the quicker of two."""
    found = []
    for _ in range(2):
        began = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        found.append(time.perf_counter() - began)
    return min(found)


def measure_loglin(model: Path, test: Path, output: Path) -> dict[str, float]:
    from loglin import Tagger
    from loglin.cli.main import cli

    command = ["tag", str(model), str(test), "-o", str(output), "--threads", "1"]
    sentences = [[tuple(t[:-1]) for t in s] for s in read_sentences(test)]
    tokens, single = sum(map(len, sentences)), sentences[:SINGLE]
    tagger = Tagger.load(model)
    tagger.threads = 1
    tagger._adopt(tagger.model_)
    return {
        "file": tokens / least(lambda: cli.main(command, standalone_mode=False)),
        "lists": tokens / least(lambda: tagger.predict(sentences)),
        "single_ms": 1e3 * least(lambda: [tagger.predict([s]) for s in single], 2) / len(single),
        "whole_s": whole("-m", "loglin", *command),
        "score": score(output),
    }


def crfsuite_tag(model: str, test: str, output: str, features: Callable) -> None:
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    with open(output, "w", encoding="utf-8") as stream:
        for sentence in read_sentences(test):
            labels = tagger.tag(features([t[:-1] for t in sentence]))
            for token, label in zip(sentence, labels, strict=True):
                stream.write(" ".join([*token, label]) + "\n")
            stream.write("\n")


def measure_crfsuite(model: Path, test: Path, output: Path, template: str) -> dict[str, float]:
    import pycrfsuite

    sentences = [[tuple(t[:-1]) for t in s] for s in read_sentences(test)]
    features = feature_function(template, len(sentences[0][0]) > 1)
    tagger = pycrfsuite.Tagger()
    tagger.open(str(model))
    tokens, single, files = sum(map(len, sentences)), sentences[:SINGLE], (str(model), str(test), str(output))
    return {
        "file": tokens / least(lambda: crfsuite_tag(*files, features), 2),
        "lists": tokens / least(lambda: [tagger.tag(features(s)) for s in sentences], 2),
        "single_ms": 1e3 * least(lambda: [tagger.tag(features(s)) for s in single], 2) / len(single),
        "whole_s": whole(__file__, "--side", template, *files),
        "score": score(output),
    }


def score(output: Path) -> float:
    """F1 of chunks or accuracy of labels, in percent, of a tagged file."""
    from loglin.evaluation.sequences import evaluate_labels

    sentences = read_sentences(output)
    return 100 * evaluate_labels([[t[-2] for t in s] for s in sentences], [[t[-1] for t in s] for s in sentences]).f1


def measure(name: str, template: str, data: Path, work: Path, iterations: int = 50, peer: bool = True) -> dict:
    """All figures of one corpus and one template."""
    train, test = prepare(name, data, work)
    tags = len(SOURCES[name].columns) > 2
    text = template_text(template, tags)
    model = loglin_model(train, text, work / f"{name}.{template}.model")
    result = {"corpus": name, "template": template, "loglin": measure_loglin(model, test, work / "loglin.out")}
    if plain(text) != text:
        model = loglin_model(train, plain(text), work / f"{name}.{template}.plain.model")
        result["plain"] = measure_loglin(model, test, work / "plain.out")
    if peer:
        file = work / f"{name}.{template}.crfsuite"
        crfsuite_model(train, feature_function(template, tags), file, iterations)
        result["crfsuite"] = measure_crfsuite(file, test, work / "crfsuite.out", template)
    return result


# ---------------------------------------------------------------------- report


def table(results: list[dict]) -> str:
    """Markdown: a row for each corpus, template and program."""
    lines = [
        "| corpus, template | | file, k tokens/s | lists, k tokens/s | one sentence, ms | whole process, s | F1 |",
        "|---|---|---|---|---|---|---|",
    ]
    for r in results:
        ours = r["loglin"]
        for side in ("crfsuite", "plain", "loglin"):
            if side not in r:
                continue
            x, cells = r[side], []
            for key in ("file", "lists", "single_ms", "whole_s"):
                ratio = ours[key] / x[key] if key in ("file", "lists") else x[key] / ours[key]
                value = f"{x[key] / 1e3:,.0f}" if key in ("file", "lists") else f"{x[key]:.3f}"
                cells.append(value if side == "loglin" else f"{value} (loglin {ratio:.2f} ×)")
            lines.append(f"| {r['corpus']}, {r['template']} | {side} | {' | '.join(cells)} | {x['score']:.2f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--corpus", action="append", choices=SOURCES)
    parser.add_argument("--template", action="append", choices=TEMPLATES)
    parser.add_argument("--iterations", type=int, default=50, help="of python-crfsuite's training")
    parser.add_argument("--work", type=Path, help="where models are kept; default: a folder that is removed")
    parser.add_argument("--alone", action="store_true", help="without python-crfsuite")
    parser.add_argument("--side", nargs=4, help="template, model, test, output: one run of python-crfsuite")
    given = parser.parse_args()
    if given.side:
        tags = len(read_sentences(given.side[2])[0][0]) > 2
        crfsuite_tag(*given.side[1:], feature_function(given.side[0], tags))
        return
    if not os.environ.get("LOGLIN_DATA"):
        sys.exit("set LOGLIN_DATA to the folder that holds the corpora")
    data = Path(os.environ["LOGLIN_DATA"]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        work = given.work or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        cases = [(c, t) for c in given.corpus or SOURCES for t in given.template or TEMPLATES]
        results = [measure(c, t, data, work, given.iterations, not given.alone) for c, t in cases]
    report(given.output, "tagging", table(results), results)


if __name__ == "__main__":
    main()
