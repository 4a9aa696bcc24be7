"""Finding the attributes of new text: all templates of a kind at once.

A template's key is the mixed-radix number of its items' codes. Small templates are looked up in an array
by key, large ones in a hash table. Items that several templates share are read once per token.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from loglin.corpus.sections import Section
from loglin.features.template import Template
from loglin.kernels import keys as kernels
from loglin.threads import Threads, chunks_by_size

DIRECT = 1 << 17  # the most possible keys of a template that is looked up in an array


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
        view_number: Callable,
        view_size: Callable,
        reach: int,
    ):
        self.n_templates = len(templates)
        places = list(dict.fromkeys((i.view, i.offset) for t in templates for i in t.items))
        sizes = [view_size(view) for view, _ in places]
        self.places = (
            np.array([view_number(view) for view, _ in places], np.int64),
            np.array([offset for _, offset in places], np.int64),
            np.array(sizes, np.int64),
            reach,
        )
        number = {place: i for i, place in enumerate(places)}
        items = [[number[i.view, i.offset] for i in t.items] for t in templates]
        item_ptr = np.concatenate([[0], np.cumsum([len(i) for i in items])]).astype(np.int64)
        flat = np.array([p for i in items for p in i], np.int64)
        radix = np.array([sizes[p] + 2 * reach for p in flat], np.int64)
        possible = [int(np.prod([float(sizes[p] + 2 * reach) for p in i])) for i in items]
        direct = [n <= DIRECT for n in possible]
        lengths = [n if d else len(t.slots) for n, d, t in zip(possible, direct, tables, strict=True)]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        slots = np.empty(starts[-1], np.int32)
        for start, length, is_direct, table in zip(starts.tolist(), lengths, direct, tables, strict=False):
            array = slots[start : start + length]
            if is_direct:
                array.fill(-1)
                inside = len(table.keys) == 0 or int(table.keys.max()) < length
                numbers = np.arange(len(table.keys)) if inside else np.flatnonzero(table.keys < length)
                array[table.keys if inside else table.keys[numbers]] = numbers
            else:
                array[:] = table.slots
        self.templates = (item_ptr, flat, radix)
        self.tables = (
            starts[:-1],
            np.array([-1 if d else n - 1 for n, d in zip(lengths, direct, strict=True)], np.int64),
            slots,
            np.concatenate([[0], np.cumsum([len(t.keys) for t in tables])]).astype(np.int64),
            np.concatenate([*(t.keys for t in tables), np.empty(0, np.int64)]),
            np.array([t.base for t in tables], np.int64),
        )

    def find(self, columns: np.ndarray, offsets: np.ndarray, threads: int | None = 1) -> np.ndarray:
        """Attribute numbers of every token and template, -1 where unknown: (tokens, templates) int32."""
        ids = np.empty((columns.shape[1], self.n_templates), np.int32)
        few = len(ids) < 5000
        Threads(1 if few else threads).map(
            lambda b, e: kernels.find_attributes(b, e, columns, offsets, self.places, self.templates, self.tables, ids),
            [(0, len(offsets) - 1)] if few else chunks_by_size(offsets),
        )
        return ids
