"""Trees: ``Parser``, a weighted context-free grammar as an estimator."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from loglin.corpus.trees import Tree, without_brackets
from loglin.criteria.criterion import Criterion
from loglin.criteria.trees import OnTrees
from loglin.decoding.trees import MEMORY, Parse, SpanExplanation, TreeDecoder, checked_words
from loglin.errors import LoglinError
from loglin.estimators.given import again, listed
from loglin.estimators.parameters import Estimator, WithCriterion, keeping_state, require_fitted
from loglin.estimators.raw_text import ReadsText
from loglin.estimators.sharing import shared
from loglin.estimators.warn import warn_of_end
from loglin.evaluation.trees import ParseReport, evaluate_trees
from loglin.features.read import NAMED_GRAMMARS
from loglin.generative.pcfg import PCFG
from loglin.grammars.transforms import TreeCoder
from loglin.models.parser import ParserModel
from loglin.optimize.run import LARGEST_SEED, check_whole
from loglin.problems.penalties import numbers_of
from loglin.problems.trees import TreeOptions, model_of_pcfg
from loglin.training.fit import fit
from loglin.training.held_out_trees import HeldOutTrees

TREES = "give a list of trees, each a Tree or a string such as (S (NN word))"


class Parser(WithCriterion, ReadsText, Estimator):
    """A parser trained from trees, from sentences, or from both.

    Parameters
    ----------
    criterion : how weights are estimated: "pcfg" counts a generative grammar; "mecfg" normalizes every rule at its
        span; "piecewise" adds none-of-the-above instances (PT-CFG); "crf" is the conditional likelihood of whole trees
        (CRF-CFG); "perceptron" (averaged); "m-estimation" with a PCFG as base. From sentences without trees: "em",
        "contrastive", and "mixture" of both (docs/parsing.md). Or a criterion of loglin.criteria as an object.
    template : a template file's name or text, or "paper" or "spans": attributes of spans (R, L), of split points (S)
        and of words (U).
    grammar : a file of rules to start from, in the place of those of the trees; without trees the setting "symbols"
        gives all rules of so many symbols.
    horizontal, vertical : how many sisters and ancestors a symbol remembers.
    annotations : names of Klein and Manning's annotations, or "klein-manning" for all.
    max_length : longer sentences are left out of training.
    l1, l2 : penalties; the objective is −log-likelihood + l1·Σ|w| + ½·l2·Σw². The default of l2 is 1; of
        "m-estimation", whose objective is a mean over trees, 0.06.
    max_iter, tol : end of training; ``tol`` is the relative improvement still to come. max_iter None is the
        criterion's default: 200 iterations, 10 epochs of the perceptron.
    optimizer : "auto" (L-BFGS in scaled variables), "lbfgs", "gradient", "conjugate-gradient", and for "m-estimation"
        "newton" (docs/optimizers.md).
    dev : trees held out; training stops when the F1 of the best trees of their sentences no longer rises.
    warm_start : continue from the weights of the last fit.
    neighborhood : what contrastive estimation compares a sentence with, by default "trans1".
    settings : of the criterion, such as {"threshold": 5} for "piecewise".
    threads : default all cores; the weights are the same for any number.
    memory : bytes that the chart of a sentence may take; longer sentences are flagged, not parsed.
    callbacks : functions called with every ``Iteration``.
    checkpoint, checkpoint_every : a file to write the state of training to, every so many seconds; the same ``fit``
        then goes on from it if it was killed, and removes it when it returns (docs/training.md).
    verbose : show iterations on standard error; the logger "loglin" hears of them in any case.
    tokenizer : as for ``Tagger``: sentences may then be raw text; brackets in it become -LRB- and -RRB-.
    """

    structure = "forest"

    def __init__(
        self,
        criterion: str | Criterion = "crf",
        *,
        template: str | os.PathLike | None = None,
        grammar: str | os.PathLike | None = None,
        horizontal: int | None = 2,
        vertical: int = 1,
        annotations: str | Sequence[str] = (),
        max_length: int | None = None,
        l1: float = 0.0,
        l2: float | None = None,
        max_iter: int | None = None,
        tol: float = 1e-3,
        neighborhood: Any = None,
        settings: Mapping | None = None,
        threads: int | None = None,
        seed: int = 0,
        memory: int = MEMORY,
        callbacks: Sequence[Callable] | None = None,
        optimizer: str = "auto",
        dev: Iterable[Tree | str] | None = None,
        warm_start: bool = False,
        checkpoint: Any = None,
        checkpoint_every: float = 60.0,
        verbose: bool = False,
        tokenizer: Any = None,
    ):
        self.criterion = criterion
        self.template = template
        self.grammar = grammar
        self.horizontal = horizontal
        self.vertical = vertical
        self.annotations = annotations
        self.max_length = max_length
        self.l1 = l1
        self.l2 = l2
        self.max_iter = max_iter
        self.tol = tol
        self.neighborhood = neighborhood
        self.settings = settings
        self.threads = threads
        self.seed = seed
        self.memory = memory
        self.callbacks = callbacks
        self.optimizer = optimizer
        self.dev = dev
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.verbose = verbose
        self.tokenizer = tokenizer

    # ------------------------------------------------------------------ training

    @keeping_state
    def fit(
        self,
        trees: Iterable[Tree | str | Sequence[str]],
        unlabeled: Iterable[Sequence[str]] | None = None,
        sample_weight: Sequence[float] | None = None,
        start: ParserModel | None = None,
        *,
        work_dir: str | os.PathLike | None = None,
        memory: int | str | None = None,
        client: Any = None,
    ) -> Parser:
        """Learn from trees, given as ``Tree``, in brackets or as NLTK's; "mixture", "em" and "contrastive" from
        ``unlabeled`` sentences (lists of words) too.

        For "em" and "contrastive" sentences may also stand among the trees. EM takes trees as brackets: a tree of the
        sentence has all of their constituents, with their labels where the grammar has these, and may have others.
        Contrastive estimation takes their words. ``sample_weight`` says how much each item of ``trees`` counts, and
        behind them each of ``unlabeled``; the grammar's rules and words are counted without it. ``start`` is a model
        whose weights training begins with.

        With ``work_dir``, ``memory`` ("2GB") or the Dask ``client`` every pass goes over parts that stand in that
        folder on disk, in this process or with the workers (docs/scale.md).
        """
        chosen = self.chosen_criterion()
        assert isinstance(chosen, OnTrees)
        chosen.templates(self.template)
        run = self.new_run(chosen, self.l1, self.max_iter, tol=self.tol, seed=self.seed)
        given, sentences, weight = self._divided(chosen, trees, unlabeled, sample_weight)
        options = self._options(chosen, weight)
        problem = chosen.problem(as_trees(given), options, sentences)
        start = getattr(start, "model_", start)
        if start is None and self.warm_start:
            start = getattr(self, "model_", None)
        held_out = None
        if self.dev is not None:
            held_out = HeldOutTrees.of(as_trees(again(self.dev, "dev")), options.coder, self.threads, self.memory)
        with shared(problem, chosen, self.optimizer, work_dir, memory, client) as problem, run.reporter.listening():
            model = fit(problem, chosen, run, start, held_out)
            record = model.record
            record["seconds"] = round(record.pop("train_seconds"), 3)
            record["options"] = self.saved_parameters(chosen) | self._saved(model)
            record.update(self.with_tokenizer(record))
            if held_out is not None:
                scores = [i["score"] for i in record["history"] if i["score"] is not None]
                record["dev_score"] = max(scores) if scores else held_out.score(model)
            self._adopt(model)
        warn_of_end(model)
        return self

    def _divided(
        self, chosen: OnTrees, trees: Iterable[Any], unlabeled: Iterable[Any] | None, weight: Any
    ) -> tuple[list[Any], list[list[str]], Any]:
        """Trees, the sentences without a tree, and the weights of the ones and then the others."""
        given = listed(trees, "trees", TREES)
        weight = None if weight is None else numbers_of(weight)
        sentences = [] if unlabeled is None else listed(unlabeled, "unlabeled", "give a list of sentences")
        sentences = self._words(sentences)
        if weight is not None and not chosen.takes_weights:
            raise LoglinError(
                f"criterion {chosen.name} counts every tree once; leave sample_weight out, give trees several times, "
                "or take another criterion"
            )
        is_tree = [not chosen.takes_sentences or _is_tree(item) for item in given]
        first = [n for n, yes in enumerate(is_tree) if yes]
        then = [n for n, yes in enumerate(is_tree) if not yes]
        behind = range(len(given), len(given) + len(sentences))
        if weight is not None and np.ndim(weight) == 1 and len(weight) == len(given) + len(sentences):
            weight = np.asarray(weight, np.float64)[[*first, *then, *behind]]
        bare = [given[n] for n in then] + sentences
        words = [checked_words(sentence, number) for number, sentence in enumerate(bare)]
        return [given[n] for n in first], words, weight

    def _options(self, chosen: OnTrees, weight: Any) -> TreeOptions:
        return TreeOptions(
            TreeCoder(self.horizontal, self.vertical, self._names),
            self.template,
            self.grammar,
            self.l1,
            chosen.defaults.usual_l2 if self.l2 is None else self.l2,
            self.max_length,
            weight,
            self.threads,
        )

    @property
    def _names(self) -> tuple[str, ...]:
        return (self.annotations,) if isinstance(self.annotations, str) else tuple(self.annotations)

    def _saved(self, model: ParserModel) -> dict[str, Any]:
        """Parameters that a file keeps in another form than they were given in: a template's text, not its name."""
        if self.template is None or self.template in NAMED_GRAMMARS:
            return {}
        extractors = [e for e in (model.spans, model.tokens) if e is not None]
        return {"template": "".join(f"{line}\n" for e in extractors for line in e.templates.lines if line.strip())}

    def _adopt(self, model: ParserModel) -> Parser:
        self.model_ = model
        self.n_iter_ = model.record.get("iterations", 0)
        self.decoder_ = TreeDecoder(model, self.threads, self.memory)
        return self

    # ------------------------------------------------------------------ parsing

    def _words(self, sentences: Any) -> Any:
        """Sentences as they are, but for raw text, which is split if there is a tokenizer."""
        splits = self.splits
        self.refuse_text(sentences)
        if splits is None or not isinstance(sentences, Iterable) or isinstance(sentences, str | Mapping):
            return sentences
        return [without_brackets(splits.tokens(s)) if isinstance(s, str) else s for s in sentences]

    def parse(self, sentences: Sequence[Sequence[str]], decode: str = "best") -> list[Parse]:
        """The best tree of every sentence, or with "max-recall" the tree of its likeliest spans."""
        require_fitted(self)
        return self.decoder_.best(self._words(sentences), decode)

    def predict(self, sentences: Sequence[Sequence[str]]) -> list[Tree]:
        """The best trees alone."""
        return [parse.tree for parse in self.parse(sentences)]

    def parse_nbest(self, sentences: Sequence[Sequence[str]], n: int = 10) -> list[list[Parse]]:
        """The n best trees of every sentence, with their probabilities."""
        require_fitted(self)
        return self.decoder_.nbest(self._words(sentences), n)

    def marginals(self, sentence: Sequence[str], least: float = 1e-3) -> list[tuple[str, int, int, float]]:
        """(label, begin, end, probability) of the constituents that are likelier than ``least``."""
        require_fitted(self)
        return self.decoder_.marginals(self._words([sentence])[0], least)

    def explain(self, sentence: Sequence[str], span: tuple[int, int]) -> SpanExplanation:
        """Why the words from span[0] up to span[1] are what they are."""
        require_fitted(self)
        try:
            begin, end = map(operator.index, span)
        except (TypeError, ValueError):
            raise LoglinError(f"the span is {span!r}; give two whole numbers, such as (0, 2)") from None
        return self.decoder_.explain(self._words([sentence])[0], begin, end)

    def sample(self, sentence: Sequence[str], n: int = 1, seed: int | None = None) -> list[Tree]:
        """Trees of a sentence drawn by their probabilities."""
        require_fitted(self)
        chosen = self.seed if seed is None else seed
        check_whole("seed", chosen, 0, LARGEST_SEED)
        return self.decoder_.sample(self._words([sentence])[0], n, np.random.default_rng(chosen))

    def evaluate(self, trees: Iterable[Tree | str], **how: Any) -> ParseReport:
        """How the best trees of these trees' sentences compare with them, as evalb counts, and as ``how`` says.

        ``how`` is what ``loglin.evaluation.trees.evaluate_trees`` takes, such as max_length=40.
        """
        require_fitted(self)
        gold = [g for g in map(self._gold, as_trees(trees)) if g is not None]
        if not gold:
            raise LoglinError("there are no trees to compare with; give at least one")
        parses = self.parse([tree.words() for tree in gold])
        found = [parse.tree for parse in parses]
        return evaluate_trees(gold, found, complete=[parse.complete for parse in parses], **how)

    def score(self, trees: Iterable[Tree | str], y: Any = None) -> float:
        """Labelled F1 of the best trees of these trees' sentences, from 0 to 1."""
        return self.evaluate(trees).f1

    def _gold(self, tree: Tree) -> Tree | None:
        coder = self.model_.coder
        return tree if coder is None else coder.strip(tree)

    # ------------------------------------------------------------------ grammars and files

    @property
    def pcfg_(self) -> PCFG:
        """The grammar with its lexicon, and rules and roots as the base model weighs them."""
        require_fitted(self)
        model = self.model_
        return PCFG(model.grammar, model.base.rules, model.base.roots, model.lexicon)

    @classmethod
    def from_grammar(cls, grammar: PCFG | str | os.PathLike, **parameters: Any) -> Parser:
        """A parser with the probabilities of a grammar, or of a grammar file."""
        pcfg = grammar if isinstance(grammar, PCFG) else PCFG.read(grammar)
        return cls("pcfg", **parameters)._adopt(model_of_pcfg(pcfg))

    def save(self, path: str | os.PathLike) -> None:
        require_fitted(self)
        replace(self.model_, record=self.with_tokenizer(self.model_.record)).save(path)

    @classmethod
    def load(
        cls, path: str | os.PathLike, threads: int | None = None, memory: int | None = None, tokenizer: Any = None
    ) -> Parser:
        """A parser from a model file; ``memory`` and ``tokenizer`` in the place of what it was trained with."""
        parser = cls.from_model(ParserModel.load(path), threads, memory)
        parser.tokenizer = parser.tokenizer if tokenizer is None else tokenizer
        return parser

    @classmethod
    def from_model(cls, model: ParserModel, threads: int | None = None, memory: int | None = None) -> Parser:
        """A parser with a trained model, and the parameters that it was trained with."""
        parser = cls.restored(model.record, threads=threads, **({} if memory is None else {"memory": memory}))
        if "criterion" not in model.record.get("options", {}):
            parser.criterion = model.record.get("criterion", "pcfg")
        if model.coder is not None:
            parser.horizontal, parser.vertical = model.coder.horizontal, model.coder.vertical
            parser.annotations = model.coder.annotations
        return parser._adopt(model)


def as_trees(trees: Iterable[Any]) -> list[Tree]:
    """Trees, of which some may be written in brackets, or be NLTK's."""
    found = []
    for number, tree in enumerate(listed(trees, "trees", TREES)):
        if not isinstance(tree, Tree | str) and not _is_of_nltk(tree):
            raise LoglinError(f"tree {number} is {tree!r}; give a Tree, or a string such as (S (NN word))")
        found.append(tree if isinstance(tree, Tree) else Tree.parse(str(tree)))
    return found


def _is_tree(item: Any) -> bool:
    return isinstance(item, Tree) or (isinstance(item, str) and item.lstrip().startswith("(")) or _is_of_nltk(item)


def _is_of_nltk(item: Any) -> bool:
    """Whether an object is a tree of NLTK, which prints itself in brackets."""
    return any(f"{kind.__module__}.{kind.__name__}" == "nltk.tree.tree.Tree" for kind in type(item).__mro__)
