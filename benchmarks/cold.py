"""Small work, start-up included: loglin's commands against python-crfsuite's whole script, process against process.

    python benchmarks/cold.py [--repeats N] [--alone] [--output DIR]

    one sentence    `loglin tag` of one sentence; Tagger.load(…).predict in Python; the same with python-crfsuite
    small corpora   the first sentences of five corpora: `loglin train FILE --template … -o MODEL` and `loglin tag`
                    of the same file, as they are by default, and a script that reads the file, builds the template's
                    attributes as strings, trains by L-BFGS as python-crfsuite does by default (c2 = l2/2), or tags and
                    writes

Every figure is of a process of its own, from the start of the interpreter to its end: seconds of processor time, user
and system, and of wall clock, each the least of several runs after one that is not counted, which compiles what there
is to compile. Python keeps compiled bytecode, as it does where packages are installed. The data is found through
LOGLIN_DATA. With --output, writes cold.json and cold.md.
"""

from __future__ import annotations

import inspect
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import crf
import tagging
from anywhere import CORPORA, sentences_of
from output import parser_of, report

CASES = {  # corpus: tokens, about, and template
    "ingredients": (1_000, "rich"),
    "conll2003": (2_500, "rich"),
    "conll2000": (5_000, "example"),
    "spanish": (10_000, "rich"),
    "chinese": (20_000, "example"),
}
FIGURES = ("processor", "wall")

# What a user of python-crfsuite writes; the functions that it calls are put in front of it.
SCRIPT = {
    "train": """
trainer = pycrfsuite.Trainer(verbose=False)
for sentence in read_sentences(sys.argv[1]):
    trainer.append(features([t[:-1] for t in sentence]), [t[-1] for t in sentence])
trainer.set_params({"c1": 0, "c2": 0.5})
trainer.train(sys.argv[2])
""",
    "tag": """
tagger = pycrfsuite.Tagger()
tagger.open(sys.argv[2])
with open(sys.argv[3], "w", encoding="utf-8") as stream:
    for sentence in read_sentences(sys.argv[1]):
        labels = tagger.tag(features([t[:-1] for t in sentence]))
        for token, label in zip(sentence, labels, strict=True):
            stream.write(" ".join([*token, label]) + "\\n")
        stream.write("\\n")
""",
}


def peer_script(what: str, template: str, tags: bool) -> str:
    """A script of python-crfsuite that imports nothing but what it needs."""
    features = tagging.feature_function(template, tags)
    needed = [crf.read_sentences, tagging.shape, tagging.short_shape, tagging.window, tagging.around, features]
    constants = f"WORDS = {crf.WORDS!r}\nTAGS = {crf.TAGS!r}\n"
    sources = "\n\n".join(inspect.getsource(function) for function in dict.fromkeys(needed))
    head = f"import re, sys\nfrom pathlib import Path\nimport pycrfsuite\n{constants}"
    return f"{head}{sources}\nfeatures = {features.__name__}\n{SCRIPT[what]}"


def prepare(name: str, data: Path, work: Path) -> Path:
    """The first sentences of a corpus as a file of columns."""
    path, tokens, rows = work / f"{name}.txt", 0, []
    for sentence in sentences_of(name, data):
        if tokens + len(sentence) > CASES[name][0]:
            break
        tokens += len(sentence)
        rows.append("".join(" ".join(token) + "\n" for token in sentence) + "\n")
    path.write_text("".join(rows), encoding="utf-8")
    return path


def measured(repeats: int, *arguments: str | Path) -> dict[str, float]:
    """Seconds of processor time and of wall clock of a Python process, the least of several after one."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command, found = [sys.executable, *map(str, arguments)], []
    for _ in range(repeats + 1):
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            sys.exit(done.stderr)
        found.append((after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, wall))
    return dict(zip(FIGURES, map(min, zip(*found[1:], strict=True)), strict=True))


def small_corpus(name: str, data: Path, work: Path, repeats: int, peer: bool) -> list[dict]:
    """Training on a small corpus and tagging it."""
    file, (_, template) = prepare(name, data, work), CASES[name]
    sentences, tags = crf.read_sentences(file), len(CORPORA[name][1]) > 2
    pattern, model, output = work / f"{name}.template", work / f"{name}.model", work / f"{name}.out"
    pattern.write_text(tagging.template_text(template, tags))
    commands = {
        "train": ("train", file, "--template", pattern, "-o", model),
        "tag": ("tag", model, file, "-o", output),
    }
    about = {
        "tokens": sum(map(len, sentences)),
        "labels": len({token[-1] for sentence in sentences for token in sentence}),
        "template": template,
    }
    rows = []
    for what, command in commands.items():
        row = {"what": f"{name}: {what}"} | about | {"loglin": measured(repeats, "-m", "loglin", *command)}
        if peer:
            script = work / f"{name}.{what}.py"
            script.write_text(peer_script(what, template, tags))
            row["crfsuite"] = measured(repeats, script, file, work / f"{name}.crfsuite", work / f"{name}.peer")
        print(line_of(row), flush=True)
        rows.append(row)
    return rows


def one_sentence(work: Path, repeats: int, peer: bool) -> tuple[list[dict], bool]:
    """Tagging one sentence with the models of CoNLL-2000, and whether Numba was imported for that."""
    sentence = crf.read_sentences(work / "conll2000.txt")[0]
    file, model, theirs = work / "one.txt", work / "conll2000.model", work / "conll2000.crfsuite"
    file.write_text("".join(" ".join(token) + "\n" for token in sentence) + "\n", encoding="utf-8")
    tokens = [tuple(token[:-1]) for token in sentence]
    python = f"from loglin import Tagger; Tagger.load({str(model)!r}).predict([{tokens!r}])"
    rows = [
        {"what": "one sentence: loglin tag", "loglin": measured(repeats, "-m", "loglin", "tag", model, file)},
        {"what": "one sentence: Tagger.load, predict", "loglin": measured(repeats, "-c", python)},
    ]
    if peer:
        script = work / "one.py"
        script.write_text(peer_script("tag", "example", True))
        for row in rows:
            row["crfsuite"] = measured(repeats, script, file, theirs, work / "one.peer")
    for row in rows:
        row |= {"tokens": len(sentence)}
        print(line_of(row), flush=True)
    asked = subprocess.run([sys.executable, "-c", f"{python}; import sys; print('numba' in sys.modules)"],
                           capture_output=True, text=True, check=True)  # fmt: skip
    return rows, asked.stdout.strip() == "True"


HEAD = (
    "| | tokens | labels | loglin: processor s | wall s | python-crfsuite: processor s | wall s | times, processor |\n"
    "|---|---|---|---|---|---|---|---|\n"
)


def line_of(row: dict) -> str:
    """A line of the table."""
    sides = [f"{row[s][f]:.3f}" if s in row else "–" for s in ("loglin", "crfsuite") for f in FIGURES]
    times = f"{row['crfsuite']['processor'] / row['loglin']['processor']:.2f}" if "crfsuite" in row else "–"
    name = f"{row['what']}, {row['template']}" if "template" in row else row["what"]
    return "| " + " | ".join([name, f"{row['tokens']:,}", str(row.get("labels", "–")), *sides, times]) + " |"


def page(rows: list[dict], jit: bool) -> str:
    kernels = "Numba was imported" if jit else "kernels were compiled ahead of time, and Numba was not imported"
    about = f"Whole processes, the start of the interpreter included; {kernels}. `benchmarks/cold.py` says how.\n\n"
    return about + HEAD + "\n".join(map(line_of, rows)) + "\n"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--corpus", action="append", choices=CASES, help="of the small ones; default: all")
    parser.add_argument("--repeats", type=int, default=5, help="runs of which the least counts")
    parser.add_argument("--alone", action="store_true", help="without python-crfsuite")
    given = parser.parse_args()
    if not os.environ.get("LOGLIN_DATA"):
        sys.exit("set LOGLIN_DATA to the folder that holds the corpora")
    data, rows = Path(os.environ["LOGLIN_DATA"]).resolve(), []
    print(HEAD, end="")
    with tempfile.TemporaryDirectory() as folder:
        work, peer = Path(folder), not given.alone
        for name in dict.fromkeys(["conll2000", *(given.corpus or CASES)]):
            rows += small_corpus(name, data, work, given.repeats, peer)
        single, jit = one_sentence(work, given.repeats, peer)
    print()
    report(given.output, "cold", page(single + rows, jit), {"numba": jit, "rows": single + rows})


if __name__ == "__main__":
    main()
