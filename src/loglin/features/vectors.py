"""Dense vectors that tokens carry: as users give them, and what a model knows of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from loglin.corpus.sections import Section
from loglin.errors import LoglinError
from loglin.features.design import Design, Vectors

LARGEST = 1e15  # |number|, so that squares stay finite in single precision
NAME = "vector"  # of the group, and before the number of a dimension


@dataclass
class VectorSpace:
    """Which vectors a model looks at: their dimensions, and how their numbers are standardized."""

    size: int
    mean: np.ndarray  # (dimensions,) float32, or empty: numbers are taken as they are
    deviation: np.ndarray  # (dimensions,) float32, none of them 0, or empty

    @classmethod
    def of(cls, rows: np.ndarray, standardize: bool) -> VectorSpace:
        """The space of the vectors (tokens, dimensions) of a training corpus."""
        if not standardize:
            return cls(rows.shape[1], *np.empty((2, 0), np.float32))
        mean, deviation = rows.mean(axis=0, dtype=np.float64), rows.std(axis=0, dtype=np.float64)
        same = deviation <= 1e-6 * np.abs(mean)  # but for rounding
        return cls(rows.shape[1], mean.astype(np.float32), np.where(same, 1.0, deviation).astype(np.float32))

    def name(self, dimension: int) -> str:
        """The attribute of a dimension as people read it."""
        return f"{NAME}[{dimension}]"

    def design(self, design: Design, rows: np.ndarray) -> Design:
        """A design of text whose tokens carry these vectors too, (tokens, dimensions)."""
        if len(self.mean):
            rows = (rows - self.mean) / self.deviation
        more = Vectors(design.n_attributes, rows)
        return replace(design, n_attributes=design.n_attributes + self.size, vectors=(*design.vectors, more))

    def to_section(self) -> Section:
        return Section({"size": self.size}, {"mean": self.mean, "deviation": self.deviation})

    @classmethod
    def from_section(cls, section: Section) -> VectorSpace:
        size = section.whole("size")
        known = len(section.array("mean", np.float32))
        section.require(known in (0, size), "mean", "is not one a dimension")
        mean, deviation = (section.finite(name, known, np.float32) for name in ("mean", "deviation"))
        section.require(bool(np.all(deviation > 0)), "deviation", "is not above 0")
        return cls(size, mean, deviation)


def attribute_name(extractor: Any, space: VectorSpace | None, attribute: int) -> str:
    """The attribute of an extractor, or the dimension of a vector, as people read it."""
    dimension = attribute - extractor.n_attributes
    return extractor.attribute_name(attribute) if space is None or dimension < 0 else space.name(dimension)


def vectors_of(given: Any, offsets: np.ndarray, space: VectorSpace | None, name: str = "vectors") -> np.ndarray | None:
    """The vectors of tokens, (tokens, dimensions) float32; None if there are none, and a model of ``space`` needs none.

    They come as one array for every sentence, (its tokens, dimensions), or as one array for all tokens.
    """
    if given is None:
        if space is not None:
            raise LoglinError(
                f"the model was trained with a vector of {space.size} numbers for every token; give {name} too, an "
                "array for every sentence, or FILE.npy"
            )
        return None
    with np.errstate(over="ignore"):  # what single precision cannot hold is refused below
        rows = np.ascontiguousarray(_joined(given, offsets, name), np.float32)
    if space is not None and not len(rows):
        return np.empty((0, space.size), np.float32)
    if space is not None and rows.shape[1] != space.size:
        raise LoglinError(
            f"{name} have {rows.shape[1]} dimensions, but the model was trained with {space.size}; give as many"
        )
    _require_moderate(rows, offsets, name)
    return rows


def with_vectors(space: VectorSpace | None, design: Design, given: Any, name: str = "vectors") -> Design:
    """A design of text for a model of ``space``, whose tokens carry the given vectors."""
    if space is None:
        if given is not None:
            raise LoglinError(f"the model was trained without vectors; leave out {name}, or train it with them")
        return design
    rows = vectors_of(given, design.offsets, space, name)
    assert rows is not None
    return space.design(design, rows)


def _joined(given: Any, offsets: np.ndarray, name: str) -> np.ndarray:
    """All vectors as one array (tokens, dimensions) of numbers."""
    n_sentences, n_tokens, lengths = len(offsets) - 1, int(offsets[-1]), np.diff(offsets)
    if isinstance(given, np.ndarray) and given.ndim == 2:
        if len(given) != n_tokens:
            raise LoglinError(f"{name} has {len(given):,} rows for {n_tokens:,} tokens; give one for each token")
        return _numbers(given, name)
    if isinstance(given, str | bytes) or not isinstance(given, Sequence | np.ndarray):
        raise LoglinError(f"{name} is {given!r:.60}; give an array (tokens, dimensions) for each sentence")
    if len(given) != n_sentences:
        raise LoglinError(
            f"there are {n_sentences:,} sentences but {len(given):,} arrays of {name}; give one for each sentence, or "
            "one array for all tokens"
        )
    parts, size = [], None
    for s, (part, length) in enumerate(zip(given, lengths.tolist(), strict=True)):
        place = f"{name} of sentence {s}"
        part = _numbers(part, place)
        if part.size == 0 and length == 0:
            continue
        if part.ndim != 2 or len(part) != length:
            raise LoglinError(f"{place}: the shape is {part.shape}, but it has {length} tokens; give one row for each")
        size = part.shape[1] if size is None else size
        if part.shape[1] != size:
            raise LoglinError(f"{place} have {part.shape[1]} dimensions, but those before have {size}; give as many")
        parts.append(part)
    return np.concatenate(parts) if parts else np.empty((0, 0), np.float32)


def _numbers(given: Any, place: str) -> np.ndarray:
    try:
        found = np.asarray(given)
    except (TypeError, ValueError):  # lists of different lengths
        found = np.empty(0, object)
    if found.dtype.kind not in "fiub":
        raise LoglinError(
            f"{place}: {given!r:.60} is no array of numbers; give an array (tokens, dimensions) of floats"
        )
    return found


def _require_moderate(rows: np.ndarray, offsets: np.ndarray, name: str) -> None:
    if rows.size and max(float(rows.max()), -float(rows.min())) <= LARGEST:  # false with NaN
        return
    for first in range(0, len(rows), 4096):  # to find the first one without much memory
        wrong = np.argwhere(~(np.abs(rows[first : first + 4096]) <= LARGEST))
        if len(wrong):
            token, dimension = first + int(wrong[0, 0]), int(wrong[0, 1])
            s = int(np.searchsorted(offsets, token, side="right")) - 1
            raise LoglinError(
                f"{name}: sentence {s}, token {token - offsets[s]} has {rows[token, dimension]} in dimension "
                f"{dimension}; give finite numbers between -{LARGEST:g} and {LARGEST:g}"
            )
