"""Finding the attributes of new text: all templates of a kind at once.

A template's key is the mixed-radix number of its items' codes, looked up in a hash table. Items that several
templates share are read once per token.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence

import numpy as np

from loglin.corpus.sections import Section
from loglin.features.spelling import View
from loglin.features.template import Template
from loglin.kernels import keys as kernels
from loglin.threads import Threads, chunks_by_size


class KeyTable:
    """Keys of one template and the attribute numbers they stand for: base, base + 1, …"""

    def __init__(self, keys: np.ndarray, base: int, slots: np.ndarray | None = None):
        self.keys, self.base = keys, base
        self._slots = slots  # (power of two,) int32: positions in keys, -1 where empty

    @property
    def slots(self) -> np.ndarray:
        if self._slots is None:
            self._slots = np.full(1 << max(3, int(2 * len(self.keys)).bit_length()), -1, np.int32)
            kernels.fill_key_slots(self.keys, self._slots)
        return self._slots

    def find(self, keys: np.ndarray, ids: np.ndarray) -> None:
        """Set ids[i] to the attribute number of keys[i], or to -1."""
        kernels.find_keys(self.slots, self.keys, keys, self.base, ids)

    @classmethod
    def from_section(cls, section: Section, number: int, base: int) -> KeyTable:
        """The table of a template; slots in range, some empty so that every search ends."""
        keys, name = section.numbers(f"keys.{number}", np.int64), f"slots.{number}"
        if name not in section.arrays:
            return cls(keys, base)
        slots = section.numbers(name, np.int32, len(keys), least=-1)
        size = len(slots)
        section.require(
            size > len(keys) and size & (size - 1) == 0 and int(slots.min()) == -1, name, "is no hash table"
        )
        return cls(keys, base, slots)


class Lookup:
    """The tables of all templates of a kind, laid out for one kernel."""

    def __init__(
        self,
        templates: Sequence[Template],
        tables: Sequence[KeyTable],
        place_of: Callable[[View, int], tuple[int, int]],
        view_size: Callable[[View], int],
        reach: int,
    ):
        """``place_of`` says for a view and an offset in which row of the columns to look, and how far away."""
        self.n_templates = len(templates)
        places = list(dict.fromkeys((i.view, i.offset) for t in templates for i in t.items))
        sizes = [view_size(view) for view, _ in places]
        rows, shifts = np.array([place_of(*place) for place in places], np.int64).reshape(-1, 2).T.copy()
        self.places = rows, shifts, np.array(sizes, np.int64), reach
        number = {place: i for i, place in enumerate(places)}
        items = [[number[i.view, i.offset] for i in t.items] for t in templates]
        flat = np.array([p for i in items for p in i], np.int64)
        radix = np.array([sizes[p] + 2 * reach for p in flat], np.int64)
        self.templates = (np.cumsum([0, *map(len, items)]), flat, radix)
        in_file = np.array([file_of(t.slots) is not None for t in tables], bool)
        starts = np.empty(len(tables), np.int64)
        slots, starts[in_file] = together(
            [t.slots for t, there in zip(tables, in_file, strict=True) if there], np.int32
        )
        made, begins = together([t.slots for t, there in zip(tables, in_file, strict=True) if not there], np.int32)
        starts[~in_file] = -1 - begins
        keys, key_starts = together([t.keys for t in tables], np.int64)
        masks = np.array([len(t.slots) - 1 for t in tables], np.int64)
        self.tables = starts, masks, slots, made, key_starts, keys, np.array([t.base for t in tables], np.int64)

    def find(
        self, columns: np.ndarray, offsets: np.ndarray, threads: int | None = 1, ids: np.ndarray | None = None, at=0
    ) -> np.ndarray:
        """Attribute numbers of every token and template, -1 where unknown: (tokens, templates) int32.

        With ``ids`` they are put there, from column ``at`` on.
        """
        if ids is None:
            ids = np.empty((columns.shape[1], self.n_templates), np.int32)
        given = self.places, self.templates, self.tables
        few = len(ids) < 5000
        Threads(1 if few else threads).map(
            lambda b, e: kernels.find_attributes(b, e, columns, offsets, *given, at, ids),
            [(0, len(offsets) - 1)] if few else chunks_by_size(offsets),
        )
        return ids


def together(arrays: Sequence[np.ndarray], dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """One array that holds all of these, and where each begins in it: (arrays,) int64.

    Arrays of one model file stay where they are, so that nothing of it is copied, or even read, before it is needed.
    """
    full = [a for a in arrays if len(a)]
    file = file_of(full[0]) if full else None
    if file is not None and all(file_of(a) is file for a in full):
        places = [_address(a) if len(a) else 0 for a in arrays]
        begin, end = min(map(_address, full)), max(_address(a) + a.nbytes for a in full)
        size, starts = np.dtype(dtype).itemsize, np.maximum(np.array(places) - begin, 0)
        whole = np.frombuffer(file, np.uint8)
        return np.frombuffer(file, dtype, (end - begin) // size, begin - _address(whole)), starts // size
    starts = np.cumsum([0, *map(len, arrays)])[:-1]
    return np.concatenate([*arrays, np.empty(0, dtype)]), starts


def file_of(array: np.ndarray) -> mmap.mmap | None:
    """The mapped file in which an array lies, if it lies in one."""
    file = array.base.obj if isinstance(array.base, memoryview) else None
    return file if isinstance(file, mmap.mmap) else None


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]
