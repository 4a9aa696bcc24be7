"""The Python faces, in the manner of scikit-learn."""

from __future__ import annotations

import os

from loglin.estimators.language_model import LanguageModel
from loglin.estimators.maxent import MaxEnt
from loglin.estimators.naive_bayes import NaiveBayes
from loglin.estimators.parser import Parser
from loglin.estimators.selection import select_tagger
from loglin.estimators.tagger import Tagger
from loglin.models import kinds

__all__ = ["LanguageModel", "MaxEnt", "NaiveBayes", "Parser", "Tagger", "load", "select_tagger"]
FACES = {face.__name__: face for face in (Tagger, MaxEnt, NaiveBayes, LanguageModel, Parser)}


def load(path: str | os.PathLike) -> Tagger | MaxEnt | NaiveBayes | LanguageModel | Parser:
    """The estimator saved in a model file, ready to predict."""
    kind, header = kinds.opened(path)
    return FACES[kind.face_of(header.manifest.get("record"))].load(path)
