"""A section of a model file: a manifest and arrays of one dimension, each checked once, when it is taken.

Kernels follow the numbers of these arrays without looking, so every number that is a place in another array must be
inside it. What is missing raises KeyError, what is wrong ValueError or TypeError with its name; models/files.py makes
a sentence of it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import NoneType
from typing import Any

import numpy as np

from loglin.corpus.vocabulary import Vocabulary

LARGEST_COUNT = (1 << 31) - 1
_RECORDED: dict[str, tuple[type, ...]] = {  # keys of a record that code follows
    "options": (dict,),
    "iterations": (int,),
    "criterion": (str,),
    "history": (list,),
    "indicator": (bool,),
    "feature_function": (bool,),
    "tokenizer_function": (str,),
}
_OPTIONS: dict[str, tuple[type, ...]] = {  # parameters that an estimator uses when it predicts
    "criterion": (str,),
    "settings": (dict, NoneType),
    "constrain": (str, NoneType),
    "features": (list,),
    "kind": (str,),
    "class_prior": (dict, NoneType),
    "memory": (int,),
    "tokenizer": (str, NoneType),
}


@dataclass(frozen=True)
class Section:
    manifest: dict[str, Any] = field(default_factory=dict)  # plain JSON
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    name: str = ""  # where it stands in the file, for errors: "base.values."

    # ------------------------------------------------------------------ parts

    def part(self, name: str) -> Section:
        """The section inside this one: its manifest, and the arrays whose names begin with its name and a dot."""
        arrays = {k.removeprefix(f"{name}."): a for k, a in self.arrays.items() if k.startswith(f"{name}.")}
        return Section(self.manifest.get(name, {}), arrays, f"{self.name}{name}.")

    def optional(self, name: str) -> Section | None:
        """The section inside this one, or None if the file has neither a manifest nor arrays of its name."""
        part = self.part(name)
        return part if part.manifest or part.arrays else None

    def with_part(self, name: str, part: Section) -> Section:
        """This section with another one inside it."""
        manifest = self.manifest | ({name: part.manifest} if part.manifest else {})
        return Section(manifest, self.arrays | {f"{name}.{k}": a for k, a in part.arrays.items()}, self.name)

    def require(self, fine: bool, name: str, what: str) -> None:
        """Refuse the section for what is wrong with the array or the key of this name."""
        if not fine:
            raise ValueError(f"{self.name}{name} {what}")

    # ------------------------------------------------------------------ the manifest

    def get(self, key: str) -> Any:
        """A value of the manifest, of whatever type."""
        if not isinstance(self.manifest, dict) or key not in self.manifest:
            raise KeyError(f"{self.name}{key}")
        return self.manifest[key]

    def value(self, key: str, kind: type) -> Any:
        """A value of the manifest of exactly this type: True is no whole number."""
        found = self.get(key)
        if type(found) is not kind:
            raise TypeError(f"{self.name}{key} is {found!r:.40}, no {kind.__name__}")
        return found

    def whole(self, key: str, least: int = 1, most: int = LARGEST_COUNT) -> int:
        found = self.value(key, int)
        self.require(least <= found <= most, key, f"is {found}, not from {least} to {most}")
        return found

    def factors(self, key: str) -> list[float]:
        """A list of finite numbers."""
        found = self.names(key, int, float)
        self.require(all(map(math.isfinite, found)), key, "holds numbers that are not finite")
        return found

    def choice(self, key: str, among: Collection) -> Any:
        found = self.get(key)
        self.require(type(found) in (str, int) and found in among, key, f"is {found!r:.40}, not in {list(among)}")
        return found

    def names(self, key: str, *kinds: type) -> list:
        """A list of strings, or of plain values of some types."""
        found = self.value(key, list)
        self.require(set(map(type, found)) <= set(kinds or [str]), key, "holds more than names")
        return found

    def labels(self, key: str) -> list:
        """Different labels: strings, or numbers as classes may be."""
        found = self.names(key, str, int, float, bool)
        self.require(all(math.isfinite(x) for x in found if type(x) is float), key, "holds a number that is not finite")
        self.require(len(set(found)) == len(found), key, "names one twice")
        return found

    def record(self) -> dict:
        """How a model was trained: anything for people, but of the right kind where code asks."""
        found = self.value("record", dict)
        record = Section(found, name=f"{self.name}record.")
        record.require_types(_RECORDED)
        if "options" in found:
            record.part("options").require_types(_OPTIONS)
        return found

    def require_types(self, types: Mapping[str, tuple[type, ...]]) -> None:
        """Refuse a value of the manifest that is there and of another type than one of those given for its key."""
        for key in types.keys() & self.manifest.keys():
            found, (kind, *_) = self.manifest[key], types[key]
            self.require(type(found) in types[key], key, f"is {found!r:.40}, no {kind.__name__}")

    # ------------------------------------------------------------------ arrays

    def array(self, name: str, *dtypes: type, size: int | None = None) -> np.ndarray:
        """An array of one of some types and, if it is known, of a size."""
        if name not in self.arrays:
            raise KeyError(f"{self.name}{name}")
        found = self.arrays[name]
        self.require(found.dtype.type in dtypes, name, f"is of type {found.dtype}")
        self.require(size is None or len(found) == size, name, f"has {len(found):,} entries, not {size}")
        return found

    def numbers(self, name: str, dtype: type, below: int | None = None, least: int = 0, **size: int) -> np.ndarray:
        """Whole numbers from ``least`` to ``below`` − 1."""
        found = self.array(name, dtype, **size)
        if len(found):
            inside = int(found.min()) >= least and (below is None or int(found.max()) < below)
            self.require(inside, name, f"has numbers outside {least} … {'' if below is None else below - 1}".rstrip())
        return found

    def rising(self, name: str, dtype: type, below: int) -> np.ndarray:
        """Different numbers from 0 to ``below`` − 1 in their order."""
        found = self.numbers(name, dtype, below)
        self.require(bool((found[1:] > found[:-1]).all()), name, "is not sorted")
        return found

    def cuts(self, name: str, end: int, lists: int | None = None) -> np.ndarray:
        """Where lists begin and end: (lists + 1,) int64 that start at 0, never fall and stop at ``end``."""
        found = self.array(name, np.int64, size=None if lists is None else lists + 1)
        fine = len(found) > 0 and int(found[0]) == 0 and int(found[-1]) == end
        self.require(
            fine and not bool((found[1:] < found[:-1]).any()), name, f"does not cut {end:,} entries into lists"
        )
        return found

    def sorted_lists(self, ptr: str, values: str, below: int, lists: int) -> tuple[np.ndarray, np.ndarray]:
        """Cuts, and lists of different numbers (int32) from 0 to ``below`` − 1, each in its order."""
        found = self.numbers(values, np.int32, below)
        cuts = self.cuts(ptr, len(found), lists)
        rises = found[1:] > found[:-1]
        begins = cuts[1:-1]
        rises[begins[(begins > 0) & (begins < len(found))] - 1] = True  # from one list to the next they may fall
        self.require(bool(rises.all()), values, "has a list that is not sorted")
        return cuts, found

    def finite(self, name: str, size: int, *dtypes: type, below: float = np.inf) -> np.ndarray:
        """Numbers of a magnitude below a bound; float64 unless told otherwise, half precision made single."""
        found = self.array(name, *(dtypes or (np.float64,)), size=size)
        found = found.astype(np.float32) if found.dtype == np.float16 else found
        fine = np.isfinite(found).all() if below == np.inf else (np.abs(found) < below).all()
        self.require(
            bool(fine),
            name,
            "has values that are not finite" if below == np.inf else f"has values larger than {below:g}",
        )
        return found

    def log_probabilities(self, name: str, size: int) -> np.ndarray:
        """Logarithms of weights, which may be −∞: float64."""
        found = self.array(name, np.float64, size=size)
        self.require(not bool((np.isnan(found) | (found == np.inf)).any()), name, "has values that are no logarithms")
        return found

    def vocabulary(self, name: str = "") -> Vocabulary:
        """Strings: their bytes and where each starts."""
        prefix = f"{name}." if name else ""
        blob = self.array(f"{prefix}blob", np.uint8)
        found = Vocabulary(blob, self.cuts(f"{prefix}starts", len(blob)))
        self.require(found.is_text(), f"{prefix}blob", "is not UTF-8")
        return found


def of_vocabulary(name: str, vocabulary: Vocabulary) -> dict[str, np.ndarray]:
    """The arrays that ``Section.vocabulary`` reads."""
    prefix = f"{name}." if name else ""
    return {f"{prefix}blob": vocabulary.blob, f"{prefix}starts": vocabulary.starts}
