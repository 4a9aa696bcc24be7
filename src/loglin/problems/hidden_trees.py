"""Sentences whose trees are hidden, or known by some brackets: the first grammar, and inside–outside.

The first grammar is that of a file, or has all rules of some symbols, or is counted from trees.

    E step   n(A → B C), n(A → x), n(root A)    expected uses in the trees of each sentence that keep to its brackets
    M step   p(A → …) = (n(A → …) + λ) / Σ (n + λ)          over the rules and words that A had at the start

(Baker, 1979; Pereira and Schabes, 1992.) See optimize/em.py for what the steps gain. A symbol that no tree uses
any more keeps what it had at the start.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from loglin.corpus.trees import Tree
from loglin.errors import LoglinError
from loglin.generative.lexicon import UNKNOWN, Lexicon
from loglin.generative.pcfg import PCFG
from loglin.grammars.files import Production, Word
from loglin.grammars.grammar import Grammar
from loglin.grammars.symbols import base_label
from loglin.optimize.em import EMResult, best_climb
from loglin.optimize.reporter import Reporter
from loglin.problems.trees import TreeOptions, encoded_trees
from loglin.structures.brackets import Bracket, bracketed
from loglin.structures.forest import Forests, scores_of
from loglin.structures.word_lattices import WordLattices
from loglin.threads import Threads

NOTHING = 1e-60  # a count below it is 0: products of such numbers would leave the quick kernel


@dataclass(frozen=True, eq=False)
class HiddenText:
    """Sentences with the first grammar, under which all have trees; those of trees stand first."""

    pcfg: PCFG
    words: list[list[str]]
    trees: list[Tree]  # of the first sentences
    left_out: int  # sentences that a counted grammar cannot derive
    weight: np.ndarray | None = None  # (sentences,)

    @property
    def brackets(self) -> list[list[Bracket]] | None:
        """The brackets of every sentence; None where there are no trees."""
        if not self.trees:
            return None
        known = [brackets_of(tree, self.pcfg.grammar) for tree in self.trees]
        return known + [[] for _ in self.words[len(known) :]]


def hidden_text(
    trees: Sequence[Tree],
    sentences: Sequence[Sequence[str]],
    options: TreeOptions,
    criterion: str,
    symbols: int = 0,
    rare: int = 1,
) -> HiddenText:
    """The sentences that are short enough, and the grammar to start from; ``criterion`` is its name, for messages."""
    if symbols and options.grammar is not None:
        raise LoglinError(
            f"there are the grammar {os.fspath(options.grammar)} and {criterion}'s setting symbols, {symbols}; give "
            "one of the two"
        )
    weight = options.weights(len(trees) + len(sentences))
    stripped = [(number, options.coder.strip(tree)) for number, tree in enumerate(trees)]
    known = [(number, tree) for number, tree in stripped if tree is not None and options.is_short(tree.leaves())]
    rest = [(len(trees) + n, list(words)) for n, words in enumerate(sentences) if options.is_short(words)]
    if not known and not rest:
        limit = "" if options.max_length is None else f" of at most {options.max_length} words"
        raise LoglinError(f"{len(trees) + len(sentences)} sentences hold none{limit} to learn from; give some")
    texts, pcfg = [*(tree.words() for _, tree in known), *(words for _, words in rest)], options.read_grammar()
    n_rest = len(rest)
    if pcfg is None and symbols:
        pcfg = complete_grammar([f"X{n}" for n in range(1, symbols + 1)], texts, unknown=True)
    elif pcfg is None:
        if not known:
            raise LoglinError(
                f"criterion {criterion} has no grammar to start from; give a grammar file, trees to count one from, or "
                "the setting symbols, such as 10"
            )
        pcfg = PCFG.count(encoded_trees(trees, options)[0], rare=rare)
        possible = derivable(pcfg, [words for _, words in rest], Threads(options.threads))
        rest = [item for item, is_possible in zip(rest, possible, strict=True) if is_possible]
        texts = texts[: len(known)] + [words for _, words in rest]
    kept = [number for number, _ in known] + [number for number, _ in rest]
    left_out = n_rest - len(rest)
    return HiddenText(pcfg, texts, [t for _, t in known], left_out, None if weight is None else weight[kept])


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


# ---------------------------------------------------------------------- inside–outside


def inside_outside(
    start: PCFG,
    sentences: Sequence[Sequence[str]],
    brackets: Sequence[Iterable[Bracket]] | None = None,  # of each sentence
    *,
    starts: int = 1,
    random: bool = False,
    seed: int = 0,
    smoothing: float = 0.0,
    annealing: float = 1.0,
    annealing_rate: float = 1.5,
    weight: np.ndarray | None = None,  # (sentences,)
    threads: Threads | None = None,
    reporter: Reporter | None = None,
    max_iter: int = 100,  # of each start
    tol: float = 1e-5,  # of the likelihood, as a part of it
) -> EMResult[PCFG]:
    """The grammar with the best likelihood that EM reaches with the rules of ``start``.

    The first start is that grammar itself, unless ``random``; all others have random probabilities.
    """
    if starts < 1 or not 0 < annealing <= 1 or annealing_rate <= 1 or smoothing < 0:
        raise LoglinError(
            f"starts is {starts}, annealing {annealing}, annealing_rate {annealing_rate}, smoothing {smoothing}; give "
            "at least 1, a number above 0 up to 1, one above 1, and one of at least 0"
        )
    hidden = HiddenTrees(start, sentences, brackets, smoothing, weight, threads)
    rng = np.random.default_rng(seed)
    models = (hidden.random(rng) if n or random else start for n in range(starts))
    return best_climb(hidden, models, annealing, annealing_rate, max_iter, tol, reporter or Reporter())


def complete_grammar(symbols: Sequence[str], sentences: Iterable[Sequence[str]], unknown: bool = False) -> PCFG:
    """All rules A → B C and A → word of these symbols, equally likely, as are the roots: a start for random ones.

    With ``unknown`` the symbols also write words that no sentence has, as far as smoothing lets them.
    """
    words = [Word(word) for word in sorted({word for sentence in sentences for word in sentence})]
    if not symbols or not words:
        raise LoglinError(f"there are {len(symbols)} symbols and {len(words)} words; give at least one of each")
    words += [Word(UNKNOWN, unknown=True)] * unknown
    share = 1 / (len(symbols) ** 2 + len(words))
    rules: dict[Production, float] = dict.fromkeys(product(symbols, symbols, symbols), share)
    rules |= {(symbol, word): share for symbol in symbols for word in words}
    return PCFG.of_productions(dict.fromkeys(symbols, 1 / len(symbols)), rules)


@dataclass(frozen=True, eq=False)
class Counts:
    choices: np.ndarray  # (rules + entries of the lexicon,)
    roots: np.ndarray  # (N,)


class HiddenTrees:
    """Sentences with hidden trees: what a grammar expects of them, and the grammar that such counts make."""

    def __init__(
        self,
        start: PCFG,
        sentences: Sequence[Sequence[str]],
        brackets: Sequence[Iterable[Bracket]] | None,
        smoothing: float,
        weight: np.ndarray | None,
        threads: Threads | None,
    ):
        self.model, self.smoothing, self.threads = start, smoothing, threads
        weight = np.ones(len(sentences)) if weight is None else np.asarray(weight, np.float64)
        if weight.shape != (len(sentences),) or not (weight >= 0).all():
            raise LoglinError(f"weights have the shape {weight.shape}; give {len(sentences)} numbers of at least 0")
        if brackets is not None and len(brackets) != len(sentences):
            raise LoglinError(f"there are brackets for {len(brackets)} of {len(sentences)} sentences; give each a list")
        self.used = [s for s, sentence in enumerate(sentences) if len(sentence) and weight[s] > 0]
        if not self.used:
            raise LoglinError("no sentence has words and a weight above 0, so there is nothing to learn from; add some")
        self.weight, self.sentences = weight[self.used], [sentences[s] for s in self.used]
        grammar, lexicon = start.grammar, start.lexicon
        # words that the lexicon does not know are a row of their own, behind all others
        rows = [np.where(r >= 0, r, len(lexicon.terminals)) for r in map(lexicon.rows, self.sentences)]
        words = WordLattices.chains(rows, len(lexicon.terminals) + 1)
        self.forests = Forests(grammar, lexicon.tags, words, words.symbols)
        if brackets is not None:
            lengths = [len(sentence) for sentence in self.sentences]
            self.forests = bracketed(self.forests, lengths, [brackets[s] for s in self.used])
        self.bracketed = brackets is not None
        self.terminal = np.repeat(np.arange(len(lexicon.terminals)), np.diff(lexicon.ptr))
        # rules and words as one list, and whose they are
        self.parent = np.concatenate([grammar.parents, lexicon.tags[lexicon.columns]])
        self.possible = self._choices(start) > -np.inf
        self.possible_roots = start.roots > -np.inf

    # ------------------------------------------------------------------ grammars as tables

    def _choices(self, model: PCFG) -> np.ndarray:
        """log p of rules and of words: (choices,)."""
        return np.concatenate([model.rules, model.lexicon.log_p])

    def _model(self, choices: np.ndarray, roots: np.ndarray) -> PCFG:
        """From probabilities (choices,) and (N,)."""
        with np.errstate(divide="ignore"):
            return self.model_of([np.log(choices), np.log(roots)])

    def tables(self, model: PCFG) -> list[np.ndarray]:
        return [self._choices(model), model.roots]

    def model_of(self, tables: list[np.ndarray]) -> PCFG:
        rules, log_p = np.split(tables[0], [self.model.grammar.n_rules])
        return replace(self.model, rules=rules, roots=tables[1], lexicon=replace(self.model.lexicon, log_p=log_p))

    def _shares(self, counts: np.ndarray) -> np.ndarray:
        """Each choice as a part of those of its symbol; as at the start where there are none: (choices,)."""
        total = np.bincount(self.parent, counts, self.model.grammar.n_symbols)[self.parent]
        return np.divide(counts, total, out=np.exp(self._choices(self.model)), where=total > 0)

    def random(self, rng: np.random.Generator) -> PCFG:
        """From the flat Dirichlet distribution over what is possible."""
        choices = rng.standard_exponential(len(self.possible)) * self.possible
        roots = rng.standard_exponential(len(self.possible_roots)) * self.possible_roots
        return self._model(self._shares(choices), roots / roots.sum())

    # ------------------------------------------------------------------ the two steps

    def log_likelihood(self, model: PCFG) -> float:
        return float(self.weight @ self.forests.totals(self._scores(model, 1.0), threads=self.threads).partitions[:, 1])

    def expected(self, model: PCFG, beta: float) -> tuple[float, Counts]:
        weights = np.column_stack([np.zeros(len(self.weight)), self.weight])
        totals = self.forests.totals(self._scores(model, beta), weights, self.threads)
        partitions = totals.partitions[:, 1]
        if partitions.min() == -np.inf:
            number = int(partitions.argmin())
            kept = " that keeps to its brackets" if self.bracketed else ""
            raise no_tree(self.used[number], self.sentences[number], model.lexicon, kept)
        words = totals.leaves[self.terminal, model.lexicon.columns]
        counts = [np.concatenate([totals.rules, words]), totals.roots]
        for table, possible in zip(counts, (self.possible, self.possible_roots), strict=True):
            table[table < NOTHING] = 0.0
            table += self.smoothing * possible
        return float(self.weight @ partitions), Counts(*counts)

    def maximized(self, counts: Counts) -> PCFG:
        return self._model(self._shares(counts.choices), counts.roots / counts.roots.sum())

    def _scores(self, model: PCFG, beta: float):
        lexicon = model.lexicon
        leaves = np.full((len(lexicon.terminals) + 1, len(lexicon.tags)), -np.inf)
        leaves[self.terminal, lexicon.columns] = beta * lexicon.log_p
        return scores_of(leaves, beta * model.roots, beta * model.rules)

    # ------------------------------------------------------------------ what is told of a grammar

    def log_prior(self, model: PCFG) -> float:
        if not self.smoothing:
            return 0.0
        total = self._choices(model)[self.possible].sum() + model.roots[self.possible_roots].sum()
        return self.smoothing * float(total)

    def gradient_norm(self, model: PCFG, counts: Counts) -> float:
        total = np.bincount(self.parent, counts.choices, model.grammar.n_symbols)
        choices = counts.choices - np.exp(self._choices(model)) * total[self.parent]
        roots = counts.roots - np.exp(model.roots) * counts.roots.sum()
        return float(np.sqrt(np.square(choices).sum() + np.square(roots).sum()))

    def active(self, model: PCFG) -> int:
        return int((self._choices(model) > -np.inf).sum() + (model.roots > -np.inf).sum())


def no_tree(number: int, sentence: Sequence[str], lexicon: Lexicon, kept: str = "") -> LoglinError:
    """What is wrong with a sentence that a grammar cannot derive."""
    unknown = [word for word, row in zip(sentence, lexicon.rows(sentence).tolist(), strict=True) if row < 0]
    place = f"sentence {number} ({' '.join(sentence)[:40]})"
    if unknown:
        return LoglinError(f"{place} has the word {unknown[0]!r}, which no rule writes; add one, or one for <UNK>")
    return LoglinError(f"{place} has no tree{kept} under the first grammar; give that more rules, or leave it out")
