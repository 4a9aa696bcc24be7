"""The Python faces, in the manner of scikit-learn."""

from __future__ import annotations

import os

from loglin.estimators.language_model import LanguageModel
from loglin.estimators.maxent import MaxEnt
from loglin.estimators.tagger import Tagger
from loglin.model import Model, read_arrays

__all__ = ["LanguageModel", "MaxEnt", "Tagger", "load"]


def load(path: str | os.PathLike) -> Tagger | MaxEnt | LanguageModel:
    """The estimator saved in a model file, ready to predict."""
    if read_arrays(path)[1].get("task") == "language":
        return LanguageModel.load(path)
    model = Model.load(path)
    return Tagger.from_model(model) if model.task == "tag" else MaxEnt.from_model(model)
