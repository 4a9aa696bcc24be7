"""A tagging dictionary: which labels a word may have, and what a word that is not in it may be."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from loglin.corpus.columns import Column, Corpus
from loglin.corpus.labels import Gold, plain_labels
from loglin.corpus.sections import Section, of_vocabulary
from loglin.corpus.vocabulary import Vocabulary
from loglin.errors import LoglinError

if TYPE_CHECKING:
    from loglin.corpus import dictionaries

# Words that a label needs to be open to new ones. In 94,000 tokens of the Wall Street Journal, 27 of 45 tags have
# fewer (punctuation, CC, MD, TO, WP, …), and every inflected class has more, down to superlatives with 29; some closed
# ones pass too (DT 39, IN 119), which costs less than a right label that is shut out.
OPEN_TYPES = 20


@dataclass
class TagDictionary:
    """The labels that each of its words may have, and those that unknown words may have."""

    words: Vocabulary
    labels: np.ndarray  # (words, labels) bool
    unknown: np.ndarray = None  # type: ignore[assignment]  # (labels,) bool: of other words; none: they are refused

    def __post_init__(self) -> None:
        if self.unknown is None:
            self.unknown = np.ones(self.labels.shape[1], bool)

    @classmethod
    def of(cls, column: Column, gold: Gold, min_count: int = 1) -> TagDictionary:
        """The labels of values seen ``min_count`` times; a label that is not certain counts as all that it may be."""
        seen = np.zeros((len(column.vocabulary), gold.n_labels), bool)
        token, label = np.nonzero(gold.allowed())
        seen[column.codes[token], label] = True
        words = frequent_words(column, min_count)
        return cls(words, seen[column.vocabulary.codes_of(words)])

    # ------------------------------------------------------------------ what words may be

    def allowed(self, column: Column, offsets: np.ndarray | None = None, source: str = "the text") -> np.ndarray:
        """Labels that each token may have: (tokens, labels) bool; an unknown word that is refused is named."""
        codes = self.words.codes_of(column.vocabulary)[column.codes]
        if not self.unknown.any() and (codes < 0).any():
            token = int(np.argmax(codes < 0))
            word = column.vocabulary[int(column.codes[token])]
            raise LoglinError(
                f"{_place(token, offsets, source)}: {word!r} is not in the tagging dictionary, which refuses unknown "
                "words; add it with its tags, or let unknown words be anything by #! unknown=all"
            )
        return self.rows()[codes]

    def rows(self) -> np.ndarray:
        """Labels of every word, those of unknown words last, where −1 finds them: (words + 1, labels) bool."""
        return np.concatenate([self.labels, self.unknown[None]])

    def refuse_conflicts(self, corpus: Corpus, gold: Gold, names: Sequence) -> None:
        """Raise for the first token whose label the dictionary forbids."""
        column = corpus.columns[0]
        known, said = self.allowed(column, corpus.offsets, corpus.source), gold.allowed()
        wrong = np.flatnonzero(~(known & said).any(axis=1))
        if len(wrong):
            token = int(wrong[0])
            label, right = (
                ", ".join(str(names[y]) for y in np.flatnonzero(row).tolist()) for row in (said[token], known[token])
            )
            raise LoglinError(
                f"{_place(token, corpus.offsets, corpus.source)}: {column.vocabulary[int(column.codes[token])]!r} has "
                f"the label {label}, but the dictionary allows {right}; correct the label, or add it to the dictionary"
            )

    # ------------------------------------------------------------------ other dictionaries

    def with_unknown(self, policy: str | Iterable, names: Sequence = (), open_types: int = OPEN_TYPES) -> TagDictionary:
        """Unknown words may have: "all" labels; "open", those of ``open_types`` words or more; "refuse", none, so that
        they are errors; or the labels listed."""
        if policy == "all":
            unknown = np.ones(self.labels.shape[1], bool)
        elif policy == "refuse":
            unknown = np.zeros(self.labels.shape[1], bool)
        elif policy == "open":
            unknown = self.labels.sum(axis=0) >= open_types
            if not unknown.any():
                raise LoglinError(
                    f"no label of the dictionary has {open_types} words, so none is open; lower that number, or list "
                    "the labels of unknown words"
                )
        else:
            unknown = self._listed(policy, list(names))
        return replace(self, unknown=unknown)

    def policy(self, names: Sequence) -> str | list:
        """What ``with_unknown`` was told: "all", "refuse", or the labels."""
        return "all" if self.unknown.all() else [names[y] for y in np.flatnonzero(self.unknown).tolist()] or "refuse"

    def _listed(self, labels: str | Iterable, names: list) -> np.ndarray:
        if isinstance(labels, str):
            from loglin.corpus.dictionaries import POLICIES

            policies = ", ".join(POLICIES)
            raise LoglinError(f"the policy for unknown words is {labels!r}; give {policies} or a list of labels")
        unknown = np.zeros(self.labels.shape[1], bool)
        for label in labels:
            if label not in names:
                raise LoglinError(f"unknown words may be {label!r}, which is no label of the dictionary; correct it")
            unknown[names.index(label)] = True
        if not unknown.any():
            raise LoglinError("the list of labels of unknown words is empty; name some, or say refuse")
        return unknown

    def diluted(self, keep: Vocabulary | Iterable[str]) -> TagDictionary:
        """The dictionary with only the words to keep; all others may have any label (contrastive_estimation §5.2)."""
        keep = keep if isinstance(keep, Vocabulary) else Vocabulary.of(dict.fromkeys(keep))
        kept = np.flatnonzero(keep.codes_of(self.words) >= 0)
        words = Vocabulary.of(self.words[int(w)] for w in kept)
        return TagDictionary(words, self.labels[kept])

    def relabeled(self, names: Sequence, wanted: Sequence) -> TagDictionary:
        """The dictionary over the labels ``wanted``, which include its ``names``; its words have none of the others."""
        number = {label: i for i, label in enumerate(wanted)}
        lost = [name for name in names if name not in number]
        if lost:
            raise LoglinError(f"the dictionary has the label {lost[0]!r}, which is not among the model's; add it there")
        place = [number[name] for name in names]
        labels, unknown = np.zeros((len(self.words), len(wanted)), bool), np.full(len(wanted), self.unknown.all())
        labels[:, place], unknown[place] = self.labels, self.unknown
        return TagDictionary(self.words, labels, unknown)

    # ------------------------------------------------------------------ the model file

    def to_section(self) -> Section:
        arrays = of_vocabulary("", self.words) | {"labels": np.packbits(self.labels, axis=1).reshape(-1)}
        return Section(arrays=arrays if self.unknown.all() else arrays | {"unknown": np.packbits(self.unknown)})

    @classmethod
    def from_section(cls, section: Section, n_labels: int) -> TagDictionary:
        words, width = section.vocabulary(), -(-n_labels // 8)
        rows = [section.array("labels", np.uint8).reshape(len(words), width)]
        rows += [section.array("unknown", np.uint8).reshape(1, width)] if "unknown" in section.arrays else []
        labels, *unknown = (np.unpackbits(bits, axis=1, count=n_labels).astype(bool) for bits in rows)
        section.require(bool(labels.any(axis=1).all()), "labels", "leaves a word without any")
        return cls(words, labels, *(row[0] for row in unknown))


def _place(token: int, offsets: np.ndarray | None, source: str) -> str:
    """The sentence and the position of a token, in words, both counted from 0."""
    if offsets is None:
        return f"{source}, token {token}"
    sentence = int(np.searchsorted(offsets, token, side="right")) - 1
    return f"{source}: sentence {sentence}, token {token - int(offsets[sentence])}"


# ---------------------------------------------------------------------- words to keep


def frequent_words(column: Column, min_count: int) -> Vocabulary:
    """The values that occur at least ``min_count`` times in a column."""
    often = np.bincount(column.codes, minlength=len(column.vocabulary)) >= min_count
    return Vocabulary.of(column.vocabulary[int(c)] for c in np.flatnonzero(often))


def first_words(corpus: Corpus, n_sentences: int) -> Vocabulary:
    """The words (column 0) of the first sentences."""
    column = corpus.columns[0]
    end = corpus.offsets[min(n_sentences, corpus.n_sentences)]
    return frequent_words(Column(column.codes[:end], column.vocabulary), 1)


# ---------------------------------------------------------------------- from users


def dictionary_of(mapping: Mapping[str, Iterable]) -> tuple[list, TagDictionary]:
    """Label names and dictionary from {word: labels}; a label may stand alone."""
    from loglin.corpus.dictionaries import Entries

    entries = Entries()
    for word, given in mapping.items():
        if not isinstance(word, str):
            raise LoglinError(f"the dictionary has the word {word!r}; give strings")
        labels = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
        if not labels:
            raise LoglinError(f"the dictionary has no labels for {word!r}; give it at least one, or leave it out")
        if len(set(plain_labels(labels))) < len(labels):
            raise LoglinError(f"the dictionary has {labels!r:.60} for {word!r}; name each label once")
        entries.add(word, labels)
    if not entries.words:
        raise LoglinError("the dictionary is empty; give {word: labels} with at least one word")
    flat = [label for labels in entries.words.values() for label in labels]
    entries.tags = list(dict.fromkeys(plain_labels(flat)))
    return _from_entries(entries)


def _from_entries(entries: dictionaries.Entries) -> tuple[list, TagDictionary]:
    number = {label: i for i, label in enumerate(entries.tags)}
    labels = np.zeros((len(entries.words), len(number)), bool)
    for row, tags in zip(labels, entries.words.values(), strict=True):
        row[[number[tag] for tag in tags]] = True
    return entries.tags, TagDictionary(Vocabulary.of(entries.words), labels).with_unknown(entries.unknown, entries.tags)


def read_dictionary(path: str | os.PathLike, encoding: str = "utf-8") -> tuple[list, TagDictionary]:
    """Label names and dictionary from a file; corpus/dictionaries.py tells its form."""
    from loglin.corpus import dictionaries

    return _from_entries(dictionaries.read(path, encoding))


def write_dictionary(path: str | os.PathLike, names: Sequence, dictionary: TagDictionary) -> None:
    """Write a dictionary so that ``read_dictionary`` gives the same one."""
    rows = zip(dictionary.words.strings, dictionary.labels, strict=True)
    words = {word: [names[y] for y in np.flatnonzero(row).tolist()] for word, row in rows}
    from loglin.corpus import dictionaries

    dictionaries.write(path, dictionaries.Entries(words, list(names), dictionary.policy(names)))


def given_dictionary(value: Any, encoding: str = "utf-8") -> tuple[list | None, TagDictionary | int]:
    """What users call a dictionary, as (names, dictionary), or (None, n): labels that words seen n times had, 0 none.

    It is such a number, a file's name, {word: labels}, or (names, TagDictionary).
    """
    match value:
        case bool():
            pass
        case int() | np.integer() if value >= 0:
            return None, int(value)
        case str() | os.PathLike():
            return read_dictionary(value, encoding)
        case Mapping():
            return dictionary_of(value)
        case (names, TagDictionary() as dictionary) if len(set(names)) == len(names) == dictionary.labels.shape[1]:
            return list(names), dictionary
    raise LoglinError(
        f"dictionary is {str(value)[:60]!r}; give a whole number, how often a word must be seen (0: no dictionary), a "
        "file's name, {word: labels}, or label names, each once, and a TagDictionary that has as many"
    )
