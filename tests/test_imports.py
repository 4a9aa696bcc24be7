"""What commands and Python's first lines import: nothing heavy that they do not need."""

from __future__ import annotations

import subprocess
import sys

import pytest

from loglin import Tagger

# Prints, when the process ends, which of the forbidden modules were imported by anything but Numba, which looks for
# SciPy's BLAS where it compiles.
WATCH = """
import atexit, sys

class Watch:
    found = []

    def find_spec(self, name, path=None, target=None):
        frame = sys._getframe()
        while frame is not None and not frame.f_globals.get("__name__", "").startswith("numba"):
            frame = frame.f_back
        if frame is None and any(name == one or name.startswith(one + ".") for one in {forbidden!r}):
            self.found.append(name)

sys.meta_path.insert(0, Watch())
atexit.register(lambda: print(sorted(Watch.found), file=sys.stderr))
"""
HEAVY = ("sklearn", "scipy", "matplotlib", "tqdm", "pandas")
TRAINING = tuple(f"loglin.{folder}" for folder in ("optimize", "objectives", "problems", "criteria", "training"))
UNUSED = ("safetensors", "loglin.structures", "loglin.generative", "loglin.grammars", "loglin.neighborhoods")

TEXT = "two CD B-QTY\ncups NN B-UNIT\nflour NN B-NAME\n\n3 CD B-QTY\neggs NN B-NAME\n\n"
SENTENCE = [("3", "CD"), ("cups", "NN")]
UNFINISHED = """
import warnings
from loglin import Tagger
with warnings.catch_warnings(record=True) as told:
    Tagger(max_iter=1, l2=1e-6).fit([["a", "b", "c"], ["b", "a"]] * 9, [["X", "Y", "X"], ["X", "X"]] * 9)
assert [warning.category.__name__ for warning in told] == ["ConvergenceWarning"]  # not scikit-learn's, but its name
"""
LOAD = "from loglin import Tagger; tagger = Tagger.load('m.model')"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a corpus of columns, train.txt, and a model of it, m.model."""
    folder = tmp_path_factory.mktemp("imports")
    (folder / "train.txt").write_text(TEXT * 5)
    sentences = [[tuple(line.split()) for line in part.split("\n")] for part in TEXT.strip().split("\n\n")]
    inputs = [[token[:2] for token in s] for s in sentences]
    Tagger(template="U:%x[0,0]\nU:%x[0,1]\nB\n", threads=1).fit(
        inputs, [[token[2] for token in s] for s in sentences]
    ).save(folder / "m.model")
    return folder


def imported(code: str, forbidden: tuple[str, ...], folder) -> list[str]:
    """The forbidden modules that the code has imported."""
    script = WATCH.format(forbidden=forbidden) + code
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return eval(done.stderr.rstrip().split("\n")[-1])


def command(*arguments: str) -> str:
    return f"sys.argv = {['loglin', *arguments]!r}; from loglin.cli.main import main; main()"


@pytest.mark.parametrize(
    ("code", "forbidden"),
    [
        ("import loglin", ("numpy", "numba", "click", *HEAVY)),
        ("import loglin.cli.main", ("numpy", "numba", *HEAVY)),
        ("from loglin import Tagger", (*HEAVY, *TRAINING, *UNUSED, "click")),
        (f"{LOAD}; tagger.predict([{SENTENCE}])", (*HEAVY, *TRAINING, *UNUSED, "click")),
        (f"{LOAD}; tagger.predict_marginals([{SENTENCE}])", (*HEAVY, *TRAINING, "safetensors", "click")),
        (command("tag", "m.model", "train.txt"), (*HEAVY, *TRAINING, *UNUSED)),
        (command("tag", "m.model", "train.txt", "--marginals"), (*HEAVY, *TRAINING, "safetensors")),
        (command("eval", "m.model", "train.txt"), (*HEAVY, *TRAINING, *UNUSED)),
        (command("train", "train.txt", "-o", "new.model"), HEAVY),
        (command("train", "train.txt", "-o", "new.model", "--max-iter", "1", "--l2", "1e-6"), HEAVY),
        (UNFINISHED, HEAVY),
    ],
)
def test_nothing_is_imported_that_is_not_needed(code, forbidden, folder):
    assert imported(code, forbidden, folder) == []


def test_the_watch_sees_what_it_should():
    assert imported("import json.tool", ("json",), None)[0] == "json"
