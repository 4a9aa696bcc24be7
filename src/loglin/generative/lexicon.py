"""Lexicons: p(word | tag), with classes of spelling in place of unknown words.

Counted, a word that is seen at most ``rare`` times is its signature s. With n(w) tokens of a word, n(w, t) of them
with tag t, and λ = 0.1,

    p(t | s) = (n(s, t) + n(unknown, t) / n(unknown)) / (n(s) + 1)
    p(t | w) = (n(w, t) + λ p(t | s_w)) / (n(w) + λ)
    p(w | t) = n(w) p(t | w) / Σ_v n(v) p(t | v)            v over known words and signatures

so that the probabilities of a tag's words sum to one. Tags that a word was not seen with and that have less than 1e-4
of its likeliest one are left out (charts are four times as fast without them, and the Treebank's F1 is the same within
.1). A signature that was never seen is read as the longest one that it begins with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from loglin.corpus.sections import Section
from loglin.errors import LoglinError
from loglin.features.signatures import signature
from loglin.generative.counting import log_of
from loglin.grammars.files import Word

UNKNOWN = "UNK"  # the signature of words whose spelling tells nothing


@dataclass(frozen=True, eq=False)
class Lexicon:
    """The log probabilities of terminals, which are known words and signatures, given tags."""

    terminals: list[Word]  # known words, then signatures
    tags: np.ndarray  # (K,) int32: numbers of symbols in a grammar, rising
    ptr: np.ndarray  # (terminals + 1,) int64
    columns: np.ndarray  # (entries,) int32: which tag
    log_p: np.ndarray  # (entries,): log p(terminal | tag)
    signatures: str = "spelling"  # the kind of signature, see features/signatures.py

    @classmethod
    def table(cls, entries: Mapping[tuple[str, Word], float], number: Mapping[str, int]) -> Lexicon:
        """A lexicon of the weights of rules A -> 'word'; without signatures among them unknown words are impossible."""
        terminals = sorted({word for _, word in entries}, key=lambda word: (word.unknown, word.text))
        tags = np.array(sorted({number[tag] for tag, _ in entries}), np.int32)
        row, column = {word: n for n, word in enumerate(terminals)}, {tag: k for k, tag in enumerate(tags.tolist())}
        places = ([row[word] for _, word in entries], [column[number[tag]] for tag, _ in entries])
        weights = sparse.coo_array((list(entries.values()), places), (len(row), len(column)))
        return cls.of(terminals, tags, weights)

    @classmethod
    def count(
        cls,
        sentences: Iterable[Sequence[tuple[str, str]]],
        number: Mapping[str, int],
        smoothing: float = 0.1,
        rare: int = 1,
        signatures: str = "spelling",
        floor: float = 1e-4,
    ) -> Lexicon:
        """A lexicon counted from the (word, tag) leaves of every sentence; ``number`` is the number of each symbol."""
        if smoothing < 0 or rare < 0:
            raise LoglinError(f"smoothing is {smoothing} and rare {rare}; give numbers of at least 0")
        leaves = [(word, tag, t == 0) for sentence in sentences for t, (word, tag) in enumerate(sentence)]
        if not leaves:
            raise LoglinError("there are no words to count a lexicon from; give trees that have some")
        total, firsts = Counter(word for word, _, _ in leaves), Counter(word for word, _, first in leaves if first)
        known = sorted(word for word, n in total.items() if n > rare)
        of_rare = [(signature(word, first, signatures), tag) for word, tag, first in leaves if total[word] <= rare]
        classes = sorted({UNKNOWN, *(s for s, _ in of_rare)})
        tags = np.array(sorted({number[tag] for _, tag, _ in leaves}), np.int32)
        column = {tag: int(np.searchsorted(tags, number[tag])) for _, tag, _ in leaves}

        row = {word: n for n, word in enumerate(known)}
        by_word = _counted([(row[w], column[t]) for w, t, _ in leaves if w in row], len(row), len(tags))
        row = {s: n for n, s in enumerate(classes)}
        by_signature = _counted([(row[s], column[t]) for s, t in of_rare], len(row), len(tags))
        # a word's signature is the one that most of its tokens would have
        usual = [row[_longest(signature(w, 2 * firsts[w] > total[w], signatures), row)] for w in known]
        joint = _joint(by_word, by_signature, np.array(usual, int), smoothing)
        unseen = np.concatenate([by_word, by_signature]) == 0
        joint[unseen & (joint < floor * joint.max(axis=1, keepdims=True))] = 0.0
        terminals = [*map(Word, known), *(Word(s, unknown=True) for s in classes)]
        counted = cls.of(terminals, tags, sparse.coo_array(joint / joint.sum(axis=0)))
        return replace(counted, signatures=signatures)

    @classmethod
    def of(cls, terminals: list[Word], tags: np.ndarray, probabilities: sparse.sparray) -> Lexicon:
        """A lexicon of given probabilities p(terminal | tag): (terminals, K)."""
        rows = sparse.csr_array(probabilities)
        rows.sort_indices()
        return cls(terminals, tags, rows.indptr.astype(np.int64), rows.indices.astype(np.int32), log_of(rows.data))

    # ------------------------------------------------------------------ words

    @cached_property
    def n_known(self) -> int:
        return sum(not word.unknown for word in self.terminals)

    @cached_property
    def _row(self) -> dict[Word, int]:
        return {word: n for n, word in enumerate(self.terminals)}

    @cached_property
    def _signature(self) -> dict[str, int]:
        return {word.text: n for n, word in enumerate(self.terminals) if word.unknown}

    def row(self, word: str, first_in_sentence: bool = False) -> int:
        """The number of the terminal that a word is read as, −1 if it is impossible; <…> is the signature itself."""
        known = self._row.get(Word(word), -1)
        if known >= 0 or not self._signature:
            return known
        if word[:1] == "<" and word[-1:] == ">" and word[1:-1] in self._signature:
            return self._signature[word[1:-1]]
        return self._signature.get(_longest(signature(word, first_in_sentence, self.signatures), self._signature), -1)

    def rows(self, words: Sequence[str], first: Sequence[bool] | None = None) -> np.ndarray:
        """The terminal of every word, −1 for an impossible one: (n,) int64; ``first`` tells which begin a sentence."""
        begins = [t == 0 for t in range(len(words))] if first is None else first
        return np.array([self.row(word, bool(b)) for word, b in zip(words, begins, strict=True)], np.int64)

    def text(self, row: int) -> str:
        """A terminal as a word of a sentence: itself, or its signature in angle brackets."""
        word = self.terminals[row]
        return f"<{word.text}>" if word.unknown else word.text

    def read(self, words: Sequence[str]) -> list[str]:
        """A sentence in the terminals that its words are read as; impossible words stay as they are."""
        rows = self.rows(words).tolist()
        return [self.text(row) if row >= 0 else word for word, row in zip(words, rows, strict=True)]

    def scores(self, words: Sequence[str], first: Sequence[bool] | None = None) -> np.ndarray:
        """log p(word | tag), −inf if it is impossible: (n, K)."""
        rows = self.rows(words, first)
        sizes = np.where(rows >= 0, self.ptr[rows + 1] - self.ptr[rows], 0)
        token = np.repeat(np.arange(len(rows)), sizes)
        entry = np.repeat(self.ptr[rows] - np.cumsum(sizes) + sizes, sizes) + np.arange(len(token))
        found = np.full((len(rows), len(self.tags)), -np.inf)
        found[token, self.columns[entry]] = self.log_p[entry]
        return found

    # ------------------------------------------------------------------ files

    def to_section(self) -> Section:
        words = [[word.text for word in self.terminals if word.unknown is unknown] for unknown in (False, True)]
        arrays = {name: getattr(self, name) for name in ("tags", "ptr", "columns", "log_p")}
        return Section({"words": words[0], "signatures": words[1], "kind": self.signatures}, arrays)

    @classmethod
    def from_section(cls, section: Section) -> Lexicon:
        signatures = (Word(s, unknown=True) for s in section.names("signatures"))
        terminals = [*map(Word, section.names("words")), *signatures]
        kind = section.value("kind", str)
        signature("", False, kind)  # refuses an unknown one
        tags = section.array("tags", np.int32)
        columns = section.numbers("columns", np.int32, len(tags))
        ptr = section.cuts("ptr", len(columns), len(terminals))
        log_p = section.log_probabilities("log_p", len(columns))
        return cls(terminals, tags, ptr, columns, log_p, kind)

    # ------------------------------------------------------------------ sums

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """p(terminal | tag): (terminals, K)."""
        shape = (len(self.terminals), len(self.tags))
        return sparse.csr_array((np.exp(self.log_p), self.columns, self.ptr), shape)

    @cached_property
    def mass(self) -> np.ndarray:
        """Σ p(terminal | tag): (K,)."""
        return np.bincount(self.columns, np.exp(self.log_p), len(self.tags))

    def scaled(self, log_shares: np.ndarray) -> Lexicon:
        """The lexicon with log_shares (K,) added to the log probabilities of each tag's words."""
        return replace(self, log_p=self.log_p + log_shares[self.columns])


def _counted(pairs: list[tuple[int, int]], n_rows: int, n_columns: int) -> np.ndarray:
    """How often each (row, column) occurs: (n_rows, n_columns)."""
    cells = np.array([row * n_columns + column for row, column in pairs], np.int64)
    return np.bincount(cells, minlength=n_rows * n_columns).reshape(n_rows, n_columns).astype(float)


def _joint(by_word: np.ndarray, by_signature: np.ndarray, usual: np.ndarray, smoothing: float) -> np.ndarray:
    """n(v) p(t | v) of words and then of signatures, from counts (words, K) and (signatures, K): (terminals, K)."""
    unknown = by_signature.sum(axis=0) if by_signature.any() else by_word.sum(axis=0)
    n_signature = by_signature.sum(axis=1, keepdims=True)
    of_signature = (by_signature + unknown / unknown.sum()) / (n_signature + 1)
    n_word = by_word.sum(axis=1, keepdims=True)
    of_word = (by_word + smoothing * of_signature[usual]) / (n_word + smoothing)
    return np.concatenate([n_word * of_word, np.maximum(n_signature, 1) * of_signature])


def _longest(name: str, known: Mapping[str, int]) -> str:
    """The longest known beginning of a signature, in whole parts; UNK if there is no other."""
    while name not in known and "-" in name:
        name = name[: name.rindex("-")]
    return name
