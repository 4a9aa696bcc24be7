"""Annotated trees made ready for the criteria: encoded, counted, described by attributes.

trees ──► normal form ──► PCFG (counted, or from a file), uses ──► attributes of words and spans ──► index, features
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from loglin.corpus.columns import Corpus
from loglin.corpus.labels import Gold
from loglin.corpus.trees import Tree
from loglin.errors import LoglinError
from loglin.features.extract import TemplateExtractor
from loglin.features.index import FeatureIndex, build_index
from loglin.features.span_index import NO_SPANS, SpanIndex, build_span_index
from loglin.features.spans import SpanDesign, SpanExtractor
from loglin.generative.pcfg import PCFG
from loglin.grammars.uses import TreeUses, tree_uses
from loglin.models.parser import ParserModel, token_index, tree_design, words_seen
from loglin.structures.forest import Forests
from loglin.structures.tree_scores import Base, TreeDesign, TreeIndex, features_of
from loglin.threads import Threads
from loglin.training.parser_options import ParserOptions


@dataclass(frozen=True, eq=False)
class TreeProblem:
    options: ParserOptions
    trees: list[Tree]  # encoded
    corpus: Corpus
    pcfg: PCFG
    uses: TreeUses
    tokens: TemplateExtractor | None
    spans: SpanExtractor | None
    span_design: SpanDesign | None
    index: TreeIndex
    design: TreeDesign
    threads: Threads

    @cached_property
    def features(self) -> sp.csr_matrix:
        """How often every tree has every feature: (trees, features)."""
        return features_of(self.index, self.design, self.uses)

    @cached_property
    def forests(self) -> Forests:
        return Forests.of_sentences(self.pcfg.grammar, self.index.tags, self.uses.lengths)

    def base(self, kind: str) -> Base:
        """Fixed scores: "pcfg" of rules and roots, "roots" of roots alone, "lexicon" of neither."""
        rules = self.pcfg.rules if kind == "pcfg" else np.zeros(self.pcfg.grammar.n_rules)
        possible = np.where(self.pcfg.roots > -np.inf, 0.0, -np.inf)
        return Base(rules, possible if kind == "lexicon" else self.pcfg.roots)

    def model(self, weights: np.ndarray, base: Base, decoding: str = "global") -> ParserModel:
        coder, lexicon = self.options.coder, self.pcfg.lexicon
        model = ParserModel(coder, self.index, base, lexicon, weights, self.tokens, self.spans, decoding)
        model.as_terminals = self.options.as_terminals
        return model


def encoded_trees(trees: Sequence[Tree], options: ParserOptions) -> list[Tree]:
    """Trees in normal form; those without words or longer than training takes are left out."""
    found = [tree for tree in map(options.coder.encode, trees) if tree is not None]
    if options.max_length is not None:
        found = [tree for tree in found if len(tree.leaves()) <= options.max_length]
    if not found:
        limit = "" if options.max_length is None else f" of at most {options.max_length} words"
        raise LoglinError(f"{len(trees)} trees hold no sentence{limit} to learn from; give some")
    return found


def tree_problem(trees: Sequence[Tree], options: ParserOptions, pcfg: PCFG | None = None) -> TreeProblem:
    """Everything that the criteria need of annotated trees."""
    encoded, settings, threads = encoded_trees(trees, options), options.checked, Threads(options.threads)
    pcfg = pcfg or PCFG.count(encoded, smoothing=settings["smoothing"], rare=settings["rare"])
    uses = tree_uses(encoded, pcfg.grammar, pcfg.lexicon.tags)
    corpus = words_seen([tree.words() for tree in encoded], pcfg.lexicon, options.as_terminals)
    templates = options.templates()
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
    return TreeProblem(options, encoded, corpus, pcfg, uses, tokens, spans, span_design, index, design, threads)


def _of_tags(index: FeatureIndex) -> FeatureIndex:
    return token_index(index.n_labels, index.ptr, index.labels)


def no_spans(pcfg: PCFG) -> SpanIndex:
    """An index of no attributes of spans."""
    return replace(NO_SPANS, n_rules=pcfg.grammar.n_rules, n_symbols=pcfg.grammar.n_symbols)
