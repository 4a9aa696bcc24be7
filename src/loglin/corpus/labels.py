"""Labels: names to codes, and what a partly labelled token says.

B-NP        the label
_           not labelled, any label may be right        (only where partial labels are asked for)
B-NP|I-NP   one of these
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np

from loglin.corpus.columns import Column
from loglin.errors import LoglinError
from loglin.kernels.rows import padded

UNKNOWN = "_"
MOST_LABELS = 65_535  # feature indexes and kernels number labels in 16 bits


def check_number(n_labels: int) -> None:
    """Refuse more labels than can be numbered."""
    if n_labels > MOST_LABELS:
        raise LoglinError(
            f"there are {n_labels:,} labels, and models have at most {MOST_LABELS:,}; join rare ones, or check that "
            "the column of the labels is the right one"
        )


@dataclass
class Gold:
    """What is known of every token's label.

    ``codes[t]`` is the label, or ~k where only ``sets[k]`` is known; sets[0] allows every label.
    """

    codes: np.ndarray  # (tokens,) int32
    n_labels: int
    sets: np.ndarray  # (k, labels) bool
    candidates: np.ndarray  # (tokens,) int32 rows of sets that limit the choice, or empty: no limit

    @classmethod
    def certain(cls, codes: np.ndarray, n_labels: int) -> Gold:
        return cls(codes.astype(np.int32), n_labels, np.ones((1, n_labels), bool), np.empty(0, np.int32))

    @classmethod
    def hidden(cls, n_tokens: int, n_labels: int) -> Gold:
        """Nothing is known of any token."""
        return cls(np.full(n_tokens, ~0, np.int32), n_labels, np.ones((1, n_labels), bool), np.empty(0, np.int32))

    @property
    def annotated(self) -> np.ndarray:
        """Tokens of which anything is known: (tokens,) bool."""
        return self.codes != ~0

    @property
    def all_certain(self) -> bool:
        return bool((self.codes >= 0).all()) and not self.candidates.size

    def widened(self, n_labels: int) -> Gold:
        """The same among more labels, the new ones behind: a token not labelled may have them, others not."""
        sets = np.zeros((len(self.sets), n_labels), bool)
        sets[:, : self.n_labels], sets[0] = self.sets, True
        return Gold(self.codes, n_labels, sets, self.candidates)

    def allowed(self) -> np.ndarray:
        """Labels that the annotation allows at each token: (tokens, labels) bool."""
        found = self.sets[np.where(self.codes < 0, ~self.codes, 0)]
        certain = np.flatnonzero(self.codes >= 0)
        found[certain] = False
        found[certain, self.codes[certain]] = True
        return found

    def counts(self, weight: np.ndarray) -> np.ndarray:
        """The weight of all tokens with each label, where all are certain: (labels,)."""
        return np.bincount(self.codes, weight, self.n_labels)

    def possible(self) -> np.ndarray:
        """Labels that the annotation allows at each token, as bits: (tokens, padded labels / 8) uint8."""
        width = padded(self.n_labels)
        rest = np.zeros((len(self.sets), width), bool)
        rest[:, : self.n_labels] = self.sets
        certain = np.flatnonzero(self.codes >= 0)
        bits = np.packbits(rest, axis=1, bitorder="little")[np.where(self.codes < 0, ~self.codes, 0)]
        bits[certain] = 0
        bits[certain, self.codes[certain] >> 3] = 1 << (self.codes[certain] & 7)
        return bits


@dataclass(frozen=True)
class PartialColumn:
    """A column of labels in which _ is not labelled and A|B is one of these."""

    column: Column

    def labels(self) -> list:
        """What is known of every token: a label, a set of labels, or None."""
        values = [_parse(name) for name in self.column.vocabulary.strings]
        return [values[code] for code in self.column.codes.tolist()]


def gold_of(labels: Any, lengths: Sequence[int]) -> tuple[list, Gold]:
    """Label names and gold codes of a column of labels, or of label sequences."""
    if isinstance(labels, Column | PartialColumn):
        partial = isinstance(labels, PartialColumn)
        column = labels.column if isinstance(labels, PartialColumn) else labels
        if len(column.codes) != sum(lengths):
            raise LoglinError(f"there are {sum(lengths)} tokens but {len(column.codes)} labels; give one for each")
        return gold_of_column(column, partial)
    return gold_of_sequences(labels, lengths)


def gold_of_column(column: Column, partial: bool = False, labels: list | None = None) -> tuple[list, Gold]:
    """Labels and gold codes from a column of strings; ``labels`` fixes the label set."""
    names = column.vocabulary.strings
    values: list = [_parse(name) for name in names] if partial else list(names)
    labels, codes, sets = _numbered(values, labels)
    return labels, Gold(codes[column.codes], len(labels), sets, np.empty(0, np.int32))


def gold_of_sequences(
    sequences: Iterable[Sequence], lengths: Sequence[int], labels: list | None = None
) -> tuple[list, Gold]:
    """Labels and gold codes from a list of label sequences; None or a set of labels is a partial label."""
    flat: list = []
    count = 0
    for s, sequence in enumerate(sequences):
        if not isinstance(sequence, Sized):
            raise LoglinError(f"the labels of sentence {s} are {sequence!r:.60}; give a list with one for each token")
        if s < len(lengths) and len(sequence) != lengths[s]:
            raise LoglinError(
                f"sentence {s} has {lengths[s]} tokens but {len(sequence)} labels; give one label per token"
            )
        flat += sequence
        count += 1
    if count != len(lengths):
        raise LoglinError(f"there are {len(lengths)} sentences but {count} label sequences; give as many")
    flat = plain_labels(flat, floats=labels is not None)
    numbers: dict = {}
    which = np.fromiter((numbers.setdefault(y, len(numbers)) for y in flat), np.int64, len(flat))
    labels, codes, sets = _numbered(list(numbers), labels)
    return labels, Gold(codes[which], len(labels), sets, np.empty(0, np.int32))


def plain_labels(given: Sequence, floats: bool = True) -> list:
    """Labels as a model file holds them: all strings, all numbers or all truth values; with None and sets of labels.

    Python takes 1, 1.0 and True for the same label, and files "1" for 1, so that labels of several kinds are refused.
    """
    if set(map(type, given)) == {str}:
        found = list(given)
        kinds = dict.fromkeys(set(found), str)
    else:
        kinds = {}
        found = [_plain_label(y, kinds) for y in given]
    if "" in kinds:
        raise LoglinError('a label is the empty string ""; give it a name, or None where there is no label')
    first: dict[type, Any] = {kind: label for label, kind in reversed(kinds.items())}
    if len(first) > 1:
        (one, a), (other, b), *_ = first.items()
        raise LoglinError(
            f"labels are of several kinds, {a!r} ({one.__name__}) and {b!r} ({other.__name__}); write all as strings"
        )
    if float in first and not floats:
        raise LoglinError(f"the label {first[float]!r} is a float; name labels by strings or whole numbers")
    return found


def _plain_label(label: Any, kinds: dict) -> Any:
    """One label, or a set of labels, whose kind joins those of the others; NumPy's numbers become Python's."""
    if isinstance(label, set | frozenset | list | tuple):
        members = [_plain_label(y, kinds) for y in label]
        if len(set(members)) < len(members) or any(y is None or isinstance(y, frozenset) for y in members):
            raise LoglinError(f"a set of labels is {label!r:.60}; give a label or a set that names each label once")
        return frozenset(members)
    plain = label.item() if isinstance(label, np.generic) else label
    if plain is None:
        return None
    kind = next((kind for kind in (bool, int, float, str) if isinstance(plain, kind)), None)
    if kind is None or (kind is float and not math.isfinite(plain)):
        raise LoglinError(
            f"a label is {label!r:.60}, not a string or a whole number; give None where there is no label"
        )
    kinds.setdefault(plain, kind)
    if kinds[plain] is not kind:  # 1 and True are one key
        raise LoglinError(
            f"labels are of several kinds, {plain!r} as {kinds[plain].__name__} and as {kind.__name__}; "
            "write all as strings"
        )
    return plain


def _parse(name: str) -> str | frozenset | None:
    if name == UNKNOWN:
        return None
    return frozenset(name.split("|")) if "|" in name else name


def _numbered(values: list, labels: list | None) -> tuple[list, np.ndarray, np.ndarray]:
    """Labels in order of first mention, the code of every value, and the label sets that codes refer to."""
    if labels is None:
        mentioned: dict = {}
        for value in values:
            for label in sorted(value) if isinstance(value, frozenset) else () if value is None else (value,):
                mentioned.setdefault(label, None)
        labels = list(mentioned)
    check_number(len(labels))
    if not labels:
        raise LoglinError("no token has a label; at least some must have one to learn from")
    number = {label: i for i, label in enumerate(labels)}
    sets = [np.ones(len(labels), bool)]
    codes = np.empty(len(values), np.int32)
    for v, value in enumerate(values):
        if value is None:
            codes[v] = ~0
        elif isinstance(value, frozenset):
            if not value:
                raise LoglinError("a token has an empty set of labels; give it a label, or None if it is unknown")
            codes[v] = ~len(sets)
            sets.append(np.isin(np.arange(len(labels)), [_code(number, y) for y in value]))
        else:
            codes[v] = _code(number, value)
    return labels, codes, np.array(sets)


def _code(number: dict, label) -> int:
    if label not in number:
        known = ", ".join(map(str, list(number)[:10]))
        raise LoglinError(f"the label {label!r} is not among those of the model ({known}…); correct the data")
    return number[label]


@dataclass
class LabelSets:
    """Every example's own set of labels, which may be empty: several labels can be right at once."""

    has: np.ndarray  # (examples, labels) bool

    @property
    def n_labels(self) -> int:
        return self.has.shape[1]

    all_certain = True

    def allowed(self) -> np.ndarray:
        return self.has

    def counts(self, weight: np.ndarray) -> np.ndarray:
        """The weight of all examples with each label: (labels,)."""
        return weight @ self.has.astype(np.float64)

    def possible(self) -> np.ndarray:
        """Labels of each example, as bits: (examples, padded labels / 8) uint8."""
        width = np.zeros((len(self.has), padded(self.n_labels)), bool)
        width[:, : self.n_labels] = self.has
        return np.packbits(width, axis=1, bitorder="little")


@dataclass
class Choices:
    """The right one, or ones, among the candidates that each example brings; a design's tokens are candidates."""

    chosen: np.ndarray  # (candidates,) bool
    all_certain: bool  # one of every example

    n_labels = 1

    def allowed(self) -> np.ndarray:
        return self.chosen[:, None]

    def possible(self) -> np.ndarray:
        return self.chosen[:, None].astype(np.uint8)
