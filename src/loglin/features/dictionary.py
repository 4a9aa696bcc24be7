"""A tag dictionary: words that training saw often enough may only have the labels they had there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loglin.corpus.columns import Column
from loglin.corpus.labels import Gold
from loglin.corpus.vocabulary import Vocabulary


@dataclass
class TagDictionary:
    words: Vocabulary
    labels: np.ndarray  # (words, labels) bool

    @classmethod
    def of(cls, column: Column, gold: Gold, min_count: int) -> TagDictionary:
        """The labels of every value seen ``min_count`` times; a label in doubt counts as any that it may be."""
        seen = np.zeros((len(column.vocabulary), gold.n_labels), bool)
        token, label = np.nonzero(gold.allowed())
        seen[column.codes[token], label] = True
        often = np.flatnonzero(np.bincount(column.codes, minlength=len(seen)) >= min_count)
        return cls(Vocabulary.of(column.vocabulary[c] for c in often.tolist()), seen[often])

    def allowed(self, column: Column) -> np.ndarray:
        """Labels that each token may have, all of them if its word is not in the dictionary: (tokens, labels) bool."""
        rows = np.concatenate([self.labels, np.ones((1, self.labels.shape[1]), bool)])
        return rows[self.words.codes_of(column.vocabulary)[column.codes]]  # -1 is the last row

    # ------------------------------------------------------------------ the model file

    def to_arrays(self) -> dict[str, np.ndarray]:
        bits = np.packbits(self.labels, axis=1).reshape(-1)
        return {"blob": self.words.blob, "starts": self.words.starts, "labels": bits}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], n_labels: int) -> TagDictionary:
        words = Vocabulary(arrays["blob"], arrays["starts"])
        bits = arrays["labels"].reshape(len(words), -(-n_labels // 8))
        return cls(words, np.unpackbits(bits, axis=1, count=n_labels).astype(bool))

    def is_consistent(self) -> bool:
        """Whether what was read from a file can be used: strings, and at least one label for each."""
        return self.words.is_consistent() and bool(self.labels.any(axis=1).all())
