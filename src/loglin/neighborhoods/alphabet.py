"""From symbols, which are numbers, to the tokens that users give, and back."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from loglin.errors import LoglinError


@dataclass(frozen=True, eq=False)
class Alphabet:
    """The symbols of word lattices and the tokens that they stand for."""

    size: int
    tokens: Sequence[Any]  # of each symbol: a string, a tuple of columns, or the symbol itself
    symbol_of: Callable[[Any], int | None] | None  # in place of looking for the token; None: not known
    varying: np.ndarray  # (symbols,) int32, sorted: those that may take the place of another

    @classmethod
    def of(
        cls,
        size: int,
        tokens: Sequence[Any] | None = None,
        symbol_of: Callable[[Any], int | None] | None = None,
        varying: Sequence[int] | np.ndarray | None = None,
    ) -> Alphabet:
        """Symbols 0 … size − 1, checked; without tokens they stand for themselves, and by default all may vary."""
        tokens = range(size) if tokens is None else tokens
        if len(tokens) != size:
            raise LoglinError(f"there are {size} symbols but {len(tokens)} tokens; give the token of each symbol")
        chosen = np.arange(size) if varying is None else np.unique(np.asarray(varying, np.int64))
        if len(chosen) and (chosen[0] < 0 or chosen[-1] >= size):
            raise LoglinError(f"the alphabet holds {chosen[0]} … {chosen[-1]}; symbols go from 0 to {size - 1}")
        return cls(size, tokens, symbol_of, chosen.astype(np.int32))

    def symbol(self, token: Any, place: str) -> int:
        """The symbol of a token; an unknown token is refused with ``place`` in the message."""
        if self.symbol_of is not None:
            found = self.symbol_of(token)
        else:
            found = self._symbols.get(_key(token))
            found = self._names.get(token) if found is None and isinstance(token, str) else found
        if found is None or not 0 <= found < self.size:
            raise LoglinError(f"{place}: {written(token)!r} is no known word; give words of the training data")
        return int(found)

    @cached_property
    def _symbols(self) -> dict[Hashable, int]:
        return {_key(token): symbol for symbol, token in enumerate(self.tokens)}

    @cached_property
    def _names(self) -> dict[str, int]:
        return {written(token): symbol for symbol, token in enumerate(self.tokens)}


def written(token: Any) -> str:
    """A token as people write it: columns joined by a slash."""
    return "/".join(map(str, token)) if isinstance(token, tuple | list) else str(token)


def _key(token: Any) -> Hashable:
    """A key that is the same for a list and a tuple, and for a word and a tuple of this word alone."""
    key = tuple(token) if isinstance(token, list) else token
    key = key[0] if isinstance(key, tuple) and len(key) == 1 else key
    try:
        hash(key)
    except TypeError:
        raise LoglinError(
            f"the token {token!r:.60} cannot be looked up; use strings or tuples of strings, or give symbol_of"
        ) from None
    return key
