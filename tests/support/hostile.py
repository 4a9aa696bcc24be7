"""Requests that no service should get: each is to be refused with 4xx and a sentence."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any, NamedTuple

STALL = b"stall"  # in the place of a piece: nothing more comes


class Hostile(NamedTuple):
    kind: str
    pieces: list[bytes]


def _post(body: bytes, path: str = "/tag", headers: str = "", length: str | None = None) -> list[bytes]:
    length = str(len(body)) if length is None else length
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n"
    return [f"{head}{headers}\r\n".encode("latin-1"), body]


def _value(rng: random.Random, depth: int = 0) -> Any:
    """Any value of JSON."""
    kind = rng.randrange(8 if depth < 3 else 5)
    if kind == 0:
        return rng.choice([None, True, False, 0, -1, 1 << 70, 0.5, 1e308])
    if kind < 5:
        return rng.choice(["", "a", "é", "\x00", "\ufeff", "👩‍👩‍👧", "x" * 500, "text", "tokens", "\u2028"])
    inside = [_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return inside if kind < 7 else {f"{rng.choice('abc')}{n}": one for n, one in enumerate(inside)}


def wrong_types(rng: random.Random) -> list[bytes]:
    """Values of kinds that nothing takes, in one place of a request that is fine otherwise."""
    wrong = [v for v in (_value(rng) for _ in range(9)) if not isinstance(v, str | bool | list)][:1] or [None]
    given = rng.choice(
        [
            {"text": wrong[0]}, {"tokens": wrong[0]}, {"tokens": ["a", rng.choice([3, None, [3], {"a": [1]}])]},
            {"batch": wrong[0]}, {"batch": [wrong[0]]}, {"batch": [{"text": wrong[0]}]}, {"text": "a", "nbest": wrong},
            {"text": "a", "entities": wrong}, {"text": "a", rng.choice(["mode", "k", "Text", ""]): _value(rng)},
            wrong, [], 3, "text", None, {}, {"text": "a", "tokens": ["a"]},
        ]
    )  # fmt: skip
    return _post(json.dumps(given).encode())


def huge(rng: random.Random) -> list[bytes]:
    """More bytes, tokens or items than a service takes."""
    n = rng.choice([2_000, 20_000])
    kind = rng.randrange(4)
    if kind == 0:
        return _post(b"{", length=str(10 ** rng.randrange(8, 18)))
    if kind == 1:
        return _post(b'{"text": "a"' + b" " * (3 << 20) + b"}")
    given = rng.choice([{"text": "a " * n}, {"tokens": ["a"] * n}, {"batch": [{"text": "a"}] * n}])
    return _post(json.dumps(given).encode())


def deep(rng: random.Random) -> list[bytes]:
    """Brackets within brackets."""
    n = rng.choice([100, 1_000, 50_000])
    body = rng.choice([b"[" * n, b'{"a":' * n, b"[" * n + b"]" * n, b'{"text":' + b"[" * n + b"]" * n + b"}"])
    return _post(body)


def broken_text(rng: random.Random) -> list[bytes]:
    """Bytes that are no UTF-8, halves of characters, texts that are no JSON."""
    good = b'{"text": "two cups"}'
    at = rng.randrange(1, len(good) - 1)
    return _post(
        rng.choice(
            [
                good[:at] + bytes([rng.randrange(128, 256)]) + good[at:], b'{"text": "\\ud800"}', good[:at], b"",
                good.decode().encode("utf-16"), b'{"text": NaN}', b'{"text": "a", "nbest": ' + b"9" * 9_000 + b"}",
                rng.randbytes(rng.randrange(1, 300)), good + good, b"\xef\xbb\xbf" + good, b'{"text": "\n"}',
            ]
        )
    )  # fmt: skip


def slow(rng: random.Random) -> list[bytes]:
    """A beginning, and then nothing."""
    head, body = _post(b'{"text": "two cups"}')
    whole = head + body
    return [whole[: rng.randrange(1, len(whole) - 1)], STALL]


def headers(rng: random.Random) -> list[bytes]:
    """Many headers, or endless ones."""
    n = rng.choice([2_000, 20_000])
    kind = rng.randrange(4)
    if kind == 0:
        return [b"GET /models HTTP/1.1\r\n", *(b"x-%d: y%d\r\n" % (i, i) * 20 for i in range(n // 10)), b"\r\n"]
    if kind == 1:
        return [b"GET /models HTTP/1.1\r\nx: ", *[b"y" * 1_000] * 100, STALL]
    if kind == 2:
        return [b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n"]
    return _post(b'{"text": "a"}', headers=f"x: {'y' * 100_000}\r\n")


def wrong_lengths(rng: random.Random) -> list[bytes]:
    """Lengths that are none, or not those of the body."""
    body = b'{"text": "two cups"}'
    kind = rng.randrange(5)
    if kind == 0:
        return _post(body, length=rng.choice(["-1", "abc", "1e3", "0x10", "9" * 30, "", "1, 2"]))
    if kind == 1:
        return [*_post(body, length=str(len(body) + rng.randrange(1, 99))), STALL]
    if kind == 2:
        return _post(body, length=str(rng.randrange(1, len(body))))
    if kind == 3:
        return _post(body, headers=f"content-length: {len(body) + 1}\r\n")
    head = b"POST /tag HTTP/1.1\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    return [head, rng.choice([b"zz\r\n", b"-1\r\na\r\n", b"3\r\nabcdef\r\n0\r\n\r\n", b'3\r\n{"t\r\n0\r\n\r\n'])]


def no_requests(rng: random.Random) -> list[bytes]:
    """What is no request, or asks for what is not there."""
    return rng.choice(
        [
            [rng.randbytes(rng.randrange(1, 200)).replace(b"\n", b"") + b"\r\n\r\n"],
            [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + rng.randbytes(100) + b"\r\n\r\n"],
            [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
            [b"GET / HTTP/9.9\r\n\r\n"],
            [b"GET /%s HTTP/1.1\r\n\r\n" % rng.choice([b"../../etc/passwd", b"docs/../../x", b"%2e%2e/x", b"\xff"])],
            [b"%s /tag HTTP/1.1\r\n\r\n" % rng.choice([b"GET", b"PUT", b"DELETE", b"PATCH", b"BREW", b"get"])],
            _post(b'{"text": "a"}', path=rng.choice(["/tag?model=x", "/tag?%ff=1", "/tag?nbest=-1", "/parse"])),
            _post(b"a=b"),
            [b"POST /tag HTTP/1.1\r\ncontent-type: text/html\r\ncontent-length: 1\r\n\r\na"],
        ]
    )  # fmt: skip


KINDS = (wrong_types, huge, deep, broken_text, slow, headers, wrong_lengths, no_requests)


def drawn(number: int, seed: int = 1) -> Hostile:
    """The hostile request of a number."""
    rng = random.Random(f"{seed}/{number}")
    kind = KINDS[number % len(KINDS)]
    return Hostile(kind.__name__, kind(rng))


async def reply_to(pieces: list[bytes], port: int) -> tuple[int, bytes]:
    """The status and the body of the reply."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for piece in pieces:
            if piece is not STALL:
                writer.write(piece)
                await writer.drain()
        head = await reader.readuntil(b"\r\n\r\n")
        lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        return int(head.split()[1]), await reader.readexactly(int(lengths[0]))
    finally:
        writer.close()
