"""Chunk label schemes: how a phrase and its type are written as one label per token.

    tokens   Ann   Lee   met   Bo
    iob1     I-P   I-P   O     I-P      B- only where a phrase touches an earlier one of the same type
    iob2     B-P   I-P   O     B-P      every phrase begins with B-            (also called bio)
    iobes    B-P   E-P   O     S-P      the last token and the only token too  (also called bioes)
    bilou    B-P   L-P   O     U-P      iobes with other letters

A bare letter ("B", "I") is a phrase without a type; `entities` calls its type "_".
"""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from loglin.errors import LoglinError

_ALIASES = {
    "iob1": "iob1",
    "iob2": "iob2",
    "bio": "iob2",
    "iobes": "iobes",
    "bioes": "iobes",
    "bilou": "bilou",
}
_FITTING = {"iob1": "OBI", "iob2": "OBI", "iobes": "OBIESLU", "bilou": "OBIESLU"}
_SAME_LETTER = {"L": "E", "U": "S"}
UNTYPED = "_"


def split(label: str) -> tuple[str, str] | None:
    """("B", "NP") of "B-NP", with L and U read as E and S; None when `label` is no chunk label."""
    if label == "O":
        return "O", ""
    letter = label[:1]
    if letter not in ("B", "I", "E", "S", "L", "U") or label[1:2] not in ("", "-"):
        return None
    return _SAME_LETTER.get(letter, letter), label[2:] or UNTYPED


def detect(label_names: Iterable[str]) -> str | None:
    """The scheme that a set of labels is written in: "iobes", "iob2", "iob1", or None for no chunk scheme.

    BILOU is answered as "iobes": every function here reads both alphabets under either name. IOB1 cannot in
    general be told from IOB2 by names alone, and "iob2" is then the answer. Only where some I-X has no B-X
    must the data be IOB1, because every phrase of IOB2 begins with B-.
    """
    names = set(label_names)
    parts = [split(name) for name in names]
    known = [part for part in parts if part is not None]
    if not names or len(known) < len(parts):
        return None
    letters = {letter for letter, _ in known}
    if letters & {"E", "S"}:
        return "iobes" if letters & {"O", "B", "I"} else None
    begun = {kind for letter, kind in known if letter == "B"}
    inside = {kind for letter, kind in known if letter == "I"}
    return "iob1" if inside - begun else "iob2"


def entities(labels: Sequence[str]) -> list[tuple[str, int, int]]:
    """The (type, start, stop) phrases of one sentence, read as conlleval reads them.

    Nothing is malformed: I-X or E-X after O, after a closed phrase or after another type begins a phrase.
    """
    found: list[tuple[str, int, int]] = []
    open_type, start, closed = "", 0, True
    for position, label in enumerate(labels):
        letter, kind = _split_or_refuse(label)
        continues = letter in "IE" and not closed and kind == open_type
        if not continues:
            if open_type:
                found.append((open_type, start, position))
            open_type, start = kind, position
        closed = letter in "OES"
    if open_type:
        found.append((open_type, start, len(labels)))
    return found


def convert(labels: Sequence[str], source: str, target: str) -> list[str]:
    """The labels of one sentence, rewritten from scheme `source` to scheme `target`.

    Phrases are read as `entities` reads them, so a stray I-X after O becomes a phrase and is not an error; a
    letter that `source` does not have is one.
    """
    source, target = _scheme(source), _scheme(target)
    for label in labels:
        _split_fitting(label, source)
    written = ["O"] * len(labels)
    before = ("", -1)  # type and stop of the phrase before
    for kind, start, stop in entities(labels):
        letters = _letters(stop - start, target, touches=before == (kind, start))
        written[start:stop] = [letter + labels[start][1:] for letter in letters]  # "-NP", or "" of a bare "B"
        before = (kind, stop)
    return written


def legal(
    label_names: Sequence[str], scheme: str
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """What a scheme permits among L labels: transitions (L, L) from row to column, first (L,), last (L,)."""
    scheme = _scheme(scheme)
    parts = [_split_fitting(str(name), scheme) for name in label_names]
    letter = np.array([part[0] for part in parts], dtype="U1")
    kind = np.array([part[1] for part in parts], dtype=object)
    same = kind[:, None] == kind[None, :]  # (L, L)
    inside, begin = letter == "I", letter == "B"
    anything = np.ones(len(parts), dtype=bool)
    if scheme == "iob1":
        after_own = (inside | begin)[:, None] & same
        return ~begin[None, :] | after_own, ~begin, anything
    if scheme == "iob2":
        after_own = (inside | begin)[:, None] & same
        return ~inside[None, :] | after_own, ~inside, anything
    unfinished = begin | inside  # more of the same phrase must follow
    continuing = inside | (letter == "E")
    transitions = np.where(unfinished[:, None], same & continuing[None, :], ~continuing[None, :])
    return transitions, ~continuing, ~unfinished


def _letters(length: int, target: str, touches: bool) -> str:
    """One letter per token of a phrase; `touches` says that the phrase before ends here and has its type."""
    if target == "iob1":
        return ("B" if touches else "I") + "I" * (length - 1)
    if target == "iob2":
        return "B" + "I" * (length - 1)
    last, only = ("L", "U") if target == "bilou" else ("E", "S")
    return only if length == 1 else "B" + "I" * (length - 2) + last


def _scheme(name: str) -> str:
    try:
        return _ALIASES[name.lower()]
    except (KeyError, AttributeError):
        raise LoglinError(f"unknown label scheme {name!r}: write one of {', '.join(_ALIASES)}") from None


def _split_or_refuse(label: str) -> tuple[str, str]:
    part = split(label)
    if part is None:
        raise LoglinError(
            f"label {label!r} belongs to no chunk scheme: write O, or B-, I-, E-, S-, L- or U- before a type"
        )
    return part


def _split_fitting(label: str, scheme: str) -> tuple[str, str]:
    part = split(label)
    if part is None or label[0] not in _FITTING[scheme]:
        written = ", ".join(_FITTING[scheme][1:])
        raise LoglinError(
            f"label {label!r} does not fit scheme {scheme!r}: write O, or one of {written} before a hyphen "
            "and a type, or name another scheme"
        )
    return part
