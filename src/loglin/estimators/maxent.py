"""Independent decisions: ``MaxEnt``, multinomial logistic regression as a scikit-learn classifier."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Self, overload

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from loglin.corpus.frames import Names
from loglin.corpus.labels import Choices, Gold, LabelSets, gold_of_sequences, plain_labels
from loglin.criteria.criterion import Criterion
from loglin.decoding.reasons import Vote
from loglin.errors import LoglinError
from loglin.estimators.candidates import CandidateLists, of_new_examples, of_training
from loglin.estimators.classifier import Classifier, Predicted, Probabilities, Votes, codes, is_matrix, single
from loglin.estimators.framed import examples_and_classes, table_record
from loglin.estimators.given import are_texts, classes_of, examples_of, listed, pair_of
from loglin.estimators.label_sets import checked_threshold, is_indicator, label_sets
from loglin.estimators.more_data import Given
from loglin.estimators.parameters import WithCriterion, check_kinds, keeping_state
from loglin.estimators.sharing import shared
from loglin.estimators.warn import warn_of_end
from loglin.evaluation.sequences import best_threshold
from loglin.features.attributes import AttributeExtractor
from loglin.features.design import Design
from loglin.models.chain import Model
from loglin.problems.chains import ChainProblem
from loglin.problems.options import ChainOptions
from loglin.problems.penalties import checked_weights, numbers_of
from loglin.structures import Local
from loglin.threads import Threads
from loglin.training.fit import fit
from loglin.training.held_out import HeldOutLabels

SMALL = 200_000  # examples times classes: double precision gains more than it costs
USUAL = 20  # attributes of an example; of more, fewer examples are few
SETS = "give a list with a set of labels for each example"
FOLDS = 3  # of the training data, for a threshold of label sets


class MaxEnt(WithCriterion, Classifier):
    """Maximum-entropy classifier: p(y | x) ∝ exp(w · f(x, y)).

    X is a matrix (dense or sparse), or a list of examples, each a dict of attributes or a list of
    strings, or all of them texts, whose words are attributes as for ``loglin classify-train``: runs of letters and
    digits in lower case, each once. The objective is Σ −log p + l1·Σ|w| + ½·l2·Σw², intercepts unpenalized, so that
    ``l2`` is scikit-learn's 1 / C.

    Parameters
    ----------
    criterion : how weights are estimated, by name or as an object of ``loglin.criteria``:
        CRITERIA
        For label sets all but the perceptron.
    settings : of the criterion, as for ``Tagger``.
    features : a function f(x, y) that gives the attributes of an example together with a class, a list of strings
        or a dict; weights are then per attribute and not per attribute and class. Without it, an attribute of x
        has one weight for every class.
    multi_label : y holds sets of labels, each example any number; a yes-or-no model for every label, all trained
        in the same passes. A 0/1 matrix as y means the same.
    threshold : of label sets: a label is given from this probability (or score) on; None is 0.5 (of margins 0);
        "out-of-fold" chooses the one with the best micro F1 on training examples that were held out in turn.
    l1, l2 : penalties.
    variances : {pattern of attribute names: variance of their Gaussian prior}, such as {"suffix:*": 0.1}, in place
        of 1 / l2; columns of a matrix are named x0, x1, … unless they have names.
    fit_intercept : one free weight per class.
    feature_names : of the columns of a matrix, such as ``vectorizer.get_feature_names_out()``; a frame has
        its own.
    all_features : weights for every (attribute, class) pair, or only for those seen together.
    min_count : attributes (of lists or dicts) seen less often are left out.
    cutoff : features (attribute and class together) seen less often are left out.
    max_iter, tol : end of training; ``tol`` is the relative improvement still to come. None is 1e-12 where examples
        times classes are fewer than 200,000 (20 attributes an example, or fewer examples), which is quick all the same,
        and 1e-7 for more.
    threads, seed, callbacks, warm_start, dtype, dev : as for ``Tagger``.
    class_weight : {class: weight}, or "balanced": examples / (classes · examples of the class).
    optimizer : as for ``Tagger``.
    checkpoint, checkpoint_every : a file to write the state of training to, every so many seconds; the same ``fit``
        then goes on from it if it was killed, and removes it when it returns (docs/training.md).
    verbose : show iterations on standard error; the logger "loglin" hears of them in any case.
    """

    structure = "local"
    _given: Given  # by partial_fit

    def __init__(
        self,
        criterion: str | Criterion = "likelihood",
        *,
        settings: Mapping | None = None,
        features: Callable | None = None,
        multi_label: bool = False,
        threshold: float | str | None = None,
        l1: float = 0.0,
        l2: float = 1.0,
        variances: Mapping | None = None,
        fit_intercept: bool = True,
        feature_names: Sequence[str] | None = None,
        all_features: bool = True,
        min_count: int = 1,
        cutoff: int = 1,
        max_iter: int | None = None,
        tol: float | None = None,
        threads: int | None = None,
        seed: int = 0,
        dev: tuple | None = None,
        callbacks: Sequence[Callable] | None = None,
        warm_start: bool = False,
        dtype: str = "auto",
        class_weight: Mapping | str | None = None,
        optimizer: str = "auto",
        checkpoint: Any = None,
        checkpoint_every: float = 60.0,
        verbose: bool = False,
    ):
        self.criterion = criterion
        self.settings = settings
        self.features = features
        self.multi_label = multi_label
        self.threshold = threshold
        self.l1 = l1
        self.l2 = l2
        self.variances = variances
        self.fit_intercept = fit_intercept
        self.feature_names = feature_names
        self.all_features = all_features
        self.min_count = min_count
        self.cutoff = cutoff
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
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.verbose = verbose

    # ------------------------------------------------------------------ training

    @keeping_state
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Sequence[float] | None = None,
        candidates: Sequence[Iterable] | None = None,
        start: Model | None = None,
        *,
        work_dir: str | os.PathLike | None = None,
        memory: int | str | None = None,
        client: Any = None,
    ) -> Self:
        """Learn from examples and their classes.

        ``candidates`` limits the choice for each example; with ``features`` they may be anything, and y is the right
        one of each. ``start`` is a model whose weights training begins with.

        With ``work_dir``, ``memory`` ("2GB") or the Dask ``client`` every pass goes over parts that stand in that
        folder on disk, in this process or with the workers (docs/scale.md).
        """
        check_kinds(self)
        shards = {"work_dir": work_dir, "memory": memory, "client": client}
        self.__dict__.pop("_given", None)
        start = getattr(start, "model_", start)
        X, y, names = examples_and_classes(X, y)
        if sample_weight is not None:
            sample_weight = numbers_of(sample_weight)  # type: ignore[assignment]
        if self.features is not None:
            if self.dev is not None or self.warm_start or start is not None:
                raise LoglinError(
                    "features of (x, y) take neither dev nor a start; leave out dev, warm_start and start"
                )
            return self._fit_candidates(of_training(self.features, X, y, candidates), sample_weight, shards)
        y = y.toarray() if sparse.issparse(y) else y
        several = self.multi_label or is_indicator(y)
        if not several and isinstance(y, list) and any(isinstance(given, list) for given in y):
            raise LoglinError("y holds lists; for label sets give multi_label=True, or a 0/1 matrix as an array")
        if not is_indicator(y, 1):
            y = listed(y, "y", SETS) if several else classes_of(y)
        uncertain = not several and _is_partial(y)
        X, y = self._checked(X, y, multi_output=several or uncertain)
        if not several and not uncertain:
            check_classification_targets(y)
        extractor, texts = self._new_extractor(X), not is_matrix(X) and are_texts(X)
        design = extractor.fit(self._examples(X), self.min_count)
        labels, gold = label_sets(y, design.n_tokens) if several else self._gold(y, design.n_tokens, candidates)
        if several and (candidates is not None or self.dev is not None):
            raise LoglinError("label sets take neither candidates nor dev; leave them out")
        if self.threshold is not None and not several:
            raise LoglinError(f"threshold is {self.threshold!r}, but every example has one class; it is for label sets")
        if several and self.threshold not in (None, "out-of-fold"):
            checked_threshold(self.threshold)
        if start is None and self.warm_start:
            start = getattr(self, "model_", None)
        self._train(
            extractor,
            design,
            labels,
            gold,
            sample_weight,
            start=start,
            held_out=self._held_out(extractor, labels, texts) if self.dev is not None else None,
            unpenalized=self._intercepts(extractor),
            indicator=several and is_indicator(y, 1),
            texts=texts,
            names=names,
            shards=shards,
        )
        if several and self.threshold is not None:
            chosen = self._out_of_fold(X, y, sample_weight) if self.threshold == "out-of-fold" else self.threshold
            decoding = self.model_.decoding | {"threshold": checked_threshold(chosen)}
            self._adopt(replace(self.model_, decoding=decoding))
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Sequence | None = None, sample_weight: Sequence[float] | None = None
    ) -> Self:
        """Learn from more examples; attributes and classes may be new, and ``classes`` need not be told.

        What is optimized is the objective of ``fit`` on all examples that ``partial_fit`` was given, which are kept,
        and training begins with the weights so far. After ``fit`` or ``load``, whose examples are not kept, the first
        call begins with their weights, and what is optimized is the objective on the new examples alone.
        """
        if self.features is not None:
            raise LoglinError("features of (x, y) are not learnt in parts; give all examples to fit")
        X, y, names = examples_and_classes(X, y)
        if is_matrix(X):
            X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=not hasattr(self, "_given"))
        else:
            X = examples_of(X)
        given = Given(X, listed(y, "y", SETS), None if sample_weight is None else np.asarray(sample_weight, float))
        if classes is not None and not self.multi_label and (unknown := set(given.y) - set(classes)):
            raise LoglinError(f"y has the class {next(iter(unknown))!r}, which is none of classes; add it")
        given = self._given.joined(given) if hasattr(self, "_given") else given
        self.fit(given.X, given.y, given.weight, start=getattr(self, "model_", None))  # type: ignore[arg-type]
        self.model_.record |= table_record(names)
        self._given = given
        return self

    def _train(
        self,
        extractor: Any,
        design: Design,
        labels: list,
        gold: Gold | LabelSets | Choices,
        sample_weight: Sequence[float] | None,
        start: Model | None = None,
        held_out: HeldOutLabels | None = None,
        unpenalized: np.ndarray | None = None,
        indicator: bool = False,  # whether predictions have the form of a 0/1 matrix
        texts: bool = False,  # whether examples are texts, which are split into words
        names: Names | None = None,  # of the frame that the examples are from
        shards: Mapping = MappingProxyType({}),  # where parts are kept and computed, see ``shared``
    ) -> Self:
        """Train, with the precision and tolerance that suit the size of the problem."""
        chosen, ranks = self.chosen_criterion(), isinstance(gold, Choices)
        small = design.n_tokens * len(labels) < SMALL
        size = max(design.n_tokens, len(design.tokens.ids) / USUAL)
        tiny = size * (1 if ranks else len(labels)) < SMALL
        exact = isinstance(gold, LabelSets) or chosen.label_by_label or small
        run = self.new_run(
            chosen,
            self.l1,
            self.max_iter,
            tol=(1e-12 if tiny else 1e-7) if self.tol is None else self.tol,
            dtype="float64" if self.dtype == "auto" and exact else self.dtype,
            seed=self.seed,
            warm_start=False,
        )
        options = ChainOptions(
            l1=self.l1,
            l2=self.l2,
            all_features=self.all_features or ranks,
            variances=self.variances,
            cutoff=self.cutoff,
            label_weights=self.class_weight,
            instance_weights=sample_weight,
        )
        problem = ChainProblem(
            design,
            extractor,
            labels,
            gold,
            options,
            chosen.features(),
            Threads(self.threads),
            task="rank" if ranks else "classify",
            sequential=False,
            unpenalized=unpenalized,
        )
        with shared(problem, chosen, self.optimizer, **shards) as problem, run.reporter.listening():
            model = fit(problem, chosen, run, start, held_out)
            model.record["options"] = self.saved_parameters(chosen)
            model.record["texts"] = texts
            model.record |= table_record(names)
            if indicator:
                model.record["indicator"] = True
            self._adopt(model)
        warn_of_end(model)
        return self

    def _fit_candidates(self, lists: CandidateLists, sample_weight: Sequence[float] | None, shards: Mapping) -> Self:
        extractor = AttributeExtractor()
        design = extractor.fit(lists.attributes, self.min_count)
        return self._train(extractor, design, lists.classes, lists.choices, sample_weight, shards=shards)

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

    def _out_of_fold(self, X, y, sample_weight) -> float:
        """The threshold with the best micro F1 where every example is judged by a model that has not seen it."""
        if self.threshold != "out-of-fold" or len(y) < FOLDS:
            raise LoglinError(
                f"threshold is {self.threshold!r}; give a number, or out-of-fold for {FOLDS} examples or more"
            )
        fold = np.arange(len(y)) % FOLDS
        _, sets = label_sets(y, len(y))
        values = np.full(sets.has.shape, -np.inf)
        for k in range(FOLDS):
            inside, outside = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            known = np.flatnonzero(sets.has[inside].any(axis=0))  # a rare label may be unseen there
            if not len(known):
                continue
            part = clone(self).set_params(multi_label=True, threshold=None, warm_start=False, callbacks=None)
            weight = None if sample_weight is None else checked_weights(sample_weight, len(y))[inside]
            part.fit(_taken(X, inside), sets.has[np.ix_(inside, known)].astype(int), weight)
            values[np.ix_(outside, known)] = part._label_values(_taken(X, outside))
        return best_threshold(values, sets.has)

    def _held_out(self, extractor: Any, labels: list, texts: bool) -> HeldOutLabels:
        X, y = pair_of(self.dev, "dev")
        design = extractor.transform(self._examples(X if is_matrix(X) else examples_of(X, "dev")))
        values = np.asarray(classes_of(y)).tolist()
        if not is_matrix(X) and are_texts(examples_of(X)) != texts:
            raise LoglinError("dev holds texts and the examples attributes, or the reverse; give both the same")
        plain_labels([*labels[:1], *values])
        names = list(dict.fromkeys([*labels, *values]))
        _, gold = gold_of_sequences(([value] for value in values), [1] * design.n_tokens, names)
        return HeldOutLabels(design, gold, names, sequential=False, threads=self.threads)

    # ------------------------------------------------------------------ prediction

    @property
    def gives_probabilities(self) -> bool:  # type: ignore[override]
        return self.chosen_criterion().gives_probabilities

    @property
    def _several(self) -> bool:
        """Whether the model gives label sets."""
        check_is_fitted(self, "model_")
        return self.model_.decoding.get("steps") == "independent"

    def _label_values(self, X: Any) -> np.ndarray:
        """Of label sets, what is compared with the threshold: probabilities, or scores of a margin or a regression."""
        scores = self.scores(X)
        return expit(scores) if self.model_.decoding["link"] == "logistic" else scores

    def _ranked(self, X: Any, candidates) -> tuple[list[np.ndarray], CandidateLists]:
        """Of a model with ``features``: the score of every candidate of every example."""
        if self.features is None:
            raise LoglinError(
                "the model was trained with a function f(x, y), which files do not keep; open it with "
                "MaxEnt.load(path, features=f), or set .features to it"
            )
        lists = of_new_examples(self.features, X, candidates, self.classes_.tolist())
        design = self._decoder.design(lists.attributes)
        return np.split(self._decoder.scores(design)[:, 0], design.offsets[1:])[:-1], lists

    def predict(self, X: Any, candidates: Sequence[Iterable] | None = None) -> Predicted:
        """The most probable class of every example.

        Of label sets, the sets (or the 0/1 matrix that training had); with ``features``, one of the candidates.
        """
        if self._several:
            given = self._label_values(X) >= self.model_.decoding["threshold"]
            if self.model_.record.get("indicator"):
                return given.astype(int)
            return [{self.classes_[j].item() for j in np.flatnonzero(row)} for row in given]
        if self.model_.kind.ranks:
            scores, lists = self._ranked(X, candidates)
            best = [options[int(s.argmax())] for options, s in zip(lists.candidates, scores, strict=True)]
            return np.array(best, self.classes_.dtype if not best else None) if len(self.classes_) else best
        return super().predict(X, candidates)

    @overload
    def predict_proba(self, X: Any, candidates: None = None) -> np.ndarray: ...

    @overload
    def predict_proba(self, X: Any, candidates: Sequence[Iterable]) -> Probabilities: ...

    def predict_proba(self, X: Any, candidates: Sequence[Iterable] | None = None) -> Probabilities:
        """Probabilities (examples, classes), classes as in ``classes_``; of f(x, y)'s candidates a list of arrays."""
        if not self.gives_probabilities:
            raise LoglinError(
                f"criterion {self.chosen_criterion().name} gives no probabilities; use decision_function or likelihood"
            )
        if self._several:
            return self._label_values(X)
        if self.model_.kind.ranks:
            scores, _ = self._ranked(X, candidates)
            found = [Local(s[None]).marginals()[0] for s in scores]
            return np.array(found).reshape(-1, len(self.classes_)) if candidates is None else found
        return super().predict_proba(X, candidates)

    def decision_function(self, X: Any) -> np.ndarray:
        """Sums of votes (examples, classes); of two classes, as scikit-learn has it, the second's less the first's."""
        if self._several:
            return self.scores(X)
        if self.model_.kind.ranks:
            return np.array(self._ranked(X, None)[0]).reshape(-1, len(self.classes_))
        scores = self.scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy; of label sets, the share of examples whose set is right as a whole."""
        if self._several and not self.model_.record.get("indicator"):
            answers, predicted = listed(y, "y", SETS), self.predict(X)
            if len(answers) != len(predicted):
                raise LoglinError(
                    f"there are {len(predicted)} examples but {len(answers)} label sets; give one for each"
                )
            right = [set(given) == found for given, found in zip(answers, predicted, strict=True)]
            return float(np.average(right, weights=sample_weight))
        return super().score(X, y, sample_weight)

    def explain(self, example: Any, candidates: Iterable | None = None) -> Votes:
        """Every active feature of one example with its vote for each class, largest first."""
        check_is_fitted(self, "model_")
        if self.model_.kind.ranks:
            return self._explain_candidates(example, None if candidates is None else [list(candidates)])
        votes = super().explain(example)
        if self._several:
            values = self._label_values(single(example))[0]
            given = values >= self.model_.decoding["threshold"]
            votes.label = {y for y, is_given in zip(self.classes_.tolist(), given, strict=True) if is_given}
            if self.gives_probabilities:
                votes.probabilities = dict(zip(self.classes_.tolist(), values.tolist(), strict=True))
        return votes

    def _explain_candidates(self, example: Any, candidates) -> Votes:
        (scores,), lists = self._ranked([example], candidates)
        design = self._decoder.design(lists.attributes)
        found: dict[str, Vote] = {}
        for c, candidate in enumerate(lists.candidates[0]):
            for vote in self._decoder.votes(design, c):
                (amount,) = vote.votes.values()
                found.setdefault(vote.feature, Vote(vote.feature, vote.value, {})).votes[candidate] = amount
        ranked = sorted(found.values(), key=lambda v: -max(map(abs, v.votes.values())))
        names = lists.candidates[0]
        return Votes(
            ranked,
            dict(zip(names, scores.tolist(), strict=True)),
            dict(zip(names, Local(scores[None]).marginals()[0].tolist(), strict=True)),
            names[int(scores.argmax())],
        )

    # ------------------------------------------------------------------ files

    @classmethod
    def from_model(cls, model: Model, threads: int | None = None) -> Self:
        face = model.kind.face_of(model.record)
        if not model.kind.has_transitions and face != cls.__name__:  # of naive Bayes values may mean there or not
            raise LoglinError(f"this is a model of {face}; open it with {face}.load, or with loglin.load")
        return super().from_model(model, threads)

    @classmethod
    def load(cls, path: str | os.PathLike, features: Callable | None = None) -> Self:
        """A classifier from a model file; ``features`` is the f(x, y) that it was trained with, if any."""
        self = cls.from_model(Model.load(path))
        if features is not None and not self.model_.kind.ranks:
            raise LoglinError(f"{path} was trained without a function f(x, y); leave out features")
        self.features = features
        return self


def _is_partial(y: Any) -> bool:
    return isinstance(y, list) and any(v is None or isinstance(v, set | frozenset | tuple) for v in y)


def _taken(X: Any, rows: np.ndarray) -> Any:
    return X[rows] if hasattr(X, "shape") else [X[i] for i in rows]


def _with_candidates(gold: Gold, labels: list, candidates: Sequence[Iterable], n: int) -> Gold:
    if len(candidates) != n:
        raise LoglinError(f"there are {n} examples but {len(candidates)} candidate sets; give one per example")
    sets, rows = list(gold.sets), np.empty(n, np.int32)
    number: dict = {}
    for i, choice in enumerate(candidates):
        limit = frozenset(codes(labels, choice, i))
        if gold.codes[i] >= 0 and int(gold.codes[i]) not in limit:
            raise LoglinError(f"example {i}: its class {labels[gold.codes[i]]!r} is not among its candidates")
        if gold.codes[i] < 0 and not gold.sets[~gold.codes[i]][list(limit)].any():
            raise LoglinError(f"example {i}: none of its possible classes is among its candidates")
        if limit not in number:
            number[limit] = len(sets)
            sets.append(np.isin(np.arange(len(labels)), list(limit)))
        rows[i] = number[limit]
    return Gold(gold.codes, gold.n_labels, np.array(sets), rows)
