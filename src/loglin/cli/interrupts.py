"""Signals that end a command: at once and with nothing half written, unless training is to keep what it has.

    signal ──► C writes its number into a pipe ──► a thread reads it, removes unfinished files, exits with 128 + number
           └─► Python's handler, between two bytecodes of the main thread: only where training keeps what it has

Python's handlers wait until a kernel or an import returns; the thread does not.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # nothing is imported here that takes time before signals are heard
    from typing import Any

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
STILL = 0.1  # seconds; not longer, since the main thread may hold what the watching thread waits for


class _State:
    def __init__(self) -> None:
        self.installed = False
        self.kept: tuple[int, ...] = ()  # signals after which what has been learned is kept
        self.learned = False  # whether training has come to something that can be kept
        self.released = False  # whether the command ends by itself when a signal comes
        self.number = 0  # of the signal after which something was kept


_state = _State()


def install() -> None:
    """Let signals end this program from now on."""
    if _state.installed or os.name != "posix":
        return
    _state.installed = True
    source, sink = os.pipe()
    os.set_blocking(sink, False)
    signal.set_wakeup_fd(sink, warn_on_full_buffer=False)
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _handle)
    threading.Thread(target=_watch, args=(source,), daemon=True).start()


@contextmanager
def keeping(asked: bool, estimator: Any) -> Iterator[None]:
    """While the estimator is trained in here, a signal leaves it the best that it has learned, and no exception.

    Every signal does if ``asked``, else Ctrl-C at a terminal. Where it has learned nothing yet, the program ends.
    """
    at_terminal = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))
    _state.kept = ENDING if asked else (signal.SIGINT,) if at_terminal else ()
    before = getattr(estimator, "model_", None)
    try:
        yield
    except KeyboardInterrupt:
        if not _state.kept or getattr(estimator, "model_", None) is before:
            raise
        _state.number = _state.number or signal.SIGINT
    finally:
        _state.kept, _state.learned = (), False


def release() -> None:
    """Leave signals to the command, which sets its own handlers."""
    _state.released = True


def learned() -> None:
    """Training has come to something that can be kept."""
    _state.learned = True


def exit_code() -> int:
    """The code with which a program ends: 0, or that of the signal after which something was kept."""
    return 128 + _state.number if _state.number else 0


def _keeps(number: int) -> bool:
    return _state.learned and number in _state.kept


def _handle(number: int, frame: Any) -> None:
    """In the main thread; where nothing is to be kept, it stands still until the watching thread ends the program."""
    if not _keeps(number):
        time.sleep(STILL)
        return
    _state.number = _state.number or number
    heard = signal.getsignal(signal.SIGINT)  # by training, while it listens
    if callable(heard) and heard is not _handle:
        heard(signal.SIGINT, frame)
    else:
        raise KeyboardInterrupt


def _watch(source: int) -> None:
    first = True
    while True:
        number = os.read(source, 1)[0]
        if number not in ENDING or _state.released:
            continue
        if not first or not (_state.number or _keeps(number)):
            _end(number)
        _state.number, first = number, False


def _end(number: int) -> None:
    output = sys.modules.get("loglin.corpus.output")  # without which no file was begun
    if remove := getattr(output, "remove_unfinished", None):
        remove()
    with suppress(OSError):
        os.write(2, f"loglin: ended by {signal.Signals(number).name}\n".encode())
    os._exit(128 + number)
