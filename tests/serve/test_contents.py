"""What a service tells the inspector about its models."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi", reason="serving needs loglin[serve]")

from loglin.inspection.routes import with_contents
from loglin.serve.app import application
from loglin.serve.limits import Limits
from support.asgi import ask


def test_every_model_tells_what_is_in_it_and_not_where_it_is(served, folder):
    app = with_contents(application(served, Limits()))
    for one in served:
        reply = ask(app, f"/models/{one.name}/contents")
        assert reply.status == 200
        assert dict(reply.value["about"])
        assert str(folder) not in reply.body.decode()
    kitchen = ask(app, "/models/kitchen/contents").value
    assert set(kitchen["weights"]) == set(kitchen["labels"])
    assert len(kitchen["transitions"]["weights"]) == len(kitchen["labels"])


def test_unknown_models_and_missing_tokens_are_refused(served):
    assert ask(with_contents(application(served, Limits())), "/models/lost/contents").status == 404
    closed = with_contents(application(served, Limits(), "secret"))
    assert ask(closed, "/models/kitchen/contents").status == 401
    assert ask(closed, "/models/kitchen/contents", headers={"authorization": "Bearer secret"}).status == 200
