"""What a request may ask for, and how one that asks for more is refused."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    body: int = 10 << 20  # bytes of a request, and of a line of a stream
    tokens: int = 10_000  # of a sentence
    batch: int = 10_000  # sentences or examples of a request that is no stream
    seconds: float = 30.0  # in which a request, or the next piece of a stream, must come
    waiting: int = 1_000  # requests that may wait for one model
    headers: int = 32 << 10  # bytes of the line of a request and its headers


class Refusal(Exception):
    """A request that is not answered: the status, and one sentence with the place, the value and the remedy."""

    def __init__(self, status: int, sentence: str):
        super().__init__(sentence)
        self.status = status
