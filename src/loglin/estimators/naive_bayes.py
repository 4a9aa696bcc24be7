"""``NaiveBayes``: the joint model over the same features as ``MaxEnt``, counted instead of optimized."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from loglin.corpus.labels import gold_of_sequences
from loglin.criteria.naive_bayes import JointModel
from loglin.criteria.registry import criteria
from loglin.errors import LoglinError
from loglin.estimators.classifier import Classifier, is_matrix
from loglin.estimators.framed import examples_and_classes, table_record
from loglin.estimators.given import are_texts, classes_of
from loglin.estimators.maxent import MaxEnt
from loglin.estimators.parameters import CHECKPOINT, by_label, check_kinds, keeping_state, opened, plain
from loglin.features.design import Design
from loglin.generative import naive_bayes
from loglin.models.chain import Model
from loglin.optimize.reporter import Reporter
from loglin.optimize.run import Run
from loglin.problems.chains import ChainProblem
from loglin.problems.options import ChainOptions
from loglin.problems.penalties import checked_weights
from loglin.threads import Threads
from loglin.training.fit import fit


class NaiveBayes(Classifier):
    """Naive Bayes: P(c, x) = P(c)·Π P(a | c), in the log-linear form of ``MaxEnt`` (votes, files, explanations).

    X and y are as for ``MaxEnt``: a matrix, lists of attributes, or texts.

    Parameters
    ----------
    kind : "multinomial" (attributes are drawn, counts matter) or "bernoulli" (every attribute is there or not).
    alpha : added to every count; 0 takes relative frequencies as they are.
    class_prior : {class: P(c)} in place of the classes' shares of the examples.
    objective : "joint" counts; "conditional" keeps the parameters and the smoothing and maximizes Σ log P(c | x)
        instead, from the counted model (Klein and Manning 2002).
    feature_names : of the columns of a matrix; those of a frame are known.
    min_count : attributes (of lists or dicts) seen less often are left out.
    max_iter, tol : of the conditional objective.
    checkpoint, checkpoint_every : a file to write the state of training to, every so many seconds; the same ``fit``
        then goes on from it if it was killed, and removes it when it returns (docs/training.md).
    """

    def __init__(
        self,
        kind: str = "multinomial",
        *,
        alpha: float = 1.0,
        class_prior: Mapping | None = None,
        objective: str = "joint",
        feature_names: Sequence[str] | None = None,
        min_count: int = 1,
        max_iter: int = 500,
        tol: float = 1e-6,
        threads: int | None = None,
        checkpoint: Any = None,
        checkpoint_every: float = 60.0,
    ):
        self.kind = kind
        self.alpha = alpha
        self.class_prior = class_prior
        self.objective = objective
        self.feature_names = feature_names
        self.min_count = min_count
        self.max_iter = max_iter
        self.tol = tol
        self.threads = threads
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every

    fit_intercept = True  # log P(c) is one

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True  # on real-valued clusters, which are no counts
        return tags

    @keeping_state
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Count, or with the conditional objective count and then optimize."""
        check_kinds(self)
        chosen = JointModel(self.kind, self.alpha, self.objective, self.class_prior)
        X, y, names = examples_and_classes(X, y)
        X, y = self._checked(X, classes_of(y))
        if isinstance(y, list) and any(v is None or isinstance(v, set | frozenset | list | tuple) for v in y):
            raise LoglinError("naive Bayes counts classes, and some are not certain; give every example one class")
        check_classification_targets(y)
        extractor = self._new_extractor(X)
        design = extractor.fit(self._examples(X), self.min_count)
        if design.tokens.values.size and (design.tokens.values < 0).any():
            raise LoglinError("Negative values in data: naive Bayes counts, so attribute values must be at least 0")
        values = np.asarray(y).tolist()
        labels, gold = gold_of_sequences(([v] for v in values), [1] * design.n_tokens, np.unique(y).tolist())
        if len(labels) < 2:
            raise LoglinError(f"there is only one class, {labels[0]!r}; give examples of at least two classes")
        weight = np.ones(len(values)) if sample_weight is None else checked_weights(sample_weight, len(values))
        problem = ChainProblem(
            self._presence(design),
            extractor,
            labels,
            gold,
            ChainOptions(all_features=True, instance_weights=weight),
            threads=Threads(self.threads),
            task="classify",
            sequential=False,
            joint=True,
            unpenalized=self._intercepts(extractor),
        )
        run = Run(max_iter=self.max_iter, tol=self.tol, reporter=Reporter(checkpoint=opened(self)))
        with run.reporter.listening():
            model = fit(problem, chosen, run)
            model.record["texts"] = not is_matrix(X) and are_texts(X)
            model.record |= table_record(names)
            model.record["options"] = {k: plain(v) for k, v in self.get_params().items() if k not in CHECKPOINT}
            self._adopt(model)
        return self

    def _presence(self, design: Design) -> Design:
        """Bernoulli attributes are there or not."""
        if self.kind != "bernoulli":
            return design
        return replace(design, tokens=naive_bayes.presence(design.tokens, design.n_attributes))

    def _design(self, X: Any, intercept: bool = True) -> Design:
        return self._presence(super()._design(X, intercept))

    @classmethod
    def from_model(cls, model: Model, threads: int | None = None) -> Self:
        if model.record.get("criterion") not in criteria("joint"):
            raise LoglinError("this model is no naive Bayes model; open it with loglin.load")
        self = super().from_model(model, threads)
        self.class_prior = by_label(self.class_prior, model.labels)  # type: ignore[assignment]
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
