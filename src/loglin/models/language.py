"""A trained language model and the record of its training, in the one format of models/files.py."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from loglin.corpus.sections import Section, of_vocabulary
from loglin.corpus.shown import Shown
from loglin.features.histories import HistoryExtractor
from loglin.features.words import RESERVED, Words
from loglin.generative.ngram import NGramModel
from loglin.generative.predictor import Predictor
from loglin.models import files
from loglin.models.cache import N_FEATURES, CacheModel
from loglin.models.kinds import LANGUAGE, Kind, load, save
from loglin.models.next_word import NextWordModel

LARGEST = 200.0  # of a weight that training could have found


@dataclass
class PredictorModel(Shown):
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

    @property
    def kind(self) -> Kind:
        return LANGUAGE

    def save(self, path: str | os.PathLike) -> None:
        """Write the model; on failure an older file of that name is left as it was."""
        save(path, self.to_section())

    def to_section(self) -> Section:
        """The model as a file has it."""
        header = {"version": files.VERSION, "task": self.kind.name, "record": self.record}
        section = Section(header, of_vocabulary("words", self.predictor.words.names))
        model = self.predictor
        if isinstance(model, CacheModel):
            section = section.with_part("cache", Section({"window": model.window}, {"theta": model.theta}))
            model = model.base
        if isinstance(model, NGramModel):
            section = section.with_part("n-grams", model.to_section())
        elif isinstance(model, NextWordModel):
            section = section.with_part("histories", model.extractor.to_section())
            section.arrays["weights"] = model.weights
        return section

    @classmethod
    def load(cls, path: str | os.PathLike) -> PredictorModel:
        """Open a model file; a damaged or foreign one is refused with a sentence."""
        return load(path, "language.PredictorModel")

    @classmethod
    def from_section(cls, section: Section, kind: Kind = LANGUAGE) -> PredictorModel:
        return cls(_predictor(section), section.record())


def _predictor(section: Section) -> Predictor:
    words = Words(section.vocabulary("words"))
    different = len(set(words.strings)) == words.n_symbols and not set(RESERVED) & set(words.names.strings)
    section.require(different, "words", "are not all different")
    model: Predictor
    if counted := section.optional("n-grams"):
        model = NGramModel.from_section(counted, words)
    else:
        extractor = HistoryExtractor.from_section(section.part("histories"), words)
        size = words.n_predicted + len(extractor.targets)
        model = NextWordModel(extractor, section.finite("weights", size, below=LARGEST))
    if cache := section.optional("cache"):
        return CacheModel(model, cache.whole("window"), cache.finite("theta", N_FEATURES, below=LARGEST))
    return model
