"""Every example in README.md and in the pages below is run."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from loglin import Tagger
from loglin.cli.main import cli
from loglin.corpus.trees import write_trees
from loglin.criteria.registry import criteria
from loglin.criteria.settings import described as allowed_text
from loglin.demo.ingredients import generate
from loglin.features.histories import KINDS
from loglin.generative.pcfg import PCFG
from loglin.models import foreign
from loglin.problems.histories import LanguageOptions

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
# at least so many commands
COMMANDS = {
    "README.md": 12,
    "docs/classification.md": 6,
    "docs/crfsuite.md": 0,
    "docs/criteria.md": 4,
    "docs/formats.md": 8,
    "docs/howto.md": 0,
    "docs/index.md": 3,
    "docs/inspector.md": 3,
    "docs/language-models.md": 10,
    "docs/moving.md": 19,
    "docs/notebooks.md": 0,
    "docs/optimizers.md": 2,
    "docs/parsing.md": 19,
    "docs/reference/structures.md": 0,
    "docs/scale.md": 7,
    "docs/serving.md": 5,
    "docs/spacy.md": 4,
    "docs/tagger.md": 0,
    "docs/templates.md": 5,
    "docs/unlabeled.md": 13,
    "docs/vectors.md": 5,
}
PAGES = {name: (ROOT / name).read_text() for name in COMMANDS}


NEEDS = {"docs/serving.md": "fastapi", "docs/spacy.md": "spacy"}  # packages of extras
WRITING = ("docs/spacy.md", "docs/vectors.md")  # examples in Python write the files that commands read


def require_packages(page: str) -> None:
    if page in NEEDS:
        pytest.importorskip(NEEDS[page])


def blocks(language: str, page: str = "README.md") -> list[str]:
    """The contents of a page's code blocks in one language."""
    pieces = PAGES[page].split("```")[1::2]  # what stands between an opening and a closing fence
    return [text for name, _, text in (piece.partition("\n") for piece in pieces) if name == language]


@pytest.fixture
def kitchen(tmp_path, monkeypatch):
    """A folder with the files that the README's commands name."""
    monkeypatch.chdir(tmp_path)
    for name, seed, part in (("train.txt", 1, "train"), ("test.txt", 2, "test")):
        lines = generate(120, seed, part)
        Path(name).write_text("\n\n".join("\n".join(f"{t} {y}" for t, y in line) for line in lines) + "\n")
        rows = np.random.default_rng(seed).standard_normal((sum(map(len, lines)), 8))
        np.save(name.replace("txt", "npy"), rows.astype(np.float32))
    for name, seed in (("raw.txt", 3), ("held.txt", 4)):
        Path(name).write_text("".join(" ".join(t for t, _ in line) + "\n" for line in generate(60, seed, "train")))
    for name in ("train.conllu", "test.conllu"):
        Path(name).write_text(next(b for b in blocks("", "docs/formats.md") if "# text" in b))
    Path("ingredients.csv").write_text(next(b for b in blocks("", "docs/formats.md") if b.startswith("id,")))
    Path("new.txt").write_text("2\ncups\nflour\n")
    Path("data.crfsuite").write_text("QTY\tw=2\td\nUNIT\tw=cups\nNAME\tw=flour\n\nQTY\tw=3\td\nNAME\tw=eggs\n")
    template = next(b for b in blocks("") if "%suffix" in b)
    Path("chunk.template").write_text(template)
    Path("words.template").write_text(blocks("", "docs/templates.md")[0])
    Path("vectors.template").write_text(blocks("", "docs/vectors.md")[0])
    Path("text.txt").write_text(blocks("", "docs/language-models.md")[0])
    grammar = next(b for b in blocks("", "docs/parsing.md") if b.startswith("%start"))
    Path("toy.grammar").write_text(grammar)
    Path("my.template").write_text(next(b for b in blocks("", "docs/parsing.md") if b.startswith("R01")))
    for name, seed in (("trees.mrg", 1), ("test.mrg", 2)):
        write_trees(name, PCFG.read("toy.grammar").sample(60, np.random.default_rng(seed), 12))
    Path("sentences.txt").write_text("the crow saw a mouse with a telescope\nthe mouse slept\n")
    documents = '{"label": "sport", "text": "goal"}\n{"label": "law", "text": "court"}\n'
    Path("docs.jsonl").write_text(documents)
    Path("new.jsonl").write_text('{"text": "a goal"}\n')
    peers = ROOT / "tests/models/peers"
    Path("chunk.crfpp").write_bytes((peers / "plain.crfpp").read_bytes())
    Path("lines.txt").write_bytes((peers / "new.txt").read_bytes())
    names = Tagger().fit([[["w=Ana", "title"], ["w=sings"], ["w=here"]], [["w=there"]]], [["PER", "O", "O"], ["O"]])
    foreign.export(names.model_, "crfsuite", "ner.crfsuite")
    Path("new.crfsuite").write_text("O\tw=there\nPER\tw=Ana\ttitle\n")
    return tmp_path


@pytest.mark.parametrize("page", PAGES)
def test_shell_examples(kitchen, page):
    require_packages(page)
    if page in WRITING:
        space: dict = {}
        for block in blocks("python", page):
            exec(block, space)
    commands = [line for block in blocks("sh", page) for line in block.splitlines() if line.strip()]
    assert len(commands) >= COMMANDS[page]
    for command in commands:
        program, *words = shlex.split(command)
        assert program == "loglin"
        target = None
        if ">" in words:
            target = words[words.index(">") + 1]
            words = words[: words.index(">")]
        result = CliRunner().invoke(cli, words, input="")
        assert result.exit_code == 0, (command, result.output, result.exception)
        if target:
            Path(target).write_text(result.stdout)
    if page == "README.md":
        assert Path("tagged.txt").read_text().startswith("2 ")


def test_what_users_of_others_type_runs_too(tmp_path, monkeypatch):
    """A block in the language "py" of docs/moving.md is code of another library; one not installed is left."""
    monkeypatch.chdir(tmp_path)
    found = blocks("py", "docs/moving.md")
    space: dict = {}
    exec(blocks("python", "docs/moving.md")[0], space)
    missing = []
    for block in found:
        try:
            exec(block, dict(space))
        except ModuleNotFoundError as error:
            missing.append(error.name)
    assert len(found) >= 6
    assert set(missing) <= {"sklearn_crfsuite", "pycrfsuite", "nltk", "hmmlearn"}


@pytest.mark.parametrize("page", PAGES)
def test_python_examples(kitchen, capsys, page):
    require_packages(page)
    space: dict = {}
    for block in blocks("python", page):
        exec(block, space)
    output = capsys.readouterr().out
    for expected in re.findall(r"# (\[.*\])$", PAGES[page], re.M):
        assert expected in output.splitlines()
    for expected in blocks("text", page):
        assert expected in output


def settings_table(structure):
    """The settings of all criteria of a structure, from their fields."""
    lines = ["| criterion | setting | default | allowed | |", "|---|---|---|---|---|"]
    for name, criterion in criteria(structure).items():
        for number, f in enumerate(criterion.settings()):
            first, default = f"`{name}`" if number == 0 else "", "–" if f.default is None else f.default
            allowed, meaning = (
                text.replace("|", "\\|") for text in (allowed_text(f.metadata["allowed"]), f.metadata["help"])
            )
            lines.append(f"| {first} | `{f.name}` | {default} | {allowed} | {meaning} |")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("page", "structure"),
    [("docs/criteria.md", "chain"), ("docs/parsing.md", "forest"), ("docs/language-models.md", "history")],
)
def test_criteria_are_all_described(page, structure):
    rows = [line for line in PAGES[page].splitlines() if line.startswith("|")]
    for name in criteria(structure):
        assert any(row.startswith(f"| `{name}` |") for row in rows), name


@pytest.mark.parametrize(("page", "structure"), [("docs/criteria.md", "chain"), ("docs/parsing.md", "forest")])
def test_tables_of_settings_come_from_the_fields(page, structure):
    """LOGLIN_WRITE_DOCS=1 writes them into the pages."""
    begin, end = f"<!-- settings: {structure} -->\n", "\n<!-- end -->"
    head, rest = PAGES[page].split(begin)
    shown, tail = rest.split(end, 1)
    if os.environ.get("LOGLIN_WRITE_DOCS"):
        (ROOT / page).write_text(head + begin + settings_table(structure) + end + tail)
    else:
        assert shown == settings_table(structure)


def test_features_of_histories_are_all_described():
    rows = [line for line in PAGES["docs/language-models.md"].splitlines() if line.startswith("|")]
    for kind in (*KINDS, "cache"):
        described = [row for row in rows if f"`{kind}`" in row]
        assert len(described) == 1, kind
        cells = [cell.strip() for cell in described[0].split("|")]
        options = LanguageOptions(features=(kind,))
        assert f"{options.variance(kind):g}" in cells[3], kind
        if kind != "cache":
            assert str(options.count(kind)) in cells[4], kind


def test_commands_of_make_exist():
    makefile = (ROOT / "Makefile").read_text()
    for page in ("README.md", "CONTRIBUTING.md", "docs/releasing.md"):
        for target in re.findall(r"make ([a-z-]+)[ `\n]", (ROOT / page).read_text()):
            assert f"\n{target}:" in makefile or f" {target}:" in makefile or f" {target} " in makefile, (page, target)
