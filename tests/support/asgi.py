"""Requests to an application without a socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any, NamedTuple


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def value(self) -> Any:
        return json.loads(self.body)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.body.splitlines()]


def ask(
    app: Any,
    path: str,
    value: Any = None,
    *,
    method: str | None = None,
    body: bytes | Iterable[bytes] | None = None,
    kind: str = "application/json",
    headers: dict[str, str] | None = None,
) -> Reply:
    """The reply to a request: POST with a value as JSON or with a body, perhaps in pieces; else GET."""
    if value is not None:
        body = json.dumps(value).encode()
    pieces = [body or b""] if isinstance(body, bytes | None) else list(body)
    method = method or ("GET" if body is None else "POST")
    return asyncio.run(exchange(app, method, path, pieces, {"content-type": kind} | (headers or {})))


async def exchange(app: Any, method: str, path: str, pieces: list[bytes], headers: dict[str, str]) -> Reply:
    """One request and its reply; without more pieces the client waits."""
    path, _, query = path.partition("?")
    coming, sent = list(pieces), list[dict]()
    scope = {
        "type": "http", "http_version": "1.1", "method": method, "path": path, "raw_path": path.encode(),
        "query_string": query.encode(), "headers": [(k.encode(), v.encode()) for k, v in headers.items()],
        "scheme": "http", "server": ("127.0.0.1", 8000), "client": ("127.0.0.1", 1), "root_path": "", "state": {},
    }  # fmt: skip

    async def receive() -> dict:
        if coming:
            return {"type": "http.request", "body": coming.pop(0), "more_body": bool(coming)}
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: dict) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start, *rest = sent
    found = {k.decode(): v.decode() for k, v in start["headers"]}
    return Reply(start["status"], found, b"".join(message.get("body", b"") for message in rest))
