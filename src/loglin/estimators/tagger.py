"""Sequences: ``Tagger``, a chain model as a scikit-learn estimator."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from loglin.corpus.columns import Column, Corpus
from loglin.corpus.frames import Names
from loglin.errors import LoglinError
from loglin.estimators.fitted_tagger import FittedTagger
from loglin.estimators.framed import holding_out, sentences_and_labels, table_record
from loglin.estimators.given import label_sequences, offsets_of, pair_of
from loglin.estimators.parameters import WithCriterion, by_label, keeping_state, require_fitted
from loglin.features.extract import TemplateExtractor
from loglin.models.chain import Model

if TYPE_CHECKING:  # what trains is imported when something is trained: a tagger that is loaded needs none of it
    from loglin.corpus.labels import PartialColumn
    from loglin.corpus.shards import Source
    from loglin.criteria.criterion import Criterion
    from loglin.estimators.more_data import Given
    from loglin.optimize.run import Run
    from loglin.problems.chains import ChainProblem
    from loglin.training.held_out import HeldOutLabels

PROVED = 1e-3  # how far above the optimum a certified run ends at most, where nothing else is asked for


class Tagger(WithCriterion, FittedTagger):
    """A linear-chain model that labels every token of a sentence.

    Parameters
    ----------
    criterion : how weights are estimated, by name or as an object such as loglin.criteria.Piecewise(nota="selected");
        their settings stand in brackets (docs/criteria.md, where labels are hidden docs/unlabeled.md):
        CRITERIA
    neighborhood : what contrastive estimation compares a sentence with: "trans1" (the default), "del1word",
        "delortrans1", "del1subseq", "length", …, a transducer, or a function from a sentence to sentences.
    settings : of the criterion, such as {"nota": "selected"} for "piecewise"; a wrong name or value is answered with
        the right ones. ``set_params``, ``clone`` and grid search know them as criterion__nota, ….
    template : a template file's name or text, for tokens given as strings or tuples of columns.
    features : a function from a sentence to a list with the attributes of each token. It is not kept in model files:
        open one with ``Tagger.load(path, features=f)``.
        Without either, tokens that are strings get a default template; tokens that are tuples of strings, such as
        (word, part of speech), are columns, of which the default template looks at the first as at words and at
        windows of the others; tokens that are dicts or lists of strings are taken as attributes.
    optimizer : "auto" (a stochastic start, then L-BFGS), "lbfgs", "gradient", "conjugate-gradient", "newton", "gis",
        "iis", "sgd" or "averaged-sgd" (docs/optimizers.md).
    l1, l2 : penalties; the objective is −log-likelihood + l1·Σ|w| + ½·l2·Σw². l2 "auto" is chosen on held-out data,
        see ``model_.record["l2_choice"]``; None is the criterion's default, mostly 1 (docs/criteria.md).
    vector_l2 : the penalty of the vectors' weights, for ``fit(X, y, vectors=…)``; None is l2 (docs/vectors.md).
    embeddings : {name: table} of word vectors that templates name, as in %vector[0,0,name]: a file of word2vec, gensim
        or GloVe, KeyedVectors, {word: vector}, or words and rows. The model keeps them.
    vector_scale : standardize every dimension of the vectors to mean 0 and deviation 1, as they are in training.
    order : 1 or 2, how many labels a label looks back; by default 1, and 2 where labels are hidden.
    like : "crf++", "wapiti" or "crfsuite": features, boundaries and label pairs of a template as that tool has them
        (docs/templates.md). Options of the template and parameters below come on top of it.
    all_features : weights for all (attribute, label) pairs, not only those seen.
    all_pairs : weights for all label pairs, not only those seen.
    min_count : attributes seen less often are left out.
    cutoff : features (attribute and label together, label n-grams) seen less often are left out.
    dictionary : words (column 0) seen so many times get only labels they had in training; 0: any label. Or a tagging
        dictionary: a file's name, {word: labels}, or label names and a ``TagDictionary``; its labels join the data's.
    max_iter, tol : end of training; ``tol`` is how far above its optimum the objective may about be, relative to
        itself. None is the criterion's default: 1000 and 8e-4; 10 epochs of the perceptron; 10 and 0.01 for criteria
        that begin at a CRF, 0.005: m-estimation.
    certify : go on until a lower bound of the optimum proves that ``tol`` is reached, 0.1 % where none is given.
    threads : default all cores; the weights are the same for any number.
    seed : of the stochastic warm start.
    dev : (sentences, labels), or (sentences, labels, vectors), held out; training stops when its score no longer
        rises. Where labels are hidden, sentences, on which ``model_.record["held_criterion"]`` reports the criterion.
    callbacks : functions called with every ``Iteration``.
    warm_start : continue from the weights of the last fit.
    constrain : "bio", "iobes", …: predict legal label sequences only.
    dtype : "auto", "float32" or "float64".
    label_weights : {label: weight}, or "balanced", the rarer the heavier; a sentence counts as the mean
        weight of its labels.
    checkpoint, checkpoint_every : a file to write the state of training to, every so many seconds; the same ``fit``
        then goes on from it if it was killed, and removes it when it returns (docs/training.md).
    verbose : show iterations on standard error; the logger "loglin" hears of them in any case.
    tokenizer : "words", "whitespace", "characters", or a function from a text to its tokens: sentences may then be raw
        text, and entities say which characters they are (docs/serving.md). Files keep its name, but no function.
    """

    structure = "chain"
    _given: Given  # by partial_fit

    def __init__(
        self,
        criterion: str | Criterion = "crf",
        *,
        template: str | os.PathLike | None = None,
        features: Callable | None = None,
        like: str | None = None,
        l1: float = 0.0,
        l2: float | str | None = None,
        order: int | None = None,
        all_features: bool = False,
        all_pairs: bool = False,
        min_count: int = 1,
        cutoff: int = 1,
        dictionary: Any = 0,
        max_iter: int | None = None,
        tol: float | None = None,
        certify: bool = False,
        threads: int | None = None,
        seed: int = 0,
        dev: Any = None,
        dev_metric: str = "f1",
        callbacks: Sequence[Callable] | None = None,
        warm_start: bool = False,
        constrain: str | None = None,
        dtype: str = "auto",
        label_weights: Mapping | str | None = None,
        settings: Mapping | None = None,
        optimizer: str = "auto",
        neighborhood: Any = None,
        checkpoint: Any = None,
        checkpoint_every: float = 60.0,
        verbose: bool = False,
        vector_l2: float | None = None,
        vector_scale: bool = False,
        embeddings: Mapping | None = None,
        tokenizer: Any = None,
    ):
        self.criterion = criterion
        self.template = template
        self.features = features
        self.like = like
        self.l1 = l1
        self.l2 = l2
        self.order = order
        self.all_features = all_features
        self.all_pairs = all_pairs
        self.min_count = min_count
        self.cutoff = cutoff
        self.dictionary = dictionary
        self.max_iter = max_iter
        self.tol = tol
        self.certify = certify
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
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.verbose = verbose
        self.vector_l2 = vector_l2
        self.vector_scale = vector_scale
        self.embeddings = embeddings
        self.tokenizer = tokenizer
        if "sklearn.metrics" in sys.modules:  # whose own "f1" would be NaN for lists of labels
            from loglin.estimators.scoring import register

            register()

    # ------------------------------------------------------------------ training

    @property
    def hides_labels(self) -> bool:
        """Whether the criterion learns from text whose labels are hidden."""
        from loglin.estimators.tagger_problem import hides_labels

        return hides_labels(self.chosen_criterion())

    @property
    def needs_some_labels(self) -> bool:
        """Whether the criterion needs some labels, if not all."""
        return getattr(self.chosen_criterion(), "needs_some_labels", True)

    def check(self) -> None:
        """Refuse wrong parameters before any data are read."""
        from loglin.estimators.tagger_problem import check_parameters

        chosen = self.chosen_criterion()
        check_parameters(self, chosen)
        self._new_run(chosen)

    @property
    def chosen_tol(self) -> float:
        """How far above the optimum training may end, relative to it."""
        if self.tol is not None:
            return self.tol
        return PROVED if self.certify else self.chosen_criterion().defaults.tol

    def _new_run(self, chosen: Criterion) -> Run:
        precise = {"tol": self.chosen_tol, "dtype": self.dtype, "certify": self.certify}
        return self.new_run(chosen, self.l1, self.max_iter, seed=self.seed, **precise)

    @keeping_state
    def fit(
        self,
        X: Iterable | Corpus | str | os.PathLike | Source,
        y: Iterable[Sequence | None] | Column | PartialColumn | None = None,
        sample_weight: Sequence[float] | None = None,
        start: Model | None = None,
        *,
        vectors: Any = None,
        X_dev: Any = None,
        y_dev: Any = None,
        vectors_dev: Any = None,
        columns: str | Sequence[str] | None = None,
        sentence: str | Sequence[str] | None = None,
        work_dir: str | os.PathLike | None = None,
        memory: int | str | None = None,
        client: Any = None,
    ) -> Tagger:
        """Learn from sentences and their labels; a label may be None or a set of labels.

        ``X_dev`` and ``y_dev``, with ``vectors_dev``, are held out, in the place of the parameter ``dev``.

        X may be a frame of pandas or polars, an Arrow table or a dataset of Hugging Face, and y the name of its column
        of labels. A row is a sentence and ``columns`` hold lists, or ``sentence`` names the column, or columns, whose
        values tell sentences apart, and a row is a token. Without ``columns`` tokens are in "tokens", or in all columns
        but those of labels and sentences (docs/tagger.md).

        Where labels may be hidden, those of a whole sentence, or all of them, may be None. X may be a corpus of columns
        and y a column of labels. ``start`` is a model whose weights training begins with. ``vectors`` are numbers that
        tokens carry: an array (its tokens, dimensions) for every sentence, or one for all tokens (docs/vectors.md).

        X may also name files of tagged text, by a name, a pattern or a list of names, or be sentences that can be
        iterated over again, with ``work_dir``: then the corpus is prepared in that folder and trained on shard by
        shard, as large as ``memory`` allows ("2GB"), in this process or by the workers of the Dask ``client``
        (docs/scale.md).
        """
        from loglin.estimators.tagger_shards import are_shards, sharded_problem
        from loglin.features.vectors import vectors_of
        from loglin.problems.penalties import numbers_of

        self.check()
        self.__dict__.pop("_given", None)
        chosen = self.chosen_criterion()
        run = self._new_run(chosen)
        start = getattr(start, "model_", start)
        if are_shards(X, y, work_dir, memory, client):
            if sample_weight is not None:
                sample_weight = numbers_of(sample_weight)  # type: ignore[assignment]
            with (
                holding_out(self, X_dev, y_dev, None, vectors_dev),
                sharded_problem(self, X, y, sample_weight, vectors, work_dir, memory, client) as problem,
            ):
                return self._trained(problem, chosen, run, start)
        X, y, names = sentences_and_labels(X, y, Names.of(columns, None, sentence))
        X, y = self.sentences_of(X), label_sequences(y)
        data = X, y, sample_weight, vectors_of(vectors, offsets_of(X), None)
        with holding_out(self, X_dev, y_dev, names, vectors_dev):
            return self._fit_in_memory(*data, chosen, run, start, table_record(names))

    def partial_fit(
        self, X: Any, y: Any, sample_weight: Sequence[float] | None = None, **frame: str | Sequence[str]
    ) -> Tagger:
        """Learn from more sentences; labels and words may be new.

        What is optimized is the objective of ``fit`` on all sentences that ``partial_fit`` was given, which are kept,
        and training begins with the weights so far: the model is that of one ``fit`` on all of them, sooner. After
        ``fit`` or ``load``, whose sentences are not kept, the first call begins with their weights, and what is
        optimized is the objective on the new sentences alone. ``frame`` is columns and sentence, as for ``fit``.
        """
        from loglin.estimators.more_data import Given

        names = Names.of(frame.pop("columns", None), None, frame.pop("sentence", None))
        if frame:
            raise LoglinError(f"partial_fit takes no {next(iter(frame))}; give it to fit")
        X, y, names_found = sentences_and_labels(X, y, names)
        X, y = self.sentences_of(X), label_sequences(y)
        if isinstance(X, Corpus) or not isinstance(y, list):
            raise LoglinError("partial_fit takes sentences and their labels as lists or as a frame; give these")
        given = Given(X, y, None if sample_weight is None else np.asarray(sample_weight, float))
        given = self._given.joined(given) if hasattr(self, "_given") else given
        start = None if self.chosen_criterion().counts else getattr(self, "model_", None)
        self.fit(given.X, given.y, given.weight, start)  # type: ignore[arg-type]
        self.model_.record |= table_record(names_found)
        self._given = given
        return self

    def _fit_in_memory(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        vectors: Any,
        chosen: Criterion,
        run: Run,
        start: Model | None,
        more: Mapping,
    ) -> Tagger:
        from loglin.estimators.strength import chosen_strength
        from loglin.problems.penalties import numbers_of
        from loglin.training.fit import require

        if sample_weight is not None:
            sample_weight = numbers_of(sample_weight)
        problem = self.problem(X, y, sample_weight, vectors)
        require(problem, chosen, self._start(start))
        began = time.perf_counter()
        strength = chosen_strength(self, chosen, run, X, y, sample_weight, vectors)
        chosen_in = time.perf_counter() - began
        if strength is not None:
            problem = problem.with_l2(strength.l2)
            more = more | strength.record()  # type: ignore[operator]
        return self._trained(problem, chosen, run, start, chosen_in, more)

    def _start(self, start: Model | None) -> Model | None:
        return getattr(self, "model_", None) if start is None and self.warm_start else start

    def _trained(
        self,
        problem: ChainProblem,
        chosen: Criterion,
        run: Run,
        start: Model | None,
        chosen_in: float = 0.0,
        more: Mapping = MappingProxyType({}),
    ) -> Tagger:
        """Solve a problem; choosing its l2 took so many seconds, and the record says ``more`` of it."""
        from loglin.estimators.warn import warn_of_end
        from loglin.training.fit import fit

        held_out = None
        if self.dev is not None and not self.hides_labels:
            held_out = self.held_out(problem, *pair_of(self.dev, "dev", vectors=True))
        with run.reporter.listening():
            model = fit(problem, chosen, run, self._start(start), held_out)
            model.record["train_seconds"] += chosen_in
            model.record |= more
            model.record["options"] = self.saved_parameters(chosen) | self._saved(problem.extractor)
            if self.features is not None:
                model.record["feature_function"] = True
            if problem.design.corpus is not None:  # for loglin tag and eval: the same columns, labels last
                model.record |= {"columns": len(problem.design.corpus.columns) + 1, "label_column": -1}
            model = self._constrained(model)
            self._adopt(model)
        warn_of_end(model)
        return self

    def problem(
        self, X: Any, y: Any = None, sample_weight: Sequence[float] | None = None, vectors: Any = None
    ) -> ChainProblem:
        """The training problem of sentences and labels, as ``fit`` solves it."""
        from loglin.estimators.tagger_problem import problem_of

        return problem_of(self, X, y, sample_weight, vectors)

    def held_out(self, problem: ChainProblem, X: Any, y: Any, vectors: Any = None) -> HeldOutLabels:
        """Labelled sentences as training judges itself by them."""
        from loglin.estimators.tagger_problem import held_out_of

        return held_out_of(self, problem, X, y, vectors)

    def _saved(self, extractor: Any) -> dict[str, Any]:
        """Parameters that a file keeps in another form than they were given in."""
        given = isinstance(self.dictionary, int)
        saved: dict[str, Any] = {"dictionary": self.dictionary if given else "given"}  # which stands in the model
        if self.template is not None and isinstance(extractor, TemplateExtractor):
            told = f"#! like={self.like}"  # which is kept as a parameter of its own
            saved["template"] = "".join(f"{line}\n" for line in extractor.templates.lines if line != told)
        return saved

    # ------------------------------------------------------------------ files

    def save(self, path: str | os.PathLike, half: bool = False) -> None:
        """Write the model to one file."""
        require_fitted(self)
        self._constrained(self.model_).save(path, half)

    def _constrained(self, model: Model) -> Model:
        """A model that says itself which label sequences it may predict, and how it splits text, for whoever opens its
        file."""
        decoding = {k: v for k, v in model.decoding.items() if k != "constrain"}
        if self.constrain is not None:
            decoding["constrain"] = self.constrain
        options = model.record.get("options", {}) | {"constrain": self.constrain}
        return replace(model, decoding=decoding, record=self.with_tokenizer(model.record | {"options": options}))

    @classmethod
    def load(cls, path: str | os.PathLike, features: Callable | None = None, tokenizer: Any = None) -> Tagger:
        """A tagger from a model file; ``features`` is the function that it was trained with, if any, and ``tokenizer``
        splits raw text in the place of its own."""
        tagger = cls.from_model(Model.load(path))
        if features is not None and isinstance(tagger.model_.extractor, TemplateExtractor):
            raise LoglinError(f"{path} was trained with a template, not with a feature function; leave out features")
        tagger.features = features
        if tokenizer is not None:
            tagger.tokenizer = tokenizer
        return tagger

    @classmethod
    def from_model(cls, model: Model, threads: int | None = None) -> Tagger:
        """A tagger with a trained model, and the parameters that it was trained with."""
        if not model.kind.has_transitions:
            raise model.kind.refusal()
        tagger = cls.restored(model.record, threads=threads)
        if not isinstance(tagger.dictionary, int):
            tagger.dictionary = 0 if model.dictionary is None else (list(model.labels), model.dictionary)
        tagger.constrain = model.decoding.get("constrain", tagger.constrain)
        tagger.label_weights = by_label(tagger.label_weights, model.labels)
        return tagger._adopt(model)
