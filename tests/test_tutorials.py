"""Tutorials: each page is its script, which is run, and every output that the page shows is what it prints.

LOGLIN_WRITE_DOCS=1 writes the scripts from the pages.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from loglin.cli.main import cli
from support.corpora import corpus_folder

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "tutorials"
PAGES = sorted(FOLDER.glob("*.md"))
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CORPORA = {"spanish-names": "conll2002_es"}  # a page → the corpus that it reads


def blocks(page: Path, language: str) -> list[str]:
    return [text for name, text in FENCED.findall(page.read_text()) if name == language]


def script_of(page: Path) -> str:
    """The script: all Python of the page, one part behind the other."""
    title = page.read_text().split("\n", 1)[0].removeprefix("# ")
    return f'"""{title}: the script of {page.name}."""\n\n' + "\n".join(blocks(page, "python"))


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A folder with what the commands of a page name."""
    monkeypatch.chdir(tmp_path)
    Path("new.txt").write_text("5 Elm Road , Salem\n")
    Path("text.txt").write_text("the crow sat on the branch\nthe wolf sat\n" * 3)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_script_is_the_page(page):
    script = page.with_suffix(".py")
    if os.environ.get("LOGLIN_WRITE_DOCS"):
        script.write_text(script_of(page))
    assert script.read_text() == script_of(page)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_prints_what_it_says(page, files, capsys):
    if page.stem in CORPORA:
        corpus_folder(CORPORA[page.stem])
    script = page.with_suffix(".py")
    exec(compile(script.read_text(), str(script), "exec"), {"__name__": "tutorial"})
    printed = capsys.readouterr().out
    at = 0
    for shown in blocks(page, "text"):
        found = printed.find(shown, at)
        assert found >= 0, f"{page.name} shows\n{shown}\nbut this was printed:\n{printed[at:]}"
        at = found + len(shown)
    if page.stem in CORPORA:
        return  # its commands are for the whole corpus
    for line in "".join(blocks(page, "sh")).splitlines():
        program, *words = shlex.split(line)
        assert program == "loglin"
        result = CliRunner().invoke(cli, words)
        assert result.exit_code == 0, (line, result.output, result.exception)
