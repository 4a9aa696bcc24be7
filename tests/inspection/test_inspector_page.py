"""The inspector in a real browser: beside a service, and as a file from the disk."""

from __future__ import annotations

import re
import subprocess
import sys
import time

import pytest

from loglin import LanguageModel, MaxEnt, Parser, Tagger
from loglin.demo.ingredients import generate
from support.browser import chromium, opened, screenshot, until
from support.corpora import corpus_folder

LINES = generate(400, seed=0)


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Models of every kind, and a labelled file."""
    found = tmp_path_factory.mktemp("inspector")
    X, y = [[word for word, _ in line] for line in LINES], [[label for _, label in line] for line in LINES]
    Tagger(threads=1, tokenizer="words").fit(X, y).save(found / "kitchen.model")
    MaxEnt(threads=1).fit(["a goal", "a court"], ["sport", "law"]).save(found / "topics.model")
    LanguageModel(features=("bigram",), vocabulary=50, max_iter=5, threads=1).fit(["the crow sat", "the cat"]).save(
        found / "words.model"
    )
    Parser("pcfg", threads=1).fit(["(S (NP (D the) (N crow)) (V sat))"]).save(found / "trees.model")
    test = generate(150, seed=2, split="test")
    (found / "test.txt").write_text("\n\n".join("\n".join(f"{w} {y}" for w, y in line) for line in test) + "\n")
    return found


def loglin(folder, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-m", "loglin", *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def service(folder):
    pytest.importorskip("fastapi", reason="FastAPI is not installed: the extra serve")
    models = ("kitchen.model", "topics.model", "words.model", "trees.model")
    process = subprocess.Popen(
        [sys.executable, "-m", "loglin", "serve", *models, "--port", "0"], cwd=folder, stdout=subprocess.PIPE, text=True
    )
    told = ""
    while "listening" not in told:
        line = process.stdout.readline()
        assert line, told
        told += line
    yield re.search(r"http://\S+", told)[0]
    process.terminate()
    process.wait(30)


def test_a_sentence_is_answered_as_it_is_typed(browser, service, folder):
    with opened(browser, service) as page:
        page.wait_for_selector("[data-token]")
        page.fill("#text", "")
        page.type("#text", "2 cups finely chopped onion, divided")
        until(page, "() => document.querySelectorAll('[data-token]').length === 7")
        (entities,) = Tagger.load(folder / "kitchen.model").entities(["2 cups finely chopped onion, divided"])
        shown = [re.search(r"([A-Z]+) ([\d.]+) %", text) for text in page.locator(".span").all_inner_texts()]
        assert [one[1] for one in shown] == [e.type for e in entities]
        assert [float(one[2]) for one in shown] == [pytest.approx(100 * e.probability, abs=0.51) for e in entities]
        page.locator("[data-token]").nth(3).focus()
        page.keyboard.press("Enter")
        page.wait_for_selector("#why table")
        assert "chopped" in page.inner_text("#why h2")
        assert page.locator("#why tbody tr").count() > 5
        assert page.locator("#others li").count() == 5
        screenshot(page, "inspector")


def test_every_kind_of_model_is_shown(browser, service):
    with opened(browser, service) as page:
        page.wait_for_selector("[data-token]")
        for name, text, place, said in (
            ("topics", "what a goal", "#hint", "sport"),
            ("words", "the", "#why", "crow"),
            ("trees", "the crow sat", "#answer svg", "NP"),
            ("kitchen", "3 cups rice", "#answer", "UNIT"),
        ):
            page.select_option("#model", name)
            page.fill("#text", text)
            until(page, "([p, s]) => (document.querySelector(p)?.textContent ?? '').includes(s)", [place, said])
            assert not page.is_visible("#notice")
            assert page.locator("#record tr").count() > 1
        page.fill("#text", "")
        until(page, "() => !document.querySelector('[data-token]')")


def test_a_report_works_from_the_disk(browser, folder):
    loglin(folder, "inspect", "kitchen.model", "--html", "report.html", "--eval", "test.txt")
    began = time.monotonic()
    with opened(browser, (folder / "report.html").as_uri()) as page:
        page.wait_for_selector("[data-token]")
        seconds = time.monotonic() - began
        page.locator("#mistakes button").first.click()
        page.locator("[data-token]").first.click()
        page.wait_for_selector("#why table")
        assert page.locator("#heat td").count() > 50
        assert page.locator("#record tr").count() > 5
        for width, scheme in ((1100, "light"), (390, "dark")):
            page.set_viewport_size({"width": width, "height": 760})
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        screenshot(page, "report-phone")
        page.set_viewport_size({"width": 1100, "height": 760})
        page.emulate_media(color_scheme="light")
        page.locator("#evaluation").scroll_into_view_if_needed()
        screenshot(page, "report")
    assert seconds < 20  # of which a browser that starts on a busy machine is most


@pytest.mark.full
def test_the_report_of_a_conll_2000_model(browser, tmp_path):
    """Must show of issue 19: from the disk, without network, under 3 MB, interactive in 2 seconds."""
    data = corpus_folder("conll2000")
    loglin(tmp_path, "train", str(data / "train.txt"), "-o", "chunk.model")
    loglin(tmp_path, "inspect", "chunk.model", "--html", "report.html", "--eval", str(data / "test.txt"))
    assert (tmp_path / "report.html").stat().st_size < 3_000_000
    with opened(browser, "about:blank") as page:
        began = time.monotonic()
        page.goto((tmp_path / "report.html").as_uri())
        page.locator("[data-token]").first.click()
        page.wait_for_selector("#why table")
        assert time.monotonic() - began < 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("kitchen.model", "--eval", "test.txt"), "go with --html"),
        (("topics.model", "--html", "r.html", "--eval", "test.txt"), "about taggers"),
        (("kitchen.model", "--html", "r.html", "--eval", "test.txt", "--example", "a"), "leave out --example"),
        (("kitchen.model", "--html", "no/where.html"), "there is no folder"),
    ],
)
def test_what_cannot_be_reported_is_refused(folder, arguments, said):
    done = subprocess.run(
        [sys.executable, "-m", "loglin", "inspect", *arguments], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode
    assert said in done.stderr
