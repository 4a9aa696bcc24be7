"""The annotator's page and what it asks for, over HTTP on this machine.

GET  /api/state                progress, learning curve, model
POST /api/next                 {"page", "order", "search"} → an item with proposals
GET  /api/items/7              that item
GET  /api/list?kind=answered   items that are answered, skipped, flagged or open
POST /api/do                   {"do": "answer", …, "next": {"order", "search"}} → saved as, and the next item
GET  /api/export/columns       what was annotated: columns, jsonl, docbin, model
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Body, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse

from loglin.annotate.export import exported
from loglin.annotate.session import Conflict, Query, Session
from loglin.errors import LoglinError
from loglin.serve.app import STATIC, Pages

Given = Annotated[dict[str, Any], Body()]
LARGEST = 1 << 20  # bytes of a request
LOCAL = ("127.0.0.1", "localhost", "[::1]")


def app(session: Session, hosts: tuple[str, ...] = LOCAL) -> FastAPI:
    """The application of one session; requests that name another host, as pages of other sites do, are refused."""
    web = FastAPI(title="loglin annotate", docs_url=None, redoc_url=None)

    @web.middleware("http")
    async def guard(request: Request, call: Any) -> Response:
        host = request.headers.get("host", "")
        origin = request.headers.get("origin", f"http://{host}")
        if host.rpartition(":")[0] not in hosts or origin != f"http://{host}":
            return _refused(403, "this address is not the annotator's; open the one that it printed")
        if int(request.headers.get("content-length") or 0) > LARGEST:
            return _refused(413, "the request is too large")
        return await call(request)

    @web.exception_handler(LoglinError)
    async def refuse(request: Request, error: LoglinError) -> Response:
        return _refused(409 if isinstance(error, Conflict) else 422, str(error))

    @web.exception_handler(RequestValidationError)
    async def refuse_body(request: Request, error: RequestValidationError) -> Response:
        return _refused(422, "the request is not as the interface says; send a JSON object")

    @web.get("/")
    def page() -> Response:
        return RedirectResponse("annotator.html")

    @web.get("/api/state")
    def state() -> dict[str, Any]:
        return session.state()

    @web.post("/api/next")
    def next_item(given: Given) -> dict[str, Any] | None:
        return _next(session, given, given)

    @web.get("/api/items/{number}")
    def item(number: int) -> dict[str, Any]:
        return session.shown(number)

    @web.get("/api/list")
    def listed(kind: str = "answered", search: str = "") -> list[dict[str, Any]]:
        return session.listed(kind, search)

    @web.post("/api/do")
    def do(given: Given) -> dict[str, Any]:
        found = session.do(given)
        if isinstance(given.get("next"), dict):
            found["next"] = _next(session, given, given["next"])
        return found | {"state": session.state()}

    @web.get("/api/export/{form}")
    def export(form: str) -> Response:
        ending, content = exported(session, form)
        told = {"content-disposition": f'attachment; filename="annotated.{ending}"'}
        return Response(content, media_type="application/octet-stream", headers=told)

    web.mount("/", Pages(directory=STATIC), "page")
    return web


def _next(session: Session, given: dict[str, Any], query: dict[str, Any]) -> dict[str, Any] | None:
    asked = {name: str(query[name]) for name in ("order", "search") if name in query}
    return session.next(str(given.get("page", "")), Query(**asked))


def _refused(status: int, sentence: str) -> Response:
    return JSONResponse({"error": sentence}, status)
