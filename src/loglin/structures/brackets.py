"""Trees that keep to given brackets, as masks of a forest's cells (Pereira and Schabes, 1992).

A span that crosses a bracket is no constituent. Trees are binary, so every bracket then is one, and not the mere rest
of one that binarization left. A label restricts its symbol: NP stands for NP, NP^S or NP+NNP, and for what unary rules
connect with it, as these stand over the same words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from loglin.errors import LoglinError
from loglin.grammars.grammar import Grammar
from loglin.grammars.symbols import base_label, is_intermediate
from loglin.structures.forest import Forests, cell

Bracket = tuple[int, int] | tuple[int, int, str]  # words i … j − 1, and a label


def bracketed(forests: Forests, lengths: Sequence[int], brackets: Sequence[Iterable[Bracket]]) -> Forests:
    """The forests of sentences with only those trees that keep to the brackets of each sentence."""
    masks = _Masks(forests.grammar)
    mask_of = [_cells(s, n, list(some), masks) for s, (n, some) in enumerate(zip(lengths, brackets, strict=True))]
    return forests.masked(np.concatenate(mask_of), np.stack(masks.rows))


def _cells(s: int, n: int, brackets: list[Bracket], masks: _Masks) -> np.ndarray:
    """Which mask each cell of a sentence has, −1 for none: (cells,)."""
    mask_of = np.full(cell(0, n + 1), -1)
    end = np.repeat(np.arange(1, n + 1), np.arange(1, n + 1))
    begin = np.arange(len(end)) - end * (end - 1) // 2
    for number, (i, j, *label) in enumerate(brackets):
        place = f"bracket {number} of sentence {s}, ({i}, {j}),"
        if not 0 <= i < j <= n:
            raise LoglinError(f"{place} lies outside its {n} words; give 0 ≤ i < j ≤ {n}")
        if mask_of[cell(i, j)] == 0:
            raise LoglinError(f"{place} crosses one before it; remove one of the two")
        if label or j - i > 1:
            mask = masks.of(label[0] if label else None, place)
            mask_of[cell(i, j)] = masks.both(mask_of[cell(i, j)], mask)
        mask_of[((begin < i) & (i < end) & (end < j)) | ((i < begin) & (begin < j) & (j < end))] = 0
    return mask_of


class _Masks:
    """The sets of symbols that cells may have; the first is empty."""

    def __init__(self, grammar: Grammar):
        self.grammar = grammar
        self.rows: list[np.ndarray] = [np.zeros(grammar.n_symbols, bool)]
        self._of: dict[str | None, int] = {}
        self._both: dict[tuple[int, int], int] = {}

    def of(self, label: str | None, place: str) -> int:
        """The number of the mask of a label, or of any constituent."""
        if label not in self._of:
            symbols = self.grammar.symbols
            if label is None:
                allowed = np.array([not is_intermediate(symbol) for symbol in symbols])
            else:
                allowed = np.array([symbol == label or label in base_label(symbol) for symbol in symbols])
            if not allowed.any():
                raise LoglinError(f"{place} has the label {label!r}, which no symbol of the grammar has; correct it")
            self._of[label] = len(self.rows)
            self.rows.append(allowed if label is None else self._connected(allowed))
        return self._of[label]

    def _connected(self, allowed: np.ndarray) -> np.ndarray:
        """With the symbols that unary rules lead from, and to: rules of a child come before those of its parent."""
        above, below = allowed.copy(), allowed.copy()
        for parent, child in self.grammar.unary.tolist():
            above[parent] |= above[child]
        for parent, child in reversed(self.grammar.unary.tolist()):
            below[child] |= below[parent]
        return above | below

    def both(self, one: int, two: int) -> int:
        if one < 0 or one == two:
            return two
        if (one, two) not in self._both:
            self._both[one, two] = len(self.rows)
            self.rows.append(self.rows[one] & self.rows[two])
        return self._both[one, two]
