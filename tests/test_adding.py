"""Pages for developers: worked examples are run, and what other pages say of the source is compared with it.

The files that a page of docs/adding shows are added to the package, and nothing else. A block that begins with
"# src/loglin/FOLDER/FILE.py" is that file. The files are written to a folder of their own, which joins the path of the
package ``loglin.FOLDER``; then the page's other blocks are run from top to bottom. A block that begins with "# at the
end of src/loglin/FOLDER/FILE.py" is run inside that module.
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from loglin.criteria.criterion import REGISTRY
from loglin.criteria.registry import criteria
from loglin.demo.ingredients import generate

ROOT = Path(__file__).resolve().parent.parent
FILE = re.compile(r"# (src/loglin/(\S+)/\w+\.py)\n")
# what --help says of the names that the pages add
HELP = {
    "criterion": r"--criterion \[[^]]*\|smoothed[]|]",
    "optimizer": r"--optimizer \[[^]]*\|rprop[]|]",
    "format": "underscore: one sentence per line, word_TAG",
}
ADDED_TO = re.compile(r"# at the end of src/(\S+)\.py\n")
LONGEST = 120  # characters of a line, as in the project's own files
# files that the page adds, Python examples, commands: at least so many
PAGES = {
    "criterion": (1, 2, 6),
    "optimizer": (1, 1, 3),
    "format": (1, 0, 5),
    "word-function": (0, 2, 2),
    "structure": (2, 2, 0),
}


def blocks(page: str) -> list[tuple[str, str]]:
    """(language, content) of every code block of a page."""
    text = (ROOT / "docs" / "adding" / f"{page}.md").read_text()
    pieces = (piece.partition("\n") for piece in text.split("```")[1::2])
    return [(language, content) for language, _, content in pieces]


def run_page(page: str, folder: Path) -> str:
    """Everything that the page's examples print, run in a process of its own that has the page's files."""
    packages, examples = set(), []
    for language, content in blocks(page):
        if language == "python" and (found := FILE.match(content)):
            path = folder / "added" / found[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
            packages.add(found[2])
        elif language == "python" and (found := ADDED_TO.match(content)):
            module = found[1].replace("/", ".")
            examples.append(f"exec({content!r}, vars(importlib.import_module({module!r})))")
        elif language == "python":
            examples.append(content)
        elif language == "sh":
            examples += [f"shell({line!r})" for line in content.splitlines()]
    paths = [(p.replace("/", "."), str(folder / "added" / "src" / "loglin" / p)) for p in sorted(packages)]
    start = f"""
        import importlib, shlex, sys

        for package, path in {paths!r}:
            importlib.import_module("loglin." + package).__path__.append(path)

        def shell(line):
            from loglin.cli.main import cli

            program, *words = shlex.split(line)
            assert program == "loglin"
            try:
                cli.main(words, standalone_mode=False)
            except SystemExit as end:
                assert not end.code
            sys.stdout.flush()
        """
    (folder / "page.py").write_text(textwrap.dedent(start) + "\n\n".join(examples))
    done = subprocess.run([sys.executable, "page.py"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture
def kitchen(tmp_path):
    """A folder with the files that the pages' commands name."""
    for name, seed, part in (("train.txt", 1, "train"), ("test.txt", 2, "test")):
        lines = generate(60, seed, part)
        (tmp_path / name).write_text("\n\n".join("\n".join(f"{t} {y}" for t, y in line) for line in lines) + "\n")
    (tmp_path / "new.txt").write_text("2\ncups\nflour\n")
    (tmp_path / "raw.txt").write_text("3 cups flour\n")
    plain = [content for language, content in blocks("format") if language == ""]
    (tmp_path / "kitchen.tagged").write_text(plain[0])
    (tmp_path / "new.tagged").write_text(plain[1])
    (tmp_path / "vowels.template").write_text(next(c for language, c in blocks("word-function") if language == ""))
    return tmp_path


@pytest.mark.parametrize("page", PAGES)
def test_worked_examples(kitchen, page):
    found = blocks(page)
    files = [c for language, c in found if language == "python" and FILE.match(c)]
    examples = [c for language, c in found if language == "python" and not FILE.match(c)]
    commands = [line for language, c in found if language == "sh" for line in c.splitlines()]
    assert (len(files), len(examples), len(commands)) >= PAGES[page]
    output = run_page(page, kitchen)
    for expected in re.findall(r"# (\[.*\])$", "".join(examples), re.M):
        assert expected in output.splitlines()
    for language, expected in found:
        if language == "text":
            assert expected in output
    assert re.search(HELP.get(page, ""), re.sub(r"\s+", " ", output))


@pytest.mark.parametrize("page", PAGES)
def test_lines_are_as_short_as_those_of_the_source(page):
    for language, content in blocks(page):
        if language == "python":
            assert max(map(len, content.splitlines())) <= LONGEST


def test_all_pages_are_run():
    assert {path.stem for path in (ROOT / "docs" / "adding").glob("*.md")} == set(PAGES)


# ---------------------------------------------------------------------- what other pages say of the source

SOURCE = ROOT / "src" / "loglin"
TOLD = ("docs/architecture.md", "docs/glossary.md", "CONTRIBUTING.md")


@pytest.mark.parametrize("page", TOLD)
def test_named_files_exist(page):
    named = set(re.findall(r"`([\w./-]+/[\w.-]*|\w+\.py)`", (ROOT / page).read_text()))
    assert len(named) > 8
    assert [name for name in sorted(named) if not any((place / name).exists() for place in (SOURCE, ROOT))] == []


@pytest.mark.parametrize("page", [*TOLD, *(f"docs/adding/{name}.md" for name in PAGES)])
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / page).read_text()):
        assert (ROOT / page).parent.joinpath(target).exists(), target


def test_the_tables_of_sums_have_every_criterion():
    criteria("chain")  # every module is looked at
    rows = [line.split("|") for line in (ROOT / "docs" / "architecture.md").read_text().splitlines() if line[:1] == "|"]
    told = {
        (where.strip(), name) for row in rows for name in re.findall(r"`(.+?)`", row[1]) for where in row[2].split(",")
    }
    assert [pair for pair in REGISTRY if pair not in told] == []


def test_the_drawings_have_every_folder():
    folders = [p.name for p in SOURCE.iterdir() if (p / "__init__.py").exists()]
    drawing = (ROOT / "docs" / "architecture.md").read_text()
    overview = (SOURCE / "__init__.py").read_text()
    assert [name for name in folders if f"\n    {name}/ " not in drawing] == []
    assert [name for name in folders if not re.search(rf"\n    (\w+, )?{name}\b", overview)] == []


def test_the_glossary_is_in_order():
    for part in (ROOT / "docs" / "glossary.md").read_text().split("\n## ")[1:]:
        words = [line.split("|")[1].strip().lower() for line in part.splitlines() if line.startswith("| ")][1:]
        assert words == sorted(words)
