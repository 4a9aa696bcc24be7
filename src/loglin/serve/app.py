"""The service as an application: paths, bodies and streams in, JSON out.

POST /tag /classify /parse /next     the answers of a model of that kind
POST /explain                        why a model answers as it does
GET  /models /healthz /metrics       what is served, whether it lives, what it has done
GET  /docs /openapi.json             these paths, for people and for programs
GET  /                               the page
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from loglin import __version__
from loglin.serve import description, streams
from loglin.serve.answers import WAYS
from loglin.serve.guard import Guard
from loglin.serve.limits import Limits, Refusal
from loglin.serve.metrics import CONTENT_TYPE, Metrics
from loglin.serve.requests import asked_of, items_of, object_of, of_query
from loglin.serve.worker import EXPLAIN, Served

log = logging.getLogger("loglin.serve")
STATIC = Path(__file__).parent / "static"
POLL = 0.5  # seconds between looks at the files of the models
VERBS = tuple(way.verb for way in WAYS)
_PATHS = {f"/{verb}": verb for verb in (*VERBS, EXPLAIN)}
_WRONG_PATHS = {
    404: "there is nothing at {path}; /docs lists what there is",
    405: "{path} does not take {method}; /docs says what it takes",
}


class Service:
    """The models that are served."""

    def __init__(self, models: Sequence[Served], limits: Limits):
        self.models = {one.name: one for one in models}
        self.limits, self.metrics = limits, Metrics()
        self.loading = ThreadPoolExecutor(1, "loading")  # one thread, whose memory is used again

    def chosen(self, verb: str, name: str | None) -> Served:
        """The model that a request means: the one it names, or the only one that answers it."""
        fitting = [one for one in self.models.values() if verb in (EXPLAIN, one.current.verb)]
        if name is not None:
            if name not in self.models:
                raise Refusal(404, f"no model is called {name[:40]!r}; there are {', '.join(self.models)}")
            if self.models[name] not in fitting:
                raise Refusal(422, f"{name} answers /{self.models[name].current.verb}, not /{verb}; ask it there")
            return self.models[name]
        if not fitting:
            raise Refusal(404, f"no model here answers /{verb}; see /models")
        if len(fitting) > 1:
            names = ", ".join(one.name for one in fitting)
            raise Refusal(
                422, f"several models answer /{verb}: {names}; say which, as in /{verb}?model={fitting[0].name}"
            )
        return fitting[0]

    async def watch(self) -> None:
        """Look at the files again and again, beside the answers."""
        while True:
            await asyncio.sleep(POLL)
            for one in self.models.values():
                try:
                    await asyncio.get_running_loop().run_in_executor(self.loading, one.refresh)
                except Exception:
                    log.exception("%s: its file cannot be looked at", one.name)

    async def body(self, request: Request) -> bytearray:
        """A request's body, if it is not too large and comes in time."""
        found, most = bytearray(), self.limits.body
        announced = request.headers.get("content-length", "")
        if announced.isdecimal() and int(announced) > most:
            raise too_large(int(announced), most)
        try:
            async with asyncio.timeout(self.limits.seconds):
                async for piece in request.stream():
                    found += piece
                    if len(found) > most:
                        raise too_large(len(found), most)
        except TimeoutError:
            raise Refusal(408, f"the body did not come within {self.limits.seconds:g} seconds; send it again") from None
        return found

    async def answer(self, request: Request, verb: str) -> Response:
        """The answer of a POST: one object, a batch, or a stream."""
        query = of_query(request.scope["query_string"])
        kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
        model = self.chosen(verb, query.pop("model", None))
        current = model.current
        options = current.explaining if verb == EXPLAIN else current.options
        if kind in streams.KINDS and verb != EXPLAIN:
            lines = streams.answers(request, model, asked_of(query, options), self.limits)
            return streams.Stream(lines, self.limits.seconds)
        if kind != "application/json":
            raise Refusal(415, f"the content type is {kind[:60]!r}; send application/json or {streams.KINDS[0]}")
        value = object_of(await self.body(request))
        items, several = items_of(value, current.keys, self.limits)
        if several and verb == EXPLAIN:
            raise Refusal(422, "a batch cannot be explained; send one item")
        asked = asked_of(value, options, ("batch", *current.keys))
        if query:  # to which the body is preferred
            asked = tuple(sorted((dict(asked_of(query, options)) | dict(asked)).items()))
        answers = await model.answer(items, asked, verb == EXPLAIN)
        text = f'"results":[{",".join(answers)}]}}' if several else answers[0][1:]
        return Response(f'{{"model":{description.quoted(model.name)},{text}', media_type="application/json")


def too_large(size: int, most: int) -> Refusal:
    """The refusal of a body."""
    return Refusal(413, f"the body has {size:,} bytes or more, over {most:,}; send less, or a stream of NDJSON")


class Pages(StaticFiles):
    """Files of the page, which may load nothing from elsewhere."""

    async def get_response(self, path: str, scope: Any) -> Response:
        response = await super().get_response(path, scope)
        response.headers["content-security-policy"] = "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'"
        response.headers["cache-control"] = "no-cache"
        response.headers["x-content-type-options"] = "nosniff"
        response.headers["referrer-policy"] = "no-referrer"
        return response


class Application(FastAPI):
    """The service's paths; those that models answer go around FastAPI, which describes them: its own way through a
    request took as long as all else."""

    guard: Guard

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.guard(scope, receive, send)

    async def dispatch(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request that may be answered."""
        verb = _PATHS.get(scope["path"]) if scope.get("method") == "POST" else None
        if verb is None:
            await super().__call__(scope, receive, send)
            return
        request, scope["route"] = Request(scope, receive), self.state.routes[verb]
        try:
            response = await self.state.service.answer(request, verb)
        except Refusal as refusal:
            response = refused(refusal)
        await response(scope, receive, send)


def refused(refusal: Refusal) -> Response:
    """The answer to a request that is refused."""
    return JSONResponse({"error": str(refusal)}, refusal.status)


def application(models: Sequence[Served], limits: Limits, token: str | None = None) -> FastAPI:
    """The application that serves some models; more paths may be added to it before it is run."""
    service = Service(models, limits)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        watching = asyncio.create_task(service.watch())
        yield
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
        for one in models:
            await asyncio.to_thread(one.close)
        service.loading.shutdown()

    app = Application(
        title="loglin serve", version=__version__, docs_url=None, redoc_url=None, lifespan=lifespan,
        description="Log-linear models: tag, classify, parse and continue text, and say why.",
    )  # fmt: skip
    app.state.service, app.guard = service, Guard(app.dispatch, service.metrics, token)
    for verb in (*VERBS, EXPLAIN):
        _add_verb(app, service, verb)
    app.state.routes = {route.name: route for route in app.routes if isinstance(route, APIRoute)}

    @app.get("/models", summary="The models that are served")
    async def list_models() -> dict[str, Any]:
        return {"models": [one.about() for one in service.models.values()], "version": __version__}

    @app.get("/healthz", summary="Whether the service lives")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/metrics", summary="What the service has done, for Prometheus", response_class=PlainTextResponse)
    async def show_metrics() -> PlainTextResponse:
        return PlainTextResponse(service.metrics.text(service.models.values()), media_type=CONTENT_TYPE)

    @app.exception_handler(Refusal)
    async def refuse(request: Request, refusal: Refusal) -> Response:
        return refused(refusal)

    @app.exception_handler(HTTPException)
    async def refuse_path(request: Request, error: HTTPException) -> JSONResponse:
        path, status = request.url.path, error.status_code
        if path in _PATHS:  # behind which the page stands, too
            status = 405
        told = _WRONG_PATHS.get(status, str(error.detail)).format(path=path[:60], method=request.method)
        return JSONResponse({"error": told}, status, error.headers)

    app.mount("/docs", Pages(directory=STATIC / "docs", html=True), "docs")
    return app


def _add_verb(app: FastAPI, service: Service, verb: str) -> None:
    """The path of a verb."""

    async def answer(request: Request) -> Response:
        return await service.answer(request, verb)

    app.add_api_route(f"/{verb}", answer, methods=["POST"], name=verb, **description.of_verb(verb))


def with_page(app: FastAPI, folder: Path = STATIC) -> FastAPI:
    """The application with the page at /, which comes behind all other paths."""
    app.mount("/", Pages(directory=folder, html=True), "page")
    return app
