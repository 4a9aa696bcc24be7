"""The Python faces, in the manner of scikit-learn."""

from __future__ import annotations

import os

from loglin.estimators.maxent import MaxEnt
from loglin.estimators.tagger import Tagger
from loglin.model import Model

__all__ = ["MaxEnt", "Tagger", "load"]


def load(path: str | os.PathLike) -> Tagger | MaxEnt:
    """The estimator saved in a model file, ready to predict."""
    model = Model.load(path)
    return Tagger.from_model(model) if model.task == "tag" else MaxEnt.from_model(model)
