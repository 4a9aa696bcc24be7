"""Scorers of taggers for scikit-learn: F1, precision and recall of entities, accuracies of tokens and sentences.

cross_val_score(Tagger(), X, y, scoring="f1")       by name; other estimators are scored as before
cross_val_score(Tagger(), X, y, scoring=scorers["f1"])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from loglin.errors import LoglinError
from loglin.estimators.fitted_tagger import FittedTagger

# names of scikit-learn's scorers, and what of an evaluation they are for sequences
FIELDS: Mapping[str, str] = {
    "f1": "f1",
    "f1_macro": "macro_f1",
    "f1_micro": "f1",
    "precision": "precision",
    "recall": "recall",
    "accuracy": "accuracy",
    "sentence_accuracy": "sentence_accuracy",
}


class SequenceScorer:
    """A number of a tagger's evaluation; of other estimators what ``otherwise`` says."""

    def __init__(self, name: str, otherwise: Callable | None = None):
        self.name, self.otherwise = name, otherwise

    def __call__(self, estimator: Any, X: Any, y: Any, **more: Any) -> float:
        model = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
        if isinstance(model, FittedTagger):
            if more:
                raise LoglinError(f"the scorer {self.name} of taggers takes no {', '.join(more)}; leave it out")
            if model is not estimator:
                X = estimator[:-1].transform(X)
            return getattr(model.evaluate(X, y), FIELDS[self.name])
        if self.otherwise is None:
            raise LoglinError(f"the scorer {self.name} is for taggers, not for {type(estimator).__name__}")
        return self.otherwise(estimator, X, y, **more)

    def __getattr__(self, name: str) -> Any:
        """What scikit-learn asks of the scorer that it had under this name."""
        if name.startswith("__") or self.__dict__.get("otherwise") is None:
            raise AttributeError(name)
        return getattr(self.otherwise, name)

    def __repr__(self) -> str:
        return f"SequenceScorer({self.name!r})"


scorers = {name: SequenceScorer(name) for name in FIELDS}


def register() -> None:
    """Let scikit-learn's names of scorers mean entities where a tagger is scored; all else is scored as before.

    Taggers see to it when they are made, if scikit-learn's scorers are there by then.
    """
    from sklearn.metrics import _scorer

    for name in FIELDS:
        known = _scorer._SCORERS.get(name)
        if not isinstance(known, SequenceScorer):
            _scorer._SCORERS[name] = SequenceScorer(name, known)
