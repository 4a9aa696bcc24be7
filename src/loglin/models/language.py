"""Language models in the one-file format of models/chain.py: every number is checked before it is used."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from loglin.corpus.vocabulary import Vocabulary
from loglin.errors import LoglinError
from loglin.features.histories import Classes, HistoryExtractor, checked_kinds, distances_of, order_of
from loglin.features.triggers import Triggers
from loglin.features.words import RESERVED, Contexts, Words
from loglin.generative.ngram import NGramModel
from loglin.generative.predictor import Predictor
from loglin.kernels.gradient import never_falls
from loglin.models.cache import N_FEATURES, CacheModel
from loglin.models.chain import VERSION, arrays_named, read_arrays, write_arrays
from loglin.models.next_word import NextWordModel

TASK = "language"
LARGEST = 200.0  # of a weight that training could have found

Arrays = dict[str, np.ndarray]


@dataclass
class PredictorModel:
    """A language model and the record of its training."""

    predictor: Predictor
    record: dict[str, Any] = field(default_factory=dict)

    @property
    def weights(self) -> np.ndarray:
        """Of a log-linear model: (features,)."""
        return self._next_word.weights

    @weights.setter
    def weights(self, weights: np.ndarray) -> None:
        self.predictor = replace(self._next_word, weights=weights)

    @property
    def _next_word(self) -> NextWordModel:
        assert isinstance(self.predictor, NextWordModel)  # counted models have no weights
        return self.predictor

    def save(self, path: str | os.PathLike) -> None:
        """Write the model; on failure an older file of that name is left as it was."""
        save(path, self.predictor, self.record)

    @classmethod
    def load(cls, path: str | os.PathLike) -> PredictorModel:
        """Open a model file; a damaged or foreign one is refused with a sentence."""
        return cls(*load(path))


def save(path: str | os.PathLike, model: Predictor, record: dict) -> None:
    """Write a language model; on failure an older file of that name is left as it was."""
    header: dict[str, Any] = {"version": VERSION, "task": TASK, "record": record}
    arrays: Arrays = _of_vocabulary("words", model.words.names)
    if isinstance(model, CacheModel):
        header["cache"] = {"window": model.window}
        arrays["cache.theta"] = model.theta
        model = model.base
    if isinstance(model, NGramModel):
        header["n-grams"], more = model.to_arrays()
        arrays |= {f"n-grams.{name}": array for name, array in more.items()}
    elif isinstance(model, NextWordModel):
        header["histories"], more = _of_extractor(model.extractor)
        arrays |= {f"histories.{name}": array for name, array in more.items()}
        arrays["weights"] = model.weights
        if not bool((np.abs(model.weights) < LARGEST).all()):
            raise LoglinError(f"a weight is larger than {LARGEST:g}, which no file may hold; give smaller variances")
    write_arrays(path, header, arrays)


def load(path: str | os.PathLike) -> tuple[Predictor, dict]:
    """The model in a file and the record of its training; a damaged or foreign file is refused with a sentence."""
    arrays, header = read_arrays(path)
    if header.get("task") != TASK:
        raise LoglinError(f"{path} is no language model; train one with loglin lm train")
    try:
        words = Words(_vocabulary(arrays, "words"))
        if len(set(words.strings)) != words.n_symbols or set(RESERVED) & set(words.names.strings):
            raise ValueError("its words are not all different")
        model: Predictor
        if "n-grams" in header:
            model = NGramModel.from_arrays(header["n-grams"], arrays_named(arrays, "n-grams."), words)
        else:
            extractor = _extractor(header["histories"], arrays_named(arrays, "histories."), words)
            model = NextWordModel(extractor, _finite(arrays["weights"], words.n_predicted + len(extractor.targets)))
        if "cache" in header:
            window = _positive(header["cache"]["window"])
            model = CacheModel(model, window, _finite(arrays["cache.theta"], N_FEATURES))
        record = header["record"]
        if not isinstance(record, dict):
            raise ValueError("its record is none")
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, UnicodeDecodeError, LoglinError) as error:
        reason = f"no {error} in it" if isinstance(error, KeyError) else error
        raise LoglinError(f"{path} is damaged: {reason}; train it again") from error
    return model, record


def _of_vocabulary(name: str, vocabulary: Vocabulary) -> Arrays:
    return {f"{name}.blob": vocabulary.blob, f"{name}.starts": vocabulary.starts}


def _vocabulary(arrays: Arrays, name: str) -> Vocabulary:
    vocabulary = Vocabulary(arrays[f"{name}.blob"], arrays[f"{name}.starts"])
    if not vocabulary.is_consistent():
        raise ValueError(f"the strings of {name} do not fit together")
    return vocabulary


def _of_extractor(extractor: HistoryExtractor) -> tuple[dict, Arrays]:
    manifest: dict[str, Any] = {"kinds": list(extractor.kinds), "longest": extractor.contexts.longest}
    if extractor.triggers is not None:
        manifest["window"] = extractor.triggers.window
    arrays = {"ptr": extractor.ptr, "targets": extractor.targets, "classes.codes": extractor.classes.codes}
    arrays |= {f"values.{i}": values for i, values in enumerate(extractor.values)}
    arrays |= {f"contexts.{length}": keys for length, keys in enumerate(extractor.contexts.keys, 2)}
    for name, vocabulary in (
        ("classes.words", extractor.classes.words),
        ("classes.names", extractor.classes.names),
        ("documents", extractor.documents),
        *extractor.affixes.items(),
    ):
        arrays |= _of_vocabulary(name, vocabulary)
    return manifest, arrays


def _extractor(manifest: dict, arrays: Arrays, words: Words) -> HistoryExtractor:
    kinds = checked_kinds(manifest["kinds"], words.n_symbols)
    longest = _positive(manifest["longest"])
    if len(kinds) != len(manifest["kinds"]) or longest < max((order_of(k) or 2 for k in kinds), default=2) - 1:
        raise ValueError("its features do not fit together")
    values = [arrays[f"values.{i}"] for i in range(len(kinds))]
    classes = Classes(
        _vocabulary(arrays, "classes.words"), arrays["classes.codes"], _vocabulary(arrays, "classes.names")
    )
    extractor = HistoryExtractor(
        words,
        kinds,
        classes,
        None,
        Contexts(words.n_symbols, [arrays[f"contexts.{length}"] for length in range(2, longest + 1)]),
        {side: _vocabulary(arrays, side) for side in ("suffix", "prefix") if side in kinds},
        _vocabulary(arrays, "documents"),
        values,
        arrays["ptr"],
        arrays["targets"],
    )
    _check(extractor)
    if "trigger" in kinds:
        chosen = values[kinds.index("trigger")]
        extractor.triggers = Triggers(_positive(manifest["window"]), len(words.names), (chosen, chosen[:0], chosen[:0]))
    return extractor


def _check(extractor: HistoryExtractor) -> None:
    """Indices that kernels will follow must stay inside their arrays, and values must have names."""
    ptr, targets, words = extractor.ptr, extractor.targets, extractor.words

    def sorted_below(values: np.ndarray, limit: int) -> bool:
        if values.dtype != np.int64 or not bool((np.diff(values) > 0).all()):
            return False
        return not len(values) or (int(values[0]) >= 0 and int(values[-1]) < limit)

    fine = (
        extractor.contexts.is_consistent()
        and extractor.classes.is_consistent()
        and ptr.dtype == np.int64
        and targets.dtype == np.int32
        and len(ptr) == sum(map(len, extractor.values)) + 1
        and int(ptr[0]) == 0
        and int(ptr[-1]) == len(targets)
        and never_falls(ptr)
        and (not len(targets) or (int(targets.min()) >= 0 and int(targets.max()) < words.n_predicted))
        and _rising(targets, ptr)
        and all(
            sorted_below(v, _limit(extractor, kind)) for kind, v in zip(extractor.kinds, extractor.values, strict=True)
        )
    )
    if not fine:
        raise ValueError("its features do not fit together")


def _rising(items: np.ndarray, ptr: np.ndarray) -> bool:
    """Whether every list is sorted, nothing in it twice."""
    rises = np.diff(items) > 0
    begins = ptr[1:-1]
    rises[begins[(begins > 0) & (begins < len(items))] - 1] = True  # from one list to the next it may fall
    return bool(rises.all())


def _limit(extractor: HistoryExtractor, kind: str) -> int:
    """The values of a kind are below this."""
    n_classes, n_symbols = len(extractor.classes.names) + 2, extractor.words.n_symbols
    if order := order_of(kind):
        return extractor.contexts.size(order - 1)
    if distances := distances_of(kind):
        return n_symbols ** len(distances)
    if kind in extractor.affixes:
        return len(extractor.affixes[kind])
    return {
        "class": n_classes,
        "class-pair": n_classes**2,
        "trigger": len(extractor.words.names),
        "document": len(extractor.documents),
    }[kind]


def _positive(value: Any) -> int:
    if type(value) is not int or value < 1:
        raise ValueError(f"{value!r} stands where a whole number above 0 should")
    return value


def _finite(weights: np.ndarray, n: int) -> np.ndarray:
    if weights.dtype != np.float64 or len(weights) != n or not bool((np.abs(weights) < LARGEST).all()):
        raise ValueError("its weights are not as many as its features, or no usable numbers")
    return weights
