"""A fixed number of random cases of every kind, and the runner itself."""

from __future__ import annotations

import os
import signal
import time

import pytest

from fuzz import run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="cases run in processes that are forked")
CASES = 300  # of a kind


@pytest.fixture(scope="module", autouse=True)
def ready():
    before = signal.getsignal(signal.SIGALRM)
    run.prepare()
    yield
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("kind", sorted(run.KINDS))
def test_cases(kind):
    failed = [f"--kind {kind} --case {n} --seed 1: {what}" for n, what in run.run(kind, range(CASES), 1) if what]
    assert failed == []


def _crash(rng):
    if rng.random() < 0.3:
        os.kill(os.getpid(), signal.SIGSEGV)


def _hang(rng):
    while rng.random() >= 0:
        time.sleep(0.01)


def _traceback(rng):
    raise KeyError("a")


@pytest.mark.parametrize(
    ("case", "words"), [(_crash, "ended with status"), (_hang, "TooLong"), (_traceback, "KeyError: 'a'")]
)
def test_failures_are_seen(monkeypatch, case, words):
    monkeypatch.setitem(run.KINDS, "bad", case)
    monkeypatch.setattr(run, "SECONDS", 0.05)
    found = list(run.run("bad", range(10), 1))
    assert [number for number, _ in found] == list(range(10))
    assert any(what is not None and words in what for _, what in found)
    assert found == list(run.run("bad", range(10), 1))
