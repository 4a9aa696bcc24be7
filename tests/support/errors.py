"""Errors of the library: one sentence that names the place, the value and the remedy."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from loglin.errors import LoglinError


def refused(call: Callable[[], object], *parts: object) -> str:
    """The sentence with which ``call`` is refused; it must contain all ``parts``."""
    with pytest.raises(LoglinError) as caught:
        call()
    sentence = str(caught.value)
    for part in parts:
        assert str(part) in sentence
    assert "\n" not in sentence
    return sentence


def refused_with_remedy(call: Callable[[], object], *parts: object) -> str:
    """As ``refused``; a remedy must stand after a semicolon."""
    return refused(call, ";", *parts)
