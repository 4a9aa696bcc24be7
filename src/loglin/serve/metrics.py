"""What the service has done, as text for Prometheus."""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate

from loglin.serve.worker import Served

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Requests by path and status, and how long they took."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.seconds: dict[str, list[int]] = {}  # path → requests by the first bound that they keep
        self.total: Counter[str] = Counter()  # path → seconds

    def note(self, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        self.requests[path, status] += 1
        counts = self.seconds.setdefault(path, [0] * (len(BOUNDS) + 1))
        counts[bisect_left(BOUNDS, seconds)] += 1
        self.total[path] += seconds  # type: ignore[assignment]

    def text(self, models: Iterable[Served]) -> str:
        """All metrics of the service and of its models."""
        return "".join(f"{line}\n" for line in [*self._of_requests(), *_of_models(list(models)), *_of_process()])

    def _of_requests(self) -> Iterator[str]:
        yield from _head("loglin_requests_total", "counter", "Requests by path and status.")
        for (path, status), count in sorted(self.requests.items()):
            yield f'loglin_requests_total{{path="{path}",status="{status}"}} {count}'
        name = "loglin_request_seconds"
        yield from _head(name, "histogram", "Time from the headers of a request to the end of its answer.")
        for path, counts in sorted(self.seconds.items()):
            for bound, count in zip([*map(str, BOUNDS), "+Inf"], accumulate(counts), strict=True):
                yield f'{name}_bucket{{path="{path}",le="{bound}"}} {count}'
            yield f'{name}_sum{{path="{path}"}} {self.total[path]:.6f}'
            yield f'{name}_count{{path="{path}"}} {sum(counts)}'


def _head(name: str, kind: str, text: str) -> list[str]:
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]


def _of_models(models: list[Served]) -> Iterator[str]:
    for name, kind, text, value in (
        ("batches_total", "counter", "Calls of a model; requests that arrive together share one.", "batches"),
        ("items_total", "counter", "Sentences, examples or histories that were answered.", "items"),
        ("loads_total", "counter", "Files that were taken over.", "loads"),
        ("refused_files_total", "counter", "Files that were refused.", "refused"),
    ):
        yield from _head(f"loglin_model_{name}", kind, text)
        for one in models:
            yield f'loglin_model_{name}{{model="{_escaped(one.name)}"}} {getattr(one.counts, value)}'
    yield from _head("loglin_model_waiting", "gauge", "Requests that wait for a model.")
    for one in models:
        yield f'loglin_model_waiting{{model="{_escaped(one.name)}"}} {one.pending}'
    yield from _head("loglin_model_loaded_timestamp_seconds", "gauge", "When the file that serves was taken over.")
    for one in models:
        yield f'loglin_model_loaded_timestamp_seconds{{model="{_escaped(one.name)}"}} {one.since:.3f}'


def _of_process() -> Iterator[str]:
    yield from _head("process_cpu_seconds_total", "counter", "Processor time of the service.")
    yield f"process_cpu_seconds_total {time.process_time():.2f}"
    yield from _head("process_resident_memory_bytes", "gauge", "Memory of the service.")
    yield f"process_resident_memory_bytes {resident_bytes()}"


def resident_bytes() -> int:
    """The memory of this process; where the system does not tell, the most that it had, or 0."""
    try:
        with open("/proc/self/statm") as stream:
            return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        from loglin.training.fit import peak_memory_mb

        return int((peak_memory_mb() or 0) * 2**20)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
