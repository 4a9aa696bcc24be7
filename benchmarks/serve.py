"""The service under load: requests of single sentences over loopback, while the model file is replaced again and again.

    python benchmarks/serve.py [--seconds 300] [--connections 64] [--swap 5] [--rate 0] [--output DIR]

Two CoNLL-2000 models of words and parts of speech, which differ in their penalty, are trained; `loglin serve` answers
with the first, and every --swap seconds the other one takes its place on disk. A process of its own holds
--connections open, each of which sends the next sentence of the test set when it has the answer to the last one, or
all together --rate a second. Every answer is compared, byte by byte, with what Tagger.predict says by one of the two
models; anything else is an error. Memory is that of the service, from its own metrics, after a tenth of the time and
at the end. The data is found through LOGLIN_DATA. With --output, writes serve.json and serve.md.
"""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from itertools import cycle
from pathlib import Path
from typing import Any

from output import parser_of, report

STRENGTHS = (1.0, 30.0)  # l2 of the two models
WARM = 0.1  # share of the time after which memory is first looked at


# ---------------------------------------------------------------------- the load generator


class Client(asyncio.Protocol):
    """A connection that asks, waits for the answer, compares it, and asks again."""

    def __init__(self, load: Load):
        self.load, self.buffer, self.waiting = load, b"", False

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.ask()

    def ask(self) -> None:
        """Send the next request, at once or when it is this connection's turn."""
        if delay := self.load.delay():
            asyncio.get_running_loop().call_later(delay, self.send)
        else:
            self.send()

    def send(self) -> None:
        self.began = time.perf_counter()
        if self.began >= self.load.end:
            self.transport.close()
            return
        request, self.answers = next(self.load.cases)
        self.waiting = True
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        self.buffer = self.buffer + data if self.buffer else data
        head, gap, body = self.buffer.partition(b"\r\n\r\n")
        if not gap or len(body) < int(re.search(rb"content-length: (\d+)", head)[1]):  # type: ignore[index]
            return
        self.load.seconds.append(time.perf_counter() - self.began)
        self.buffer, self.waiting = b"", False
        if not head.startswith(b"HTTP/1.1 200"):
            self.load.errors[head[:12].decode()] += 1
        elif body not in self.answers:
            self.load.errors["wrong answer"] += 1
        else:
            self.load.models[self.answers.index(body)] += 1
        self.ask()

    def connection_lost(self, exception: Exception | None) -> None:
        if self.waiting:
            self.load.errors["lost"] += 1
        self.load.open -= 1
        if not self.load.open:
            self.load.done.set_result(None)


class Load:
    """What all connections share: what to ask, until when, and what came of it."""

    def __init__(self, cases: list[tuple[bytes, list[bytes]]], seconds: float, rate: float):
        self.cases, self.end = cycle(cases), time.perf_counter() + seconds
        self.seconds: list[float] = []
        self.errors: Counter[str] = Counter()
        self.models: Counter[int] = Counter()
        self.open, self.done = 0, asyncio.get_running_loop().create_future()
        self.gap, self.turn = 1 / rate if rate else 0.0, time.perf_counter()

    def delay(self) -> float:
        """How long the next request has to wait, so that there are no more than asked for."""
        now = time.perf_counter()
        self.turn = max(self.turn, now) + self.gap
        return self.turn - now if self.gap else 0.0


async def generated(cases: list, port: int, connections: int, seconds: float, rate: float) -> dict[str, Any]:
    """Ask for so many seconds, and say what came of it."""
    load, loop = Load(cases, seconds, rate), asyncio.get_running_loop()
    load.open = connections
    for _ in range(connections):
        await loop.create_connection(lambda: Client(load), "127.0.0.1", port)
    await load.done
    times = sorted(load.seconds)
    return {
        "requests": len(times),
        "requests_per_second": len(times) / seconds,
        **{f"p{p}_ms": 1000 * times[min(len(times) - 1, len(times) * p // 100)] for p in (50, 90, 99)},
        "longest_ms": 1000 * times[-1],
        "errors": dict(load.errors),
        "answered_by_model": dict(sorted(load.models.items())),
    }


def generate(given: dict[str, Any]) -> None:
    """The whole of the generating process: what to do comes in, what came of it goes out."""
    try:
        import uvloop

        run = uvloop.run
    except ImportError:
        run = asyncio.run
    json.dump(run(generated(**given)), sys.stdout)


# ---------------------------------------------------------------------- the service


def trained(folder: Path, data: Path) -> tuple[list[Path], list[tuple[bytes, list[bytes]]]]:
    """Two model files; requests, each with the answers that the two models give it in Python."""
    from loglin import Tagger

    def read(name: str) -> list[list[tuple[str, ...]]]:
        parts = (data / "conll2000" / name).read_text().strip().split("\n\n")
        return [[tuple(line.split()) for line in part.split("\n")] for part in parts]

    train, sentences = read("train.txt"), [[token[:2] for token in sentence] for sentence in read("test.txt")]
    X, y = [[token[:2] for token in s] for s in train], [[token[2] for token in s] for s in train]
    paths, predicted = [], []
    for strength in STRENGTHS:
        tagger = Tagger(l2=strength).fit(X, y)
        paths.append(folder / f"{strength:g}.model")
        tagger.save(paths[-1])
        predicted.append(Tagger.load(paths[-1]).predict(sentences))
    return paths, [request_of(*case) for case in zip(sentences, *predicted, strict=True)]


def request_of(sentence: list, *labels: list[str]) -> tuple[bytes, list[bytes]]:
    """A request, and the answers that it may get."""

    def text(value: Any) -> bytes:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()

    body = text({"tokens": sentence})
    head = f"POST /tag HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body, [text({"model": "served", "tokens": sentence, "labels": one}) for one in labels]


def swap(paths: list[Path], served: Path, every: float, stop: threading.Event, swaps: list[float]) -> None:
    """Put the models in each other's place until told to stop."""
    turn = cycle([*paths[1:], paths[0]])
    while not stop.wait(every):
        fresh = served.with_suffix(".new")
        fresh.write_bytes(next(turn).read_bytes())
        os.replace(fresh, served)
        swaps.append(time.time())


def metric(port: int, name: str) -> float:
    """A number of the service's own metrics."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as reply:
        return next(
            float(line.rsplit(" ", 1)[1]) for line in reply.read().decode().splitlines() if line.startswith(name)
        )


def measure(folder: Path, data: Path, given: Any) -> dict[str, Any]:
    """The service under load, from its start to its end."""
    paths, cases = trained(folder, data)
    served = folder / "served.model"
    served.write_bytes(paths[0].read_bytes())
    command = [sys.executable, "-m", "loglin", "serve", str(served), "--port", "0"]
    service = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert service.stdout is not None
    port = int(next(line for line in service.stdout if "listening" in line).rsplit(":", 1)[1])
    load = {"port": port, "connections": given.connections, "seconds": given.seconds, "rate": given.rate}
    stop, swaps = threading.Event(), list[float]()
    swapping = threading.Thread(target=swap, args=(paths, served, given.swap, stop, swaps))
    try:
        client = subprocess.Popen(
            [sys.executable, __file__, "--generate"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert client.stdin is not None
        assert client.stdout is not None
        pickle.dump(load | {"cases": cases}, client.stdin)
        client.stdin.close()
        if given.swap:
            swapping.start()
        time.sleep(WARM * given.seconds)
        warm, began = metric(port, "process_resident_memory_bytes"), metric(port, "process_cpu_seconds_total")
        found = json.loads(client.stdout.read())
        stop.set()
        found |= {
            "seconds": given.seconds,
            "connections": given.connections,
            "swaps": len(swaps),
            "loads": int(metric(port, "loglin_model_loads_total")) - 1,
            "items_per_batch": metric(port, "loglin_model_items_total") / metric(port, "loglin_model_batches_total"),
            "memory_mb": [warm / 2**20, metric(port, "process_resident_memory_bytes") / 2**20],
            "processors_used": (metric(port, "process_cpu_seconds_total") - began) / (given.seconds * (1 - WARM)),
            "processors": os.cpu_count(),
        }
    finally:
        stop.set()
        service.terminate()
        found_code = service.wait(60)
    return found | {"exit_code": found_code}


def page(found: dict[str, Any]) -> str:
    """The result for people."""
    first, last = found["memory_mb"]
    errors = ", ".join(f"{n} × {what}" for what, n in found["errors"].items()) or "none"
    return f"""# The service under load

`python benchmarks/serve.py --seconds {found["seconds"]:g}`: {found["connections"]} connections over loopback, single
sentences of CoNLL-2000 (words and parts of speech), load generator and service on the same {found["processors"]} cores.
Every answer was compared with `Tagger.predict`.

| | |
|---|---|
| requests | {found["requests"]:,} in {found["seconds"]:g} s, {found["requests_per_second"]:,.0f} a second |
| time of a request | median {found["p50_ms"]:.1f} ms, 90 % {found["p90_ms"]:.1f} ms, 99 % {found["p99_ms"]:.1f} ms, \
longest {found["longest_ms"]:.0f} ms |
| errors, wrong or lost answers | {errors} |
| models put in each other's place | {found["swaps"]} times, taken over {found["loads"]} times |
| sentences decoded together | {found["items_per_batch"]:.1f} on average |
| processors that the service used | {found["processors_used"]:.2f} |
| memory of the service | {first:.0f} MB after {WARM:.0%} of the time, {last:.0f} MB at the end |
"""


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--swap", type=float, default=5, help="seconds between swaps of the model; 0: none")
    parser.add_argument("--rate", type=float, default=0, help="requests a second; 0: as many as are answered")
    parser.add_argument("--generate", action="store_true", help="be the load generator")
    given = parser.parse_args()
    if given.generate:
        generate(pickle.load(sys.stdin.buffer))
        return
    data = Path(os.environ.get("LOGLIN_DATA", ""))
    if not (data / "conll2000").is_dir():
        sys.exit("there is no folder conll2000 in LOGLIN_DATA; set the variable to the folder of the corpora")
    with tempfile.TemporaryDirectory(prefix="loglin-") as folder:
        found = measure(Path(folder), data, given)
    report(given.output, "serve", page(found), found)


if __name__ == "__main__":
    main()
