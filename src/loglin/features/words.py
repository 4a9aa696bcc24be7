"""Running text as numbers: a closed vocabulary of the most frequent words, and the words before each token.

codes   0 … V − 1   words by falling frequency      V   <unk>: any other word
        V + 1       </s>, the end of a sentence, which is predicted too
        V + 2       <s>, before its start: only ever in a history
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from loglin.corpus.plaintext import Text
from loglin.corpus.sections import Section
from loglin.corpus.vocabulary import Vocabulary
from loglin.errors import LoglinError

UNKNOWN, END, START = "<unk>", "</s>", "<s>"
RESERVED = (UNKNOWN, END, START)  # where a text has them as words they are unknown ones


@dataclass
class RunningText:
    """Every token to predict, in the order of the text: the words of each sentence and its end."""

    words: np.ndarray  # (tokens,) int32 codes
    place: np.ndarray  # (tokens,) int64: from 0 in every sentence
    spelling: np.ndarray  # (tokens,) int32: number in ``strings``, whether known or not; −1 for the end
    strings: Vocabulary
    start: int  # code of <s>
    documents: np.ndarray  # (documents + 1,) int64, in tokens
    attributes: list[dict[str, str]] = field(default_factory=list)  # of documents

    def __len__(self) -> int:
        return len(self.words)

    def part(self, begin: int, end: int) -> RunningText:
        """The tokens begin … end − 1, where a sentence begins at the first."""
        cuts = np.clip(self.documents, begin, end) - begin
        kept = np.flatnonzero(np.diff(cuts))
        rows = slice(begin, end)
        return RunningText(
            self.words[rows], self.place[rows], self.spelling[rows], self.strings, self.start,
            np.append(cuts[kept], end - begin), [self.attributes[d] for d in kept],
        )  # fmt: skip

    def before(self, distance: int) -> np.ndarray:
        """The code of the word ``distance`` tokens back, <s> before the sentence: (tokens,) int64."""
        return np.where(self.place >= distance, np.roll(self.words, distance), self.start).astype(np.int64)

    def spelling_before(self, distance: int) -> np.ndarray:
        """The number of the string ``distance`` tokens back, −1 before the sentence: (tokens,) int64."""
        return np.where(self.place >= distance, np.roll(self.spelling, distance), -1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Words:
    """The closed vocabulary of a language model."""

    names: Vocabulary

    @property
    def unknown(self) -> int:
        return len(self.names)

    @property
    def end(self) -> int:
        return len(self.names) + 1

    @property
    def start(self) -> int:
        return len(self.names) + 2

    @property
    def n_predicted(self) -> int:
        return len(self.names) + 2

    @property
    def n_symbols(self) -> int:
        return len(self.names) + 3

    @cached_property
    def strings(self) -> list[str]:
        """The string of each code."""
        return [*self.names.strings, *RESERVED]

    @classmethod
    def most_frequent(cls, text: Text, size: int) -> Words:
        """The ``size`` most frequent words of a text; of equals the alphabetically first."""
        if text.corpus.n_tokens == 0:
            raise LoglinError(f"{text.corpus.source} holds no words; give a text with at least one sentence")
        column = text.corpus.columns[0]
        counts, strings = np.bincount(column.codes, minlength=len(column.vocabulary)), column.vocabulary.strings
        ranked = sorted((-c, s) for c, s in zip(counts.tolist(), strings, strict=True) if c and s not in RESERVED)
        return cls(Vocabulary.of(s for _, s in ranked[:size]))

    def encode(self, text: Text) -> RunningText:
        column, offsets = text.corpus.columns[0], text.corpus.offsets
        n = text.corpus.n_sentences
        code_of = self.names.codes_of(column.vocabulary)
        code_of[code_of < 0] = self.unknown
        ends = offsets[1:] + np.arange(n)  # one more token a sentence
        is_end = np.zeros(text.corpus.n_tokens + n, bool)
        is_end[ends] = True
        words = np.full(len(is_end), self.end, np.int32)
        spelling = np.full(len(is_end), -1, np.int32)
        words[~is_end], spelling[~is_end] = code_of[column.codes], column.codes
        starts = offsets[:-1] + np.arange(n)
        place = np.arange(len(words)) - np.repeat(starts, np.diff(offsets) + 1)
        documents = np.append(starts, len(words))[text.documents]
        return RunningText(words, place, spelling, column.vocabulary, self.start, documents, text.attributes)


@dataclass(frozen=True, eq=False)
class Contexts:
    """Numbers of the word sequences that histories end in, seen in training, by their length.

    A context of one word is that word's code. One of k words is numbered by its place among the sorted keys
    (number of its last k − 1 words) · n_symbols + (the word k back), so that any length fits into 64 bits.
    """

    n_symbols: int
    keys: list[np.ndarray]  # for length 2, 3, …: (contexts,) int64, sorted

    @classmethod
    def seen(cls, running: RunningText, n_symbols: int, longest: int) -> Contexts:
        contexts = cls(n_symbols, [])
        number = running.before(1)
        for length in range(2, longest + 1):
            keys, number = np.unique(number * n_symbols + running.before(length), return_inverse=True)
            contexts.keys.append(keys)
        return contexts

    @property
    def longest(self) -> int:
        return len(self.keys) + 1

    def size(self, length: int) -> int:
        return self.n_symbols if length == 1 else len(self.keys[length - 2])

    def shorter(self, length: int) -> np.ndarray:
        """For each context of a length ≥ 2 the number of the one without its first word."""
        return self.keys[length - 2] // self.n_symbols

    def numbers(self, running: RunningText) -> list[np.ndarray]:
        """For length 1, 2, …: the number of the context before each token, −1 if never seen: (tokens,) int64."""
        found = [running.before(1)]
        for length, keys in enumerate(self.keys, 2):
            wanted = found[-1] * self.n_symbols + running.before(length)
            found.append(np.where(found[-1] >= 0, positions(keys, wanted), -1))
        return found

    def words_of(self, length: int, number: int) -> list[int]:
        """The codes of a context, as they stand in the text."""
        words = []
        for k in range(length, 1, -1):
            number, word = divmod(int(self.keys[k - 2][number]), self.n_symbols)
            words.append(word)
        return [*words, number]

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {f"contexts.{length}": keys for length, keys in enumerate(self.keys, 2)}

    @classmethod
    def from_section(cls, section: Section, n_symbols: int, longest: int) -> Contexts:
        """Contexts of up to ``longest`` words: sorted, and of contexts and words that there are."""
        contexts = cls(n_symbols, [])
        for length in range(2, longest + 1):
            name = f"contexts.{length}"
            contexts.keys.append(section.rising(name, np.int64, contexts.size(length - 1) * n_symbols))
            section.require(len(contexts.keys[-1]) > 0, name, "is empty")
        return contexts


def positions(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where each wanted key stands among sorted ``keys``, −1 if nowhere."""
    if not len(keys):
        return np.full(len(wanted), -1, np.int64)
    found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[found] == wanted, found, -1)
