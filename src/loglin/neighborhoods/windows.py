"""Word lattices whose arcs read windows: a word together with the words on its left and right.

a b c   with left = right = 1:   · a b   a b c   b c ·
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from loglin.errors import LoglinError
from loglin.kernels.windows_of_lattices import lattices_of_windows
from loglin.structures.word_lattices import WordLattices


def widened(
    words: WordLattices, left: int, right: int, known: np.ndarray | None = None
) -> tuple[WordLattices, np.ndarray]:
    """The same sentences, read window by window, and the windows: (windows, left + 1 + right) int32, −1 outside.

    Symbol k reads windows[k]. Windows ``known`` from other lattices keep their numbers, new ones follow them.
    """
    if words.pools:
        raise LoglinError("pools of words have no windows, as any word may stand beside any other; give words")
    if known is None:
        known = np.empty((0, left + 1 + right), np.int32)
    states, arcs, targets, symbols, final, windows = lattices_of_windows(
        words.states, words.arcs, words.targets, words.symbols, words.final, left, right, known.astype(np.int64)
    )
    wide = replace(
        words, states=states, arcs=arcs, targets=targets, symbols=symbols, final=final, n_symbols=len(windows)
    )
    return wide, windows
