"""Histories of a text as a tree of attributes, and the features (attribute, next word) seen often enough.

    bigram       the previous word
    trigram …    the last two words; three: 4-gram, and so on
    skip         the word before the previous; skip-3, skip-1-3, … others
    suffix       the last 1, 2, 3, 4 letters of the previous word
    prefix       its first letters
    class        its class; class-pair: those of the last two words
    trigger      any recent word that was chosen since it announces others
    document     any attribute of the document, such as author=Chomsky

Words outside the vocabulary still have letters and classes. Each kind numbers what it sees by itself (``values``);
attributes are those values that have at least one feature.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from loglin.corpus.plaintext import Text
from loglin.corpus.sections import Section, of_vocabulary
from loglin.corpus.vocabulary import EMPTY, Vocabulary
from loglin.errors import LoglinError
from loglin.features.design import Incidence
from loglin.features.triggers import Triggers
from loglin.features.words import START, UNKNOWN, Contexts, RunningText, Words, positions
from loglin.kernels.history import Tree

KINDS = ("bigram", "trigram", "4-gram", "skip", "suffix", "prefix", "class", "class-pair", "trigger", "document")
AFFIX_LENGTH = 4
_NAMED_ORDERS = {"bigram": 2, "trigram": 3}
_OF_PREVIOUS_WORD = ("bigram", "suffix", "prefix", "class")  # kinds that look at nothing else


def order_of(kind: str) -> int | None:
    """The order of an n-gram kind, 3 for "trigram", 5 for "5-gram"; None for other kinds."""
    match = re.fullmatch(r"([1-9]\d?)-gram", kind)
    order = _NAMED_ORDERS.get(kind) or (int(match[1]) if match else 0)
    return order if order > 1 else None


def distances_of(kind: str) -> tuple[int, ...] | None:
    """How far back a skip kind looks, (2,) for "skip", (1, 3) for "skip-1-3"; None for other kinds."""
    if kind == "skip":
        return (2,)
    match = re.fullmatch(r"skip((?:-[1-9]\d?)+)", kind)
    return tuple(sorted({int(d) for d in match[1][1:].split("-")})) if match else None


def checked_kinds(kinds: Sequence[str], n_symbols: int) -> tuple[str, ...]:
    """The kinds, each once; the first that does not exist is refused."""
    for kind in kinds:
        if not isinstance(kind, str):
            raise LoglinError(f"features has {kind!r:.60}; give names such as {', '.join(KINDS[:3])}")
        distances = distances_of(kind)
        if kind not in KINDS and not order_of(kind) and not distances:
            raise LoglinError(f"no feature is called {kind!r}; choose from {', '.join(KINDS)}, cache, n-gram, skip-i-j")
        if distances and n_symbols ** len(distances) >= 2**62:
            raise LoglinError(f"{kind} joins too many words for a vocabulary of {n_symbols - 3:,}; leave some out")
    return tuple(dict.fromkeys(kinds))


@dataclass(frozen=True, eq=False)
class Classes:
    """A class for each of some words; the others share one, and <s> has one."""

    words: Vocabulary
    codes: np.ndarray  # (words,) int32
    names: Vocabulary

    @classmethod
    def of(cls, mapping: Mapping[str, str]) -> Classes:
        names = sorted({str(name) for name in mapping.values()})
        number = {name: i for i, name in enumerate(names)}
        codes = np.fromiter((number[str(name)] for name in mapping.values()), np.int32, len(mapping))
        return cls(Vocabulary.of(mapping), codes, Vocabulary.of(names))

    @classmethod
    def of_tags(cls, text: Text) -> Classes:
        """Every word's most frequent tag in a tagged text; of equals the alphabetically first."""
        words, tags = text.corpus.columns
        names = sorted(tags.vocabulary.strings)
        rank = Vocabulary.of(names).codes_of(tags.vocabulary)[tags.codes]
        pair, count = np.unique(words.codes.astype(np.int64) * len(names) + rank, return_counts=True)
        word, tag = np.divmod(pair, len(names))
        order = np.lexsort((tag, -count, word))
        seen, first = np.unique(word[order], return_index=True)
        kept = words.vocabulary.strings
        return cls.of({kept[w]: names[t] for w, t in zip(seen.tolist(), tag[order][first].tolist(), strict=True)})

    def before(self, running: RunningText, distance: int) -> np.ndarray:
        """The class of the word ``distance`` tokens back: (tokens,) int64."""
        found = self.words.codes_of(running.strings).astype(np.int64)
        known = np.append(self.codes, len(self.names))[found]  # −1 is the last entry
        return np.append(known, len(self.names) + 1)[running.spelling_before(distance)]

    def name(self, code: int) -> str:
        return self.names[code] if code < len(self.names) else (UNKNOWN, START)[code - len(self.names)]

    def to_section(self) -> Section:
        strings = of_vocabulary("words", self.words) | of_vocabulary("names", self.names)
        return Section(arrays=strings | {"codes": self.codes})

    @classmethod
    def from_section(cls, section: Section) -> Classes:
        words, names = section.vocabulary("words"), section.vocabulary("names")
        return cls(words, section.numbers("codes", np.int32, len(names), size=len(words)), names)


NO_CLASSES = Classes(EMPTY, np.empty(0, np.int32), EMPTY)


@dataclass(eq=False)
class HistoryExtractor:
    """From running text to trees of attributes; ``fit`` chooses the features."""

    words: Words
    kinds: tuple[str, ...]
    classes: Classes = NO_CLASSES
    triggers: Triggers | None = None
    contexts: Contexts = field(default_factory=lambda: Contexts(0, []))
    affixes: dict[str, Vocabulary] = field(default_factory=dict)  # of "suffix" and "prefix", seen in training
    documents: Vocabulary = EMPTY  # attributes of documents, name=value
    values: list[np.ndarray] = field(default_factory=list)  # per kind (its attributes,) int64, sorted
    ptr: np.ndarray = field(default_factory=lambda: np.zeros(1, np.int64))  # (attributes + 1,)
    targets: np.ndarray = field(default_factory=lambda: np.empty(0, np.int32))  # (features,) the words

    # ------------------------------------------------------------------ features

    def fit(self, running: RunningText, min_count: Mapping[str, int]) -> np.ndarray:
        """Choose the features and return their counts, those of single words first: (weights,) float64."""
        orders = [order_of(kind) or 2 for kind in self.kinds]
        self.contexts = Contexts.seen(running, self.words.n_symbols, max(orders, default=2) - 1)
        for side in {"suffix", "prefix"} & set(self.kinds):
            self.affixes[side] = Vocabulary.of(
                dict.fromkeys(a for s in running.strings.strings for a in _affixes(s, side))
            )
        self.documents = Vocabulary.of(sorted({a for d in running.attributes for a in _pairs(d)}))
        counts = [np.bincount(running.words, minlength=self.words.n_predicted)]
        lengths, targets, self.values = [np.zeros(1, np.int64)], [], []
        for kind in self.kinds:
            values, of_value, words, count = self._seen(kind, running, min_count[kind])
            self.values.append(values)
            lengths.append(np.bincount(of_value, minlength=len(values)))
            targets.append(words)
            counts.append(count)
        self.ptr = np.cumsum(np.concatenate(lengths))
        self.targets = np.concatenate([np.empty(0, np.int64), *targets]).astype(np.int32)
        return np.concatenate(counts).astype(np.float64)

    def _seen(self, kind: str, running: RunningText, min_count: int) -> tuple[np.ndarray, ...]:
        """A kind's features: distinct values, and by feature the value's number, the word and the count."""
        if kind == "trigger":
            assert self.triggers is not None
            value, words, count = self.triggers.pairs
        else:
            columns = self._columns(kind, running)
            value = np.concatenate([np.empty(0, np.int64), *(c[c >= 0] for c in columns)])
            words = np.concatenate([np.empty(0, np.int32), *(running.words[c >= 0] for c in columns)])
            distinct, number = np.unique(value, return_inverse=True)
            keys, count = np.unique(number * self.words.n_predicted + words, return_counts=True)
            keys, count = keys[count >= min_count], count[count >= min_count]
            number, words = np.divmod(keys, self.words.n_predicted)
            value = distinct[number]
        values, of_value = np.unique(value, return_inverse=True)
        return values, of_value, words, count

    def _columns(self, kind: str, running: RunningText) -> list[np.ndarray]:
        """The values of a kind, −1 for none: columns of (tokens,) int64; a history has one value of each."""
        order, distances = order_of(kind), distances_of(kind)
        if order:
            return [self.contexts.numbers(running)[order - 2]]
        if distances:
            value = np.zeros(len(running), np.int64)
            for distance in distances:
                value = value * self.words.n_symbols + running.before(distance)
            return [value]
        if kind in ("suffix", "prefix"):
            return self._affix_columns(kind, running)
        if kind == "class":
            return [self.classes.before(running, 1)]
        if kind == "class-pair":
            return [self.classes.before(running, 2) * (len(self.classes.names) + 2) + self.classes.before(running, 1)]
        assert kind == "document"
        most = max((len(given) for given in running.attributes), default=0)
        rows = np.full((len(running.attributes), most), -1, np.int64)
        for row, given in zip(rows, running.attributes, strict=True):
            row[: len(given)] = self.documents.codes_of(Vocabulary.of(_pairs(given)))
        return list(np.repeat(rows, np.diff(running.documents), axis=0).T)

    def _affix_columns(self, side: str, running: RunningText) -> list[np.ndarray]:
        previous, strings, known = running.spelling_before(1), running.strings.strings, self.affixes[side]
        rows = np.full((AFFIX_LENGTH, len(strings) + 1), -1, np.int64)  # the last column is for <s>
        affixes = [_affixes(s, side) for s in strings]
        for length in range(AFFIX_LENGTH):
            long_enough = [i for i, found in enumerate(affixes) if len(found) > length]
            rows[length, long_enough] = known.codes_of(Vocabulary.of(affixes[i][length] for i in long_enough))
        return list(rows[:, previous])

    # ------------------------------------------------------------------ trees

    def tree(self, running: RunningText) -> tuple[Tree, np.ndarray]:
        """Distinct histories with their counts, and for each token the number of its history."""
        inner: list[np.ndarray] = []  # attributes on the way to a history, which others may share
        apart: list[np.ndarray] = []  # those of them that the previous word does not determine
        leaf: list[np.ndarray] = []  # longer n-grams, which nobody shares; with triggers every token is a leaf
        first = 0
        recent: Incidence | None = None
        for kind, values in zip(self.kinds, self.values, strict=True):
            if kind == "trigger":
                assert self.triggers is not None
                ptr, active = self.triggers.active(running)
                recent = Incidence(ptr, (first + np.searchsorted(values, active)).astype(np.int32))
            else:
                found = [positions(values, column) for column in self._columns(kind, running)]
                columns = [np.where(place >= 0, first + place, -1) for place in found]
                shared = kind == "bigram" or not order_of(kind) or "trigger" in self.kinds
                (inner if shared else leaf).extend(columns)
                apart.extend(columns if shared and kind not in _OF_PREVIOUS_WORD else [])
            first += len(values)
        example, group = _numbered(running.spelling_before(1), *apart)
        path, of_group = _paths(inner, example, np.diff(self.ptr))
        rest = [np.arange(len(running))] if recent is not None else leaf
        example, of_token = _numbered(of_group[group], *rest)
        histories = np.searchsorted(of_group[group][example], np.arange(len(path) + 1))
        count = np.bincount(of_token, minlength=len(example)).astype(np.float64)
        lists = _lists(leaf, example) if recent is None else recent.select(example)
        return Tree(path, histories, lists.ptr, lists.ids, count), of_token

    # ------------------------------------------------------------------ names

    def kind_of(self) -> np.ndarray:
        """For each attribute the number of its kind."""
        return np.repeat(np.arange(len(self.kinds)), [len(values) for values in self.values])

    def name(self, attribute: int) -> str:
        """The attribute as a person would write it."""
        kind = int(self.kind_of()[attribute])
        value = int(self.values[kind][attribute - sum(len(v) for v in self.values[:kind])])
        return f"{self.kinds[kind]}={self._value_name(self.kinds[kind], value)}"

    def _value_name(self, kind: str, value: int) -> str:
        strings, order, distances = self.words.strings, order_of(kind), distances_of(kind)
        if order:
            return " ".join(strings[w] for w in self.contexts.words_of(order - 1, value))
        if distances:
            words = []
            for _ in distances:
                value, word = divmod(value, self.words.n_symbols)
                words.append(strings[word])
            return " ".join(words)
        if kind in self.affixes:
            return self.affixes[kind][value]
        if kind == "class":
            return self.classes.name(value)
        if kind == "class-pair":
            return " ".join(map(self.classes.name, divmod(value, len(self.classes.names) + 2)))
        return strings[value] if kind == "trigger" else self.documents[value]

    # ------------------------------------------------------------------ the model file

    def to_section(self) -> Section:
        manifest: dict[str, Any] = {"kinds": list(self.kinds), "longest": self.contexts.longest}
        if self.triggers is not None:
            manifest["window"] = self.triggers.window
        arrays = {"ptr": self.ptr, "targets": self.targets} | self.contexts.to_arrays()
        arrays |= {f"values.{i}": values for i, values in enumerate(self.values)}
        for name, vocabulary in (("documents", self.documents), *self.affixes.items()):
            arrays |= of_vocabulary(name, vocabulary)
        return Section(manifest, arrays).with_part("classes", self.classes.to_section())

    @classmethod
    def from_section(cls, section: Section, words: Words) -> HistoryExtractor:
        """The extractor of histories of these words; values have names, and targets are words."""
        kinds, longest = checked_kinds(section.names("kinds"), words.n_symbols), section.whole("longest")
        section.require(len(kinds) == len(section.get("kinds")), "kinds", "names one twice")
        section.require(longest >= max((order_of(k) or 2 for k in kinds), default=2) - 1, "longest", "is too small")
        self = cls(words, kinds, Classes.from_section(section.part("classes")))
        self.contexts = Contexts.from_section(section, words.n_symbols, longest)
        self.affixes = {side: section.vocabulary(side) for side in ("suffix", "prefix") if side in kinds}
        self.documents = section.vocabulary("documents")
        self.values = [section.rising(f"values.{i}", np.int64, self._n_values(kind)) for i, kind in enumerate(kinds)]
        n = sum(map(len, self.values))
        self.ptr, self.targets = section.sorted_lists("ptr", "targets", words.n_predicted, n)
        if "trigger" in kinds:
            chosen = self.values[kinds.index("trigger")]
            self.triggers = Triggers(section.whole("window"), len(words.names), (chosen, chosen[:0], chosen[:0]))
        return self

    def _n_values(self, kind: str) -> int:
        """The number of values of a kind, which all are below it."""
        n_classes = len(self.classes.names) + 2
        if order := order_of(kind):
            return self.contexts.size(order - 1)
        if distances := distances_of(kind):
            return self.words.n_symbols ** len(distances)
        if kind in self.affixes:
            return len(self.affixes[kind])
        sizes = {"class": n_classes, "class-pair": n_classes**2, "trigger": len(self.words.names)}
        return sizes[kind] if kind in sizes else len(self.documents)


def _affixes(string: str, side: str) -> list[str]:
    """The affixes of a word by their length."""
    lower = string.lower()
    lengths = range(1, min(AFFIX_LENGTH, len(lower)) + 1)
    return [lower[-k:] if side == "suffix" else lower[:k] for k in lengths]


def _pairs(attributes: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in attributes.items()]


def _numbered(*columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rows of some columns (≥ −1) in sorted order: an example of each, and the number of every row's own."""
    number = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        number = number * (int(column.max(initial=-1)) + 2) + column + 1
        _, example, number = np.unique(number, return_index=True, return_inverse=True)
    return example, number


def _paths(columns: list[np.ndarray], places: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct sets of attributes at some places as sorted paths, and which of them each place has.

    The longest lists of words come first on a path. They belong to the most frequent attributes, so that many paths
    begin alike, and where two attributes meet in many combinations it is the shorter list that is visited for each.
    """
    if not columns:
        return np.empty((1, 0), np.int32), np.zeros(len(places), np.int64)
    rank = np.empty(len(lengths) + 1, np.int64)  # the last is that of −1
    by_length = np.argsort(-lengths, kind="stable")
    rank[by_length], rank[-1] = np.arange(len(lengths)), len(lengths)
    rows = np.sort(rank[np.stack([column[places] for column in columns], axis=1)], axis=1)
    rows, number = np.unique(rows, axis=0, return_inverse=True)
    return np.append(by_length, -1)[rows].astype(np.int32), number.reshape(-1)


def _lists(columns: list[np.ndarray], chosen: np.ndarray) -> Incidence:
    """The attributes of the chosen tokens in some columns, −1 for none, as lists."""
    rows = np.stack([column[chosen] for column in columns], axis=1) if columns else np.empty((len(chosen), 0), np.int64)
    there = rows >= 0
    ptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int64)
    return Incidence(ptr, rows[there].astype(np.int32))
