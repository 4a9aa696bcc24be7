"""Estimators fitted for tables, on columns or without a warning about weights that no prior bounds, and decoded."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, TypeVar

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from loglin.corpus.columns import Column, Corpus
from loglin.decoding.chains import Decoder
from loglin.estimators.tagger import Tagger
from loglin.models.chain import Model
from loglin.optimize.run import Run
from loglin.training.fit import fit

E = TypeVar("E", bound=BaseEstimator)


def fit_quietly(estimator: E, *data) -> E:
    """Fit an estimator; the warning is left out because a model without a prior is meant to have none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(*data)


def fit_columns(tagger: Tagger, inputs: Corpus, labels: Column, cold: bool = False) -> Model:
    """The model of a tagger fitted on columns of inputs and one of labels; ``cold``: without a stochastic start."""
    if not cold:
        return fit_quietly(tagger, inputs, labels).model_
    run = Run(max_iter=tagger.chosen_criterion().defaults.max_iter, tol=tagger.chosen_tol, warm_start=False)
    return fit(tagger.problem(inputs, labels), tagger.chosen_criterion(), run)


def decoded(model: Model, inputs: Corpus, threads: int | None, decoding: Mapping[str, Any]) -> list[list[str]]:
    """The labels of every sentence, by one way to decode."""
    decoder = Decoder(model, threads, decoding=dict(decoding))
    codes = decoder.best(decoder.design(inputs)).tolist()
    return [[model.labels[code] for code in codes[b:e]] for b, e in pairwise(inputs.offsets.tolist())]
