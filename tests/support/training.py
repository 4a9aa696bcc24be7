"""Records of trainings that are compared."""

from __future__ import annotations

from typing import Any

TIMES = ("seconds", "train_seconds", "peak_memory_mb", "expectation_seconds")


def timeless(value: Any) -> Any:
    """A record without the seconds and the memory that it took."""
    if isinstance(value, dict):
        return {k: timeless(v) for k, v in value.items() if k not in TIMES}
    return [timeless(v) for v in value] if isinstance(value, list) else value
