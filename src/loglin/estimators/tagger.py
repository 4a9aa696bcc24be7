"""Sequences: ``Tagger``, a chain model as a scikit-learn estimator."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from loglin.corpus.columns import encode_strings, from_sentences
from loglin.corpus.labels import Gold, gold_of_sequences
from loglin.criteria.settings import LATENT
from loglin.decoding.chains import Decoder, Entity, Explanation
from loglin.errors import LoglinError
from loglin.estimators.warn import warn_if_unbounded
from loglin.evaluation.induced import TaggingReport
from loglin.evaluation.sequences import Evaluation, evaluate_labels
from loglin.evaluation.tagged_text import Labeled
from loglin.features.attributes import AttributeExtractor
from loglin.features.design import Design
from loglin.features.extract import TemplateExtractor
from loglin.features.read import read_templates
from loglin.models.chain import Model
from loglin.training.chains import train
from loglin.training.options import Options, default_order, hidden_template, labels_of
from loglin.training.watch import Development


class Tagger(BaseEstimator):
    """A linear-chain model that labels every token of a sentence.

    Parameters
    ----------
    criterion : how weights are estimated: "crf" (conditional likelihood), "memm", "pseudolikelihood",
        "piecewise", "m-estimation", "margin", "perceptron" (averaged), "label-likelihood", "accuracy",
        "expected-accuracy", "boosting"; "hmm" counts a generative model instead (docs/criteria.md). Where labels are
        hidden: "contrastive", "em", "marginal-likelihood", and "mixture" of labelled and unlabelled sentences
        (docs/unlabeled.md).
    neighborhood : what contrastive estimation compares a sentence with: "trans1" (the default), "del1word",
        "delortrans1", "del1subseq", "length", …, a transducer, or a function from a sentence to sentences.
    settings : of the criterion, such as {"nota": "selected"} for "piecewise" or {"base": "uniform"} for
        "m-estimation"; a wrong name or value is answered with the right ones.
    template : a template file's name or text, for tokens given as strings or tuples of columns.
    features : a function from a sentence to a list with the attributes of each token.
        Without either, tokens that are strings get a default template, and tokens that are dicts or
        lists of strings are taken as attributes.
    optimizer : "auto" (a stochastic start, then L-BFGS), "lbfgs", "gradient", "conjugate-gradient", "newton", "gis",
        "iis", "sgd" or "averaged-sgd" (docs/optimizers.md).
    l1, l2 : penalties; the objective is −log-likelihood + l1·Σ|w| + ½·l2·Σw².
    order : 1 or 2, how many labels a label looks back; by default 1, and 2 where labels are hidden.
    all_features : weights for all (attribute, label) pairs, not only those seen.
    min_count : attributes seen less often are left out.
    cutoff : features (attribute and label together, label n-grams) seen less often are left out.
    dictionary : words (column 0) seen so many times get only labels they had in training; 0: any label. Or a tagging
        dictionary: a file's name, {word: labels}, or label names and a ``TagDictionary``; its labels join the data's.
    max_iter, tol : end of training; ``tol`` is the relative improvement still to come.
    threads : default all cores; the weights are the same for any number.
    seed : of the stochastic warm start.
    dev : (sentences, labels) held out; training stops when its score no longer rises. Where labels are hidden,
        sentences, on which ``model_.record["held_criterion"]`` reports the criterion.
    callbacks : functions called with every ``Iteration``.
    warm_start : continue from the weights of the last fit.
    constrain : "bio", "iobes", …: predict legal label sequences only.
    dtype : "auto", "float32" or "float64".
    label_weights : {label: weight}; a sentence counts as the mean weight of its labels.
    """

    def __init__(
        self,
        criterion: str = "crf",
        *,
        template: str | os.PathLike | None = None,
        features: Callable | None = None,
        l1: float = 0.0,
        l2: float = 1.0,
        order: int | None = None,
        all_features: bool = False,
        min_count: int = 1,
        cutoff: int = 1,
        dictionary: Any = 0,
        max_iter: int = 1000,
        tol: float = 5e-4,
        threads: int | None = None,
        seed: int = 0,
        dev: Any = None,
        dev_metric: str = "f1",
        callbacks: Sequence[Callable] | None = None,
        warm_start: bool = False,
        constrain: str | None = None,
        dtype: str = "auto",
        label_weights: Mapping | None = None,
        settings: Mapping | None = None,
        optimizer: str = "auto",
        neighborhood: Any = None,
    ):
        self.criterion = criterion
        self.template = template
        self.features = features
        self.l1 = l1
        self.l2 = l2
        self.order = order
        self.all_features = all_features
        self.min_count = min_count
        self.cutoff = cutoff
        self.dictionary = dictionary
        self.max_iter = max_iter
        self.tol = tol
        self.threads = threads
        self.seed = seed
        self.dev = dev
        self.dev_metric = dev_metric
        self.callbacks = callbacks
        self.warm_start = warm_start
        self.constrain = constrain
        self.dtype = dtype
        self.label_weights = label_weights
        self.settings = settings
        self.optimizer = optimizer
        self.neighborhood = neighborhood

    # ------------------------------------------------------------------ training

    def fit(
        self, X: Iterable, y: Iterable[Sequence | None] | None = None, sample_weight: Sequence[float] | None = None
    ) -> Tagger:
        """Learn from sentences and their labels; a label may be None or a set of labels.

        Where labels may be hidden, those of a whole sentence, or all of them, may be None.
        """
        sentences = [list(sentence) for sentence in X]
        options = self._options(sample_weight)
        extractor = self._new_extractor(sentences)
        inputs = self._input(extractor, sentences)
        design = extractor.fit(inputs, self.min_count)
        lengths = np.diff(design.offsets).tolist()
        labels, gold = labels_of(y, lengths, options)
        start = getattr(self, "model_", None) if self.warm_start else None
        hides = self.criterion in LATENT
        development = self._development(extractor, labels) if self.dev is not None and not hides else None
        held = from_sentences([list(s) for s in self.dev], "dev") if self.dev is not None and hides else None
        model = train(
            design,
            extractor,
            labels,
            gold,
            options,
            start=start,
            development=development,
            callback=self._call,
            held=held,
        )
        if isinstance(extractor, TemplateExtractor):  # for loglin tag and eval: the same columns, labels last
            model.record |= {"columns": len(inputs.columns) + 1, "label_column": -1}
        warn_if_unbounded(model)
        return self._adopt(model)

    def _options(self, sample_weight) -> Options:
        return Options(
            criterion=self.criterion,
            optimizer=self.optimizer,
            neighborhood=self.neighborhood,
            l1=self.l1,
            l2=self.l2,
            order=self._order,
            all_features=self.all_features,
            cutoff=self.cutoff,
            dictionary=self.dictionary,
            max_iter=self.max_iter,
            tol=self.tol,
            threads=self.threads,
            seed=self.seed,
            dtype=self.dtype,
            dev_metric=self.dev_metric,
            label_weights=self.label_weights,
            settings=self.settings,
            instance_weights=None if sample_weight is None else np.asarray(sample_weight, float),
        )

    def _new_extractor(self, sentences: list[list]) -> TemplateExtractor | AttributeExtractor:
        token = next((t for sentence in sentences for t in sentence), None)
        if token is None:
            raise LoglinError("there are no tokens to learn from; give at least one sentence")
        if self.features is not None and self.template is not None:
            raise LoglinError("give either a template or a feature function, not both")
        if self.criterion in LATENT and (self.features is not None or not isinstance(token, str | tuple)):
            raise LoglinError("hidden labels are learnt from words; give tokens as strings or tuples, and a template")
        if self.criterion in LATENT and self.template is None:
            return TemplateExtractor(read_templates(hidden_template(self._order)))
        if self.features is not None or (self.template is None and not isinstance(token, str)):
            return AttributeExtractor()
        return TemplateExtractor(read_templates(self.template))

    @property
    def _order(self) -> int:
        return self.order if self.order is not None else default_order(self.criterion)

    def _input(self, extractor, sentences: list[list]) -> Any:
        if isinstance(extractor, TemplateExtractor):
            return from_sentences(sentences)
        return [self.features(sentence) for sentence in sentences] if self.features else sentences

    def _development(self, extractor, labels: list) -> Development:
        X, y = self.dev  # type: ignore[misc]
        design = extractor.transform(self._input(extractor, [list(s) for s in X]))
        sequences = [list(s) for s in y]
        names = list(dict.fromkeys([*labels, *(label for s in sequences for label in s)]))
        _, gold = gold_of_sequences(sequences, np.diff(design.offsets).tolist(), names)
        return Development(design, Gold.certain(gold.codes, len(names)), names)

    def _call(self, iteration) -> None:
        for callback in self.callbacks or ():
            callback(iteration)

    def _adopt(self, model: Model) -> Tagger:
        self.model_, self.classes_ = model, list(model.labels)
        self.n_iter_ = model.record.get("iterations", 0)
        self._decoder = Decoder(model, self.threads, self.constrain)
        return self

    # ------------------------------------------------------------------ prediction

    def _ready(self, X: Iterable) -> tuple[Decoder, Design, list[list]]:
        check_is_fitted(self, "model_")
        if self.constrain != self._decoder.constrain:
            self._decoder = Decoder(self.model_, self.threads, self.constrain)
        sentences = [list(sentence) for sentence in X]
        if isinstance(self.model_.extractor, AttributeExtractor) and self.features is None:
            token = next((t for s in sentences for t in s), None)
            if isinstance(token, str) and self.model_.record.get("feature_function"):
                raise LoglinError("this model was trained with a feature function; set .features to it first")
        design = self._decoder.design(self._input(self.model_.extractor, sentences))
        return self._decoder, design, sentences

    def predict(self, X: Iterable) -> list[list]:
        """The best label sequence of every sentence."""
        decoder, design, _ = self._ready(X)
        names, cuts = self.classes_, design.offsets.tolist()
        flat = [names[code] for code in decoder.best(design).tolist()]
        return [flat[b:e] for b, e in itertools.pairwise(cuts)]

    def predict_single(self, sentence: Sequence) -> list:
        """The labels of one sentence."""
        return self.predict([sentence])[0]

    def predict_proba(self, X: Iterable) -> list[np.ndarray]:
        """For every sentence the marginal probabilities (tokens, labels), labels as in ``classes_``."""
        decoder, design, _ = self._ready(X)
        return [chain.marginals() for chain in decoder.chains(design)]

    def predict_marginals(self, X: Iterable) -> list[list[dict]]:
        """For every token a dict from label to marginal probability."""
        names = self.classes_
        return [
            [dict(zip(names, row, strict=True)) for row in marginals.tolist()] for marginals in self.predict_proba(X)
        ]

    def predict_nbest(self, X: Iterable, k: int = 5) -> list[list[tuple[list, float]]]:
        """For every sentence its k best label sequences, each with its probability, best first."""
        decoder, design, _ = self._ready(X)
        found = []
        for chain in decoder.chains(design):
            total = chain.partition()
            ranked = [([self.classes_[i] for i in y], float(np.exp(s - total))) for y, s in chain.nbest(k)]
            found.append(ranked)
        return found

    def entities(self, X: Iterable) -> list[list[Entity]]:
        """The entities of the best sequence, each with the exact probability of its span."""
        decoder, design, sentences = self._ready(X)
        words = [[_word(token) for token in sentence] for sentence in sentences]
        return [decoder.entities(c, w) for c, w in zip(decoder.chains(design), words, strict=True)]

    def explain(self, sentence: Sequence, position: int) -> Explanation:
        """The votes of every active feature for every label at one token, largest first."""
        decoder, design, sentences = self._ready([sentence])
        return decoder.explain(design, [_word(token) for token in sentences[0]], position)

    def evaluate(self, X: Iterable, y: Iterable[Sequence]) -> Evaluation:
        """Precision, recall and F1 of phrases (or labels), accuracy of tokens and sentences."""
        return evaluate_labels([list(labels) for labels in y], self.predict(X))

    def evaluate_unsupervised(
        self, X: Iterable, y: Iterable[Sequence], mapping: str = "none", marginals: bool = False
    ) -> TaggingReport:
        """What a tagger learnt without labels gets right, of all words and of those with a choice in its dictionary.

        ``mapping`` "many-to-one" or "one-to-one" first finds the right label that each of its labels stands for;
        ``marginals`` adds the mean probability of the right labels.
        """
        decoder, design, sentences = self._ready(X)
        sequences = [list(labels) for labels in y]
        flat = [label for labels in sequences for label in labels]
        if any(label is None or isinstance(label, set | frozenset | list | tuple) for label in flat):
            raise LoglinError("some labels are not certain; give every token one label to compare with")
        names = list(dict.fromkeys([*self.classes_, *flat]))
        _, gold = gold_of_sequences(sequences, np.diff(design.offsets).tolist(), names)
        words = encode_strings([_word(token) for sentence in sentences for token in sentence])
        return Labeled(design, words, gold.codes, names).report(decoder, mapping, marginals)

    def score(self, X: Iterable, y: Iterable[Sequence]) -> float:
        """F1 of phrases for chunk labels, else accuracy of tokens."""
        result = self.evaluate(X, y)
        return result.f1 if result.unit == "phrase" else result.accuracy

    # ------------------------------------------------------------------ files

    def save(self, path: str | os.PathLike, half: bool = False) -> None:
        """Write the model to one file."""
        check_is_fitted(self, "model_")
        if self.features is not None:
            self.model_.record["feature_function"] = True
        self.model_.save(path, half)

    @classmethod
    def load(cls, path: str | os.PathLike) -> Tagger:
        """A tagger from a model file."""
        return cls.from_model(Model.load(path))

    @classmethod
    def from_model(cls, model: Model) -> Tagger:
        if model.task != "tag":
            raise LoglinError("this model classifies single examples; open it with MaxEnt.load")
        options = model.record.get("options", {})
        known = (
            "criterion",
            "optimizer",
            "neighborhood",
            "l1",
            "l2",
            "all_features",
            "cutoff",
            "dictionary",
            "max_iter",
            "tol",
            "seed",
            "dtype",
            "dev_metric",
            "settings",
        )
        params = {k: options[k] for k in known if k in options}
        if model.dictionary is not None and not isinstance(params.get("dictionary"), int):
            params["dictionary"] = (list(model.labels), model.dictionary)
        order = max(model.order, options.get("order") or 1)  # of an HMM the model's own is 1
        return cls(order=order, **params)._adopt(model)


def _word(token: object) -> str:
    if isinstance(token, str):
        return token
    if isinstance(token, tuple | list) and token and isinstance(token[0], str):
        return token[0]
    return str(token)
