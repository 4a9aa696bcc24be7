"""The application on a socket: a bound on headers and on waiting for them, an end that answers what it began."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from loglin.errors import LoglinError
from loglin.serve.limits import Limits

CONNECTIONS = 900  # a process may mostly have 1,024 files
KEEP = 75  # seconds that a connection without requests stays open
LINGER = 1  # second in which what still comes to a refused connection is thrown away
GRACE = 30  # seconds for what was begun before the end


class Protocol(HttpToolsProtocol):
    """HTTP with limits on what stands before a body."""

    limits = Limits()
    _size = 0  # bytes of a request's line and headers so far
    _complete = True  # whether they have all come
    _refused = False
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        super().data_received(data)
        if self._complete or self._refused:
            return
        self._size += len(data)
        if self._size > self.limits.headers:
            self.send_400_response("")
        elif self._timer is None:
            self._wait()

    def on_message_begin(self) -> None:
        self._size, self._complete = 0, False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._complete = True
        self._stop_waiting()
        self._size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if self._size > self.limits.headers:
            raise ValueError("the headers are too large")  # ends in send_400_response
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, or has too large headers."""
        if self._size > self.limits.headers:
            self._refuse(431, f"the headers have more than {self.limits.headers:,} bytes; send fewer")
        else:
            self._refuse(400, "this is no request of HTTP/1.1; send one")

    def _wait(self) -> None:
        self._timer = self.loop.call_later(self.limits.seconds, self._end_of_waiting)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end_of_waiting(self) -> None:
        self._timer = None
        if not self._refused:
            self._refuse(408, f"no request came within {self.limits.seconds:g} seconds; send it again")

    def _refuse(self, status: int, sentence: str) -> None:
        """Answer, and close the connection a little later: a reset would take the answer with it."""
        self._refused = True
        if self.cycle is not None and not self.cycle.response_complete:  # what is still to be answered cannot be
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        body = json.dumps({"error": sentence}).encode()
        head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body)
        self.transport.write(STATUS_LINE[status] + head + body)
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(LINGER, self.transport.close)


class Server(uvicorn.Server):
    """A server that a signal ends: it takes no more requests, answers those it has, and returns."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if os.name != "posix":
            with super().capture_signals():
                yield
            return
        loop, numbers = asyncio.get_running_loop(), (signal.SIGINT, signal.SIGTERM)
        for number in numbers:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)


def listening(host: str, port: int) -> socket.socket:
    """A socket that hears requests; port 0 takes any that is free."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind, protocol)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(2048)
    except OSError as error:
        raise LoglinError(f"cannot listen on {host}, port {port}: {error.strerror}; choose another") from error
    return found


def address_of(sock: socket.socket) -> str:
    """Where a browser finds a socket."""
    host, port = sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(app: Any, sock: socket.socket, limits: Limits) -> None:
    """Serve an application until a signal comes."""
    logging.basicConfig(level=logging.INFO, format="loglin: %(message)s")
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    config = uvicorn.Config(
        app,
        http=type("Protocol", (Protocol,), {"limits": limits}),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=KEEP,
        timeout_graceful_shutdown=GRACE,
    )
    Server(config).run([sock])
