"""Small models and a folder for files, made once in each process that runs cases."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import warnings
from functools import cache
from pathlib import Path

import numpy as np

from loglin import LanguageModel, MaxEnt, NaiveBayes, Parser, Tagger

SENTENCES = [["The", "dog", "barks"], ["A", "cat"], ["dogs", "bark", "."]]
LABELS = [["D", "N", "V"], ["D", "N"], ["N", "V", "."]]
ATTRIBUTES = [{"a": 1.0, "b": 2.0}, {"b": 1.0}, {"c": -1.0}]
CLASSES = ["x", "y", "x"]
TREES = ["(S (D the) (N dog))", "(S (N dogs) (V bark))"]


@cache
def folder(process: int = 0) -> Path:
    made = Path(tempfile.mkdtemp(prefix="loglin-fuzz-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def place(name: str) -> Path:
    """A file that this process alone writes."""
    return folder(os.getpid()) / name


@cache
def tagger() -> Tagger:
    return Tagger(max_iter=5, threads=1).fit(SENTENCES, LABELS)


@cache
def attribute_tagger() -> Tagger:
    return Tagger(max_iter=5, threads=1).fit([ATTRIBUTES], [["A", "B", "A"]])


@cache
def maxent() -> MaxEnt:
    return MaxEnt(max_iter=5, threads=1).fit(ATTRIBUTES, CLASSES)


@cache
def naive_bayes() -> NaiveBayes:
    return NaiveBayes(threads=1).fit([{"a": 1.0}, {"b": 2.0}], ["x", "y"])


@cache
def parser() -> Parser:
    return Parser("pcfg", threads=1).fit(TREES)


@cache
def language_model() -> LanguageModel:
    return LanguageModel(threads=1, max_iter=3).fit(["the dog barks", "a cat", "dogs bark"])


@cache
def files() -> dict[str, str]:
    """Saved models, by the name of the estimator."""
    made = {}
    for model in (tagger(), maxent(), naive_bayes(), parser(), language_model()):
        path = place(f"{type(model).__name__.lower()}.model")
        model.save(path)
        made[type(model).__name__.lower()] = str(path)
    return made


def prepare() -> None:
    """Make everything, before cases are timed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        attribute_tagger()
        files()


def check_labels(found: list, sentences: list, classes: list) -> None:
    """As many labels as tokens, all known."""
    assert [len(s) for s in found] == [len(s) for s in sentences], "not a label for every token"
    assert all(y in classes for s in found for y in s), "a label that training has not seen"


def check_probabilities(rows: np.ndarray) -> None:
    rows = np.asarray(rows, float)
    assert np.isfinite(rows).all(), "a probability that is not finite"
    assert np.allclose(rows.sum(-1), 1, atol=1e-5), "probabilities that do not sum to one"
