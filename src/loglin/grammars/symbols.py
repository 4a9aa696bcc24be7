"""How the symbols of a grammar are written, so that the original tree can be restored from them.

    NP                    a label of the treebank
    NP~TMP~B^VP^S         with annotations (~) and with parents, the nearest first (^)
    S^ROOT+VP^S           a chain of nodes with one child each, from the top (+)
    @NP~B^VP|DT,JJ        the rest of an NP~B^VP behind (or before) the children DT and JJ (@, |)

These marks, and backslashes, are written in a label as a backslash and two hexadecimal digits, and so is in a history
a comma that is not the whole label. Every symbol of an ordinary treebank thus reads like its labels: @S|NP,, is the
rest of a sentence behind an NP and a comma.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

ROOT = "ROOT"  # what stands above the topmost node
_MARKS = re.compile(r"[\\+^~@|]")
_ESCAPE = re.compile(r"\\([0-9a-f]{2})")
_EMPTY = "\\"  # the label "": no other label is written as a backslash alone
_COMMA = "\\2c"
_END_OF_LABEL = re.compile(r"[~^]")


def escape(label: str) -> str:
    """A label as it is written in symbols."""
    return _MARKS.sub(_hexadecimal, label) or _EMPTY


def unescape(text: str) -> str:
    return "" if text == _EMPTY else _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)


def _hexadecimal(match: re.Match) -> str:
    return f"\\{ord(match[0]):02x}"


def intermediate(symbol: str, history: Sequence[str]) -> str:
    """The intermediate symbol for the rest of a node ``symbol`` behind the escaped labels ``history``."""
    return f"@{symbol}|{','.join(label if label == ',' else label.replace(',', _COMMA) for label in history)}"


def is_intermediate(symbol: str) -> bool:
    return symbol.startswith("@")


def base_label(symbol: str) -> list[str]:
    """The labels of a symbol's chain from the top: NP, NNP of "NP^S+NNP"; none of an intermediate such as "@NP|DT"."""
    return [] if is_intermediate(symbol) else list(chain_of(symbol))


@lru_cache(maxsize=1 << 16)
def chain_of(symbol: str) -> tuple[str, ...]:
    """The labels of a symbol, for an intermediate those of the node that it is part of: NP of "@NP^S|DT"."""
    written = symbol[1:].split("|", 1)[0] if is_intermediate(symbol) else symbol
    return tuple(unescape(_END_OF_LABEL.split(part, maxsplit=1)[0]) for part in written.split("+"))
