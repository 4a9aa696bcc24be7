"""A headless Chromium of the operating system, driven by Playwright; without one, tests skip and say why."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
WANTED = "LOGLIN_SCREENSHOTS"  # if set, tests write screenshots into docs/images


@contextmanager
def chromium() -> Iterator:
    """A running browser; messages of pages that fail, and requests to other hosts, are errors of the test."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("there is no Chromium here; apt-get install chromium")
    driver = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser, address: str, **options) -> Iterator:
    """A page at an address; what it logs as an error, and whatever it asks of another host, fails the test."""
    context = browser.new_context(**{"viewport": {"width": 1100, "height": 760}} | options)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: wrong.append(request.url) if _foreign(request.url) else None)
    try:
        page.goto(address)
        yield page
        assert not wrong
    finally:
        context.close()


def _foreign(url: str) -> bool:
    return not url.startswith(("http://127.0.0.1:", "file:", "data:", "blob:", "about:"))


def until(page, script: str, *given, seconds: float = 20.0):
    """Ask a page again and again until a function says yes; pages forbid what Playwright would do for that."""
    end = time.monotonic() + seconds
    while not (found := page.evaluate(script, *given)):
        assert time.monotonic() < end, f"{script} is still {found}"
        time.sleep(0.01)
    return found


def screenshot(page, name: str) -> None:
    """Write docs/images/NAME.png where screenshots are asked for."""
    if os.environ.get(WANTED):
        IMAGES.mkdir(exist_ok=True)
        page.screenshot(path=IMAGES / f"{name}.png")
