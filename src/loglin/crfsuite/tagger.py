"""``Tagger``: a model file opened, and the labels, probabilities and weights that it has for sentences."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loglin.crfsuite.info import ParsedDump, dumped, info_of
from loglin.crfsuite.items import items_of
from loglin.decoding.chains import Decoder
from loglin.errors import LoglinError
from loglin.features.attributes import AttributeExtractor
from loglin.models.chain import Model

if TYPE_CHECKING:
    import numpy as np

    from loglin.features.design import Design


class NotOpenError(LoglinError, RuntimeError):
    """A tagger is asked something while no model is open."""


class Tagger:
    """A model and the sentence that it was given last; ``threads`` is for whole texts (default: all cores)."""

    threads: int | None = None

    def __init__(self) -> None:
        self._opened: _Opened | None = None
        self._sentence: _Sentence | None = None

    # ------------------------------------------------------------------ models

    def open(self, name: str | os.PathLike) -> contextlib.closing:
        """Open a model file; in ``with``, it is closed at the end."""
        return self.open_model(opened(name))

    def open_inmemory(self, value: bytes) -> contextlib.closing:
        """Open the bytes of a model file."""
        return self.open_model(model_in(value))

    def open_model(self, model: Model) -> contextlib.closing:
        """Open a model that is in memory."""
        self.close()
        if not model.kind.has_transitions or not isinstance(model.extractor, AttributeExtractor):
            raise LoglinError("the model does not take attributes; open it with loglin.load")
        self._opened = _Opened(model, self.threads)
        return contextlib.closing(self)

    def close(self) -> None:
        """Close the model."""
        self._opened = self._sentence = None

    @property
    def _open(self) -> _Opened:
        if self._opened is None:
            raise NotOpenError("the tagger is not opened; open a model file first")
        return self._opened

    @property
    def model(self) -> Model:
        """The model, as the rest of loglin takes it."""
        return self._open.model

    # ------------------------------------------------------------------ one sentence

    def set(self, xseq: Any) -> None:
        """Give the sentence that is asked about from now on."""
        self._sentence = _Sentence(self._open.decoder, self._open.design([xseq]))

    def tag(self, xseq: Any = None) -> list:
        """The best labels of a sentence, or of the one that was set."""
        if xseq is not None:
            self.set(xseq)
        opened = self._open
        return [] if self._sentence is None else next(opened.named(self._sentence.design))

    def probability(self, yseq: Sequence) -> float:
        """The probability of a label sequence for the sentence that was set."""
        sentence = self._current
        if sentence is None:
            return 0.0
        codes = [self._open.code(label) for label in yseq]
        if len(codes) != sentence.design.n_tokens:
            raise LoglinError(f"the sentence has {sentence.design.n_tokens} tokens but {len(codes)} labels were given")
        return sentence.probability(codes)

    def marginal(self, y: Any, pos: int) -> float:
        """The probability of a label at a position of the sentence that was set."""
        sentence = self._current
        if sentence is None:
            return 0.0
        if not 0 <= pos < sentence.design.n_tokens:
            raise LoglinError(f"there is no position {pos}; the sentence has {sentence.design.n_tokens} tokens")
        return float(sentence.marginals[pos, self._open.code(y)])

    @property
    def _current(self) -> _Sentence | None:
        """The sentence that was set; None if there is none, or no token in it."""
        _ = self._open
        return self._sentence if self._sentence is not None and self._sentence.design.n_tokens else None

    # ------------------------------------------------------------------ many sentences at once

    def tag_all(self, X: Iterable) -> list[list]:
        """The best labels of every sentence."""
        return list(self._open.named(self._open.design(X)))

    def marginals_of_all(self, X: Iterable) -> list[list[dict]]:
        """For every token of every sentence a dict from label to probability."""
        design = self._open.design(X)
        labels = self.model.labels
        rows = [dict(zip(labels, row, strict=True)) for row in self._open.decoder.marginals(design).tolist()]
        return [rows[b:e] for b, e in pairwise(design.offsets.tolist())]

    # ------------------------------------------------------------------ the model

    def labels(self) -> list:
        """The labels of the model."""
        return list(self.model.labels)

    def info(self) -> ParsedDump:
        """The weights of the model by their names."""
        return info_of(self.model, len(bytes_of(self.model)))

    def dump(self, filename: str | os.PathLike | None = None) -> None:
        """Write the model as text, to a file or to where print writes."""
        text = dumped(self.info())
        if filename is None:
            sys.stdout.write(text)
        else:
            Path(filename).write_text(text, encoding="utf-8")


class _Opened:
    """A model made ready."""

    def __init__(self, model: Model, threads: int | None):
        self.model = model
        self.decoder = Decoder(model, threads)
        self.codes = {label: code for code, label in enumerate(model.labels)}

    def code(self, label: Any) -> int:
        if label not in self.codes:
            known = ", ".join(map(str, self.codes))
            raise LoglinError(f"the model has no label {label!r:.60}; it has {known:.200}")
        return self.codes[label]

    def design(self, X: Iterable) -> Design:
        return self.decoder.design([items_of(sentence) for sentence in X])

    def named(self, design: Design) -> Iterator[list]:
        """The best labels of each sentence."""
        flat = list(map(self.model.labels.__getitem__, self.decoder.best(design).tolist()))
        return (flat[b:e] for b, e in pairwise(design.offsets.tolist()))


class _Sentence:
    """A sentence as a model sees it."""

    def __init__(self, decoder: Decoder, design: Design):
        self.decoder, self.design = decoder, design

    @cached_property
    def marginals(self) -> np.ndarray:
        return self.decoder.marginals(self.design)

    def probability(self, codes: list[int]) -> float:
        chain = next(self.decoder.chains(self.design))
        return math.exp(chain.score(codes) - chain.partition())


# ---------------------------------------------------------------------- files


def opened(name: str | os.PathLike) -> Model:
    """The model in a file, of loglin or of another program such as CRFsuite."""
    with open(name, "rb"):  # a file that is not there is an OSError, as in python-crfsuite
        return Model.load(name)


def model_in(content: bytes) -> Model:
    """The model in the bytes of a file."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "model"
        path.write_bytes(content)
        return opened(path)


def bytes_of(model: Model) -> bytes:
    """The bytes of the file that a model would be saved to."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "model"
        model.save(path)
        return path.read_bytes()
