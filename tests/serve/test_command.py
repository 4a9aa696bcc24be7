"""What loglin serve refuses before it serves: one sentence each."""

from __future__ import annotations

import sys

import pytest

from support.shell import refusal

pytest.importorskip("fastapi", reason="serving needs loglin[serve]")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("none.model",), "cannot read the model none.model: No such file"),
        (("kitchen.model", "other/kitchen.model"), "two models are called 'kitchen'; give one another name"),
        (("a=kitchen.model", "a=topics.model"), "two models are called 'a'"),
        (("=kitchen.model",), "names no model; write MODEL, or NAME=MODEL"),
        (("a/b=kitchen.model",), "names no model"),
        (("kitchen.model", "--token", "a", "--token-file", "kitchen.model"), "give one of them"),
        (("kitchen.model", "--token", "a b"), "visible ASCII"),
        (("kitchen.model", "--token", ""), "visible ASCII"),
        (("kitchen.model", "--token-file", "none.txt"), "cannot read the token in none.txt"),
        (("kitchen.model", "--port", "99999"), "99999 is not in the range"),
        (("kitchen.model", "--host", "192.0.2.1"), "cannot listen on 192.0.2.1"),
    ],
)
def test_what_is_wrong_is_said_first(folder, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    assert message in refusal("serve", "--port", "0", *arguments)


def test_without_its_packages_the_extra_is_named(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert "serving needs uvicorn, which is not installed; install loglin[serve]" in refusal("serve", "a.model")
