"""Commands in pipes: answers come as soon as a sentence is complete, and what is right comes before a mistake."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import warnings
import zlib

import pytest

from loglin import LanguageModel, MaxEnt, Parser, Tagger
from support.estimators import LINES, SENTENCES, TREES, X, Y
from support.shell import PROGRAM, program

WAIT = 30.0  # seconds, on a busy machine
UD = "1\t{}\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
WORDS = ["two", "cups"]
# arguments, and inputs each of which is answered by itself
CASES = {
    "columns": (["tag", "tagger", "-"], [f"{w}\n\n" for w in WORDS]),
    "CoNLL-U": (["tag", "tagger", "-", "--format", "conllu"], [UD.format(w) for w in WORDS]),
    "text": (["tag", "tagger", "-", "--format", "text"], [f"{w} flour\n" for w in WORDS]),
    "JSON tokens": (["tag", "tagger", "-", "--format", "jsonl"], [json.dumps({"tokens": [w]}) + "\n" for w in WORDS]),
    "crfsuite": (["tag", "attributes", "-", "--format", "crfsuite"], [f"?\tw={w}\n\n" for w in WORDS]),
    "classify": (["classify", "classifier", "-"], [json.dumps({"features": [w]}) + "\n" for w in WORDS]),
    "parse": (["parse", "parser", "-"], ["dogs bark\n", "cats see dogs\n"]),
    "lm score": (["lm", "score", "lm", "-"], ["two cups\n", "three eggs\n"]),
    "lm score of a cache": (["lm", "score", "cache", "-"], ["two cups\n", "three eggs\n"]),
}
MISTAKES = {
    "columns": (CASES["columns"][0], "a\n\nb\n\nc d e\n\n", "line 5", 2),
    "columns of bad bytes": (CASES["columns"][0], b"a\n\nb\n\n\xff\n\n", "line 5", 2),
    "CoNLL-U": (CASES["CoNLL-U"][0], UD.format("a") + UD.format("b") + "x\n\n", "line 5", 2),
    "text": (CASES["text"][0], b"a\nb\n\xff\n", "line 3", 2),
    "JSON tokens": (CASES["JSON tokens"][0], '{"tokens": ["a"]}\n{"tokens": ["b"]}\n{\n', "line 3", 2),
    "crfsuite": (CASES["crfsuite"][0], "?\ta\n\n?\tb\n\n\tc\n\n", "line 5", 2),
    "classify": (CASES["classify"][0], '{"features": ["a"]}\n{"features": ["b"]}\n[]\n', "line 3", 2),
    "parse": (CASES["parse"][0], "dogs bark\ncats bark\n#! x\n", "line 3", 2),
    "lm score": (CASES["lm score"][0], "a\nb\n#! x=y\n", "line 3", 2),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Tagger(max_iter=3, template="U:%x[0,0]\nB").fit(*SENTENCES).save(folder / "tagger")
        Tagger(max_iter=3).fit([[[f"w={w}"] for w in s] for s in SENTENCES[0]], SENTENCES[1]).save(
            folder / "attributes"
        )
        MaxEnt(max_iter=3).fit(X, Y).save(folder / "classifier")
        Parser("pcfg").fit(TREES).save(folder / "parser")
        LanguageModel(max_iter=3).fit(LINES).save(folder / "lm")
        features = ("bigram", "cache", "trigger", "document")
        LanguageModel(features=features, max_iter=3, window=3, min_count=1).fit(LINES).save(folder / "cache")
    return folder


def answer(stream) -> bytes:
    """What a process has written by now, after the first byte of it has come."""
    assert select.select([stream], [], [], WAIT)[0], "no answer"
    return os.read(stream.fileno(), 1 << 16)


@pytest.mark.parametrize("gzipped", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("case", CASES)
def test_answers_come_sentence_by_sentence(folder, case, gzipped):
    arguments, inputs = CASES[case]
    whole = subprocess.run([*PROGRAM, *arguments], input="".join(inputs).encode(), cwd=folder, capture_output=True)
    assert whole.returncode == 0, whole.stderr
    pipe = subprocess.PIPE
    packer = zlib.compressobj(wbits=31)
    with subprocess.Popen([*PROGRAM, *arguments], cwd=folder, stdin=pipe, stdout=pipe, bufsize=0) as process:
        seen = b""
        try:
            for text in inputs:
                data = text.encode()
                if gzipped:
                    data = packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH)
                process.stdin.write(data)
                before = len(seen)
                while seen.count(b"\n", before) < 1:
                    seen += answer(process.stdout)
            process.stdin.write(packer.flush() if gzipped else b"")
            process.stdin.close()
            seen += process.stdout.read()
        finally:
            process.kill()
    assert seen == whole.stdout


@pytest.mark.parametrize("case", MISTAKES)
def test_what_is_right_comes_before_the_mistake(folder, case):
    arguments, text, place, lines = MISTAKES[case]
    code, out, err = program(folder, arguments, text if isinstance(text, bytes) else text.encode())
    assert code == 1
    assert place in err
    assert err.count("\n") == 1
    assert sum(1 for line in out.split("\n") if line) == lines


@pytest.mark.parametrize("case", ["columns", "text", "classify", "lm score"])
def test_memory_does_not_grow_with_the_input(folder, case, tmp_path):
    arguments, inputs = CASES[case]
    script = (
        "import resource, runpy, sys; from loglin.corpus import files; files.BLOCK = 1 << 16; sys.argv[0] = 'loglin'\n"
        "try: runpy.run_module('loglin', run_name='__main__')\n"
        "finally: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    )
    peaks = []
    for times in (2_000, 40_000):
        (tmp_path / "in").write_text("".join(inputs) * times)
        with open(tmp_path / "in", "rb") as given:
            done = subprocess.run(
                [sys.executable, "-c", script, *arguments], stdin=given, cwd=folder, capture_output=True
            )
        assert done.returncode == 0, done.stderr
        peaks.append(int(done.stderr.split()[-1]) * (1 if sys.platform == "darwin" else 1024))
    assert peaks[1] - peaks[0] < 20e6, peaks


@pytest.mark.parametrize("case", CASES)
def test_a_reader_that_goes_away(folder, case, tmp_path):
    arguments, inputs = CASES[case]
    (tmp_path / "in").write_text("".join(inputs) * 20_000)
    pipe = subprocess.PIPE
    with (
        open(tmp_path / "in", "rb") as given,
        subprocess.Popen([*PROGRAM, *arguments], cwd=folder, stdin=given, stdout=pipe, stderr=pipe) as process,
    ):
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.parametrize("blank_lines", ["document", "ignore"])
@pytest.mark.parametrize("model", ["lm", "cache"])
def test_scores_are_the_same_however_lines_come(folder, model, blank_lines, monkeypatch):
    lines = ["#! author=A", *LINES[:7], "", *LINES[7:20], "", "#! author=B", *LINES[20:33], "", "", *LINES[33:60]]
    if blank_lines == "ignore":
        lines = [line for line in lines if not line.startswith("#!")]
    arguments = ["lm", "score", model, "-", "--blank-lines", blank_lines]
    given = "\n".join(lines).encode()
    whole = program(folder, arguments, given)
    assert whole[0] == 0
    for block in (100, 300):
        monkeypatch.setattr("loglin.corpus.files.BLOCK", block)
        assert program(folder, arguments, given) == whole
