"""The Python faces, in the manner of scikit-learn; each is imported when it is first used."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loglin.estimators.language_model import LanguageModel
    from loglin.estimators.maxent import MaxEnt
    from loglin.estimators.naive_bayes import NaiveBayes
    from loglin.estimators.parser import Parser
    from loglin.estimators.selection import select_tagger
    from loglin.estimators.tagger import Tagger

__all__ = ["LanguageModel", "MaxEnt", "NaiveBayes", "Parser", "Tagger", "load", "select_tagger"]

_HOMES = {
    "LanguageModel": "language_model",
    "MaxEnt": "maxent",
    "NaiveBayes": "naive_bayes",
    "Parser": "parser",
    "Tagger": "tagger",
    "select_tagger": "selection",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'loglin.estimators' has no attribute {name!r}")
    return getattr(import_module(f"loglin.estimators.{_HOMES[name]}"), name)


def load(
    path: str | os.PathLike, features: Callable | None = None
) -> Tagger | MaxEnt | NaiveBayes | LanguageModel | Parser:
    """The estimator saved in a model file, ready to predict; ``features`` is the function that it was trained with."""
    from loglin.errors import LoglinError
    from loglin.models import kinds

    face = kinds.face_at(path)
    if features is None:
        return __getattr__(face).load(path)
    if face not in ("Tagger", "MaxEnt"):
        raise LoglinError(f"{path} is a model of {face}, which takes no feature function; leave out features")
    return __getattr__(face).load(path, features)
