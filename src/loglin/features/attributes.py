"""Attributes that users give themselves: a list of strings or a dict per token, as for CRFsuite.

["w=the", "title"]                      attributes of value 1
{"w": "the", "title": True, "len": 3.0} w:the of value 1, title of value 1, len of value 3
{"ctx": {"prev": "a"}, "in": ["x", "y"]} ctx:prev:a, in:x, in:y of value 1
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from numbers import Real

import numpy as np

from loglin.corpus.columns import encode_strings
from loglin.corpus.sections import Section, of_vocabulary
from loglin.corpus.vocabulary import Vocabulary
from loglin.errors import LoglinError
from loglin.features.design import NO_VALUES, Design, Incidence

INTERCEPT = "(intercept)"  # the attribute that every example of a classifier has


class AttributeExtractor:
    """Attributes of tokens by name."""

    def __init__(self) -> None:
        self.names = Vocabulary.of([])

    @property
    def n_attributes(self) -> int:
        return len(self.names)

    n_bigram_attributes = 0

    def fit(self, sentences: Iterable, min_count: int = 1) -> Design:
        offsets, ptr, names, values = _flatten(sentences)
        column = encode_strings(names)
        counts = np.bincount(column.codes, minlength=len(column.vocabulary))
        keep = counts >= min_count
        strings = column.vocabulary.strings
        self.names = Vocabulary.of(strings[i] for i in np.flatnonzero(keep))
        numbers = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
        return self._design(offsets, Incidence(ptr, column.codes, values).with_ids(numbers[column.codes]))

    def transform(self, sentences: Iterable) -> Design:
        offsets, ptr, names, values = _flatten(sentences)
        column = encode_strings(names)
        numbers = self.names.codes_of(column.vocabulary)
        return self._design(offsets, Incidence(ptr, column.codes, values).with_ids(numbers[column.codes]))

    def _design(self, offsets: np.ndarray, tokens: Incidence) -> Design:
        return Design(offsets, tokens, Incidence.empty(tokens.n_lists), self.n_attributes, 0)

    def attribute_name(self, attribute: int, kind: str = "unigram") -> str:
        return self.names[attribute]

    def template_of(self, kind: str) -> np.ndarray:
        return np.zeros(self.n_attributes if kind == "unigram" else 0, np.int64)

    def select(self, unigrams: np.ndarray, bigrams: np.ndarray) -> AttributeExtractor:
        """The extractor with only some of its attributes, renumbered."""
        other, names = AttributeExtractor(), self.names.strings
        other.names = Vocabulary.of(names[i] for i in np.flatnonzero(unigrams))
        return other

    def to_section(self) -> Section:
        return Section({"kind": "attributes"}, of_vocabulary("names", self.names))

    @classmethod
    def from_section(cls, section: Section) -> AttributeExtractor:
        self = cls()
        self.names = section.vocabulary("names")
        return self


def _flatten(sentences: Iterable) -> tuple[np.ndarray, np.ndarray, list[str], np.ndarray]:
    """Sentence offsets, attribute offsets per token, names and values (empty if all are 1)."""
    names: list[str] = []
    weighted: dict[int, float] = {}  # values that are not 1, by the place of their names
    offsets, ptr = [0], [0]
    for s, sentence in enumerate(sentences):
        if not isinstance(sentence, Iterable):
            raise LoglinError(f"sentence {s} is {sentence!r}; a sentence is a list of tokens")
        for t, token in enumerate(sentence):
            if type(token) is list and set(map(type, token)) == {str}:
                names += token
            else:
                try:
                    for name, value in _plain(token) if type(token) is dict else attributes_of(token):
                        if value != 1:
                            weighted[len(names)] = value
                        names.append(name)
                except (TypeError, ValueError, OverflowError, RecursionError) as error:
                    raise LoglinError(f"sentence {s}, token {t}: {error}") from None
            ptr.append(len(names))
        offsets.append(len(ptr) - 1)
    values = NO_VALUES
    if weighted:
        values = np.ones(len(names))
        values[list(weighted)] = list(weighted.values())
    return np.asarray(offsets, np.int64), np.asarray(ptr, np.int64), names, values


def _plain(token: dict) -> Iterable[tuple[str, float]]:
    """As ``attributes_of``, quicker where all values of a dict are strings, true or false."""
    kinds = set(map(type, token.values()))
    if not kinds <= {str, bool}:
        return attributes_of(token)
    if bool not in kinds:
        return [(f"{key}:{value}", 1.0) for key, value in token.items()]
    pairs = token.items()
    return [(str(key) if value is True else f"{key}:{value}", 1.0) for key, value in pairs if value is not False]


def attributes_of(token: object, prefix: str = "") -> Iterator[tuple[str, float]]:
    """(name, value) pairs of one token's attributes."""
    if isinstance(token, str):
        yield prefix + token, 1.0
    elif isinstance(token, Mapping):
        for key, value in token.items():
            name = f"{prefix}{key}"
            if isinstance(value, bool | np.bool_):
                if value:
                    yield name, 1.0
            elif isinstance(value, Real):
                try:
                    number = float(value)
                except OverflowError:
                    number = math.inf
                if not math.isfinite(number):
                    raise ValueError(f"attribute {name!r} has the value {value!s:.20}; values must be finite numbers")
                yield name, number
            elif value is not None:
                yield from attributes_of(value, name + ":")
    elif isinstance(token, Iterable):
        for part in token:
            yield from attributes_of(part, prefix)
    else:
        raise TypeError(f"{token!r} is neither a string, a list of strings nor a dict of attributes")
