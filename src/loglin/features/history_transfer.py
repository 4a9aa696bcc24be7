"""Weights of an older language model for a new one's features: training continues where the older one stopped."""

from __future__ import annotations

import numpy as np

from loglin.features.histories import HistoryExtractor, distances_of, order_of
from loglin.features.words import positions


def transferred_history_weights(
    old: HistoryExtractor, weights: np.ndarray, new: HistoryExtractor, start: np.ndarray
) -> np.ndarray:
    """``start`` with the old weights of the features that both extractors have: a word after a value of a history."""
    words, n, found = _words(old, new), new.words.n_predicted, start.copy()
    single = words[: old.words.n_predicted]
    found[single[single >= 0]] = weights[: len(single)][single >= 0]
    attribute = np.repeat(_attributes(old, new, words), np.diff(old.ptr))
    keys = np.repeat(np.arange(len(new.ptr) - 1), np.diff(new.ptr)) * n + new.targets  # sorted
    place = positions(keys, _joined(attribute, words[old.targets], n))
    found[n + place[place >= 0]] = weights[len(single) :][place >= 0]
    return found


def _words(old: HistoryExtractor, new: HistoryExtractor) -> np.ndarray:
    """The new code of every old symbol, −1 where the new vocabulary lacks it: (old symbols,) int64."""
    special = [new.words.unknown, new.words.end, new.words.start]
    return np.append(new.words.names.codes_of(old.words.names), special).astype(np.int64)


def _attributes(old: HistoryExtractor, new: HistoryExtractor, words: np.ndarray) -> np.ndarray:
    """The new number of every old attribute, −1 for none: (old attributes,) int64."""
    contexts, first = _contexts(old, new, words), dict.fromkeys(new.kinds, 0)
    for kind, before, values in zip(new.kinds[1:], new.kinds, new.values, strict=False):
        first[kind] = first[before] + len(values)
    parts = [np.empty(0, np.int64)]
    for kind, values in zip(old.kinds, old.values, strict=True):
        place = np.full(len(values), -1, np.int64)
        if kind in first:
            place = positions(new.values[new.kinds.index(kind)], _values(kind, values, old, new, words, contexts))
            place[place >= 0] += first[kind]
        parts.append(place)
    return np.concatenate(parts)


def _contexts(old: HistoryExtractor, new: HistoryExtractor, words: np.ndarray) -> list[np.ndarray]:
    """For length 1, 2, …: the new number of every old context, −1 for none."""
    found = [words]
    for keys, new_keys in zip(old.contexts.keys, new.contexts.keys, strict=False):
        shorter, word = np.divmod(keys, old.words.n_symbols)
        found.append(positions(new_keys, _joined(found[-1][shorter], words[word], new.words.n_symbols)))
    return found


def _values(
    kind: str,
    values: np.ndarray,
    old: HistoryExtractor,
    new: HistoryExtractor,
    words: np.ndarray,
    contexts: list[np.ndarray],
) -> np.ndarray:
    """The new numbers of the old values of a kind, −1 for none."""
    if order := order_of(kind):
        return contexts[order - 2][values]
    if distances := distances_of(kind):
        return _digits(values, len(distances), old.words.n_symbols, new.words.n_symbols, words)
    if kind in ("class", "class-pair"):
        n, m = len(old.classes.names), len(new.classes.names)
        names = np.append(new.classes.names.codes_of(old.classes.names), [m, m + 1]).astype(np.int64)
        return _digits(values, 1 if kind == "class" else 2, n + 2, m + 2, names)
    if kind == "trigger":
        return words[values]
    known, past = (e.affixes.get(kind, e.documents) for e in (new, old))
    return known.codes_of(past).astype(np.int64)[values]


def _digits(values: np.ndarray, n: int, old_base: int, new_base: int, codes: np.ndarray) -> np.ndarray:
    """Numbers of ``n`` digits written with new digits in a new base; −1 where a digit has no new one."""
    found = np.zeros(len(values), np.int64)
    for power in range(n - 1, -1, -1):
        found = _joined(found, codes[values // old_base**power % old_base], new_base)
    return found


def _joined(front: np.ndarray, back: np.ndarray, base: int) -> np.ndarray:
    return np.where((front < 0) | (back < 0), -1, front * base + back)
