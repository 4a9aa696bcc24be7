"""CRF++'s models, binary and as text (-t).

    binary   version type cost-factor:float64 n columns, sizes of the parts: trie, labels, templates
             labels and templates, each with a zero behind it; the trie; n weights of float32
    text     the same as lines: "name: value", labels, templates, "place string", weights, an empty line between parts

The trie gives for every string where its weights begin: labels of them if it begins with U, labels² if with B. The
program tags with weights of float32, and so do we.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterable

import numpy as np

from loglin.corpus.output import Buffer
from loglin.errors import LoglinError
from loglin.models.chain import Model
from loglin.models.foreign import templates
from loglin.models.foreign.format import Bytes, Foreign, decoded, labels_of, require
from loglin.models.foreign.weights import Entries, indexed
from loglin.models.kinds import TAG

HEADER = struct.Struct("<Iid4I")
VERSIONS = range(100, 200)
DEEPEST = 1 << 16  # bytes of a string
LARGEST = 100  # bytes of all strings, for each byte of the file


class CRFpp(Foreign):
    name, program, writes = "crf++", "CRF++", False

    def begins(self, head: bytes) -> bool:
        binary = len(head) > HEADER.size and int.from_bytes(head[:4], "little") in VERSIONS and head[4:8] == bytes(4)
        return binary or head.startswith(b"version: ")

    def read(self, content: bytes, encoding: str) -> Model:
        return _as_text(content, encoding) if content.startswith(b"version: ") else _binary(content, encoding)

    def write(self, model: Model) -> Iterable[Buffer]:
        raise LoglinError("files of CRF++ are read, not written; export to wapiti")


FORMAT = CRFpp()


# ---------------------------------------------------------------------- the two forms


def _binary(content: bytes, encoding: str) -> Model:
    file = Bytes(content)
    _, _, _, n_weights, _, trie_size, labels_size = HEADER.unpack(file.part(0, HEADER.size, "the header"))
    at = HEADER.size
    labels = file.part(at, labels_size, "the list of labels").split(b"\0")
    at += labels_size
    templates_size = file.whole(at, "the size of the templates")
    lines = file.part(at + 4, templates_size, "the list of templates").split(b"\0")
    at += 4 + templates_size
    require(trie_size % 8 == 0, "its trie ends within a number")
    require(at + trie_size + 4 * n_weights == len(file), f"it has {len(file):,} bytes, not as many as its header says")
    units = file.array(at, trie_size // 8, "<i4,<u4", "the trie")
    weights = file.array(at + trie_size, n_weights, "<f4", "the weights").copy()
    strings, places = _keys(units["f0"].astype(np.int64), units["f1"].astype(np.int64), LARGEST * len(file))
    require(labels[-1:] == [b""], "its list of labels does not end")
    return _model(labels[:-1], [line for line in lines if line], strings, places, weights, encoding)


def _as_text(content: bytes, encoding: str) -> Model:
    head, _, rest = content.partition(b"\n\n")
    given = dict(line.partition(b":")[::2] for line in head.splitlines())
    n_weights = int(given[b"maxid"])
    parts = rest.split(b"\n\n", 3)
    require(len(parts) == 4, f"it has {1 + len(parts)} parts, not 5")
    pairs = [line.partition(b" ")[::2] for line in parts[2].split(b"\n")]
    lines = parts[3].removesuffix(b"\n").split(b"\n")
    require(len(lines) == n_weights, f"it has {len(lines):,} weights, not {n_weights:,}")
    numbers = [int(place) for place, _ in pairs]
    require(all(0 <= place <= n_weights for place in numbers), "a weight lies outside the file")
    with np.errstate(over="ignore"):
        weights = np.array([float(line) for line in lines]).astype(np.float32)
    strings = [string for _, string in pairs]
    return _model(parts[0].split(b"\n"), parts[1].split(b"\n"), strings, np.array(numbers, np.int64), weights, encoding)


def _model(
    labels: list[bytes], lines: list[bytes], names: list[bytes], places: np.ndarray, weights: np.ndarray, encoding: str
) -> Model:
    """The model of strings whose weights begin at some places."""
    found, L = labels_of([decoded(label, encoding) for label in labels]), len(labels)
    strings = [decoded(name, encoding) for name in names]
    require(len(set(strings)) == len(strings), "it has a string twice")
    require(
        all(string[:1] in "UB" and string for string in strings), "it has a string that begins with neither U nor B"
    )
    widths = np.array([L if string[0] == "U" else L * L for string in strings], np.int64)
    inside = len(places) == 0 or (int(places.min()) >= 0 and int((places + widths).max()) <= len(weights))
    require(inside, "the weights of a string lie outside the file")
    read = templates.read([decoded(line, encoding) for line in lines], "crf++", strings)
    # (strings, outcomes): as many weights as the file has, unless strings share them
    require(int(widths.sum()) <= len(weights), "its strings have more weights than there are")

    def entries(numbers: np.ndarray, width: int) -> Entries:
        return Entries.of_rows(np.arange(len(numbers)), weights[places[numbers][:, None] + np.arange(width)])

    unigrams, bigrams = entries(read.unigrams, L), entries(read.bigrams, L * L)
    pairs = entries(np.array([read.pairs]), L * L) if read.pairs >= 0 else Entries.none(np.float32)
    extractor = read.extractor
    sizes = extractor.n_attributes, unigrams, extractor.n_bigram_attributes, bigrams
    index, merged = indexed(L, *sizes, pairs)
    return Model(TAG.name, found, extractor, index, merged, decoding={"sums": FORMAT.name})


# ---------------------------------------------------------------------- the trie


def _keys(base: np.ndarray, check: np.ndarray, most: int) -> tuple[list[bytes], np.ndarray]:
    """The strings of a double-array trie (Aoe 1989), and the number that each has.

    From a node, whose cell q has base[q] = b, the byte c leads to the cell b + c + 1, whose check is b; the cell b
    itself, with check b too, is the end of a string, and its base −1 − the string's number. So every cell but the
    first tells the node before it, and strings are read from their ends, all at once.
    """
    cells = np.arange(len(base))
    nodes = np.flatnonzero((base > 0) & ((check > 0) | (cells == 0)))
    owner = np.full(len(base) + 1, -1, np.int64)
    require(bool((base[nodes] < len(base)).all()), "its trie leads outside the file")
    owner[base[nodes]] = nodes
    require(len(np.unique(base[nodes])) == len(nodes), "two nodes of its trie are one")
    ends = np.flatnonzero((base < 0) & (check == cells))
    require(bool(((base >= 0) | (check == cells)).all()), "a string of its trie does not end")
    numbers = -1 - base[ends]
    at, which = owner[ends], np.arange(len(ends))
    levels: list[tuple[np.ndarray, np.ndarray]] = []
    sizes, total = np.zeros(len(ends), np.int64), 0
    while True:
        require(bool((at >= 0).all()), "a string of its trie has no beginning")
        inner = at != 0
        at, which = at[inner], which[inner]
        if not len(at):
            break
        code = at - check[at]
        require(bool(((code >= 1) & (code <= 256)).all()), "its trie has a step that is no byte")
        levels.append((which, (code - 1).astype(np.uint8)))
        sizes[which] += 1
        total += len(which)
        require(len(levels) <= DEEPEST and total <= most, "the strings of its trie have no end")
        at = owner[check[at]]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    blob = np.empty(int(starts[-1]), np.uint8)
    for depth, (which, letters) in enumerate(levels):
        blob[starts[which + 1] - 1 - depth] = letters
    text, cuts = blob.tobytes(), starts.tolist()
    return [text[b:e] for b, e in itertools.pairwise(cuts)], numbers
