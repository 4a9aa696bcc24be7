"""Attributes that are one because their names are, as in tools that know attributes as strings.

U:%x[0,0] and U:%x[1,0]          a bag of words: both give U:the
U1:%x[0,0]/%x[1,0]               1/2 before 3, and 1 before 2/3, are U1:1/2/3
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from loglin.corpus.vocabulary import Vocabulary
from loglin.features.template import Template


def first_of_name(
    templates: Sequence[Template], keys: Sequence[np.ndarray], item_codes: Callable, vocabularies: dict
) -> np.ndarray:
    """For every key of all templates, one after the other, the first that has the same name: (keys,) int64."""
    starts = np.concatenate([[0], np.cumsum([len(k) for k in keys])]).astype(np.int64)
    first = np.arange(starts[-1])
    seen: dict[str, int] = {}
    for i, template in enumerate(templates):
        codes = item_codes(template, keys[i])  # (items, keys)
        values = [vocabularies[item.view] for item in template.items]
        doubtful = np.flatnonzero(_may_recur(template, codes, values, [*templates[:i], *templates[i + 1 :]]))
        rows = codes[:, doubtful].T.tolist()
        for k, row in zip((starts[i] + doubtful).tolist(), rows, strict=True):
            # boundary symbols, only of %edge here, are told apart by their codes
            texts = (v.strings[c] if c < len(v) else f"\0{c - len(v)}" for v, c in zip(values, row, strict=True))
            first[k] = seen.setdefault(template.describe(texts), k)
    return first


def _may_recur(
    template: Template, codes: np.ndarray, values: list[Vocabulary], others: Sequence[Template]
) -> np.ndarray:
    """Whether each key, (items, keys) codes, can have the name of another key: (keys,) bool.

    Of another template only if its name begins alike. Of the same one only if the literals between items do not tell
    where values end: both keys then have a value with the first character of such a literal, as their names have
    equally many of it.
    """
    n = codes.shape[1]
    mine = _beginning(template)
    if any(mine.startswith(b) or b.startswith(mine) for b in map(_beginning, others)):
        return np.ones(n, bool)
    between = template.literals[1:-1]
    if not all(between):
        return np.ones(n, bool)
    found, marks = np.zeros(n, bool), {literal[0] for literal in between}
    for row, vocabulary in zip(codes, values, strict=True) if marks else ():
        has = np.array([any(c in text for c in marks) for text in vocabulary.strings], bool)
        found |= np.concatenate([has, np.zeros(2, bool)])[np.minimum(row, len(has))]
    return found


def _beginning(template: Template) -> str:
    """What every name of a template's attributes begins with; a template without items has one name."""
    return template.literals[0] + ("" if template.items else "\0")
