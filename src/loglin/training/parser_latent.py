"""Grammars from sentences whose trees are hidden, known by some brackets, or known for a few sentences.

    em             a PCFG by inside–outside (Baker 1979; Pereira, Schabes 1992)
    contrastive    −Σ log Z(sentence) / Z(its neighbors), of a weighted grammar (Smith, Eisner 2005, Eq. 7)
    mixture        −Σ log p(tree | sentence) of annotated trees + weight × contrastive of the other sentences (§6)

The first grammar is that of a file, or has all rules of some symbols, or is counted from trees.

    sentences ──► word types, a row of attributes and possible tags each ──► neighborhood: lattices of types ──► forests
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from loglin.corpus.columns import Corpus, from_sentences
from loglin.corpus.trees import Tree
from loglin.criteria.inside_outside import complete_grammar, inside_outside, no_tree
from loglin.errors import LoglinError
from loglin.features.extract import TemplateExtractor
from loglin.features.template import TemplateSet
from loglin.generative.pcfg import PCFG
from loglin.grammars.grammar import Grammar
from loglin.grammars.symbols import base_label
from loglin.grammars.uses import tree_uses
from loglin.models.parser import ParserModel, token_index, tree_design
from loglin.neighborhoods.named import Everything
from loglin.objectives.forest import ForestCriterion, Term
from loglin.optimize.record import Callback, Result
from loglin.problems.lattices import TokenTypes
from loglin.structures.brackets import Bracket
from loglin.structures.forest import Forests, chart_bytes, scores_of
from loglin.structures.tree_scores import Base, TreeDesign, TreeIndex, scores_with, token_matrix
from loglin.structures.word_lattices import WordLattices, cut
from loglin.threads import Threads
from loglin.training.latent import best_of_starts, neighborhood_of, report_divergence
from loglin.training.parser_options import ParserOptions
from loglin.training.parser_problem import TreeProblem, encoded_trees, no_spans
from loglin.training.parser_solving import Follow, Trained, fitted, likelihood, model_of_pcfg

EM_TOL = 0.01  # EM ends with small steps far from where it goes, so it is held to a part of the tolerance
MEMORY = 2**30  # bytes that the chart of one lattice may take
ALIKE = 0.05  # weights of all rules within so much: symbols are not told apart


def train_hidden(
    trees: Sequence[Tree], sentences: Sequence[Sequence[str]], options: ParserOptions, follow: Follow
) -> Trained:
    """A model by one of the criteria that look at sentences without trees."""
    return _METHODS[options.criterion](list(trees), [list(s) for s in sentences], options, follow)


# ---------------------------------------------------------------------- text and the first grammar


@dataclass(frozen=True, eq=False)
class HiddenText:
    """Sentences with the first grammar, under which all have trees; those of trees stand first."""

    pcfg: PCFG
    words: list[list[str]]
    trees: list[Tree]  # of the first sentences
    left_out: int  # sentences that a counted grammar cannot derive


def hidden_text(trees: list[Tree], sentences: list[list[str]], options: ParserOptions) -> HiddenText:
    """What is short enough, and the grammar to start from."""
    settings, longest = options.checked, options.max_length
    known = [tree for tree in map(options.coder.strip, trees) if tree is not None]
    known = [tree for tree in known if longest is None or len(tree.leaves()) <= longest]
    rest = [words for words in sentences if longest is None or len(words) <= longest]
    words = [*(tree.words() for tree in known), *rest]
    if not words:
        limit = "" if longest is None else f" of at most {longest} words"
        raise LoglinError(f"{len(trees) + len(sentences)} sentences hold none{limit} to learn from; give some")
    if options.grammar is not None:
        return HiddenText(PCFG.read(options.grammar), words, known, 0)
    if settings["symbols"]:
        names = [f"X{n}" for n in range(1, settings["symbols"] + 1)]
        return HiddenText(complete_grammar(names, words, unknown=True), words, known, 0)
    if not known:
        raise LoglinError(
            f"criterion {options.criterion} has no grammar to start from; give a grammar file, trees to count one "
            "from, or the setting symbols, such as 10"
        )
    pcfg = PCFG.count(encoded_trees(trees, options), rare=settings["rare"])
    possible = derivable(pcfg, rest, Threads(options.threads))
    kept = [s for s, is_possible in zip(rest, possible, strict=True) if is_possible]
    return HiddenText(pcfg, words[: len(known)] + kept, known, len(rest) - len(kept))


def derivable(pcfg: PCFG, sentences: Sequence[Sequence[str]], threads: Threads) -> np.ndarray:
    """Which sentences have a tree: (sentences,) bool."""
    leaves = np.concatenate([np.empty((0, len(pcfg.lexicon.tags))), *map(pcfg.lexicon.scores, sentences)])
    forests = Forests.of_sentences(pcfg.grammar, pcfg.lexicon.tags, [len(s) for s in sentences])
    return forests.totals(scores_of(leaves, pcfg.roots, pcfg.rules), threads=threads).partitions[:, 1] > -np.inf


def brackets_of(tree: Tree, grammar: Grammar) -> list[Bracket]:
    """Its constituents and tags; a label that no symbol of the grammar has, such as _ or X, restricts none."""
    known = {*grammar.symbols, *(label for symbol in grammar.symbols for label in base_label(symbol))}
    tags = [(leaf.label, t, t + 1) for t, leaf in enumerate(tree.leaves())]
    return [(i, j, label) if label in known else (i, j) for label, i, j in [*tree.spans(), *tags]]


# ---------------------------------------------------------------------- expectation maximization


def _em(trees: list[Tree], sentences: list[list[str]], options: ParserOptions, follow: Follow) -> Trained:
    text, settings = hidden_text(trees, sentences, options), options.checked
    brackets = [brackets_of(tree, text.pcfg.grammar) for tree in text.trees]
    brackets += [[] for _ in text.words[len(brackets) :]]
    found = inside_outside(
        text.pcfg,
        text.words,
        brackets if text.trees else None,
        random=bool(settings["symbols"]),
        seed=options.seed,
        threads=Threads(options.threads),
        callback=follow,
        interrupted=follow.interrupted,
        max_iter=options.max_iter,
        tol=EM_TOL * options.tol,
        **{name: settings[name] for name in ("starts", "smoothing", "annealing", "annealing_rate")},
    )
    model = model_of_pcfg(found.model, options.coder)
    model.record |= {"log_likelihood": found.log_likelihood, "map": found.map_value, "starts": found.starts}
    model.record |= {"left_out": text.left_out}
    result = Result(model.weights, -found.log_likelihood, found.stopped, found.converged, found.iterations)
    result.evaluations = len(found.iterations)
    return model, result, [len(s) for s in text.words]


# ---------------------------------------------------------------------- contrastive estimation


@dataclass(frozen=True, eq=False)
class WordTypes:
    """The words of sentences as rows that lattices read: what tags each may have, and its weights by tag."""

    types: TokenTypes
    corpus: Corpus
    extractor: TemplateExtractor
    index: TreeIndex
    design: TreeDesign  # a row a type

    @classmethod
    def of(cls, words: Sequence[Sequence[str]], pcfg: PCFG, options: ParserOptions) -> WordTypes:
        """A word that is not known is read as one inside a sentence, as neighbors may have it there."""
        corpus, extractor = from_sentences(words), TemplateExtractor(word_templates(options))
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


def word_templates(options: ParserOptions) -> TemplateSet:
    """Templates that see the word alone, as neighbors have other words around it and no spans in common."""
    templates = options.templates()
    assert templates is not None
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


def contrast(text: WordTypes, first: int, options: ParserOptions, weight: float = 1.0) -> list[Term]:
    """weight · Σ log Z(neighbors) − log Z(sentence), of the sentences from ``first`` on."""
    around = neighborhood_of(options)
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
    if not words.separate:
        return [Term(text.forests(words), text.design, np.tile([-weight, weight], (len(words), 1)))]
    # lattices that several sentences share, and the sentences as chains of their own
    shared = weight * np.bincount(words.of, minlength=len(words))
    observed = text.forests(WordLattices.chains(sentences, text.types.n))
    return [
        Term(observed, text.design, np.tile([0.0, -weight], (len(sentences), 1))),
        Term(text.forests(words), text.design, np.column_stack([0 * shared, shared])),
    ]


def _solved(
    criterion: ForestCriterion, options: ParserOptions, follow: Follow, n_sentences: int, blind: bool
) -> Result:
    """The best of several starts; the first is at zero, unless symbols are then alike."""
    settings, rng = options.checked, np.random.default_rng(options.seed)
    starts = (
        (n > 0 or blind) * settings["deviation"] * rng.standard_normal(criterion.n_features)
        for n in range(settings["starts"])
    )

    def solve(weights: np.ndarray, told: Callback, ended: Callable[[], str | None]) -> Result:
        return fitted(criterion, options, Follow(lambda i: told(i, weights), ended), weights, scaled=False)

    result = best_of_starts(starts, solve, follow, follow.interrupted)
    free = np.full(criterion.n_features, options.l1 == 0 and options.l2 == 0)
    report_divergence(result, free, n_sentences)
    return result


def contrastive_criterion(text: WordTypes, pcfg: PCFG, options: ParserOptions) -> ForestCriterion:
    base = Base(pcfg.rules, pcfg.roots)
    terms = contrast(text, 0, options)
    _refuse_underivable(terms[0], text, base, pcfg)
    return ForestCriterion(text.index, base, terms, np.zeros(text.index.n_features), threads=Threads(options.threads))


def _refuse_underivable(term: Term, text: WordTypes, base: Base, pcfg: PCFG) -> None:
    """The sentence is one goal of a lattice, or all that a chain has."""
    scores = scores_with(text.index, base, term.design, np.zeros(text.index.n_features))
    goal = int(np.flatnonzero(term.goals[0] < 0)[0])
    impossible = np.flatnonzero(term.forests.totals(scores).partitions[:, goal] == -np.inf)
    if len(impossible):
        s = int(impossible[0])
        raise no_tree(s, [word for (word,) in text.corpus.select(impossible[:1]).sentences()[0]], pcfg.lexicon)


def _contrastive(trees: list[Tree], sentences: list[list[str]], options: ParserOptions, follow: Follow) -> Trained:
    hidden = hidden_text(trees, sentences, options)
    flat, words = without_weights(hidden.pcfg), hidden.words
    text = WordTypes.of(words, flat, options)
    criterion = contrastive_criterion(text, flat, options)
    symbols = options.checked["symbols"]
    result = _solved(criterion, options, follow, len(words), blind=symbols > 0)
    if symbols > 1 and np.ptp(text.index.split(result.weights)[0]) < ALIKE:
        result.stopped += "; all rules ended alike, so trees are a matter of chance: give a smaller l2"
    model = ParserModel(options.coder, text.index, criterion.base, flat.lexicon, result.weights, text.extractor)
    model.record |= {"neighborhood": neighborhood_of(options).name, "left_out": hidden.left_out}
    return model, result, [len(s) for s in words]


def without_weights(pcfg: PCFG) -> PCFG:
    """What is possible, with the score 0."""

    def flat(scores: np.ndarray) -> np.ndarray:
        return np.where(scores > -np.inf, 0.0, -np.inf)

    lexicon = replace(pcfg.lexicon, log_p=flat(pcfg.lexicon.log_p))
    return replace(pcfg, rules=flat(pcfg.rules), roots=flat(pcfg.roots), lexicon=lexicon)


# ---------------------------------------------------------------------- some trees, more sentences


def mixture_problem(
    trees: list[Tree], sentences: list[list[str]], options: ParserOptions
) -> tuple[TreeProblem, WordTypes, int]:
    """The problem of the trees, with weights for the words of all sentences that have a tree; how many have none."""
    settings, threads = options.checked, Threads(options.threads)
    encoded = encoded_trees(trees, options)
    if options.grammar is not None:
        pcfg = PCFG.read(options.grammar)
    else:
        pcfg = PCFG.count(encoded, smoothing=settings["smoothing"], rare=settings["rare"])
    short = [words for words in sentences if options.max_length is None or len(words) <= options.max_length]
    possible = derivable(pcfg, short, threads)
    kept = [words for words, is_possible in zip(short, possible, strict=True) if is_possible]
    if not kept:
        raise LoglinError(
            f"none of {len(sentences)} sentences without trees is short enough and derivable from the trees' grammar; "
            "give more of both, or take criterion crf"
        )
    labeled = [tree.words() for tree in encoded]
    text = WordTypes.of([*labeled, *kept], pcfg, options)
    corpus = from_sentences(labeled)
    design = tree_design(corpus, pcfg.lexicon, text.extractor.transform(corpus), None)
    uses = tree_uses(encoded, pcfg.grammar, pcfg.lexicon.tags)
    return (
        TreeProblem(options, encoded, corpus, pcfg, uses, text.extractor, None, None, text.index, design, threads),
        text,
        len(short) - len(kept),
    )


def mixture_criterion(problem: TreeProblem, text: WordTypes, base: Base) -> ForestCriterion:
    known = likelihood(problem, base)
    rest = contrast(text, len(problem.trees), problem.options, problem.options.checked["weight"])
    return replace(known, terms=[*known.terms, *rest])


def _mixture(trees: list[Tree], sentences: list[list[str]], options: ParserOptions, follow: Follow) -> Trained:
    problem, text, left_out = mixture_problem(trees, sentences, options)
    base = problem.base(options.checked["base"])
    criterion, lengths = mixture_criterion(problem, text, base), np.diff(text.corpus.offsets).tolist()
    result = _solved(criterion, options, follow, len(lengths), blind=False)
    model = problem.model(result.weights, base)
    model.record |= {"neighborhood": neighborhood_of(options).name, "trees": len(problem.trees), "left_out": left_out}
    return model, result, lengths


_METHODS: dict[str, Callable[[list[Tree], list[list[str]], ParserOptions, Follow], Trained]] = {
    "em": _em,
    "contrastive": _contrastive,
    "mixture": _mixture,
}
