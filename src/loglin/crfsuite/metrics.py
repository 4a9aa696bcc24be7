"""Scores of label sequences: scikit-learn's, over all tokens of all sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from itertools import chain
from typing import Any


def _over_tokens(name: str) -> Callable[..., Any]:
    """The score of scikit-learn of that name, over the labels of all tokens."""

    def flat(y_true: Sequence[Sequence], y_pred: Sequence[Sequence], *given: Any, **more: Any) -> Any:
        from sklearn import metrics

        score = getattr(metrics, name)
        return score(list(chain.from_iterable(y_true)), list(chain.from_iterable(y_pred)), *given, **more)

    flat.__name__ = flat.__qualname__ = f"flat_{name}"
    flat.__doc__ = f"The {name} of scikit-learn over the labels of all tokens; it takes the same further arguments."
    return flat


flat_accuracy_score = _over_tokens("accuracy_score")
flat_precision_score = _over_tokens("precision_score")
flat_recall_score = _over_tokens("recall_score")
flat_f1_score = _over_tokens("f1_score")
_fbeta_score = _over_tokens("fbeta_score")
_classification_report = _over_tokens("classification_report")


@wraps(_fbeta_score)
def flat_fbeta_score(y_true: Sequence[Sequence], y_pred: Sequence[Sequence], beta: float, **more: Any) -> Any:
    return _fbeta_score(y_true, y_pred, beta=beta, **more)


@wraps(_classification_report)
def flat_classification_report(
    y_true: Sequence[Sequence], y_pred: Sequence[Sequence], labels: Sequence | None = None, **more: Any
) -> Any:
    return _classification_report(y_true, y_pred, labels=labels, **more)


def sequence_accuracy_score(y_true: Sequence[Sequence], y_pred: Sequence[Sequence]) -> float:
    """The share of sentences whose labels are all right."""
    right = sum(a == b for a, b in zip(y_true, y_pred, strict=True))
    return right / len(y_true) if len(y_true) else 0
