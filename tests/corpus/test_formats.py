"""The registry of formats: what it finds, what the command line and the documentation say of it."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import loglin.corpus
from loglin.cli.main import cli
from loglin.corpus import formats
from loglin.errors import LoglinError

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "loglin"
PIPES = """
from loglin.corpus import sentences
from loglin.corpus.columns import from_sentences
from loglin.corpus.crfsuite import text_lines
from loglin.corpus.formats import Format


def read(path, encoding):
    for _, line in text_lines(path, encoding):
        tokens = [token.partition("|") for token in line.split()]
        yield [label for _, _, label in tokens], [word for word, _, _ in tokens]


class Pipes(Format):
    name = "pipes"
    line = "a sentence a line, word|LABEL"
    endings = (".pipes",)

    def labeled(self, path, encoding, label_column, columns, layout=None):
        return sentences.labeled(path, read(path, encoding), True, layout)

    def raw(self, path, encoding, label_column):
        return from_sentences([tokens for _, tokens in read(path, encoding)], path)

    def stretches(self, path, encoding):
        return sentences.batches(path, read(path, encoding))


FORMAT = Pipes()
"""


def run(*words) -> str:
    result = CliRunner().invoke(cli, [str(word) for word in words])
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


@pytest.fixture
def pipes(tmp_path, monkeypatch):
    """A further format, in one file."""
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "pipes.py").write_text(PIPES)
    monkeypatch.setattr(loglin.corpus, "__path__", [*loglin.corpus.__path__, str(tmp_path / "modules")])
    formats.registered.cache_clear()
    yield tmp_path
    formats.registered.cache_clear()
    sys.modules.pop("loglin.corpus.pipes")


def test_a_format_is_one_file(pipes):
    (pipes / "data.pipes").write_text("a|X b|Y\nb|Y a|X a|X\n")
    run("train", pipes / "data.pipes", "-o", pipes / "model", "--quiet")
    assert run("tag", pipes / "model", pipes / "data.pipes") == "X\nY\n\nY\nX\nX\n\n"
    assert "100.00%" in run("eval", pipes / "model", pipes / "data.pipes")
    assert "2 words" in run("dictionary", pipes / "data.pipes", "--format", "pipes")
    assert "pipes: a sentence a line, word|LABEL" in " ".join(run("tag", "--help").split())


def test_help_describes_every_format():
    shown = "".join(run("train", "--help").split())
    for name, form in formats.registered().items():
        assert "".join(f"{name}: {form.line}".split()) in shown
        assert all(ending in shown for ending in form.endings)
    assert "|".join(["auto", *formats.registered()]) in shown


def test_names_are_told():
    assert list(formats.registered()) == ["conll", "conllu", "crfsuite", "jsonl", "spacy", "table", "text"]
    with pytest.raises(LoglinError, match="no format 'xml'; take one of conll, conllu"):
        formats.named("xml")


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*/**/*.py")), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_nobody_compares_names_of_formats(path):
    """Only the file of a format may know it by name; "text" is also a kind of file for parsers."""
    if path.parent.name == "corpus":
        return
    names = set(formats.registered()) - {"text"}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Compare):
            compared = {c.value for c in ast.walk(node) if isinstance(c, ast.Constant) and isinstance(c.value, str)}
            assert not compared & names, (path.name, node.lineno)


def test_documentation_has_every_format():
    page = (ROOT / "docs" / "formats.md").read_text()
    rows = {row.split("|")[1].strip(): row for row in page.splitlines() if row.startswith("| `")}
    assert [name for name in rows if not name.startswith("`--")] == [f"`{name}`" for name in formats.registered()]
    for name, form in formats.registered().items():
        assert all(f"`{ending}`" in rows[f"`{name}`"] for ending in (*form.endings, *form.raw_endings))
