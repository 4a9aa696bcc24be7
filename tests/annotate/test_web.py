"""The annotator's interface without a browser: whatever is sent, the answer is an answer or a sentence."""

from __future__ import annotations

import json
import string

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="FastAPI is not installed: the extra serve")

from loglin.annotate import pool
from loglin.annotate.rules import Rules
from loglin.annotate.session import Session
from loglin.annotate.spans import Phrases
from loglin.annotate.tagging import Tagging
from loglin.annotate.web import app
from support.asgi import ask

HERE = {"host": "127.0.0.1:1"}
LINES = [["Ann", "Lee", "met", "Bo"], ["Bo", "ran"], ["she", "slept"]]


@pytest.fixture
def session(tmp_path):
    items = pool.numbered("x", map(pool.sentence, LINES))
    found = Session(Tagging(["PER", "LOC"], Phrases(), Rules(Phrases())), items, str(tmp_path / "j.jsonl"))
    yield found
    found.close()


def wild(rng, depth: int = 2):
    """Any value of JSON, often one that is nearly right."""
    near = [0, 1, 3, -1, True, None, "PER", "answer", "", "\udc80", "x" * 50, 1e300, [0, 1, "PER"], [[0, 1, "PER"]]]
    kind = int(rng.integers(4 if depth else 2))
    if kind < 2:
        return near[rng.integers(len(near))]
    if kind == 2:
        return [wild(rng, depth - 1) for _ in range(rng.integers(4))]
    return {str(rng.choice(list(string.ascii_letters))): wild(rng, depth - 1) for _ in range(rng.integers(3))}


def test_hostile_requests_are_answered_with_a_sentence_and_save_nothing_wrong(session, tmp_path):
    rng, web = np.random.default_rng(0), app(session)
    names = ["do", "item", "revision", "spans", "undecided", "words", "type", "span", "page", "next", "flagged"]
    verbs = ["answer", "skip", "flag", "always", "never", "undo"]
    taken = 0
    for case in range(400):
        value = {name: wild(rng) for name in names if rng.random() < 0.7}
        if case % 2:
            value |= {"do": str(rng.choice(verbs)), "item": int(rng.integers(-1, 4)), "revision": int(rng.integers(2))}
        reply = ask(web, "/api/do", value, headers=HERE)
        assert reply.status in (200, 409, 422), value
        taken += reply.status == 200
        if reply.status != 200:
            assert isinstance(reply.value["error"], str)
    assert taken > 5
    entries = [json.loads(line) for line in (tmp_path / "j.jsonl").read_text().splitlines()[1:]]
    assert len(entries) == len(session.work.entries) >= taken
    before = session.state()
    session.close()
    items = pool.numbered("x", map(pool.sentence, LINES))
    again = Session(Tagging(["PER", "LOC"], Phrases(), Rules(Phrases())), items, str(tmp_path / "j.jsonl"))
    assert {k: again.state()[k] for k in ("answered", "skipped", "flagged", "entries", "always")} == {
        k: before[k] for k in ("answered", "skipped", "flagged", "entries", "always")
    }
    again.close()


def test_half_a_character_is_refused(session):
    given = {"do": "always", "words": ["\udc80"], "type": "PER"}
    reply = ask(app(session), "/api/do", given, headers=HERE)
    assert (reply.status, session.work.entries) == (422, [])


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/api/items/99", 422, "there is no item"),
        ("/api/items/x", 422, "send a JSON object"),
        ("/api/list?kind=lost", 422, "ask for one of"),
        ("/api/export/pdf", 422, "ask for one of"),
        ("/api/export/columns", 422, "nothing is annotated yet"),
    ],
)
def test_wrong_paths_are_refused(session, path, status, said):
    reply = ask(app(session), path, headers=HERE)
    assert reply.status == status
    assert said in reply.value["error"]


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b'"x"', b"\xff", b"[" * 5000])
def test_bodies_that_are_no_objects_are_refused(session, body):
    assert ask(app(session), "/api/do", body=body, method="POST", headers=HERE).status in (400, 422)


def test_orders_that_there_are_not_are_refused(session):
    assert ask(app(session), "/api/next", {"order": "best"}, headers=HERE).status == 422


def test_other_hosts_and_sites_are_refused(session):
    for headers in ({"host": "evil.example"}, HERE | {"origin": "http://evil.example"}, {}):
        assert ask(app(session), "/api/state", headers=headers).status == 403
    assert ask(app(session), "/api/state", headers=HERE | {"origin": "http://127.0.0.1:1"}).status == 200
    large = HERE | {"content-length": str(1 << 30)}
    assert ask(app(session), "/api/do", {"do": "undo"}, headers=large).status == 413
