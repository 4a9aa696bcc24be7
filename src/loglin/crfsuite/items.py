"""Items, the attributes of one token each, as python-crfsuite takes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from loglin.errors import LoglinError
from loglin.features.attributes import attributes_of


class ItemSequence:
    """The items of one sentence, converted once: {name: value} for each token.

    An item is a list of strings or a dict: {"w": "the"} is the attribute w:the, True has the value 1 and False the
    value 0, a number is its value, and the keys of dicts, lists and sets inside are joined to theirs by a colon.
    """

    def __init__(self, pyseq: Iterable):
        self._items = []
        for t, item in enumerate(items_of(pyseq)):
            try:
                self._items.append(dict(attributes_of(item, zeros=True)))
            except (TypeError, ValueError, RecursionError) as error:
                raise LoglinError(f"item {t}: {error}") from None

    def items(self) -> list[dict[str, float]]:
        """The attributes of every item."""
        return [dict(item) for item in self._items]

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"


def items_of(sequence: Any) -> list:
    """The items of one sentence as a list; what can only be a mistake is refused."""
    if isinstance(sequence, ItemSequence):
        return sequence._items
    if isinstance(sequence, str | bytes | Mapping) or not isinstance(sequence, Iterable):
        raise LoglinError(f"a sentence is {sequence!r:.60}; give a list with the attributes of each token")
    items = list(sequence)
    for t, item in enumerate(items):
        if isinstance(item, str | bytes):
            raise LoglinError(f"token {t} is {item!r:.60}; give its attributes, a list of strings or a dict")
    return items


def labels_of(sequence: Any, n_items: int) -> list:
    """The labels of one sentence as a list of text, one for each item."""
    if isinstance(sequence, str | bytes) or not isinstance(sequence, Iterable):
        raise LoglinError(f"the labels of a sentence are {sequence!r:.60}; give a list with one for each token")
    labels = [label.decode() if isinstance(label, bytes) else label for label in sequence]
    if len(labels) != n_items:
        raise LoglinError(f"a sentence has {n_items} tokens but {len(labels)} labels; give one for each token")
    return labels


def pairs_of(X: Any, y: Any, name: str = "") -> list[tuple]:
    """Sentences with their labels; as many of both."""
    X, y = list(X), list(y)
    if len(X) != len(y):
        raise LoglinError(f"X{name} has {len(X)} sentences but y{name} {len(y)} label sequences; give as many")
    return list(zip(X, y, strict=True))
