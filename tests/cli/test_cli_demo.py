"""loglin demo: runs, tells the difference that features make, and reads lines wherever they come from."""

import json
import os
import subprocess
import sys

import pytest

from loglin.cli import demo
from support.shell import run

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="2,000 lines take minutes without compiled kernels"
)


@pytest.fixture(scope="module")
def value():
    return json.loads(run("demo", "--json", "2 cups flour, sifted", "   "))


def test_context_and_spelling_help(value):
    word, everything = value["models"]
    assert everything["f1"] > word["f1"] + 0.05
    assert everything["f1"] > 0.9


def test_lines_are_tagged(value):
    (line,) = value["lines"]
    assert line["tokens"] == ["2", "cups", "flour", ",", "sifted"]
    found = {(e["type"], e["text"]) for e in line["entities"]}
    assert found == {("QTY", "2"), ("UNIT", "cups"), ("NAME", "flour"), ("PREP", "sifted")}
    assert all(0 < e["probability"] <= 1 for e in line["entities"])
    assert value["explanation"]["token"] == line["tokens"][line["position"]]


def test_lines_from_standard_input_and_a_kept_model(tmp_path):
    text = run("demo", "-o", tmp_path / "m", given="3 large eggs\n\n1 pinch of salt\n")
    assert "\n3 large eggs\n  entity" in text
    assert "\n1 pinch of salt\n  entity" in text
    assert demo.EXAMPLES[0] not in text
    assert text.rstrip().endswith("a blank line between sentences")
    assert "U-word" in run("inspect", tmp_path / "m")


def test_no_input_at_all_gives_the_examples():
    command = [sys.executable, "-c", "from loglin.cli.main import main; main()", "demo"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert all(line in done.stdout for line in demo.EXAMPLES)


def test_a_terminal_is_asked_until_an_empty_line(monkeypatch):
    answers = iter(["2 onions", "", "never reached"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(answers))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert list(demo._lines((), ask=True)) == ["2 onions"]
    assert list(demo._lines((), ask=False)) == list(demo.EXAMPLES)
