"""The service as a process: swaps of its model, signals, connections that misbehave, 10,000 hostile requests."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

import loglin
from loglin import Tagger
from support.hostile import STALL, drawn, reply_to

pytest.importorskip("fastapi", reason="serving needs loglin[serve]")
pytest.importorskip("httptools", reason="serving needs loglin[serve]")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are of POSIX")

PACKAGE = str(Path(loglin.__file__).parent)
GOOD = {"tokens": ["2", "cups", "flour"]}
LIMITS = ("--timeout", "0.5", "--max-tokens", "1000", "--max-batch", "1000", "--max-body", "1")


class Service:
    """A process that serves, and its log."""

    def __init__(self, *arguments: object, **environment: str):
        command = [sys.executable, "-m", "loglin", "serve", *map(str, arguments), "--port", "0"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | environment
        )
        assert self.process.stdout is not None
        self.said = []
        for line in self.process.stdout:
            self.said.append(line)
            if line.startswith("listening on"):
                break
        else:
            raise AssertionError(self.process.stderr.read())
        self.port = int(line.rsplit(":", 1)[1])

    def ask(self, path: str, value=None, **headers: str):
        """(status, value) of a request; with a value a POST."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        body = None if value is None else json.dumps(value)
        connection.request(
            "GET" if body is None else "POST", path, body, {"content-type": "application/json"} | headers
        )
        reply = connection.getresponse()
        found = reply.read()
        connection.close()
        return reply.status, json.loads(found)

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """The exit code after a signal, and all that was logged."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        _, log = self.process.communicate(timeout=30)
        return self.process.returncode, log


@pytest.fixture(scope="module")
def service(folder):
    found = Service(folder / "kitchen.model", *LIMITS)
    yield found
    code, log = found.end()
    assert code == 0
    assert "Traceback" not in log, log


def until(condition, seconds: float = 20) -> None:
    """Wait until something is true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_model_is_replaced_without_a_lost_request(folder, tmp_path):
    """Whoever asks gets the answer of one model or of the other; a broken file leaves the last one in its place."""
    old = Tagger.load(folder / "kitchen.model")
    new = Tagger(threads=1).fit([["2", "cups", "flour"]], [["X", "Y", "Z"]])
    path = tmp_path / "kitchen.model"
    path.write_bytes((folder / "kitchen.model").read_bytes())
    service = Service(path)
    answers, stop = Counter(), threading.Event()

    def asking():
        while not stop.is_set():
            status, value = service.ask("/tag", GOOD)
            answers[status, tuple(value.get("labels", ()))] += 1

    threads = [threading.Thread(target=asking) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        before, after = (200, tuple(old.predict([GOOD["tokens"]])[0])), (200, ("X", "Y", "Z"))
        until(lambda: answers[before] > 5)
        new.save(path)
        until(lambda: answers[after] > 5)
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])  # in its place, not renamed: the old one is not mapped from it
        until(lambda: service.ask("/models")[1]["models"][0]["refused"])
        told = service.ask("/models")[1]["models"][0]["refused"]
        assert told.startswith("kitchen")
        assert str(tmp_path) not in told
        path.unlink()
        count = answers[after]
        until(lambda: answers[after] > count + 5)
        (tmp_path / "next").write_bytes((folder / "kitchen.model").read_bytes())
        os.replace(tmp_path / "next", path)
        until(lambda: service.ask("/tag", GOOD)[1]["labels"] == list(before[1]))
        about = service.ask("/models")[1]["models"][0]
        assert (about["refused"], about["loads"]) == (None, 3)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        code, log = service.end()
    assert set(answers) == {before, after}  # and nothing else: no error, no other answer
    assert code == 0
    assert "the new file is refused, the old model stays" in log


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_when_all_is_answered(folder, number):
    service = Service(folder / "kitchen.model")
    batch = {"batch": [{"tokens": ["2", "cups", "flour"] * 200}] * 250, "entities": True}
    found = []
    asking = threading.Thread(target=lambda: found.append(service.ask("/tag", batch)))
    asking.start()
    until(lambda: 'loglin_model_waiting{model="kitchen"} 1' in _metrics(service))
    code, log = service.end(number)
    asking.join()
    (status, value), *_ = found
    assert (status, len(value["results"])) == (200, 250)
    assert code == 0
    assert "Traceback" not in log, log


def _metrics(service: Service) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=30)
    connection.request("GET", "/metrics")
    return connection.getresponse().read().decode()


def test_the_token_may_come_from_a_file_or_the_environment(folder, tmp_path):
    (tmp_path / "token").write_text("secret\n")
    by_file = Service(folder / "kitchen.model", "--token-file", tmp_path / "token")
    by_variable = Service(folder / "kitchen.model", LOGLIN_TOKEN="secret")
    for service in (by_file, by_variable):
        assert service.ask("/tag", GOOD)[0] == 401
        assert service.ask("/tag", GOOD, Authorization="Bearer secret")[0] == 200
        assert service.ask("/healthz")[0] == 200
        assert service.end()[0] == 0


def test_it_says_what_it_serves_and_a_taken_port_is_refused(service, folder):
    assert service.said[0] == "kitchen answers /tag\n"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        command = ["serve", str(folder / "kitchen.model"), "--port", str(taken.getsockname()[1])]
        done = subprocess.run([sys.executable, "-m", "loglin", *command], capture_output=True, text=True)
    assert done.returncode == 1
    assert "cannot listen on 127.0.0.1, port" in done.stderr


@pytest.mark.parametrize(
    ("pieces", "status"),
    [
        ([b"POST /tag HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{", STALL], 408),
        ([b"GET /models HTTP/1.1\r\nx", STALL], 408),
        ([STALL], 408),
        ([b"GET /models HTTP/1.1\r\nx: ", b"y" * 50_000, STALL], 431),
        ([b"GET /models HTTP/1.1\r\nx: " + b"y" * 50_000 + b"\r\n\r\n"], 431),
        ([b"what\r\n\r\n"], 400),
        ([b"GET /\xff HTTP/1.1\r\n\r\n"], 400),
    ],
)
def test_connections_that_misbehave(service, pieces, status):
    found, body = asyncio.run(asyncio.wait_for(reply_to(pieces, service.port), 20))
    assert found == status
    assert json.loads(body).keys() == {"error"}


def refused(service: Service, numbers: range, at_once: int = 40) -> Counter:
    """How many of some hostile requests got which status."""
    counts: Counter = Counter()

    async def one(number: int, free: asyncio.Semaphore) -> None:
        async with free:
            request = drawn(number)
            try:
                status, body = await asyncio.wait_for(reply_to(request.pieces, service.port), 60)
            except Exception as error:
                raise AssertionError(f"request {number}, {request.kind}: {error!r}") from error
            assert 400 <= status < 500, (number, request.kind, status, body[:200])
            value = json.loads(body)
            assert value.keys() == {"error"}, (number, request.kind)
            assert not any(word in value["error"] for word in ("Traceback", "File ", "site-packages", PACKAGE))
            counts[request.kind, status] += 1

    async def all_of_them() -> None:
        free = asyncio.Semaphore(at_once)
        await asyncio.gather(*(one(number, free) for number in numbers))

    asyncio.run(all_of_them())
    assert service.ask("/healthz") == (200, {"status": "ok"})
    assert service.ask("/tag", GOOD)[0] == 200
    return counts


def test_hostile_requests_are_refused(service):
    counts = refused(service, range(320))
    assert sum(counts.values()) == 320
    assert {status for _, status in counts} >= {400, 404, 405, 408, 413, 415, 422, 431}


@pytest.mark.full
def test_ten_thousand_hostile_requests(service):
    assert sum(refused(service, range(1_000, 11_000)).values()) == 10_000
