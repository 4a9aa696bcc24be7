"""Estimators fitted for tables: on columns, and without a warning about weights that no prior bounds."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import TypeVar

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from loglin.corpus.columns import Column, Corpus
from loglin.estimators.tagger import Tagger
from loglin.models.chain import Model

E = TypeVar("E", bound=BaseEstimator)


def fit_quietly(estimator: E, *data) -> E:
    """Fit an estimator; the warning is left out because a model without a prior is meant to have none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(*data)


def fit_columns(tagger: Tagger, inputs: Corpus, labels: Column) -> Model:
    """Fit a tagger on columns of inputs and one of labels, and return its model."""
    names = labels.strings()
    sequences = [names[begin:end] for begin, end in pairwise(inputs.offsets.tolist())]
    return fit_quietly(tagger, inputs.sentences(), sequences).model_
