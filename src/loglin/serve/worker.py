"""A served model: one thread that answers, and the file that the model comes from.

request ──► waiting ──► the thread takes all that wait ──► those that ask alike are answered together
                                                      └─► back to the event loop, once for all of them

file changed ──► read and checked beside the serving model ──► takes its place, or is refused and said
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import queue
import threading
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from loglin.errors import LoglinError
from loglin.serve.answers import Answering, answering
from loglin.serve.limits import Limits, Refusal
from loglin.serve.requests import Asked, Item

AT_ONCE = 256  # items that are answered together
EXPLAIN = "explain"

log = logging.getLogger("loglin.serve")


@dataclass(eq=False)
class Job:
    """Items that wait for the answers of a model."""

    items: list[Item]
    asked: Asked
    explains: bool
    future: asyncio.Future  # of the answers, one text of JSON for each item


@dataclass
class Counts:
    """What a served model has done."""

    batches: int = 0  # calls of the model
    items: int = 0
    loads: int = 0
    refused: int = 0


Signature = tuple[int, ...]


def signature(path: str) -> Signature | None:
    """What tells that a file was replaced or written; None: there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


class Served:
    """A model under a name; ``current`` is replaced as a whole, never changed."""

    def __init__(self, name: str, path: str, limits: Limits, threads: int | None = 1):
        self.name, self.path, self.limits, self.threads = name, path, limits, threads
        self.counts, self.refusal = Counts(), ""
        self.seen = signature(path)
        self.current: Answering = answering(path, limits, threads)
        self.since, self.counts.loads = time.time(), 1
        self.pending = 0  # jobs that are not answered yet
        self._waiting: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=f"answering {name}", daemon=True)
        self._thread.start()

    # ------------------------------------------------------------------ the file

    def refresh(self) -> None:
        """Take over the file if it has changed; one that cannot be read is refused, and the old model kept."""
        found = signature(self.path)
        if found == self.seen:
            return
        self.seen = found
        try:
            fresh = answering(self.path, self.limits, self.threads)
            if fresh.verb != self.current.verb:
                raise LoglinError(
                    f"{self.name} now answers {fresh.verb}, not {self.current.verb}; serve it under another name"
                )
        except (LoglinError, MemoryError) as error:
            told = str(error).replace(self.path, self.name)  # where the file is concerns nobody who asks
            self.refusal, self.counts.refused = told or "there is not enough memory", self.counts.refused + 1
            log.warning("%s: the new file is refused, the old model stays: %s", self.name, self.refusal)
            return
        self.current, self.refusal, self.since = fresh, "", time.time()
        self.counts.loads += 1
        log.info("%s: the new file is taken over", self.name)

    def about(self) -> dict[str, Any]:
        """What /models says: nothing of where the file is."""
        current = self.current
        return {
            "name": self.name,
            "answers": current.verb,
            "keys": list(current.keys),
            "loaded": round(self.since, 3),
            "loads": self.counts.loads,
            "refused": self.refusal or None,
            **current.about(),
        }

    # ------------------------------------------------------------------ answers

    async def answer(self, items: list[Item], asked: Asked, explains: bool = False) -> list[str]:
        """The answers of some items as JSON; others that wait take their turns between parts of a long list."""
        found: list[str] = []
        for begin in range(0, len(items), AT_ONCE):
            if self.pending >= self.limits.waiting:
                raise Refusal(503, f"{self.pending:,} requests wait for {self.name} already; try again later")
            job = Job(items[begin : begin + AT_ONCE], asked, explains, asyncio.get_running_loop().create_future())
            self.pending += 1
            try:
                self._waiting.put(job)
                found += await job.future
            finally:
                self.pending -= 1
        return found

    def close(self) -> None:
        """Answer what waits, and end the thread."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        while True:
            job = self._waiting.get()
            jobs = []
            while job is not None:
                jobs.append(job)
                if sum(len(one.items) for one in jobs) >= AT_ONCE or self._waiting.empty():
                    break
                job = self._waiting.get()
            self._answer(jobs)
            if job is None:
                return

    def _answer(self, jobs: list[Job]) -> None:
        alike: dict[tuple[bool, Asked], list[Job]] = defaultdict(list)
        for job in jobs:
            alike[job.explains, job.asked].append(job)
        model, found = self.current, list[tuple[Job, Any]]()
        for (explains, _), group in alike.items():
            found += self._answered(model, group) if len(group) > 1 and not explains else self._one_by_one(model, group)
        if found:
            found[0][0].future.get_loop().call_soon_threadsafe(_deliver, found)

    def _answered(self, model: Answering, jobs: list[Job]) -> list[tuple[Job, Any]]:
        """The answers of jobs that ask alike, together; if one of them cannot be answered, of each alone."""
        try:
            texts = iter(self._texts(model, [item for job in jobs for item in job.items], jobs[0].asked))
        except Exception:
            return self._one_by_one(model, jobs)
        return [(job, [next(texts) for _ in job.items]) for job in jobs]

    def _one_by_one(self, model: Answering, jobs: list[Job]) -> list[tuple[Job, Any]]:
        found: list[tuple[Job, Any]] = []
        for job in jobs:
            try:
                if job.explains:
                    texts = [_as_text(model.explain(item, dict(job.asked))) for item in job.items]
                else:
                    texts = self._texts(model, job.items, job.asked)
                found.append((job, texts))
            except Refusal as refusal:
                found.append((job, refusal))
            except LoglinError as error:
                found.append((job, Refusal(422, str(error))))
            except Exception as error:
                found.append((job, error))
        return found

    def _texts(self, model: Answering, items: list[Item], asked: Asked) -> list[str]:
        answers = model.answers(items, dict(asked))
        self.counts.batches += 1
        self.counts.items += len(items)
        return [_as_text(answer) for answer in answers]


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def _as_text(answer: Any) -> str:
    try:
        return _encode(answer)
    except ValueError:  # JSON has no infinity, the weight of what is forbidden
        return _encode(_finite(answer))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _deliver(found: list[tuple[Job, Any]]) -> None:
    for job, answer in found:
        if job.future.done():  # whoever asked has gone
            continue
        if isinstance(answer, Exception):
            job.future.set_exception(answer)
        else:
            job.future.set_result(answer)
