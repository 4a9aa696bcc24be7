"""Parts computed by the workers of Dask: weights out, summed gradients back.

    weights ──► workers ──► Sums of GROUP parts ──► FAN of them added on a worker ──► … ──► one sum here

A worker is shown the file of a part in the work folder, which all machines must see, and keeps nothing of its own: when
one dies, Dask gives its parts to others. All sums are made in the order of the parts, so that the number of workers,
and which of them live, changes nothing but the time.
"""

from __future__ import annotations

import itertools
import platform
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from loglin.errors import LoglinError
from loglin.objectives.sums import FAN, GROUP, StoredFile, Sums, Total, total

ANSWER = 10  # seconds in which a scheduler must answer
PATIENCE, GONE = 10, 180  # seconds between looks for workers; seconds without any after which training is given up
LEAST = 2  # groups for every worker, from which on a group is one task
DENSE = 1.5  # times the features of a sum, from which on numbers for all of them are fewer bytes than with their places
DEATHS = 100  # of workers while they have the same part, before training is given up
NEEDED = "the package distributed is needed; install loglin[distributed]"


class Workers:
    """The workers of a Dask client."""

    is_here = False
    threads: int | None = 1  # of a part: a worker has as many threads as parts that it computes at once

    def __init__(self, client: Any):
        self.client, self._number = client, itertools.count()
        self.moved, self.seconds = 0, 0.0  # bytes, and the time that sums took with what was sent for them
        _require_same_versions(client)
        self.at_once = sum(client.nthreads().values())

    def map(self, function: Callable[[Any], Any], items: Sequence) -> Iterator:
        for future in self._of_parts(function, items):
            yield self._result(future)

    def total(self, function: Callable[[StoredFile, np.ndarray], Sums], files: Sequence, weights: np.ndarray) -> Total:
        began = time.perf_counter()
        given = self._submit(np.asarray, weights)  # a task, not scattered data: it is made again if its worker dies
        workers = max(1, len(self.client.scheduler_info(n_workers=-1)["workers"]))
        groups = [files[i : i + GROUP] for i in range(0, len(files), GROUP)]
        if len(groups) >= LEAST * workers:  # one task each, with nothing to be sent between its parts
            level, fan = self._of_parts(_summed, groups, function, given), FAN
        else:
            level, fan = self._of_parts(function, files, given), GROUP
        while len(level) > 1:
            level = [self._submit(_added, level[i : i + fan], len(weights)) for i in range(0, len(level), fan)]
            fan = FAN
        found = self._result(level[0])
        places = 0 if isinstance(found.places, slice) else found.places.nbytes
        self.moved += workers * weights.nbytes + places + found.numbers.nbytes
        self.seconds += time.perf_counter() - began
        return total([found], len(weights))

    def about(self) -> dict[str, Any]:
        workers = len(self.client.scheduler_info(n_workers=-1)["workers"])
        return {"workers": workers, "bytes_moved": self.moved, "worker_seconds": round(self.seconds, 3)}

    def _of_parts(self, function: Callable, items: Sequence, *given: Any) -> list[Any]:
        """A task for each part; the same worker has neighboring parts, and has them in every pass."""
        addresses, tasks = sorted(self.client.scheduler_info(n_workers=-1)["workers"]), []
        for n, item in enumerate(items):
            near = [addresses[n * len(addresses) // len(items)]] if addresses else None
            tasks.append(self._submit(function, item, *given, workers=near, allow_other_workers=near is not None))
        return tasks

    def _submit(self, function: Callable, *given: Any, **where: Any) -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            key = f"loglin-{id(self)}-{next(self._number)}"
            return self.client.submit(function, *given, key=key, pure=False, retries=0, **where)

    def _result(self, future: Any) -> Any:
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        left, look = GONE, min(PATIENCE, GONE)
        try:
            while left > 0:
                try:
                    return future.result(timeout=look)
                except TimeoutError:
                    if future.status != "pending":
                        raise
                    left = GONE if self.client.scheduler_info(n_workers=-1)["workers"] else left - look
            raise LoglinError(
                f"for {GONE} seconds there was no worker left; see why they ended, start some, and train again"
            )
        except KilledWorker as error:
            raise LoglinError(
                f"workers died {DEATHS} times over the same part ({error}); give them more memory, or smaller shards "
                "with --memory"
            ) from None
        except (CancelledError, TimeoutError, OSError) as error:
            raise LoglinError(f"the connection to the scheduler is lost ({error}); start it, and train again") from None


def _summed(
    files: Sequence[StoredFile], function: Callable[[StoredFile, np.ndarray], Sums], weights: np.ndarray
) -> Sums:
    """The sum of the parts of a group."""
    return _added((function(file, weights) for file in files), len(weights))


def _added(group: Iterable[Sums], n_features: int) -> Sums:
    """The sum of a group, in room that the next one finds zero again: new memory would take as long as the sum."""
    numbers, seen = _rooms.__dict__.pop(str(n_features), None) or (np.zeros(n_features), np.zeros(n_features, bool))
    value = 0.0
    for sums in group:
        value += sums.value
        sums.add_to(numbers, seen)
    if DENSE * np.count_nonzero(seen) > n_features:
        found = Sums(value, slice(None), numbers.copy())
        numbers[:], seen[:] = 0.0, False
    else:
        places = np.flatnonzero(seen).astype(np.uint32)
        found = Sums(value, places, numbers[places])
        numbers[places], seen[places] = 0.0, False
    _rooms.__dict__[str(n_features)] = numbers, seen
    return found


_rooms = threading.local()  # by number of features


def versions() -> dict[str, str]:
    """What must be the same everywhere for weights to be the same to the last bit."""
    import loglin

    return {
        "loglin": loglin.__version__,
        "numpy": np.__version__,
        "python": ".".join(platform.python_version_tuple()[:2]),
    }


def _require_same_versions(client: Any) -> None:
    ours = versions()
    try:
        found = client.run(versions)
    except ImportError as error:
        raise LoglinError(f"a worker has no loglin ({error}); install loglin {ours['loglin']} on all workers") from None
    except (AttributeError, TypeError) as error:
        raise LoglinError(f"a worker has another loglin ({error}); install {ours['loglin']} on all workers") from None
    if not found:
        raise LoglinError("the scheduler has no workers; start some, and train again")
    for address, theirs in found.items():
        for name, version in ours.items():
            if theirs.get(name) != version:
                raise LoglinError(
                    f"worker {address} has {name} {theirs.get(name)}, but here it is {version}; install the same on all"
                )


@contextmanager
def connected(scheduler: str | None = None, workers: int | None = None) -> Iterator[Any]:
    """A client of the scheduler at an address, or of so many single-threaded workers on this machine."""
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError:
        raise LoglinError(NEEDED) from None
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=ANSWER, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise LoglinError(
                f"no scheduler answers at {scheduler} ({error}); check the address, and that it runs"
            ) from None
        with client:
            yield client
        return
    settings = {
        "distributed.scheduler.allowed-failures": DEATHS,
        "distributed.admin.tick.interval": "1h",
        # so long after a death Dask closes the place of a worker for ever, if none is in it at that very moment
        "distributed.deploy.lost-worker-timeout": "1000h",
    }
    how = {"threads_per_worker": 1, "processes": True, "dashboard_address": None, "memory_limit": 0}
    with dask.config.set(settings):
        try:
            cluster = LocalCluster(n_workers=workers, silence_logs=50, **how)
        except (RuntimeError, OSError) as error:
            raise LoglinError(f"the workers did not start ({error}); see that there is memory, and try again") from None
        with cluster, Client(cluster, set_as_default=False, direct_to_workers=True) as client:
            yield client
