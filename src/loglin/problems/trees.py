"""The training problem on trees: annotated trees encoded, counted and described by attributes.

trees ──► normal form ──► PCFG (counted, or from a file), uses ──► attributes of words and spans ──► index, features

Where trees are hidden, sentences stand in their place; see problems/hidden_trees.py and problems/word_types.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from loglin.corpus.labels import Gold
from loglin.corpus.trees import Tree
from loglin.errors import LoglinError
from loglin.features.extract import TemplateExtractor
from loglin.features.index import FeatureIndex, build_index
from loglin.features.span_index import NO_SPANS, SpanIndex, build_span_index
from loglin.features.span_templates import GrammarTemplates
from loglin.features.spans import SpanDesign, SpanExtractor
from loglin.generative.pcfg import PCFG
from loglin.grammars.transforms import TreeCoder
from loglin.grammars.uses import TreeUses, tree_uses
from loglin.models.parser import ParserModel, token_index, tree_design, words_seen
from loglin.optimize.penalties import Penalties
from loglin.optimize.run import check_number, check_whole
from loglin.problems.penalties import checked_weights
from loglin.problems.request import Annotation
from loglin.problems.tree_features import feature_name, transferred_weights
from loglin.structures.brackets import Bracket
from loglin.structures.forest import Forests
from loglin.structures.tree_scores import Base, TreeDesign, TreeIndex, features_of
from loglin.threads import Threads

if TYPE_CHECKING:
    from loglin.optimize.objective import Objective
    from loglin.optimize.run import Make
    from loglin.problems.parts import Part, Parts
    from loglin.problems.word_types import WordTypes


@dataclass(frozen=True)
class TreeOptions:
    """What a problem of trees is told besides the data, checked before they are read."""

    coder: TreeCoder = field(default_factory=TreeCoder)
    template: Any = None  # a file, text or name; None: that of the criterion
    grammar: str | os.PathLike | None = None  # a file of rules
    l1: float = 0.0
    l2: float = 1.0
    max_length: int | None = None  # longer sentences are left out of training
    weight: Sequence[float] | np.ndarray | None = None  # of every tree, then of every sentence without a tree
    threads: int | None = None

    def __post_init__(self) -> None:
        check_number("l1", self.l1)
        check_number("l2", self.l2)
        for name in ("threads", "max_length"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), 1)

    def is_short(self, words: Sequence) -> bool:
        """Whether a sentence is not too long to be learnt from."""
        return self.max_length is None or len(words) <= self.max_length

    def read_grammar(self) -> PCFG | None:
        """The grammar of the file, if there is one."""
        return None if self.grammar is None else PCFG.read(self.grammar)

    def weights(self, n: int) -> np.ndarray | None:
        """The weights of all n trees and sentences that were given; None: all count the same."""
        return None if self.weight is None else checked_weights(self.weight, n)


@dataclass(eq=False)
class TreeProblem:
    """Trees and sentences to learn from, numbered and described."""

    options: TreeOptions
    trees: list[Tree]  # encoded; those that are annotated completely
    sentences: list[list[str]]  # without a tree
    pcfg: PCFG  # counted, or the first one
    tokens: TemplateExtractor | None
    spans: SpanExtractor | None
    span_design: SpanDesign | None
    index: TreeIndex
    design: TreeDesign  # of the trees' words
    uses: TreeUses
    threads: Threads
    weight: np.ndarray | None = None  # (trees + sentences,)
    as_terminals: bool = False  # templates see words as the lexicon reads them
    text: WordTypes | None = None  # the words of trees and sentences as lattices read them
    brackets: list[list[Bracket]] | None = None  # of every sentence, where some have any
    left_out: int = 0  # sentences that the grammar cannot derive
    parts: Parts | None = None  # where objectives are made of parts of the trees; see problems/parts.py

    @classmethod
    def of_trees(
        cls,
        trees: Sequence[Tree],
        sentences: Sequence[Sequence[str]],
        options: TreeOptions,
        templates: GrammarTemplates | None,
        lexicon: Mapping[str, Any],
        as_terminals: bool = False,
        pcfg: PCFG | None = None,
    ) -> TreeProblem:
        """The problem of annotated trees; ``lexicon`` are options of ``Lexicon.count``."""
        weight = options.weights(len(trees) + len(sentences))
        encoded, kept = encoded_trees(trees, options)
        pcfg = pcfg or options.read_grammar() or PCFG.count(encoded, **lexicon)
        uses = tree_uses(encoded, pcfg.grammar, pcfg.lexicon.tags)
        corpus = words_seen([tree.words() for tree in encoded], pcfg.lexicon, as_terminals)
        tokens = token_design = spans = span_design = None
        token_pairs, span_pairs = token_index(len(pcfg.lexicon.tags)), no_spans(pcfg)
        if templates is not None and templates.tokens is not None:
            tokens = TemplateExtractor(templates.tokens)
            token_design = tokens.fit(corpus)
            token_pairs = build_index(token_design, Gold.certain(uses.tags, len(pcfg.lexicon.tags)), False, False, 1)
        if templates is not None and templates.spans is not None:
            spans = SpanExtractor(templates.spans)
            spans.fit(corpus, uses.nodes)
            span_design = spans.transform(corpus)
            span_pairs = build_span_index(span_design, uses.nodes, pcfg.grammar.n_rules, pcfg.grammar.n_symbols)
        index = TreeIndex(pcfg.grammar, pcfg.lexicon.tags, span_pairs, _of_tags(token_pairs))
        design = tree_design(corpus, pcfg.lexicon, token_design, span_design)
        return cls(
            options, encoded, [list(s) for s in sentences], pcfg, tokens, spans, span_design, index, design, uses,
            Threads(options.threads), None if weight is None else weight[kept], as_terminals,
        )  # fmt: skip

    @property
    def structure(self) -> str:
        return "forest"

    # ------------------------------------------------------------------ what is annotated

    @property
    def annotation(self) -> Annotation:
        return Annotation.HIDDEN if self.sentences else Annotation.CERTAIN

    def require_labels(self, criterion: str) -> None:
        """Refuse sentences without trees."""
        if self.sentences:
            raise LoglinError(
                f"criterion {criterion} learns from trees alone, and {len(self.sentences)} sentences have none; leave "
                "them out, or take criterion mixture, em or contrastive"
            )

    # ------------------------------------------------------------------ features

    @cached_property
    def features(self) -> sp.csr_matrix:
        """How often every tree has every feature: (trees, features)."""
        return features_of(self.index, self.design, self.uses)

    @cached_property
    def forests(self) -> Forests:
        """All trees of the annotated sentences."""
        return Forests.of_sentences(self.pcfg.grammar, self.index.tags, self.uses.lengths.tolist())

    @property
    def penalties(self) -> Penalties:
        return Penalties.uniform(self.index.n_features, self.options.l1, self.options.l2)

    @property
    def n_features(self) -> int:
        return self.index.n_features

    def objective(self, make: Callable[[TreeProblem, type], Objective]) -> Make:
        """What is minimized; ``make`` makes it of a problem. Of parts it is the sum."""
        return partial(make, self) if self.parts is None else partial(self.parts.sum, make)

    def pieces(self, tokens: int) -> Iterator[Part]:
        """The problem cut at trees, about so many words each."""
        from loglin.problems.parts import pieces_of_trees

        return pieces_of_trees(self, tokens)

    def feature_name(self, feature: int) -> str:
        """A rule, a root, or an attribute with the rule, symbol or tag that it has a weight for."""
        return feature_name(self.index, self.tokens, self.spans, feature)

    def transferred(self, old: ParserModel) -> np.ndarray:
        """The weights of another model for the features of this problem; features that it lacks start at zero."""
        return transferred_weights(old, self.options.coder, self.index, self.tokens, self.spans)

    # ------------------------------------------------------------------ models

    def base(self, kind: str) -> Base:
        """Fixed scores: "pcfg" of rules and roots, "roots" of roots alone, "lexicon" of neither."""
        rules = {"pcfg": self.pcfg.rules}.get(kind, np.zeros(self.pcfg.grammar.n_rules))
        possible = np.where(self.pcfg.roots > -np.inf, 0.0, -np.inf)
        return Base(rules, possible if kind == "lexicon" else self.pcfg.roots)

    def stored(self, dtype: str) -> type:
        """The precision of stored weights: double."""
        return np.float64

    def model(self, weights: np.ndarray, base: Base, decoding: str = "global") -> ParserModel:
        """A parser with these weights on top of fixed scores."""
        coder, lexicon = self.options.coder, self.pcfg.lexicon
        model = ParserModel(coder, self.index, base, lexicon, weights, self.tokens, self.spans, decoding)
        model.as_terminals = self.as_terminals
        return model

    def counted_model(self, pcfg: PCFG) -> ParserModel:
        """A parser with the probabilities of a grammar."""
        return model_of_pcfg(pcfg, self.options.coder)

    def about(self, model: ParserModel) -> dict[str, Any]:
        """What a model's record says of the data."""
        lengths = [*self.uses.lengths.tolist(), *map(len, self.sentences)]
        return {
            "l1": self.options.l1,
            "l2": self.options.l2,
            "sentences": len(lengths),
            "tokens": sum(lengths),
            "symbols": model.grammar.n_symbols,
            "rules": model.grammar.n_rules,
            "features": model.index.n_features,
            "threads": self.threads.n,
        } | ({} if self.parts is None else self.parts.about())


def encoded_trees(trees: Sequence[Tree], options: TreeOptions) -> tuple[list[Tree], list[int]]:
    """Trees in normal form, and which of those given they are: neither without words nor too long."""
    found, kept = [], []
    for number, tree in enumerate(map(options.coder.encode, trees)):
        if tree is not None and options.is_short(tree.leaves()):
            found.append(tree)
            kept.append(number)
    if not found:
        limit = "" if options.max_length is None else f" of at most {options.max_length} words"
        raise LoglinError(f"{len(trees)} trees hold no sentence{limit} to learn from; give some")
    return found, kept


def model_of_pcfg(pcfg: PCFG, coder: TreeCoder | None = None) -> ParserModel:
    """A parser with the probabilities of a grammar; without a coder, one that was written by hand."""
    index = TreeIndex(pcfg.grammar, pcfg.lexicon.tags, no_spans(pcfg), token_index(len(pcfg.lexicon.tags)))
    model = ParserModel(coder, index, Base(pcfg.rules, pcfg.roots), pcfg.lexicon, np.zeros(index.n_features))
    model.record |= {"criterion": "pcfg", "symbols": pcfg.grammar.n_symbols, "rules": pcfg.grammar.n_rules}
    return model


def no_spans(pcfg: PCFG) -> SpanIndex:
    """An index of no attributes of spans."""
    return replace(NO_SPANS, n_rules=pcfg.grammar.n_rules, n_symbols=pcfg.grammar.n_symbols)


def _of_tags(index: FeatureIndex) -> FeatureIndex:
    return token_index(index.n_labels, index.ptr, index.labels)
