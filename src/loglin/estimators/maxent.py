"""Independent decisions: ``MaxEnt``, multinomial logistic regression as a scikit-learn classifier."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from loglin.corpus.labels import Gold, gold_of_sequences
from loglin.decode import Decoder, Vote
from loglin.errors import LoglinError
from loglin.estimators.warn import warn_if_unbounded
from loglin.features.attributes import INTERCEPT, AttributeExtractor
from loglin.features.design import Design
from loglin.features.matrix import MatrixExtractor
from loglin.model import Model
from loglin.structures import Local
from loglin.training import Options, train
from loglin.watch import Development


class MaxEnt(ClassifierMixin, BaseEstimator):
    """Maximum-entropy classifier: p(y | x) ∝ exp(w · f(x, y)).

    X is a matrix (dense or sparse), or a list of examples, each a dict of attributes or a list of
    strings. The objective is Σ −log p + l1·Σ|w| + ½·l2·Σw², intercepts unpenalized, so that ``l2`` is
    scikit-learn's 1 / C.

    Parameters
    ----------
    l1, l2 : penalties.
    fit_intercept : one free weight per class.
    all_features : weights for every (attribute, class) pair, or only for those seen together.
    min_count : attributes (of lists or dicts) seen less often are left out.
    max_iter, tol : end of training; ``tol`` is the relative improvement still to come.
    threads, seed, callbacks, warm_start, dtype, dev : as for ``Tagger``.
    class_weight : {class: weight}.
    optimizer : as for ``Tagger``.
    """

    def __init__(
        self,
        *,
        l1: float = 0.0,
        l2: float = 1.0,
        fit_intercept: bool = True,
        all_features: bool = True,
        variances: Mapping | None = None,
        cutoff: int = 1,
        min_count: int = 1,
        max_iter: int = 1000,
        tol: float = 1e-12,
        threads: int | None = None,
        seed: int = 0,
        dev: tuple | None = None,
        callbacks: Sequence[Callable] | None = None,
        warm_start: bool = False,
        dtype: str = "float64",
        class_weight: Mapping | None = None,
        optimizer: str = "auto",
    ):
        self.l1 = l1
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.all_features = all_features
        self.variances = variances
        self.cutoff = cutoff
        self.min_count = min_count
        self.max_iter = max_iter
        self.tol = tol
        self.threads = threads
        self.seed = seed
        self.dev = dev
        self.callbacks = callbacks
        self.warm_start = warm_start
        self.dtype = dtype
        self.class_weight = class_weight
        self.optimizer = optimizer

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # ------------------------------------------------------------------ training

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Sequence[float] | None = None,
        candidates: Sequence[Iterable] | None = None,
    ) -> MaxEnt:
        """Learn from examples and their classes; ``candidates`` limits the choice for each example."""
        y_given = y
        if _is_matrix(X):
            X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, multi_output=_is_partial(y_given))
            extractor: MatrixExtractor | AttributeExtractor = MatrixExtractor(intercept=self.fit_intercept)
        else:
            X, y = list(X), list(y)
            extractor = AttributeExtractor()
        if not _is_partial(y_given):
            check_classification_targets(y)
        design = extractor.fit(self._examples(X), self.min_count)
        labels, gold = self._gold(y, design.n_tokens, candidates)
        start = getattr(self, "model_", None) if self.warm_start else None
        model = train(
            design,
            extractor,
            labels,
            gold,
            self._options(sample_weight),
            task="classify",
            start=start,
            development=self._development(extractor, labels) if self.dev is not None else None,
            callback=self._call,
            unpenalized=self._intercepts(extractor),
        )
        warn_if_unbounded(model)
        return self._adopt(model)

    def _options(self, sample_weight) -> Options:
        return Options(
            optimizer=self.optimizer,
            l1=self.l1,
            l2=self.l2,
            all_features=self.all_features,
            variances=self.variances,
            cutoff=self.cutoff,
            max_iter=self.max_iter,
            tol=self.tol,
            threads=self.threads,
            seed=self.seed,
            dtype=self.dtype,
            warm_start=False,
            label_weights=self.class_weight,
            instance_weights=None if sample_weight is None else np.asarray(sample_weight, float),
        )

    def _examples(self, X) -> Any:
        """Matrices as they are; attribute lists as sentences of one token, with an intercept."""
        if _is_matrix(X):
            return X
        if not self.fit_intercept:
            return ([example] for example in X)
        return ([[example, {INTERCEPT: 1.0}]] for example in X)

    @staticmethod
    def _gold(y, n: int, candidates) -> tuple[list, Gold]:
        partial = _is_partial(y)
        names = None if partial else np.unique(np.asarray(y)).tolist()
        values = y if partial else np.asarray(y).tolist()
        labels, gold = gold_of_sequences(([value] for value in values), [1] * n, names)
        if len(labels) < 2 and candidates is None:
            raise LoglinError(f"there is only one class, {labels[0]!r}; give examples of at least two classes")
        if candidates is not None:
            gold = _with_candidates(gold, labels, candidates, n)
        return labels, gold

    def _intercepts(self, extractor) -> np.ndarray | None:
        if not self.fit_intercept:
            return None
        free = np.zeros(extractor.n_attributes, bool)
        if isinstance(extractor, MatrixExtractor):
            free[-1] = True
        elif (code := extractor.names.code(INTERCEPT)) >= 0:
            free[code] = True
        return free

    def _development(self, extractor, labels: list) -> Development:
        X, y = self.dev  # type: ignore[misc]
        design = extractor.transform(self._examples(X if _is_matrix(X) else list(X)))
        values = np.asarray(y).tolist()
        names = list(dict.fromkeys([*labels, *values]))
        _, gold = gold_of_sequences(([value] for value in values), [1] * design.n_tokens, names)
        return Development(design, gold, names)

    def _call(self, iteration) -> None:
        for callback in self.callbacks or ():
            callback(iteration)

    def _adopt(self, model: Model) -> MaxEnt:
        self.model_ = model
        self.classes_ = np.array(model.labels)
        self.n_iter_ = max(1, model.record.get("iterations", 1))
        self._decoder = Decoder(model, self.threads)
        return self

    # ------------------------------------------------------------------ prediction

    def _design(self, X) -> Design:
        if isinstance(self.model_.extractor, MatrixExtractor):
            X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
            return self.model_.extractor.transform(X)
        return self.model_.extractor.transform(self._examples(list(X)))

    def _local(self, X, candidates=None) -> Local:
        check_is_fitted(self, "model_")
        design = self._design(X)
        mask = None
        if candidates is not None:
            labels = self.classes_.tolist()
            mask = np.array([np.isin(np.arange(len(labels)), _codes(labels, c, i)) for i, c in enumerate(candidates)])
        return Local(self._decoder.scores(design), mask)

    def predict(self, X: Any, candidates: Sequence[Iterable] | None = None) -> np.ndarray:
        best, _ = self._local(X, candidates).best()
        return self.classes_[best]

    def predict_proba(self, X: Any, candidates: Sequence[Iterable] | None = None) -> np.ndarray:
        """Probabilities (examples, classes), classes as in ``classes_``."""
        return self._local(X, candidates).marginals()

    def predict_log_proba(self, X: Any, candidates: Sequence[Iterable] | None = None) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, candidates))

    def predict_nbest(self, X: Any, k: int = 5) -> list[list[tuple[Any, float]]]:
        """For every example its k most probable classes, each with its probability."""
        proba = self.predict_proba(X)
        ranked = np.argsort(-proba, axis=1, kind="stable")[:, :k]
        return [
            [
                (
                    self.classes_[c].item() if hasattr(self.classes_[c], "item") else self.classes_[c],
                    float(p[c]),
                )
                for c in r
            ]
            for r, p in zip(ranked, proba, strict=True)
        ]

    def explain(self, example: Any) -> list[Vote]:
        """Every active feature of one example with its vote for each class, largest first."""
        check_is_fitted(self, "model_")
        return self._decoder.votes(self._design(_first(example)), 0)

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

    # ------------------------------------------------------------------ files

    def save(self, path: str | os.PathLike, half: bool = False) -> None:
        check_is_fitted(self, "model_")
        self.model_.save(path, half)

    @classmethod
    def load(cls, path: str | os.PathLike) -> MaxEnt:
        return cls.from_model(Model.load(path))

    @classmethod
    def from_model(cls, model: Model) -> MaxEnt:
        if model.task != "classify":
            raise LoglinError("this model tags sequences; open it with Tagger.load")
        options = model.record.get("options", {})
        known = ("optimizer", "l1", "l2", "all_features", "max_iter", "tol", "seed", "dtype")
        self = cls(**{k: options[k] for k in known if k in options})
        extractor = model.extractor
        if isinstance(extractor, MatrixExtractor):
            self.fit_intercept, self.n_features_in_ = extractor.intercept, extractor.n_columns
        elif isinstance(extractor, AttributeExtractor):
            self.fit_intercept = extractor.names.code(INTERCEPT) >= 0
        return self._adopt(model)


def _is_matrix(X) -> bool:
    if sparse.issparse(X) or hasattr(X, "__array__") or hasattr(X, "__dataframe__"):
        return True
    first = next(iter(X), None) if isinstance(X, list | tuple) else None
    return isinstance(first, list | tuple | np.ndarray) and len(first) > 0 and not _is_text(first[0])


def _is_text(value) -> bool:
    return isinstance(value, str | dict)


def _is_partial(y) -> bool:
    return isinstance(y, list) and any(v is None or isinstance(v, set | frozenset | tuple) for v in y)


def _first(example) -> Any:
    if sparse.issparse(example):
        return example
    if isinstance(example, np.ndarray):
        return example.reshape(1, -1)
    return [example]


def _codes(labels: list, candidates: Iterable, example: int) -> list[int]:
    codes = []
    for label in candidates:
        if label not in labels:
            raise LoglinError(f"example {example}: the candidate {label!r} is no class of the model")
        codes.append(labels.index(label))
    return codes


def _with_candidates(gold: Gold, labels: list, candidates: Sequence[Iterable], n: int) -> Gold:
    if len(candidates) != n:
        raise LoglinError(f"there are {n} examples but {len(candidates)} candidate sets; give one per example")
    sets, rows = list(gold.sets), np.empty(n, np.int32)
    number: dict = {}
    for i, choice in enumerate(candidates):
        codes = frozenset(_codes(labels, choice, i))
        if gold.codes[i] >= 0 and int(gold.codes[i]) not in codes:
            raise LoglinError(f"example {i}: its class {labels[gold.codes[i]]!r} is not among its candidates")
        if codes not in number:
            number[codes] = len(sets)
            sets.append(np.isin(np.arange(len(labels)), list(codes)))
        rows[i] = number[codes]
    return Gold(gold.codes, gold.n_labels, np.array(sets), rows)
