"""Sentences and their neighbors as lattices of words, for criteria that compare them by a weighted grammar.

sentences ──► word types, a row of attributes and possible tags each ──► neighborhood: lattices of types ──► forests
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from loglin.corpus.columns import Corpus, from_sentences
from loglin.corpus.trees import Tree
from loglin.errors import LoglinError
from loglin.features.extract import TemplateExtractor
from loglin.features.span_templates import GrammarTemplates
from loglin.features.template import TemplateSet
from loglin.generative.pcfg import PCFG
from loglin.grammars.uses import tree_uses
from loglin.models.parser import token_index, tree_design
from loglin.neighborhoods.named import Everything, Neighborhood
from loglin.objectives.forest import Term
from loglin.problems.hidden_trees import HiddenText, derivable, no_tree
from loglin.problems.lattices import TokenTypes
from loglin.problems.trees import TreeOptions, TreeProblem, encoded_trees, no_spans
from loglin.structures.forest import Forests, chart_bytes
from loglin.structures.tree_scores import Base, TreeDesign, TreeIndex, scores_with, token_matrix
from loglin.structures.word_lattices import WordLattices, cut
from loglin.threads import Threads

MEMORY = 2**30  # bytes that the chart of one lattice may take


@dataclass(frozen=True, eq=False)
class WordTypes:
    """The words of sentences as rows that lattices read: what tags each may have, and its weights by tag."""

    types: TokenTypes
    corpus: Corpus
    extractor: TemplateExtractor
    index: TreeIndex
    design: TreeDesign  # a row a type

    @classmethod
    def of(cls, words: Sequence[Sequence[str]], pcfg: PCFG, templates: GrammarTemplates) -> WordTypes:
        """A word that is not known is read as one inside a sentence, as neighbors may have it there."""
        corpus, extractor = from_sentences(words), TemplateExtractor(word_templates(templates))
        extractor.fit(corpus)
        types, tags = TokenTypes.of(corpus), pcfg.lexicon.tags
        matrix = token_matrix(extractor.transform(types.corpus))
        leaves = pcfg.lexicon.scores(types.tokens, [False] * types.n)
        pairs = sp.csr_matrix((matrix != 0).T.astype(float) @ (leaves > -np.inf).astype(float))
        tokens = token_index(len(tags), pairs.indptr.astype(np.int64), pairs.indices.astype(np.uint16))
        nothing = np.empty((0, 0), np.int32)
        index = TreeIndex(pcfg.grammar, tags, no_spans(pcfg), tokens)
        return cls(types, corpus, extractor, index, TreeDesign(matrix, nothing, nothing, leaves))

    def forests(self, words: WordLattices) -> Forests:
        return Forests(self.index.grammar, self.index.tags, words, words.symbols)


def word_templates(templates: GrammarTemplates) -> TemplateSet:
    """Templates that see the word alone, as neighbors have other words around it and no spans in common."""
    if templates.spans is not None:
        raise LoglinError(
            f"{templates.spans.source}: {templates.spans.templates[0].text!r} looks at spans, which the neighbors of a "
            "sentence do not share; give templates of words alone, such as U00:%x[0,0]"
        )
    assert templates.tokens is not None
    for template in templates.tokens.templates:
        if any(item.offset for item in template.items):
            raise LoglinError(
                f"{templates.tokens.source}: {template.text!r} looks at other words, which the neighbors of a sentence "
                "have elsewhere; look at row 0 alone, such as U00:%x[0,0]"
            )
    return templates.tokens


# ---------------------------------------------------------------------- problems


def problem_of_text(hidden: HiddenText, options: TreeOptions, templates: GrammarTemplates | None) -> TreeProblem:
    """The problem of sentences without trees; with templates, weights for their words and the first grammar's rules.

    The grammar then says what is possible, and its probabilities are left out.
    """
    pcfg = hidden.pcfg if templates is None else without_weights(hidden.pcfg)
    text = None if templates is None else WordTypes.of(hidden.words, pcfg, templates)
    nothing, tags = np.empty((0, 0), np.int32), pcfg.lexicon.tags
    index = TreeIndex(pcfg.grammar, tags, no_spans(pcfg), token_index(len(tags))) if text is None else text.index
    design = TreeDesign(sp.csr_matrix((0, len(index.tokens.ptr) - 1)), nothing, nothing, np.empty((0, len(tags))))
    return TreeProblem(
        options, [], hidden.words, pcfg, None if text is None else text.extractor, None, None, index, design,
        tree_uses([], pcfg.grammar, tags), Threads(options.threads), hidden.weight, text=text,
        brackets=hidden.brackets, left_out=hidden.left_out,
    )  # fmt: skip


def mixed_problem(
    trees: Sequence[Tree],
    sentences: Sequence[Sequence[str]],
    options: TreeOptions,
    templates: GrammarTemplates,
    lexicon: Mapping[str, Any],
) -> TreeProblem:
    """The problem of the trees, with weights for the words of all sentences that have a tree."""
    weight, threads = options.weights(len(trees) + len(sentences)), Threads(options.threads)
    encoded, kept = encoded_trees(trees, options)
    pcfg = options.read_grammar() or PCFG.count(encoded, **lexicon)
    short = [(len(trees) + n, list(words)) for n, words in enumerate(sentences) if options.is_short(words)]
    possible = derivable(pcfg, [words for _, words in short], threads)
    rest = [item for item, is_possible in zip(short, possible, strict=True) if is_possible]
    if not rest:
        raise LoglinError(
            f"none of {len(sentences)} sentences without trees is short enough and derivable from the trees' grammar; "
            "give more of both, or take criterion crf"
        )
    labeled, unlabeled = [tree.words() for tree in encoded], [words for _, words in rest]
    text, corpus = WordTypes.of([*labeled, *unlabeled], pcfg, templates), from_sentences(labeled)
    design = tree_design(corpus, pcfg.lexicon, text.extractor.transform(corpus), None)
    uses, kept = tree_uses(encoded, pcfg.grammar, pcfg.lexicon.tags), [*kept, *(number for number, _ in rest)]
    return TreeProblem(
        options, encoded, unlabeled, pcfg, text.extractor, None, None, text.index, design, uses, threads,
        None if weight is None else weight[kept], text=text, left_out=len(short) - len(rest),
    )  # fmt: skip


def without_weights(pcfg: PCFG) -> PCFG:
    """What is possible, with the score 0."""

    def flat(scores: np.ndarray) -> np.ndarray:
        return np.where(scores > -np.inf, 0.0, -np.inf)

    lexicon = replace(pcfg.lexicon, log_p=flat(pcfg.lexicon.log_p))
    return replace(pcfg, rules=flat(pcfg.rules), roots=flat(pcfg.roots), lexicon=lexicon)


# ---------------------------------------------------------------------- sentences against their neighbors


def contrast(problem: TreeProblem, around: Neighborhood, weight: float = 1.0) -> list[Term]:
    """weight · Σ log Z(neighbors) − log Z(sentence), of the sentences without trees."""
    text, first = problem.text, len(problem.trees)
    assert text is not None
    if isinstance(around, Everything):
        raise LoglinError(
            "the neighborhood everything, all sentences of all lengths, has no lattices; take another, such as trans1, "
            "or criterion em"
        )
    sentences = cut(text.types.codes, text.corpus.offsets)[first:]
    words = around.lattices(sentences, text.types.n, text.types.tokens).unpooled()
    states = int(np.diff(words.states).max(initial=1))
    need = chart_bytes(text.index.grammar, states - 1).expectations
    if need > MEMORY:
        raise LoglinError(
            f"the neighborhood {around.name} has a lattice of {states:,} states, whose chart needs "
            f"{need / 2**20:,.0f} MiB, more than {MEMORY / 2**20:,.0f}; give a smaller max_length, fewer symbols or "
            "another neighborhood"
        )
    each = np.ones(len(sentences)) if problem.weight is None else problem.weight[first:]
    if not words.separate:
        return [Term(text.forests(words), text.design, weight * np.column_stack([-each, each]))]
    # lattices that several sentences share, and the sentences as chains of their own
    shared = weight * np.bincount(words.of, each, minlength=len(words))
    observed = text.forests(WordLattices.chains(sentences, text.types.n))
    return [
        Term(observed, text.design, weight * np.column_stack([0 * each, -each])),
        Term(text.forests(words), text.design, np.column_stack([0 * shared, shared])),
    ]


def refuse_underivable(term: Term, problem: TreeProblem, base: Base) -> None:
    """Refuse sentences without a tree; the sentence is one goal of a lattice, or all that a chain has."""
    text = problem.text
    assert text is not None
    scores = scores_with(text.index, base, term.design, np.zeros(text.index.n_features))
    goal = int(np.flatnonzero((term.goals < 0).any(axis=0))[0])
    impossible = np.flatnonzero(term.forests.totals(scores).partitions[:, goal] == -np.inf)
    if len(impossible):
        s = int(impossible[0])
        raise no_tree(s, [word for (word,) in text.corpus.select(impossible[:1]).sentences()[0]], problem.pcfg.lexicon)
