"""How well a tagging dictionary covers a text: how ambiguous words are, and what cannot be right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from loglin.corpus.columns import Column
from loglin.features.dictionary import TagDictionary

SHOWN = 10  # names that a message lists at most


@dataclass(frozen=True)
class Coverage:
    words: int  # distinct ones of the text
    tokens: int
    missing_words: list[str]  # of the text that the dictionary lacks, as they come
    missing_tokens: int
    ambiguous_tokens: int  # with a choice of labels
    tags_per_token: float  # mean over the tokens that may have any
    unused_labels: list  # that no token of the text can have

    @classmethod
    def of(cls, dictionary: TagDictionary, names: Sequence, column: Column) -> Coverage:
        """Look at the words of a text; unknown words that the dictionary refuses are missing, not an error."""
        words, first, counts = np.unique(column.codes, return_index=True, return_counts=True)
        row = dictionary.words.codes_of(column.vocabulary)[words]  # (distinct words,)
        allowed = dictionary.rows()[row]
        choices, missing = allowed.sum(axis=1), row < 0
        in_order = np.flatnonzero(missing)[np.argsort(first[missing])]
        taggable = int(counts[choices > 0].sum())
        return cls(
            words=len(words),
            tokens=len(column.codes),
            missing_words=[column.vocabulary[int(words[w])] for w in in_order],
            missing_tokens=int(counts[missing].sum()),
            ambiguous_tokens=int(counts[choices > 1].sum()),
            tags_per_token=float(choices @ counts / max(taggable, 1)),
            unused_labels=[names[y] for y in np.flatnonzero(~allowed.any(axis=0)).tolist()],
        )

    def as_dict(self) -> dict[str, Any]:
        """Every field, as numbers and strings that `json` can write."""
        return asdict(self)

    def warnings(self) -> list[str]:
        """A sentence for each suspect fact."""
        found = []
        if self.unused_labels:
            found.append(f"no word of the text can have {_listed('label', self.unused_labels)} of the dictionary")
        if self.missing_words:
            missing = _listed("word", self.missing_words)
            found.append(f"the dictionary lacks {missing} of the text, {self.missing_tokens:,} tokens")
        return found

    def report(self) -> str:
        """The numbers in a line, then the warnings."""
        share = 100 * self.ambiguous_tokens / max(self.tokens, 1)
        line = (
            f"{self.tokens:,} tokens, {self.words:,} words, {self.missing_tokens:,} tokens and "
            f"{len(self.missing_words):,} words missing; {self.ambiguous_tokens:,} tokens ambiguous ({share:.1f}%), "
            f"{self.tags_per_token:.3f} tags per token"
        )
        return "\n".join([line, *self.warnings()])


def _listed(kind: str, names: Sequence) -> str:
    """A number of names with the first of them, such as "2 words (a, b)" or "30 words (a, b, …)"."""
    some = ", ".join(map(str, names[:SHOWN])) + (", …" if len(names) > SHOWN else "")
    return f"{len(names):,} {kind}{'s' * (len(names) != 1)} ({some})"
