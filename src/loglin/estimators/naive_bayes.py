"""``NaiveBayes``: the joint model over the same features as ``MaxEnt``, counted instead of optimized."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from loglin.corpus.labels import Gold, gold_of_sequences
from loglin.criteria.settings import NAIVE_BAYES
from loglin.errors import LoglinError
from loglin.estimators.classifier import Classifier
from loglin.estimators.maxent import MaxEnt
from loglin.features.design import Design
from loglin.features.index import build_index
from loglin.generative import naive_bayes
from loglin.models.chain import Model
from loglin.objectives.likelihood import ConditionalLikelihood
from loglin.objectives.naive_bayes import NaiveBayesLikelihood
from loglin.optimize.lbfgs import minimize
from loglin.threads import Threads

OBJECTIVES = ("joint", "conditional")


class NaiveBayes(Classifier):
    """Naive Bayes: P(c, x) = P(c)·Π P(a | c), in the log-linear form of ``MaxEnt`` (votes, files, explanations).

    Parameters
    ----------
    kind : "multinomial" (attributes are drawn, counts matter) or "bernoulli" (every attribute is there or not).
    alpha : added to every count; 0 takes relative frequencies as they are.
    class_prior : {class: P(c)} in place of the classes' shares of the examples.
    objective : "joint" counts; "conditional" keeps the parameters and the smoothing and maximizes Σ log P(c | x)
        instead, from the counted model (Klein and Manning 2002).
    min_count : attributes (of lists or dicts) seen less often are left out.
    max_iter, tol : of the conditional objective.
    """

    def __init__(
        self,
        kind: str = "multinomial",
        *,
        alpha: float = 1.0,
        class_prior: Mapping | None = None,
        objective: str = "joint",
        min_count: int = 1,
        max_iter: int = 500,
        tol: float = 1e-6,
        threads: int | None = None,
    ):
        self.kind = kind
        self.alpha = alpha
        self.class_prior = class_prior
        self.objective = objective
        self.min_count = min_count
        self.max_iter = max_iter
        self.tol = tol
        self.threads = threads

    fit_intercept = True  # log P(c) is one

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True  # on real-valued clusters, which are no counts
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Count, or with the conditional objective count and then optimize."""
        began = time.perf_counter()
        self._check_parameters()
        X, y = self._checked(X, y)
        check_classification_targets(y)
        extractor = self._new_extractor(X)
        design = extractor.fit(self._examples(X), self.min_count)
        if design.tokens.values.size and (design.tokens.values < 0).any():
            raise LoglinError("Negative values in data: naive Bayes counts, so attribute values must be at least 0")
        design = self._presence(design)
        values = np.asarray(y).tolist()
        labels, gold = gold_of_sequences(([v] for v in values), [1] * design.n_tokens, np.unique(y).tolist())
        if len(labels) < 2:
            raise LoglinError(f"there is only one class, {labels[0]!r}; give examples of at least two classes")
        weight = _check_sample_weight(sample_weight, X) if sample_weight is not None else np.ones(len(values))
        if (weight < 0).any():
            raise LoglinError("a sample weight is negative, and so would be counts; give weights of at least 0")
        intercept = self._intercepts(extractor)
        assert intercept is not None
        table = self._counted(design, gold, intercept, labels, weight)
        index = build_index(design, gold, True, False, 1)
        record: dict[str, Any] = {"stopped": "naive Bayes is counted, not optimized", "iterations": 0}
        if self.objective == "conditional":
            inner = ConditionalLikelihood(design, gold, index, weight, np.float64, Threads(self.threads))
            criterion = NaiveBayesLikelihood(inner, intercept, self.kind, self.alpha)
            start = criterion.parameters(table.ravel())
            result = minimize(criterion, start, max_iter=self.max_iter, tol=self.tol)
            table = criterion.weights(result.weights)
            record = {"objective": result.value, "stopped": result.stopped, "iterations": len(result.iterations)}
        options = self.get_params()
        if self.class_prior is not None:  # JSON has only strings as keys
            options["class_prior"] = {str(label): float(p) for label, p in self.class_prior.items()}
        record |= {"criterion": NAIVE_BAYES, "options": options, "n_features": index.n_features}
        record |= {"train_seconds": time.perf_counter() - began, "sentences": len(values), "tokens": len(values)}
        return self._adopt(Model("classify", labels, extractor, index, table.ravel(), 1, record))

    def _presence(self, design: Design) -> Design:
        """Bernoulli attributes are there or not."""
        if self.kind != "bernoulli":
            return design
        return replace(design, tokens=naive_bayes.presence(design.tokens, design.n_attributes))

    def _design(self, X: Any, intercept: bool = True) -> Design:
        return self._presence(super()._design(X, intercept))

    def _counted(self, design, gold: Gold, intercept: np.ndarray, labels: list, weight: np.ndarray) -> np.ndarray:
        """The joint model's weights (attributes, classes)."""
        has = np.eye(len(labels))[gold.codes]
        sizes = has.T @ weight
        n = naive_bayes.counts(design.tokens, design.n_attributes, has, weight)[~intercept]
        w, b = naive_bayes.log_linear(n, sizes, self.alpha, self.kind)
        prior = sizes / sizes.sum()
        if self.class_prior is not None:
            prior = np.array([self.class_prior.get(label, 0.0) for label in labels], np.float64)
            if set(self.class_prior) != set(labels) or (prior <= 0).any() or abs(prior.sum() - 1) > 1e-6:
                raise LoglinError(
                    f"class_prior is {dict(self.class_prior)!r}; give each class ({', '.join(map(str, labels))}) a "
                    "probability above 0, in all 1"
                )
        table = np.empty((design.n_attributes, len(labels)))
        table[~intercept], table[intercept] = w, b + naive_bayes.log(prior)
        return table

    def _check_parameters(self) -> None:
        if self.kind not in naive_bayes.KINDS:
            raise LoglinError(f"kind is {self.kind!r}; choose {' or '.join(naive_bayes.KINDS)}")
        if self.objective not in OBJECTIVES:
            raise LoglinError(f"objective is {self.objective!r}; choose {' or '.join(OBJECTIVES)}")
        if not isinstance(self.alpha, Real) or not 0 <= self.alpha < np.inf:
            raise LoglinError(f"alpha is {self.alpha!r}; give a number of at least 0")
        if self.objective == "conditional" and self.alpha == 0:
            raise LoglinError("alpha is 0, with which the conditional objective may have no maximum; give some above 0")

    @classmethod
    def from_model(cls, model: Model, threads: int | None = None) -> Self:
        if model.record.get("criterion") != NAIVE_BAYES:
            raise LoglinError("this model is no naive Bayes model; open it with loglin.load")
        self = super().from_model(model, threads)
        if isinstance(self.class_prior, Mapping):
            self.class_prior = {label: self.class_prior[str(label)] for label in model.labels}
        return self

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """log P(c, x) (examples, classes); of the multinomial kind without the coefficient that orders draws."""
        return self._local(X).scores

    def joint_to_conditional(self, X: Any, y: Any, **parameters: Any) -> MaxEnt:
        """A ``MaxEnt`` with the same features that starts from these weights and is trained conditionally.

        It sees values as they are; for what the Bernoulli kind sees, give values of 0 and 1.
        """
        check_is_fitted(self, "model_")
        parameters.setdefault("min_count", self.min_count)
        parameters.setdefault("threads", self.threads)
        return MaxEnt(**parameters).fit(X, y, start=self.model_)
