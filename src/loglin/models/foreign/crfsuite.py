"""CRFsuite's models: attributes with labels, label pairs, and two databases of strings.

    lCRF size FOMC version features labels attributes, then the offsets of:
    FEAT size n   n × (type, from, to, float64)       type 0: attribute → label; 1: label → label
    CQDB          the labels, then the attributes: see ``_names`` and ``_database``
    LFRF size n   n offsets of lists of features, of the labels that transitions are from
    AFRF size n   n offsets of lists of features, of the attributes

Whole numbers have 32 bits, little-endian. As the program does, features are taken from the lists; what they say they
are from is not looked at.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterable

import numpy as np

from loglin.corpus.output import Buffer
from loglin.corpus.vocabulary import Vocabulary
from loglin.errors import LoglinError
from loglin.features.attributes import AttributeExtractor
from loglin.models.chain import Model
from loglin.models.foreign.format import (
    Bytes,
    Foreign,
    labels_of,
    lists_of,
    require,
    require_plain,
    require_steps,
    strings_between,
    text_labels,
)
from loglin.models.foreign.lookup3 import hashes
from loglin.models.foreign.weights import Entries, indexed
from loglin.models.kinds import TAG

HEADER, CHUNK = 48, 12  # bytes
VERSION = 100
FEATURE = np.dtype([("type", "<u4"), ("from", "<u4"), ("to", "<u4"), ("weight", "<f8")])
TABLES = 256  # hash tables of a database of strings
DATA = 24 + 8 * TABLES  # where its strings begin
BYTE_ORDER = 0x62445371
LARGEST = (1 << 32) - 1  # bytes of a file


class CRFsuite(Foreign):
    name, program = "crfsuite", "CRFsuite"

    def begins(self, head: bytes) -> bool:
        return head.startswith(b"lCRF")

    def read(self, content: bytes, encoding: str) -> Model:
        file = Bytes(content)
        file.part(0, HEADER, "the header")
        size, version, n_labels, n_attributes = (file.whole(at, "the header") for at in (4, 12, 20, 24))
        require(content[8:12] == b"FOMC", f"it holds a model of the kind {content[8:12]!r}, and FOMC is the one known")
        require(version == VERSION, f"it has version {version}, and {VERSION} is the one known")
        require(size <= len(file), f"it has {len(file):,} bytes of {size:,}, so that its end is missing")
        at, labels_at, names_at, pairs_at, states_at = (file.whole(28 + 4 * k, "the header") for k in range(5))
        require(file.part(at, 4, "the chunk of features") == b"FEAT", "its features are not where the header says")
        features = file.array(at + CHUNK, file.whole(at + 8, "the chunk of features"), FEATURE, "a feature")
        labels = labels_of(_names(file, labels_at, n_labels, "label", encoding).strings)
        extractor = AttributeExtractor()
        extractor.names = _names(file, names_at, n_attributes, "attribute", encoding)
        states = _entries(file, states_at, b"AFRF", n_attributes, features, n_labels)
        pairs = _entries(file, pairs_at, b"LFRF", n_labels, features, n_labels)
        # the last of several weights of a pair counts, where those of an attribute are summed
        last = len(pairs.weights) - 1 - np.unique(_keys(pairs, n_labels)[::-1], return_index=True)[1]
        pairs = Entries(0 * last, _keys(pairs, n_labels)[last], pairs.weights[last])
        index, weights = indexed(n_labels, n_attributes, states, 0, Entries.none(), pairs)
        return Model(TAG.name, labels, extractor, index, weights, decoding={"sums": self.name})

    def write(self, model: Model) -> Iterable[Buffer]:
        require_plain(model, self.program)
        require_steps(model, self.program, "global")
        if not isinstance(model.extractor, AttributeExtractor):
            raise LoglinError(
                "the model makes its attributes by a template, and a file of CRFsuite has none; train it on attributes "
                "(lists, dicts or attribute files), or export it with --to wapiti or --to json"
            )
        labels, names = text_labels(model.labels, self.program), model.extractor.names
        if (names.blob == 0).any() or any("\0" in label for label in labels):
            raise LoglinError("an attribute or a label has a zero character, which ends strings in CRFsuite; rename it")
        yield from _written(model, Vocabulary.of(labels), names)


FORMAT = CRFsuite()


# ---------------------------------------------------------------------- reading


def _names(file: Bytes, at: int, n: int, what: str, encoding: str) -> Vocabulary:
    """The strings 0 … n − 1 of a database, by the list of offsets at its end.

    CQDB size flag byte-order n offset-of-list, 256 × (offset, slots) of hash tables, then (number, size, string, 0) …
    """
    place = f"the database of {what}s"
    require(file.part(at, DATA, place)[:4] == b"CQDB", f"{place} is not where the header says")
    size, order, n_back, back = (file.whole(at + k, place) for k in (4, 12, 16, 20))
    require(order == BYTE_ORDER, f"{place} was written in another order of bytes")
    require(size <= len(file) - at, f"{place} is longer than the file")
    require(n <= n_back or n == 0, f"{place} has {n_back:,} strings, not {n:,}")
    if n == 0:
        return Vocabulary.of([])
    offsets = file.array(at + back, n, "<u4", place).astype(np.int64)
    missing = np.flatnonzero(offsets == 0)
    require(len(missing) == 0, f"{what} {missing[:1]} has no string")
    places = at + offsets
    numbers, sizes = file.wholes(places, place), file.wholes(places + 4, place)
    require(bool((numbers == np.arange(n)).all()), f"{place} is not sorted by numbers")
    begin, end = places + 8, places + 8 + sizes - 1
    require(bool((sizes > 0).all()) and int(end.max()) < len(file), f"a string of {place} lies outside the file")
    zeros = np.flatnonzero(np.frombuffer(file.content, np.uint8) == 0)
    fine = bool((zeros[np.searchsorted(zeros, begin).clip(max=len(zeros) - 1)] == end).all())
    require(fine, f"a string of {place} does not end where it says")
    return strings_between(file.content, begin, end, encoding)


def _entries(file: Bytes, at: int, chunk: bytes, n: int, features: np.ndarray, n_labels: int) -> Entries:
    """The features of the lists of a chunk."""
    place = f"the chunk {chunk.decode()}"
    require(file.part(at, CHUNK, place)[:4] == chunk, f"{place} is not where the header says")
    starts = file.array(at + CHUNK, n, "<u4", place).astype(np.int64)
    counts = file.wholes(starts, place)
    require(4 * int(counts.sum()) <= len(file), f"the lists of {place} are longer than the file")
    ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    of_list = lists_of(ptr)
    numbers = file.wholes(starts[of_list] + 4 + 4 * (np.arange(ptr[-1]) - ptr[of_list]), place)
    require(bool((numbers < len(features)).all()), f"{place} names a feature that there is not")
    chosen = features[numbers]
    outcomes = chosen["to"].astype(np.int64)
    require(bool((outcomes < n_labels).all()), f"{place} has a feature of a label that there is not")
    return Entries(of_list, outcomes, chosen["weight"].astype(np.float64))


def _keys(pairs: Entries, n_labels: int) -> np.ndarray:
    return pairs.attributes * n_labels + pairs.outcomes


# ---------------------------------------------------------------------- writing


def _written(model: Model, labels: Vocabulary, names: Vocabulary) -> list[Buffer]:
    """The parts of a file, one behind the other."""
    index = model.index
    unigrams, _, pairs, _ = index.split(model.weights)
    n_states = len(unigrams)
    features = np.zeros(n_states + len(pairs), FEATURE)
    features["type"][n_states:] = 1
    features["from"] = np.concatenate([lists_of(index.ptr), index.pairs // index.n_labels])
    features["to"] = np.concatenate([index.labels, index.pairs % index.n_labels])
    features["weight"] = np.concatenate([unigrams, pairs])
    by_label = np.argsort(features["from"][n_states:], kind="stable")
    counts = np.bincount(features["from"][n_states:], minlength=index.n_labels)
    parts: list[Buffer] = [_chunk(b"FEAT", len(features), features.tobytes()), _database(labels), _database(names)]
    places = [HEADER, *(HEADER + np.cumsum([len(part) for part in parts])).tolist()]
    parts.append(bytes(-places[-1] % 4))
    begin = places[-1] + len(parts[-1])
    parts.append(_lists(b"LFRF", begin, n_states + by_label, np.concatenate([[0], np.cumsum(counts)])))
    places[-1:] = [begin, begin + len(parts[-1])]
    parts.append(_lists(b"AFRF", places[-1], np.arange(n_states), index.ptr))
    size = places[-1] + len(parts[-1])
    if size > LARGEST:
        raise LoglinError(f"the model would have {size:,} bytes, and CRFsuite has at most {LARGEST:,}; prune it first")
    head = struct.pack("<4sI4s4I5I", b"lCRF", size, b"FOMC", VERSION, 0, len(labels), len(names), *places)
    return [head, *parts]


def _chunk(name: bytes, n: int, content: bytes) -> bytes:
    return struct.pack("<4sII", name, CHUNK + len(content), n) + content


def _lists(name: bytes, at: int, numbers: np.ndarray, ptr: np.ndarray) -> bytes:
    """A chunk that stands at a place of the file, of lists of features: offsets, then lists with their lengths."""
    n = len(ptr) - 1
    flat = np.empty(n + len(numbers), "<u4")
    heads = ptr[:-1] + np.arange(n)
    inside = np.ones(len(flat), bool)
    inside[heads] = False
    flat[heads], flat[inside] = np.diff(ptr), numbers
    offsets = (at + CHUNK + 4 * n + 4 * heads).astype("<u4")
    return _chunk(name, n, offsets.tobytes() + flat.tobytes())


def _database(strings: Vocabulary) -> bytes:
    """A database of strings, found by their hashes and by their numbers."""
    text, starts = bytes(strings.blob), strings.starts.tolist()
    offsets = DATA + strings.starts[:-1] + 9 * np.arange(len(strings))
    rows = [struct.pack("<II", i, e - b + 1) + text[b:e] + b"\0" for i, (b, e) in enumerate(itertools.pairwise(starts))]
    keys = hashes(strings.blob, strings.starts)
    sizes = 2 * np.bincount(keys % TABLES, minlength=TABLES)
    firsts = np.concatenate([[0], np.cumsum(sizes)])
    slots = np.zeros((firsts[-1], 2), "<u4")
    taken = bytearray(len(slots))
    for key, offset in zip(keys.tolist(), offsets.tolist(), strict=True):
        first, size = int(firsts[key % TABLES]), int(sizes[key % TABLES])
        k = (key >> 8) % size
        while taken[first + k]:
            k = (k + 1) % size
        taken[first + k], slots[first + k] = 1, (key, offset)
    tables_at = DATA + sum(map(len, rows))
    refs = np.stack([np.where(sizes > 0, tables_at + 8 * firsts[:-1], 0), sizes], axis=1).astype("<u4")
    back_at = tables_at + slots.nbytes if len(strings) else 0
    content = refs.tobytes() + b"".join(rows) + slots.tobytes() + offsets.astype("<u4").tobytes()
    return struct.pack("<4s5I", b"CQDB", 24 + len(content), 0, BYTE_ORDER, len(strings), back_at) + content
