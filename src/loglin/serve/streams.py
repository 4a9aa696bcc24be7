"""Streams of NDJSON: a line in, a line out, in their order, while more lines come.

A line that cannot be answered gets {"line": 7, "error": "…"} in its place, and the stream goes on.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from fastapi import Request
from fastapi.responses import Response
from starlette.requests import ClientDisconnect

from loglin.serve.limits import Limits, Refusal
from loglin.serve.requests import Asked, Item, item_of, object_of
from loglin.serve.worker import AT_ONCE, Served

KINDS = ("application/x-ndjson", "application/ndjson", "application/jsonl")


class Stream(Response):
    """A reply that is written while its request is still read, by the same receiver."""

    def __init__(self, pieces: AsyncIterator[bytes], seconds: float):
        self.pieces, self.seconds, self.background = pieces, seconds, None
        self.init_headers({"content-type": KINDS[0]})

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        with suppress(ClientDisconnect, TimeoutError):  # whoever does not read is not waited for
            async for piece in self.pieces:
                async with asyncio.timeout(self.seconds):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def answers(request: Request, model: Served, asked: Asked, limits: Limits) -> AsyncIterator[bytes]:
    """The answer of every line of a stream that is not blank."""
    number = 0
    async for lines in _lines(request, limits):
        for begin in range(0, len(lines), AT_ONCE):
            some = lines[begin : begin + AT_ONCE]
            yield "".join(f"{text}\n" for text in await _answered(some, number + begin, model, asked, limits)).encode()
        number += len(lines)


async def _answered(lines: list[Any], before: int, model: Served, asked: Asked, limits: Limits) -> list[str]:
    """The answers of some lines, each in its place."""
    read = [_read(line, before + n + 1, model, limits) for n, line in enumerate(lines)]
    items = [item for item in read if isinstance(item, Item)]
    try:
        found = iter(await model.answer(items, asked))
    except Refusal:  # of some of them: each alone, to find which
        return [await _alone(item, before + n + 1, model, asked) for n, item in enumerate(read) if item is not None]
    return [next(found) if isinstance(item, Item) else item for item in read if item is not None]


async def _alone(item: Item | str, number: int, model: Served, asked: Asked) -> str:
    if isinstance(item, str):
        return item
    try:
        return (await model.answer([item], asked))[0]
    except Refusal as refusal:
        return _refused(number, refusal)


def _read(line: Any, number: int, model: Served, limits: Limits) -> Item | str | None:
    """The item of a line, or what is wrong with it; None: it is blank."""
    try:
        if isinstance(line, Refusal):
            raise line
        if not line.strip():
            return None
        keys = model.current.keys
        value = object_of(line, f"line {number}")
        if unknown := sorted(value.keys() - set(keys)):
            raise Refusal(422, f'line {number} has "{unknown[0]:.40}"; it may have one of {", ".join(keys)}')
        return item_of(value, keys, limits, f"line {number}")
    except Refusal as refusal:
        return _refused(number, refusal)


def _refused(number: int, refusal: Refusal) -> str:
    return json.dumps({"line": number, "error": str(refusal)}, ensure_ascii=False)


async def _lines(request: Request, limits: Limits) -> AsyncIterator[list[Any]]:
    """The lines that have come, whole ones; one that is too long is left out and said."""
    rest, skipping = bytearray(), False
    pieces = request.stream().__aiter__()
    while True:
        try:
            piece = await asyncio.wait_for(anext(pieces), limits.seconds)
        except StopAsyncIteration:
            break
        except TimeoutError:
            yield [Refusal(408, f"nothing came for {limits.seconds:g} seconds; the stream ends here")]
            return
        *whole, last = (bytes(rest) + piece).split(b"\n")
        found: list[Any] = []
        for line in whole:
            found.append(_too_long(limits) if skipping or len(line) > limits.body else line)
            skipping = False
        if len(last) > limits.body:
            last, skipping = b"", True
        rest = bytearray(last)
        if found:
            yield found
    if rest or skipping:
        yield [_too_long(limits) if skipping else bytes(rest)]


def _too_long(limits: Limits) -> Refusal:
    return Refusal(413, f"the line has more than {limits.body:,} bytes; send shorter ones")
