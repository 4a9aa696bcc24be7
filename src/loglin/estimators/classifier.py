"""What every classifier does once it has weights: predict, explain, be saved."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, Self, overload

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from loglin.corpus.frames import Names, is_frame
from loglin.corpus.plaintext import distinct_words
from loglin.decoding.chains import Decoder
from loglin.decoding.reasons import Vote
from loglin.drawing.records import TrainingRecord
from loglin.errors import LoglinError
from loglin.estimators.framed import examples
from loglin.estimators.given import are_texts, candidates_of, classes_of, described, examples_of, listed
from loglin.estimators.parameters import by_label, page_of_estimator, training_record
from loglin.estimators.pickled import Pickled
from loglin.features.attributes import INTERCEPT, AttributeExtractor
from loglin.features.design import Design
from loglin.features.matrix import MatrixExtractor
from loglin.models.chain import Model
from loglin.models.weights import attribute_names, weights_table
from loglin.optimize.run import check_whole
from loglin.structures import Local

Predicted = np.ndarray | list  # classes; of label sets a list of sets, of candidates a list if they make no array
Probabilities = np.ndarray | list[np.ndarray]  # (examples, classes); of candidates an array for every example


class Votes(list[Vote]):
    """Every active feature of one example with its votes, largest first; printed as a table."""

    def __init__(self, votes: Iterable[Vote], scores: dict, probabilities: dict, label: Any):
        super().__init__(votes)
        self.scores = scores  # class → Σ votes
        self.probabilities = probabilities  # class → probability; empty where the model gives none
        self.label = label  # the class, or the set of labels

    def as_dict(self) -> dict[str, Any]:
        """For JSON, which has only strings as keys."""
        return {
            "label": sorted(self.label) if isinstance(self.label, set) else self.label,
            "probabilities": {str(y): p for y, p in self.probabilities.items()},
            "scores": {str(y): s for y, s in self.scores.items()},
            "votes": [vote.as_dict() for vote in self],
        }

    def __str__(self) -> str:
        ranked, votes = self.table()
        rows = [(name, [f"{w:+.3f}" for w in weights]) for name, weights in votes]
        rows.append(("sum of votes", [f"{self.scores[y]:+.3f}" for y in ranked]))
        if self.probabilities:
            rows.append(("probability", [f"{self.probabilities[y]:.3f}" for y in ranked]))
        width = max(len(name) for name, _ in rows)
        widths = [max(len(str(y)), 7) for y in ranked]
        lines = []
        for name, cells in [("", ranked), *rows]:
            aligned = "  ".join(f"{cell!s:>{w}}" for cell, w in zip(cells, widths, strict=True))
            lines.append(f"{name:<{width}}  {aligned}")
        return "\n".join(lines)

    def table(self, most: int = 5) -> tuple[list, list[tuple[str, list[float]]]]:
        """The classes with the largest scores, and the votes of every feature for each of them."""
        ranked = sorted(self.scores, key=self.scores.get, reverse=True)[:most]  # type: ignore[arg-type]
        return ranked, [(v.feature, [v.votes.get(y, 0.0) for y in ranked]) for v in self]

    def _repr_html_(self) -> str:
        from loglin.drawing.votes import votes_page

        ranked, rows = self.table()
        label = " and ".join(sorted(map(str, self.label))) or "nothing" if isinstance(self.label, set) else self.label
        chances = [self.probabilities[y] for y in ranked] if self.probabilities else []
        return votes_page(str(label), ranked, rows, [self.scores[y] for y in ranked], chances)


class Classifier(Pickled, ClassifierMixin, BaseEstimator):
    """A fitted ``model_`` of independent decisions; subclasses say how it is fitted."""

    model_: Model
    fit_intercept: bool
    min_count: int
    feature_names: Sequence[str] | None
    gives_probabilities = True
    threads: int | None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _adopt(self, model: Model) -> Self:
        self.model_ = model
        self.classes_ = np.array(model.labels)
        self.n_iter_ = max(1, model.record.get("iterations", 1))
        self._decoder = Decoder(model, self.threads)
        self._bias = self.intercept_ if isinstance(model.extractor, MatrixExtractor) else None
        return self

    # ------------------------------------------------------------------ inputs

    def _checked(self, X: Any, y: Any, multi_output: bool = False) -> tuple[Any, Any]:
        check_whole("min_count", self.min_count, 1)
        if is_matrix(X):
            if multi_output and not isinstance(y, np.ndarray):  # sets, lists and None, which make no array
                return validate_data(self, X, accept_sparse="csr", dtype=np.float64), y
            return validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, multi_output=multi_output)
        X = examples_of(X)
        if not X:
            raise LoglinError("there are no examples to learn from; give some of at least two classes")
        if len(X) != len(y):
            what = "label sets" if multi_output else "classes"
            raise LoglinError(f"there are {len(X)} examples but {len(y)} {what}; give one for each")
        return X, y

    def _new_extractor(self, X: Any) -> MatrixExtractor | AttributeExtractor:
        if not hasattr(X, "shape"):
            return AttributeExtractor()
        given = self.feature_names if self.feature_names is not None else getattr(self, "feature_names_in_", None)
        names = None if given is None else [str(name) for name in given]
        if names is not None and (len(names) != X.shape[1] or len(set(names)) < len(names)):
            raise LoglinError(
                f"feature_names are {len(names)}, {len(set(names))} of them different, but X has {X.shape[1]} columns; "
                "give a name for each"
            )
        return MatrixExtractor(intercept=self.fit_intercept, names=names)

    def _examples(self, X: Any) -> Any:
        """Checked matrices as they are; attribute lists as sentences of one token, with an intercept."""
        if hasattr(X, "shape"):
            return X
        if are_texts(X):
            X = map(distinct_words, X)
        if not self.fit_intercept:
            return ([example] for example in X)
        return ([[example, {INTERCEPT: 1.0}]] for example in X)

    def _intercepts(self, extractor) -> np.ndarray | None:
        """Which attributes are intercepts: (attributes,) bool."""
        if not self.fit_intercept:
            return None
        free = np.zeros(extractor.n_attributes, bool)
        if isinstance(extractor, MatrixExtractor):
            free[-1] = True
        elif (code := extractor.names.code(INTERCEPT)) >= 0:
            free[code] = True
        return free

    def _design(self, X: Any, intercept: bool = True) -> Design:
        check_is_fitted(self, "model_")
        X = examples(X, Names.kept(self.model_.record))
        if isinstance(self.model_.extractor, MatrixExtractor):
            X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
            return self.model_.extractor.transform(X, intercept)
        X = examples_of(X)
        if are_texts(X) and not self.model_.record.get("texts"):
            raise LoglinError(
                f"example 0 is {described(X[0])}, but the model was trained on attributes, not on texts; give a list "
                "of strings, or a dict"
            )
        return self.model_.extractor.transform(self._examples(X))

    # ------------------------------------------------------------------ prediction

    def scores(self, X: Any) -> np.ndarray:
        """Sums of votes (examples, classes); the intercepts of a matrix are added at the end, all in one go."""
        design = self._design(X, intercept=False)
        scores = self._decoder.scores(design)
        if isinstance(self.model_.extractor, MatrixExtractor):
            scores += self._bias
        if not np.isfinite(scores).all():
            raise LoglinError("votes add up to more than a number can hold; give attributes smaller values")
        return scores

    def _local(self, X: Any, candidates: Sequence[Iterable] | None = None) -> Local:
        scores, mask = self.scores(X), None
        if candidates is not None:
            candidates = listed(candidates, "candidates", "give a list of classes for each example")
            if len(candidates) != len(scores):
                raise LoglinError(
                    f"there are {len(scores)} examples but {len(candidates)} candidate sets; give one per example"
                )
            labels = self.classes_.tolist()
            mask = np.array([np.isin(np.arange(len(labels)), codes(labels, c, i)) for i, c in enumerate(candidates)])
        return Local(scores, mask)

    def predict(self, X: Any, candidates: Sequence[Iterable] | None = None) -> Predicted:
        """The most probable class of every example."""
        best = self.scores(X).argmax(axis=1) if candidates is None else self._local(X, candidates).best()[0]
        return self.classes_[best]

    @overload
    def predict_proba(self, X: Any, candidates: None = None) -> np.ndarray: ...

    @overload
    def predict_proba(self, X: Any, candidates: Sequence[Iterable]) -> Probabilities: ...

    def predict_proba(self, X: Any, candidates: Sequence[Iterable] | None = None) -> Probabilities:
        """Probabilities (examples, classes), classes as in ``classes_``."""
        return self._local(X, candidates).marginals()

    def predict_log_proba(self, X: Any, candidates: Sequence[Iterable] | None = None) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, candidates))  # type: ignore[arg-type]

    def predict_nbest(self, X: Any, k: int = 5) -> list[list[tuple[Any, float]]]:
        """For every example its k most probable classes, each with its probability."""
        check_whole("k", k, 0)
        proba, labels = self.predict_proba(X), self.classes_.tolist()
        ranked = np.argsort(-proba, axis=1, kind="stable")[:, :k]
        return [[(labels[c], float(p[c])) for c in r] for r, p in zip(ranked, proba, strict=True)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy."""
        y = classes_of(y)
        if isinstance(y, list) and any(v is None or isinstance(v, set | frozenset | list | tuple) for v in y):
            raise LoglinError("y has an example without one certain class; accuracy needs one for each")
        return super().score(X, y, sample_weight)

    def explain(self, example: Any) -> Votes:
        """Every active feature of one example with its vote for each class, largest first."""
        check_is_fitted(self, "model_")
        one, labels = single(example), self.classes_.tolist()
        scores = self.scores(one)
        probabilities = Local(scores).marginals()[0] if self.gives_probabilities else []
        return Votes(
            self._decoder.votes(self._design(one), 0),
            dict(zip(labels, scores[0].tolist(), strict=True)),
            dict(zip(labels, np.asarray(probabilities).tolist(), strict=False)),
            labels[int(scores[0].argmax())],
        )

    # ------------------------------------------------------------------ pictures

    @property
    def training_(self) -> TrainingRecord:
        """How the model was trained: numbers, why training stopped, and the history of iterations."""
        check_is_fitted(self, "model_")
        return training_record(self.model_)

    def plot_training(self, ax: Any = None) -> Any:
        """The objective over iterations; matplotlib's axes."""
        from loglin.drawing.plots import plot_training

        return plot_training(self.training_, ax)

    def plot_confusion(self, X: Any, y: Any, ax: Any = None) -> Any:
        """How often examples of each class get each class; matplotlib's axes."""
        from loglin.drawing.plots import plot_confusion

        return plot_confusion([str(v) for v in y], [str(v) for v in self.predict(X)], ax)

    def _html_repr(self) -> str:
        """What scikit-learn shows in a notebook; with a model, that."""
        return page_of_estimator(self, self.model_) if hasattr(self, "model_") else super()._html_repr()

    # ------------------------------------------------------------------ weights and files

    def weights(self) -> dict[str, list]:
        """Every weight as columns of a table, attribute, before, label and weight, the largest first."""
        check_is_fitted(self, "model_")
        return weights_table(self.model_)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the attributes that have weights, the intercept's included."""
        check_is_fitted(self, "model_")
        return np.array(attribute_names(self.model_), object)

    @property
    def coef_(self) -> np.ndarray:
        """Weights (classes, attributes) without the intercept."""
        return self._weight_matrix()[:, : self._n_inputs()]

    @property
    def intercept_(self) -> np.ndarray:
        matrix = self._weight_matrix()
        return matrix[:, self._n_inputs()] if matrix.shape[1] > self._n_inputs() else np.zeros(len(matrix))

    def _n_inputs(self) -> int:
        if not isinstance(self.model_.extractor, MatrixExtractor):
            raise AttributeError("coef_ exists for matrices; use explain or loglin inspect for named attributes")
        return self.model_.extractor.n_columns

    def _weight_matrix(self) -> np.ndarray:
        check_is_fitted(self, "model_")
        index = self.model_.index
        matrix = np.zeros((index.n_labels, len(index.ptr) - 1))
        attribute = np.repeat(np.arange(len(index.ptr) - 1), np.diff(index.ptr))
        matrix[index.labels, attribute] = index.split(self.model_.weights)[0]
        return matrix

    def save(self, path: str | os.PathLike, half: bool = False) -> None:
        check_is_fitted(self, "model_")
        self.model_.save(path, half)

    @classmethod
    def load(cls, path: str | os.PathLike) -> Self:
        return cls.from_model(Model.load(path))

    @classmethod
    def from_model(cls, model: Model, threads: int | None = None) -> Self:
        if model.kind.has_transitions:
            raise model.kind.refusal()
        options, known = model.record.get("options", {}), cls._get_param_names()
        self = cls(**{k: v for k, v in options.items() if k in known and k != "threads"})
        self.threads = threads
        if "class_weight" in known:
            self.class_weight = by_label(self.class_weight, model.labels)
        extractor = model.extractor
        if isinstance(extractor, MatrixExtractor):
            self.fit_intercept, self.n_features_in_ = extractor.intercept, extractor.n_columns
            if extractor.names is not None and self.feature_names is None:  # those of a frame
                self.feature_names_in_ = np.array(extractor.names, object)
        elif isinstance(extractor, AttributeExtractor):
            self.fit_intercept = extractor.names.code(INTERCEPT) >= 0
        return self._adopt(model)


def is_matrix(X: Any) -> bool:
    if sparse.issparse(X) or is_frame(X):
        return True
    if hasattr(X, "__array__"):  # a column of texts, lists or dicts is a list of examples
        return len(getattr(X, "shape", ())) != 1 or np.asarray(X).dtype.kind in "biufc"
    first = next(iter(X), None) if isinstance(X, list | tuple) else None
    return isinstance(first, list | tuple | np.ndarray) and len(first) > 0 and not isinstance(first[0], str | dict)


def codes(labels: list, candidates: Iterable, example: int) -> list[int]:
    found = []
    for label in candidates_of(candidates, example):
        if label not in labels:
            raise LoglinError(f"example {example}: the candidate {label!r} is no class of the model")
        found.append(labels.index(label))
    return found


def single(example: Any) -> Any:
    if sparse.issparse(example) or is_frame(example):
        return example
    if isinstance(example, np.ndarray):
        return example.reshape(1, -1)
    return [example]
