"""What the inspector's page asks of a service besides answers."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from loglin.inspection.contents import contents
from loglin.serve.limits import Refusal


def with_contents(app: FastAPI) -> FastAPI:
    """A service that also tells what is in its models."""
    known: dict[str, tuple[Any, dict[str, Any]]] = {}  # by name: the model, and what it holds

    @app.get("/models/{name}/contents", summary="What is in a model: strongest features, transitions, training")
    def of_model(name: str) -> dict[str, Any]:
        models = app.state.service.models
        if name not in models:
            raise Refusal(404, f"no model is called {name[:40]!r}; there are {', '.join(models)}")
        current = models[name].current
        if name not in known or known[name][0] is not current:
            known[name] = current, contents(current.trained)
        return known[name][1]

    return app
