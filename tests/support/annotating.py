"""``loglin annotate`` as a process, and a scripted person who presses keys on its page."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

from loglin.corpus import schemes
from loglin.demo.ingredients import TYPES, generate
from support.browser import until

LINES = generate(500, seed=0)


class Annotator:
    """A running ``loglin annotate``, with its address."""

    running: ClassVar[list[Annotator]] = []  # all that were started

    def __init__(self, folder: Path, data: str, *options: str):
        command = [sys.executable, "-m", "loglin", "annotate", data, "--port", "0", *options]
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.running.append(self)
        told = self.process.stdout.readline()
        found = re.search(r"http://\S+", told)
        assert found, told + self.process.stdout.read()
        self.address = found[0]

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def end(self) -> str:
        """End it as Ctrl-C does; what it printed since it began."""
        self.process.terminate()
        return self.process.communicate(timeout=30)[0]


def write_lines(folder: Path) -> str:
    """500 unlabelled ingredient lines, tokens parted by blanks."""
    (folder / "lines.txt").write_text("".join(" ".join(word for word, _ in line) + "\n" for line in LINES))
    return "lines.txt"


def gold(number: int) -> list[tuple[int, int, str]]:
    """The spans of a line."""
    return [(start, stop, type_) for type_, start, stop in schemes.entities([label for _, label in LINES[number]])]


def item_of(page) -> int:
    return int(page.evaluate("document.body.dataset.item"))


def mark(page) -> tuple[int, list]:
    """Correct what is proposed with keys, as somebody who knows the line; the line and its spans."""
    number = item_of(page)
    page.keyboard.press("Home")
    page.keyboard.press("Shift+End")
    page.keyboard.press("0")
    page.keyboard.press("Home")
    cursor = 0
    for start, stop, type_ in gold(number):
        for _ in range(start - cursor):
            page.keyboard.press("ArrowRight")
        for _ in range(stop - start - 1):
            page.keyboard.press("Shift+ArrowRight")
        page.keyboard.press(str(TYPES.index(type_) + 1))
        cursor = stop - 1
    return number, gold(number)


def accept(page, key: str = "Enter") -> float:
    """Press a key that saves, and wait until the page says so; milliseconds from the key to new proposals."""
    before = page.evaluate("document.body.dataset.saved ?? ''")
    page.keyboard.press(key)
    until(page, "before => (document.body.dataset.saved ?? '') !== before", before)
    return float(page.evaluate("document.body.dataset.milliseconds"))
