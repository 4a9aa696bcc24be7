"""What classifiers say of examples that come from outside of Python: attributes by name, classes as text."""

from __future__ import annotations

import operator
from typing import Any

from loglin.errors import LoglinError
from loglin.features.attributes import AttributeExtractor, attributes_of
from loglin.models.chain import Model


def classifier_of(model: Model, path: str, threads: int | None = None) -> Any:
    """The classifier of the model that stands in a file; one that files alone do not make usable is refused."""
    from loglin import estimators

    if model.kind.has_transitions:
        raise model.kind.refusal(path)
    if not isinstance(model.extractor, AttributeExtractor):
        raise LoglinError(
            f"{path} was trained in Python on a matrix, and its columns have no names; open it with loglin.MaxEnt.load"
        )
    estimator: Any = getattr(estimators, model.kind.face_of(model.record))
    estimator = estimator.from_model(model, threads)
    if model.kind.ranks:
        estimator.set_params(features=operator.getitem)
    return estimator


def judged(estimator: Any, X: list[dict]) -> list[tuple[Any, dict[str, float]]]:
    """Of every example its answer, and the probability (or sum of votes) of every class or candidate."""
    if estimator.model_.kind.ranks:
        rows = [dict(zip(x, p.tolist(), strict=True)) for x, p in zip(X, estimator.predict_proba(X, X), strict=True)]
        return list(zip(estimator.predict(X, X), rows, strict=True))
    values = estimator.predict_proba(X) if estimator.gives_probabilities else estimator.scores(X)
    names = [str(y) for y in estimator.classes_.tolist()]
    rows = [dict(zip(names, row, strict=True)) for row in values.tolist()]
    if estimator.model_.decoding.get("steps") == "independent":
        return [({str(y) for y in given}, row) for given, row in zip(estimator.predict(X), rows, strict=True)]
    return [(max(row, key=row.__getitem__), row) for row in rows]


def as_dict(answer: Any, values: dict[str, float], nbest: int | None = None) -> dict[str, Any]:
    """An answer for JSON, with the probabilities of all classes and, if asked for, the best of them in their order."""
    several = isinstance(answer, set)
    value: dict[str, Any] = {"labels": sorted(answer)} if several else {"label": answer, "probability": values[answer]}
    value["probabilities"] = values
    if nbest:
        ranked = sorted(values, key=lambda y: -values[y])
        value["nbest"] = [{"label": y, "probability": values[y]} for y in ranked[:nbest]]
    return value


def summed_attributes(features: Any, place: str) -> dict[str, float]:
    """Attributes by name; a complaint about one is told with the place of the example."""
    found: dict[str, float] = {}
    try:
        for name, value in attributes_of(features):
            found[name] = found.get(name, 0.0) + value
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise LoglinError(f"{place}: {error}; correct it") from None
    return found
