"""What stands before every path: the token, a count and a clock, and one sentence in the place of any failure."""

from __future__ import annotations

import hmac
import json
import logging
import time
from typing import Any

from starlette.requests import ClientDisconnect

from loglin.serve.metrics import Metrics

OPEN = ("/healthz", "/openapi.json")  # without a token, like all that only shows pages

log = logging.getLogger("loglin.serve")


class Guard:
    """An application behind a token."""

    def __init__(self, app: Any, metrics: Metrics, token: str | None):
        self.app, self.metrics = app, metrics
        self.expected = None if token is None else f"Bearer {token}".encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def noting(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            if self.expected is not None and not self._is_allowed(scope):
                await _send(noting, 401, "the token is missing or wrong; send the header Authorization: Bearer …")
            else:
                await self.app(scope, receive, noting)
        except ClientDisconnect:  # whoever asked has gone
            pass
        except Exception:
            log.exception("a request failed")
            if not status:
                await _send(noting, 500, "something is wrong with the service, not with the request; its log says more")
        finally:
            route = scope.get("route")
            path = getattr(route, "path", "") or "other"
            self.metrics.note(path, status or 499, time.perf_counter() - began)

    def _is_allowed(self, scope: Any) -> bool:
        path = scope["path"]
        if path in OPEN or (scope["method"] in ("GET", "HEAD") and is_page(path)):
            return True
        given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        return hmac.compare_digest(given, self.expected or b"")


def is_page(path: str) -> bool:
    """Whether a path shows a page or a part of one, rather than what the service knows."""
    return path == "/" or path.startswith("/docs") or path.endswith((".html", ".js", ".css", ".svg", ".png", ".ico"))


async def _send(send: Any, status: int, sentence: str) -> None:
    body = json.dumps({"error": sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
