"""A trained model in one file: weights, labels, vocabularies and templates, and how it was trained.

The file is safetensors (a JSON header, then plain arrays), so loading one executes nothing and arrays
are mapped, not copied. Everything the header says is checked before use.
"""

from __future__ import annotations

import json
import math
import mmap
import os
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from loglin.corpus.output import write_atomically
from loglin.errors import LoglinError
from loglin.features.attributes import AttributeExtractor
from loglin.features.dictionary import TagDictionary
from loglin.features.extract import TemplateExtractor
from loglin.features.index import FeatureIndex
from loglin.features.matrix import MatrixExtractor
from loglin.generative.hmm import HMM
from loglin.kernels.gradient import never_falls

FORMAT = "loglin"
# 2 has base models and ways to decode; 3 tag dictionaries, label sets, candidates, language models; 4 dictionaries that
# say what unknown words may be; 5 parsers
VERSION = 5
_EXTRACTORS: dict[str, Any] = {
    "templates": TemplateExtractor,
    "attributes": AttributeExtractor,
    "matrix": MatrixExtractor,
}
_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U16": "<u2", "U8": "|u1"}
DECODINGS = ("global", "local", "nota", "scaled", "independent")  # how steps score; see decoding.chains.Decoder
_INDEX = ("ptr", "labels", "bigram_ptr", "bigram_pairs", "pairs", "triples")


@dataclass
class Model:
    task: str  # "tag", "classify", or "rank": among candidates of each example, all with the same weights
    labels: list  # of "rank" the classes that all examples choose from, or none
    extractor: TemplateExtractor | AttributeExtractor | MatrixExtractor
    index: FeatureIndex
    weights: np.ndarray  # (features,)
    order: int = 1
    record: dict = field(default_factory=dict)  # how it was trained, for people
    base: HMM | None = None  # q0 of a model q0(x, y)·exp(w·f(x, y))
    decoding: dict = field(default_factory=dict)  # see decoding.chains.Decoder; nothing: global
    dictionary: TagDictionary | None = None  # which labels words may have

    @property
    def outcomes(self) -> list:
        """The names of the index's labels: weights of a ranking are the same for all candidates."""
        return ["candidate"] if self.task == "rank" else self.labels

    # ------------------------------------------------------------------ smaller models

    def prune(self, threshold: float = 0.0) -> Model:
        """Without the weights of magnitude ≤ threshold, and without attributes that have none left."""
        keep = np.abs(self.weights) > threshold
        index, (unigram, bigram, pair, triple) = self.index, self.index.split(keep)
        counts = _kept_counts(unigram, index.ptr)
        bigram_counts = _kept_counts(bigram, index.bigram_ptr)
        extractor = self.extractor
        if not isinstance(extractor, MatrixExtractor):  # a matrix keeps its columns
            extractor = extractor.select(counts > 0, bigram_counts > 0)
            counts, bigram_counts = counts[counts > 0], bigram_counts[bigram_counts > 0]
        smaller = FeatureIndex(
            index.n_labels,
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            index.labels[unigram],
            np.concatenate([[0], np.cumsum(bigram_counts)]).astype(np.int64),
            index.bigram_pairs[bigram],
            index.pairs[pair],
            index.triples[triple],
        )
        return replace(self, extractor=extractor, index=smaller, weights=self.weights[keep], record=dict(self.record))

    # ------------------------------------------------------------------ files

    def save(self, path: str | os.PathLike, half: bool = False) -> None:
        """Write the model; on failure an older file of that name is left as it was."""
        manifest, arrays = self.extractor.to_arrays()
        arrays = {f"features.{name}": array for name, array in arrays.items()}
        arrays |= {f"index.{name}": getattr(self.index, name) for name in _INDEX}
        arrays["weights"] = self.weights.astype(np.float16 if half else self.weights.dtype)
        if half and not np.isfinite(arrays["weights"]).all():
            raise LoglinError("a weight is too large for half precision (65504); save without --half")
        header = {
            "version": self._version(),
            "task": self.task,
            "labels": self.labels,
            "order": self.order,
            "features": manifest,
            "record": self.record,
        }
        if self.decoding:
            header["decoding"] = self.decoding
        if self.base is not None:
            header["base"], base = self.base.to_arrays()
            arrays |= {f"base.{name}": array for name, array in base.items()}
        if self.dictionary is not None:
            arrays |= {f"dictionary.{name}": array for name, array in self.dictionary.to_arrays().items()}
        write_arrays(path, header, arrays)

    def _version(self) -> int:
        """The least that a reader must know."""
        if self.dictionary and not self.dictionary.unknown.all():
            return 4
        if self.dictionary or self.task == "rank" or self.decoding.get("steps") == "independent":
            return 3
        return 1 if self.base is None and not self.decoding else 2

    @classmethod
    def load(cls, path: str | os.PathLike) -> Model:
        """Open a model file; a damaged or foreign one is refused with a sentence."""
        arrays, header = read_arrays(path)
        if header.get("task") == "language":
            raise LoglinError(f"{path} is a language model; use loglin lm, or LanguageModel.load")
        if header.get("task") == "parse":
            raise LoglinError(f"{path} is a parser; use loglin parse, or Parser.load")
        try:
            features = arrays_named(arrays, "features.")
            extractor = _EXTRACTORS[header["features"]["kind"]].from_arrays(header["features"], features)
            n_labels = 1 if header["task"] == "rank" else len(header["labels"])
            index = FeatureIndex(n_labels, *(arrays[f"index.{name}"] for name in _INDEX))
            words = arrays_named(arrays, "dictionary.")
            weights = arrays["weights"]
            weights = weights.astype(np.float32) if weights.dtype == np.float16 else weights
            model = cls(
                header["task"],
                header["labels"],
                extractor,
                index,
                weights,
                int(header["order"]),
                header.get("record", {}),
                HMM.from_arrays(header["base"], arrays_named(arrays, "base.")) if "base" in header else None,
                header.get("decoding", {}),
                TagDictionary.from_arrays(words, index.n_labels) if words else None,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise LoglinError(f"{path} is no complete loglin model: {error}; train it again") from error
        _check(path, model)
        return model


def arrays_named(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """The arrays whose names begin so, without that beginning."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _kept_counts(keep: np.ndarray, ptr: np.ndarray) -> np.ndarray:
    return np.diff(np.concatenate([[0], np.cumsum(keep)])[ptr])


def _plain(value):
    """JSON for the NumPy numbers that records and labels may hold."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} cannot be stored in a model file")


def write_arrays(path: str | os.PathLike, header: dict, arrays: dict[str, np.ndarray]) -> None:
    """A file of arrays of one dimension under a header; on failure an older file of that name is left as it was."""
    from safetensors.numpy import save

    content = save(
        {name: np.ascontiguousarray(array) for name, array in arrays.items()},
        {"loglin": json.dumps({"format": FORMAT} | header, ensure_ascii=False, default=_plain)},
    )
    write_atomically(path, content)


def read_arrays(path: str | os.PathLike) -> tuple[dict[str, np.ndarray], dict]:
    """Map a file's arrays (copy on write) after checking every number of its header."""
    try:
        with open(path, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            if size < 10:
                raise ValueError(f"it has {size} bytes")
            memory = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)
    except OSError as error:
        raise LoglinError(f"cannot read the model {path}: {error.strerror}; check the name") from error
    except ValueError as error:
        raise LoglinError(f"{path} is no loglin model: {error}; train one with loglin train") from error
    try:
        length = int.from_bytes(memory[:8], "little")
        if length > size - 8 or length > 100_000_000:
            raise ValueError("its header is longer than the file")
        header = json.loads(memory[8 : 8 + length].decode())
        manifest = json.loads(header["__metadata__"]["loglin"])
        if manifest["format"] != FORMAT:
            raise ValueError("it was not written by loglin")
        if not isinstance(manifest["version"], int) or manifest["version"] > VERSION:
            raise LoglinError(
                f"{path} has format version {manifest['version']}, newer than this loglin reads "
                f"({VERSION}); upgrade loglin"
            )
        arrays = {}
        for name, entry in header.items():
            if name != "__metadata__":
                arrays[name] = _array(memory, 8 + length, size, entry)
        return arrays, manifest
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = f"no {error} in it" if isinstance(error, KeyError) else error
        raise LoglinError(f"{path} is no loglin model or is damaged: {reason}; train it again") from error


def _array(memory: mmap.mmap, start: int, size: int, entry: dict) -> np.ndarray:
    dtype = np.dtype(_TYPES[entry["dtype"]])
    (count,) = entry["shape"]
    begin, end = entry["data_offsets"]
    if not (0 <= begin <= end and start + end <= size and (end - begin) == count * dtype.itemsize):
        raise ValueError("it ends before its arrays do, or their sizes disagree")
    if (start + begin) % dtype.itemsize:  # kernels need aligned numbers
        return np.frombuffer(bytearray(memory[start + begin : start + end]), dtype)
    return np.frombuffer(memory, dtype, count, start + begin)


def _is_decoding(decoding: object, n_labels: int) -> bool:
    """Whether a file's way to decode is one that there is."""
    if not isinstance(decoding, dict) or decoding.keys() - {"steps", "beam", "scale", "link", "threshold"}:
        return False
    if decoding.get("steps") == "independent":
        threshold = decoding.get("threshold")
        return (
            decoding.get("link") in ("logistic", "identity")
            and isinstance(threshold, int | float)
            and math.isfinite(threshold)
        )
    scale, beam = decoding.get("scale"), decoding.get("beam", 0)
    numbers = isinstance(scale, list) and all(isinstance(x, int | float) and abs(x) < math.inf for x in scale)
    return (
        decoding.get("steps", "global") in DECODINGS
        and (scale is None or (numbers and len(scale) == n_labels + 1))
        and (scale is not None or decoding.get("steps") != "scaled")
        and type(beam) is int
        and beam >= 0
    )


def _check(path, model: Model) -> None:
    """Indices that kernels will follow must stay inside their arrays."""
    index, L = model.index, model.index.n_labels

    def inside(values: np.ndarray, limit: int) -> bool:
        return not len(values) or (int(values.min()) >= 0 and int(values.max()) < limit)

    def cuts(ptr: np.ndarray, lists: int, entries: int) -> bool:
        return len(ptr) == lists + 1 and int(ptr[0]) == 0 and int(ptr[-1]) == entries and never_falls(ptr)

    fine = (
        L > 0
        and isinstance(model.record, dict)
        and isinstance(model.labels, list)
        and all(isinstance(label, str | int | float | bool) for label in model.labels)
        and model.task in ("tag", "classify", "rank")
        and model.order in (1, 2)
        and model.weights.dtype in (np.float32, np.float64)
        and len(model.weights) == index.n_features
        and bool(np.isfinite(model.weights).all())
        and cuts(index.ptr, model.extractor.n_attributes, len(index.labels))
        and cuts(index.bigram_ptr, model.extractor.n_bigram_attributes, len(index.bigram_pairs))
        and inside(index.labels, L)
        and inside(index.bigram_pairs, L * L)
        and inside(index.pairs, L * L)
        and inside(index.triples, L**3)
        and [a.dtype.str[1:] for a in (index.ptr, index.labels, index.bigram_ptr, index.bigram_pairs, index.pairs)]
        == ["i8", "u2", "i8", "i4", "i4"]
        and model.extractor.is_consistent()
        and (model.base is None or (model.base.is_consistent() and model.base.labels == model.labels))
        and _is_decoding(model.decoding, L)
        and (model.dictionary is None or model.dictionary.is_consistent())
    )
    if not fine:
        raise LoglinError(f"{path} is damaged: its tables do not fit together; train it again")
