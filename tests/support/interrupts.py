"""Signals as tests need them."""

from __future__ import annotations

import signal


def hear_interrupts() -> None:
    """Undo what shells do to programs in the background: they ignore Ctrl-C, and so would all that these start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
