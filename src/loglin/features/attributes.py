"""Attributes that users give themselves: a list of strings or a dict per token, as for CRFsuite.

["w=the", "title"]                      attributes of value 1
{"w": "the", "title": True, "len": 3.0} w:the of value 1, title of value 1, len of value 3
{"ctx": {"prev": "a"}, "in": ["x", "y"]} ctx:prev:a, in:x, in:y of value 1
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, chain
from numbers import Real
from typing import Any

import numpy as np

from loglin.corpus.sections import Section, of_vocabulary
from loglin.corpus.vocabulary import Vocabulary
from loglin.errors import LoglinError
from loglin.features.design import NO_VALUES, Design, Incidence

INTERCEPT = "(intercept)"  # the attribute that every example of a classifier has


class AttributeExtractor:
    """Attributes of tokens by name; ``zeros``: those of value 0, such as false ones, are seen with their labels."""

    def __init__(self, zeros: bool = False) -> None:
        self.names = Vocabulary.of([])
        self.zeros = zeros

    @property
    def n_attributes(self) -> int:
        return len(self.names)

    n_bigram_attributes = 0

    def fit(self, sentences: Iterable | AttributeLists, min_count: int = 1) -> Design:
        lists = self._lists(sentences)
        counts = np.bincount(lists.tokens.ids[lists.tokens.ids >= 0], minlength=len(lists.names))
        keep = counts >= min_count
        self.names = Vocabulary.of(name for name, kept in zip(lists.names, keep, strict=True) if kept)
        return self._design(lists, np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32))

    def transform(self, sentences: Iterable | AttributeLists) -> Design:
        lists = self._lists(sentences)
        return self._design(lists, self.names.codes_of(Vocabulary.of(lists.names)))

    def _lists(self, sentences: Iterable | AttributeLists) -> AttributeLists:
        if isinstance(sentences, AttributeLists):
            return sentences
        reader = AttributeReader(self.zeros)
        for sentence in sentences:
            reader.add(sentence)
        return reader.lists()

    def _design(self, lists: AttributeLists, numbers: np.ndarray) -> Design:
        """The design of lists whose attributes have other numbers here, -1 for none."""
        tokens = lists.tokens.with_ids(np.append(numbers, np.int32(-1))[lists.tokens.ids])
        design = Design(lists.offsets, tokens, Incidence.empty(tokens.n_lists), self.n_attributes, 0)
        silent = tokens.values == 0
        if self.zeros and silent.any():
            design.silent = tokens.with_ids(np.where(silent, tokens.ids, -1))
            design.tokens = tokens.with_ids(np.where(silent, -1, tokens.ids)).without_ones()
        return design

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


@dataclass(frozen=True)
class AttributeLists:
    """Attributes of the tokens of sentences, numbered in the order in which they were met."""

    offsets: np.ndarray  # (sentences + 1,) int64
    tokens: Incidence  # numbers of names, -1 for no attribute
    names: list[str]

    def select(self, sentences: np.ndarray) -> AttributeLists:
        """The chosen sentences, with the numbers that their attributes have here."""
        lengths = np.diff(self.offsets)[sentences]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        tokens = np.repeat(self.offsets[:-1][sentences] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return AttributeLists(offsets, self.tokens.select(tokens), self.names)


class AttributeReader:
    """Attributes of tokens, gathered sentence by sentence; each pair of a key and a string is looked at once.

    With ``zeros``, what is false has the value 0; else it is no attribute.
    """

    def __init__(self, zeros: bool = False) -> None:
        self.zeros = zeros
        self._numbers = _Numbers(zeros)
        self._codes, self._ptr, self._offsets = array("i"), array("q", [0]), array("q", [0])
        self._places, self._values = array("q"), array("d")  # of attributes whose value is a number

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def lists(self) -> AttributeLists:
        """What has been taken in."""
        codes, of_code = np.array(self._codes, np.int32), self._numbers
        values = np.array(of_code.amounts)[codes] if set(of_code.amounts) - {1.0} else NO_VALUES
        if any(value != 1 for value in self._values):
            values = values if values.size else np.ones(len(codes))
            values[np.array(self._places)] = self._values
        tokens = Incidence(np.array(self._ptr, np.int64), np.array(of_code.ids, np.int32)[codes], values)
        return AttributeLists(np.array(self._offsets, np.int64), tokens, list(of_code.names))

    def add(self, sentence: Iterable) -> None:
        """Take in the attributes of the tokens of one sentence."""
        if not isinstance(sentence, Iterable):
            raise LoglinError(f"sentence {len(self)} is {sentence!r}; a sentence is a list of tokens")
        tokens = sentence if isinstance(sentence, list) else list(sentence)
        if set(map(type, tokens)) != {dict} or not self._add_dicts(tokens):
            self._add_tokens(tokens)
        self._offsets.append(len(self._ptr) - 1)

    def _add_dicts(self, tokens: list[dict]) -> bool:
        """Take in tokens whose values are strings, truth values and finite numbers.

        False, and nothing is taken in, if there are others.
        """
        kinds = set(map(type, chain.from_iterable(map(dict.values, tokens))))
        if not kinds <= _PLAIN:
            return False
        number_of, few = self._numbers.__getitem__, self._numbers.n_values < MOST_VALUES
        try:
            if kinds <= _NAMED or (self.zeros and few):  # where 0 means the same as False
                codes = array("i", map(number_of, chain.from_iterable(map(dict.items, tokens))))
            else:
                values = list(chain.from_iterable(map(dict.values, tokens)))
                keys, types = chain.from_iterable(tokens), list(map(type, values))
                if few:
                    codes = array("i", map(number_of, zip(keys, values, types, strict=True)))
                else:
                    codes = self._with_values(keys, values, types)
        except (ValueError, OverflowError):  # not finite
            return False
        self._codes += codes
        self._ptr.extend(accumulate(map(len, tokens[1:]), initial=self._ptr[-1] + len(tokens[0])))
        return True

    def _with_values(self, keys: Iterable, values: list, types: list[type]) -> array:
        """The codes of attributes whose numbers are kept one by one, not as keys."""
        places = [i for i, kind in enumerate(types) if kind not in _NAMED]
        numbers = [finite("", values[i]) for i in places]
        for i in places:
            values[i] = None
        codes = array("i", map(self._numbers.__getitem__, zip(keys, values, strict=True)))
        self._places.extend(len(self._codes) + i for i in places)
        self._values.extend(numbers)
        return codes

    def _add_tokens(self, tokens: list) -> None:
        """Take in tokens of any form, one by one."""
        codes, ptr, places, values = array("i"), array("q"), array("q"), array("d")
        first = len(self._codes)
        for t, token in enumerate(tokens):
            if type(token) is list and set(map(type, token)) == {str}:
                codes.extend(map(self._numbers.__getitem__, token))
            else:
                try:
                    for name, value in attributes_of(token, zeros=self.zeros):
                        if value != 1:
                            places.append(first + len(codes))
                            values.append(value)
                        codes.append(self._numbers[name])
                except (TypeError, ValueError, OverflowError, RecursionError) as error:
                    raise LoglinError(f"sentence {len(self)}, token {t}: {error}") from None
            ptr.append(first + len(codes))
        self._codes += codes
        self._ptr += ptr
        self._places += places
        self._values += values


_NAMED = frozenset((str, bool))  # values that are part of a name, or say whether there is an attribute
_PLAIN = _NAMED | {int, float, np.float64, np.float32, np.int64}
MOST_VALUES = 10_000  # numbers that are kept as keys, each with its attribute; more come one by one


class _Numbers(dict):
    """Numbers of keys: a name, or a key with a string, True or False, with None for any number, or with a number.

    Since 1, 1.0 and True are the same key of a dict, as are 0 and False, a number comes with its type where 0 and False
    mean different things: (key, value, type).
    """

    def __init__(self, zeros: bool) -> None:
        self.zeros = zeros
        self.names: dict[str, int] = {}
        self.ids: list[int] = []  # of each key: the number of its name, -1 for no attribute
        self.amounts: list[float] = []  # of each key
        self.n_values = 0  # keys with a number

    def __missing__(self, key: Any) -> int:
        name, value, seen = key, 1.0, True
        if type(key) is tuple:
            name, given = text_of(key[0]), key[1]
            if type(given) is str:
                name = f"{name}:{given}"
            elif given is False:
                value, seen = (0.0, True) if self.zeros else (1.0, False)
            elif given is not None:
                value = finite(name, given)
                self.n_values += 1
        self.ids.append(self.names.setdefault(name, len(self.names)) if seen else -1)
        self.amounts.append(value)
        self[key] = number = len(self)
        return number


def finite(name: str, value: Any) -> float:
    """The value of an attribute, which must be a finite number."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"attribute {name!r} has the value {value!s:.20}; values must be finite numbers")
    return number


def text_of(key: object) -> str:
    """The text of a key: bytes are UTF-8."""
    return key.decode() if isinstance(key, bytes) else str(key)


def attributes_of(token: object, prefix: str = "", zeros: bool = False) -> Iterator[tuple[str, float]]:
    """(name, value) pairs of one token's attributes; with ``zeros``, what is false has the value 0."""
    if isinstance(token, str | bytes):
        yield prefix + text_of(token), 1.0
    elif isinstance(token, Mapping):
        for key, value in token.items():
            name = prefix + text_of(key)
            if isinstance(value, bool | np.bool_):
                if value or zeros:
                    yield name, float(value)
            elif isinstance(value, Real):
                yield name, finite(name, value)
            elif value is not None:
                yield from attributes_of(value, name + ":", zeros)
    elif isinstance(token, Iterable):
        for part in token:
            yield from attributes_of(part, prefix, zeros)
    else:
        raise TypeError(f"{token!r} is neither a string, a list of strings nor a dict of attributes")
