"""The documentation as a whole: links and anchors lead somewhere, nothing is left out, figures are measured ones.

It needs no site generator. LOGLIN_WRITE_DOCS=1 writes the figures into docs/which-criterion.md.
"""

from __future__ import annotations

import json
import os
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import loglin
from loglin.criteria.registry import criteria

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
FENCED = re.compile(r"^ *```.*?^ *```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")


def links(page: Path) -> list[str]:
    """The targets of a page's links that are no addresses elsewhere."""
    found = LINK.findall(FENCED.sub("", page.read_text()))
    return [target for target in found if not re.match(r"[a-z]+:", target)]


@cache
def anchors(page: Path) -> set[str]:
    """What links to the headings of a page name, as GitHub and the site make them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    found: set[str] = set()
    for head in re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", head).replace("`", "")
        found.add(re.sub(r"[^\w -]", "", plain.lower()).replace(" ", "-"))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in links(page):
        name, _, anchor = target.partition("#")
        leads = (page.parent / name).resolve() if name else page
        assert leads.exists(), target
        if page.is_relative_to(DOCS):
            assert leads.is_relative_to(DOCS), f"{target} is not part of the site"
        assert not anchor or anchor in anchors(leads), target


def test_the_links_of_a_page_are_found():
    text = "[a](b.md) `[no](no.md)` [x [y]](c.md#d)\n```\n[no](no.md)\n```\n[web](https://x.org) ![p](p.png)"
    page = next(iter(PAGES))
    found = LINK.findall(FENCED.sub("", text))
    assert [t for t in found if not t.startswith("https")] == ["b.md", "c.md#d", "p.png"]
    assert sum(len(links(page)) for page in PAGES) > 150
    assert "your-template-from-crf-wapiti-or-crfsuite" in anchors(DOCS / "templates.md")
    assert page.exists()


def test_every_page_is_in_the_navigation_once():
    lines = (ROOT / "mkdocs.yml").read_text().split("\nnav:\n")[1].splitlines()
    named = [line.split(": ")[-1].removeprefix("  - ").removeprefix("    - ").strip(" -") for line in lines]
    named = [name for name in named if name.endswith(".md")]
    assert sorted(named) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


def test_the_reference_names_what_there_is():
    named = [
        name
        for page in (DOCS / "reference").glob("*.md")
        for name in re.findall(r"^::: ([\w.]+)$", page.read_text(), flags=re.MULTILINE)
    ]
    for name in named:
        module, _, attribute = name.rpartition(".")
        assert getattr(import_module(module), attribute).__doc__, name
    assert {f"loglin.{name}" for name in loglin.__all__} <= set(named)


# ---------------------------------------------------------------------- which criterion when

DEFAULTS = json.loads((DOCS / "benchmarks" / "defaults.json").read_text())
CHOICE = DOCS / "which-criterion.md"


CELLS = DEFAULTS["cells"]  # corpus → criterion → what was measured
TITLES = {
    "conll2000": "chunks",
    "spanish": "names, Spanish",
    "conll2003": "names, English",
    "xpos": "parts of speech",
    "chinese": "words, Chinese",
}


def best(corpus: str) -> str:
    return max(CELLS[corpus], key=lambda name: CELLS[corpus][name]["score"])


def figures() -> str:
    """The table: scores, the best of each corpus bold, and processor time beside that of crf."""
    lines = [f"| criterion | {' | '.join(TITLES.values())} | time, `crf` = 1 |", "|---" * (len(TITLES) + 2) + "|"]
    for name in DEFAULTS["criteria"]:
        scores = [f"{CELLS[corpus][name]['score']:.2f}" for corpus in TITLES]
        scores = [f"**{x}**" if best(corpus) == name else x for corpus, x in zip(TITLES, scores, strict=True)]
        times = [CELLS[corpus][name]["cpu_seconds"] / CELLS[corpus]["crf"]["cpu_seconds"] for corpus in TITLES]
        lines.append(f"| `{name}` | {' | '.join(scores)} | {min(times):.1f} to {max(times):.1f} |")
    return "\n".join(lines)


def test_figures_of_criteria_are_those_measured():
    text = CHOICE.read_text()
    head, rest = text.split("<!-- figures -->\n")
    shown, tail = rest.split("\n<!-- end -->", 1)
    if os.environ.get("LOGLIN_WRITE_DOCS"):
        CHOICE.write_text(head + "<!-- figures -->\n" + figures() + "\n<!-- end -->" + tail)
    else:
        assert shown == figures()


def test_what_is_said_of_criteria_was_measured():
    text = CHOICE.read_text()
    assert [best(corpus) for corpus in TITLES].count("margin") == 4
    assert "the best score on four of five corpora" in text
    fastest = {
        min((name for name in CELLS[corpus] if name != "hmm"), key=lambda name: CELLS[corpus][name]["cpu_seconds"])
        for corpus in TITLES
    }
    kin = {"perceptron", "passive-aggressive", "arow"}
    assert fastest <= kin
    assert "with its kin the quickest that see features" in text
    for corpus in TITLES:  # the perceptron is as quick, and the best of them or nearly so
        seconds = [CELLS[corpus][name]["cpu_seconds"] for name in kin]
        assert CELLS[corpus]["perceptron"]["cpu_seconds"] < 1.2 * min(seconds)
    for name in ("accuracy", "expected-accuracy", "boosting"):
        gains = [CELLS[corpus][name]["score"] - CELLS[corpus]["crf"]["score"] for corpus in TITLES]
        assert min(gains) < 0 < max(gains), "sometimes they gain and sometimes they lose"
    rows = [line.split("|")[2] for line in text.split("## The figures")[0].splitlines() if line.startswith("|")]
    named = {name for row in rows for name in re.findall(r"`([\w-]+)`", row)}
    assert named <= set(criteria("chain"))
    assert set(DEFAULTS["criteria"]) - {"hmm"} <= set(re.findall(r"`([\w-]+)`", text))


def test_the_score_of_the_tutorial_was_measured():
    page = (DOCS / "tutorials" / "spanish-names.md").read_text()
    assert f"[{CELLS['spanish']['crf']['score']:.2f}](../benchmarks/defaults.md)" in page
