"""Places outside a sentence as tokens with values, as tools have them whose templates see a string there.

sentence 0            sentence 1
_ _ a b c _ _         _ _ d e _ _         reach 2: two places before and two behind each
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Padded:
    """Columns with the places around sentences, and where the tokens are among them."""

    columns: np.ndarray  # (views, places) int32
    offsets: np.ndarray  # (sentences + 1,) int64
    tokens: np.ndarray | slice  # (tokens,) int64: the place of every token


def padded(columns: np.ndarray, offsets: np.ndarray, outside: np.ndarray) -> Padded:
    """The columns (views, tokens) with ``outside`` (views, 2·reach) around every sentence.

    outside[:, d − 1] stands at distance d before a sentence, outside[:, reach + d − 1] behind it.
    """
    reach = outside.shape[1] // 2
    n = len(offsets) - 1
    starts = offsets + 2 * reach * np.arange(n + 1)
    sentence = np.repeat(np.arange(n), np.diff(offsets))
    tokens = np.arange(columns.shape[1]) + reach * (2 * sentence + 1)
    places = np.empty((len(columns), int(starts[-1])), np.int32)
    places[:, tokens] = columns
    for d in range(1, reach + 1):
        places[:, starts[:-1] + reach - d] = outside[:, d - 1, None]
        places[:, starts[1:] - reach + d - 1] = outside[:, reach + d - 1, None]
    return Padded(places, starts, tokens)
