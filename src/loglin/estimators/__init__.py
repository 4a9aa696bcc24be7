"""The Python faces, in the manner of scikit-learn."""

from __future__ import annotations

import os

from loglin.criteria.settings import NAIVE_BAYES
from loglin.estimators.language_model import LanguageModel
from loglin.estimators.maxent import MaxEnt
from loglin.estimators.naive_bayes import NaiveBayes
from loglin.estimators.parser import Parser
from loglin.estimators.selection import select_tagger
from loglin.estimators.tagger import Tagger
from loglin.models.chain import Model, read_arrays

__all__ = ["LanguageModel", "MaxEnt", "NaiveBayes", "Parser", "Tagger", "load", "select_tagger"]


def load(path: str | os.PathLike) -> Tagger | MaxEnt | NaiveBayes | LanguageModel | Parser:
    """The estimator saved in a model file, ready to predict."""
    task = read_arrays(path)[1].get("task")
    if task in ("language", "parse"):
        return (LanguageModel if task == "language" else Parser).load(path)
    model = Model.load(path)
    if model.task == "tag":
        return Tagger.from_model(model)
    return (NaiveBayes if model.record.get("criterion") == NAIVE_BAYES else MaxEnt).from_model(model)
