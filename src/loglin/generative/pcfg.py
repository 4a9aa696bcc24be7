"""Probabilistic context-free grammars: counted or written down, with every sum over their derivations.

    p(tree) = roots(A) Π_{A→BC} p Π_{A→B} p Π_{A→x} p

Expectations are sums over all trees that end, not divided by their total weight i_S, which is one if the grammar is
tight; ``conditioned`` is the grammar of a tree given that it ends. See generative/branching.py for i and o.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from loglin.corpus.trees import Tree
from loglin.errors import LoglinError
from loglin.generative.branching import PROPER, Branching
from loglin.generative.counting import log_of
from loglin.generative.lexicon import Lexicon
from loglin.generative.tree_sampling import Sampler
from loglin.grammars import files
from loglin.grammars.files import SPELLING, Production, Productions, Word
from loglin.grammars.grammar import Grammar
from loglin.grammars.normal_form import encoded, normal_form
from loglin.grammars.pieces import piece
from loglin.structures.automaton import reachable
from loglin.structures.forest import Forest


@dataclass(frozen=True, eq=False)
class PCFG:
    """A probabilistic grammar: rules with their log probabilities, roots and a lexicon."""

    grammar: Grammar
    rules: np.ndarray  # (R,) log p
    roots: np.ndarray  # (N,) log p
    lexicon: Lexicon

    # ------------------------------------------------------------------ estimates and files

    @classmethod
    def of(cls, rules: Mapping[tuple[str, ...], float], start: str = "S") -> PCFG:
        """A grammar of {("S", "S", "S"): 0.25, ("S", "a"): 0.75}: a symbol, then one or two symbols, or a word."""
        parents = {rule[0] for rule in rules if rule}
        productions: dict[Production, float] = {}
        for rule, weight in rules.items():
            if len(rule) not in (2, 3) or (len(rule) == 3 and not set(rule) <= parents):
                raise LoglinError(
                    f"the rule {rule!r} is not in normal form; write (A, B, C) or (A, B), where B and C have rules, "
                    "or (A, word)"
                )
            if not 0 <= weight <= 1:
                raise LoglinError(f"the rule {rule!r} has the probability {weight}; give one from 0 to 1")
            productions[(rule[0], *(s if s in parents else Word(s) for s in rule[1:]))] = weight
        pcfg = cls.of_productions({start: 1.0}, productions)
        totals = pcfg.branching.propagated(np.ones(pcfg.grammar.n_symbols))
        if totals.max() > 1 + PROPER:
            heavy = int(totals.argmax())
            raise LoglinError(
                f"the rules of {pcfg.grammar.symbols[heavy]!r} sum to {totals[heavy]}; normalize them to one"
            )
        return pcfg

    @classmethod
    def of_productions(
        cls, roots: Mapping[str, float], rules: Mapping[Production, float], signatures: str = SPELLING
    ) -> PCFG:
        """A grammar of rules of any length, which are brought into normal form."""
        form = normal_form(rules, [*roots, *(str(rule[0]) for rule in rules)])
        prior = np.zeros(form.grammar.n_symbols)
        prior[[form.grammar.number[symbol] for symbol in roots]] = list(roots.values())
        lexicon = replace(Lexicon.table(form.lexical, form.grammar.number), signatures=signatures)
        return cls(form.grammar, log_of(form.weights), log_of(prior), lexicon)

    @classmethod
    def read(cls, path: str | os.PathLike, encoding: str = "utf-8") -> PCFG:
        """A grammar from a file, see grammars/files.py; the rules of each symbol are normalized."""
        productions = files.read(path, encoding=encoding)
        totals: dict[str | Word, float] = {}
        for rule, p in productions.rules.items():
            totals[rule[0]] = totals.get(rule[0], 0.0) + p
        # probabilities written with few digits do not sum to one exactly; such a grammar would seem to lose trees
        exact = {r: p / totals[r[0]] if abs(totals[r[0]] - 1) > 1e-12 else p for r, p in productions.rules.items()}
        return cls.of_productions(*replace(productions, rules=exact).rooted(), productions.signatures)

    def write(self, path: str | os.PathLike) -> None:
        """Write a grammar file in normal form, which ``read`` takes."""
        files.write(path, self.productions())

    def productions(self) -> Productions:
        symbols, lexicon = self.grammar.symbols, self.lexicon
        rules: dict[Production, float] = dict(zip(self.grammar.rules, np.exp(self.rules).tolist(), strict=True))
        terminal = np.repeat(np.arange(len(lexicon.terminals)), np.diff(lexicon.ptr)).tolist()
        tags = lexicon.tags[lexicon.columns].tolist()
        for row, tag, p in zip(terminal, tags, np.exp(lexicon.log_p).tolist(), strict=True):
            rules[symbols[tag], lexicon.terminals[row]] = p
        roots = {symbols[s]: float(np.exp(self.roots[s])) for s in np.flatnonzero(self.roots > -np.inf)}
        return Productions.of_roots(roots, rules, lexicon.signatures)

    @classmethod
    def count(cls, trees: Iterable[Tree], **lexicon_options: Any) -> PCFG:
        """Relative frequencies of the rules and roots of binary trees, with a smoothed lexicon (Lexicon.count)."""
        rules: Counter[tuple[str, ...]] = Counter()
        roots: Counter[str] = Counter()
        sentences = []
        for tree in trees:
            roots[tree.label] += 1
            sentences.append([(str(leaf.word), leaf.label) for leaf in tree.leaves()])
            rules.update(_rule(node) for node in tree.nodes() if node.children)
        if not roots:
            raise LoglinError("there are no trees to count a grammar from; give at least one")
        tags = Counter(tag for sentence in sentences for _, tag in sentence)
        total = Counter(tags)
        for rule, n in rules.items():
            total[rule[0]] += n
        grammar = Grammar.of(rules, sorted(total))
        lexicon = Lexicon.count(sentences, grammar.number, **lexicon_options)
        shares = [tags[grammar.symbols[t]] / total[grammar.symbols[t]] for t in lexicon.tags.tolist()]
        p = np.array([rules[rule] / total[rule[0]] for rule in grammar.rules])
        prior = np.array([roots[symbol] for symbol in grammar.symbols]) / roots.total()
        return cls(grammar, log_of(p), log_of(prior), lexicon.scaled(np.log(shares)))

    # ------------------------------------------------------------------ sums over all derivations

    @cached_property
    def branching(self) -> Branching:
        """The grammar's rules as weights of a branching process."""
        ends = np.zeros(self.grammar.n_symbols)
        ends[self.lexicon.tags] = self.lexicon.mass
        return Branching(self.grammar, np.exp(self.rules), ends)

    @cached_property
    def _reached(self) -> np.ndarray:
        """Symbols that the roots lead to: (N,) bool."""
        source, target, _ = self.branching.mean(np.ones(self.grammar.n_symbols))
        return reachable(source, target, self.roots > -np.inf)

    def is_tight(self) -> bool:
        """Whether derivations end with probability one."""
        return bool(self.branching.settled[self._reached].all() and abs(np.exp(self.roots).sum() - 1) <= PROPER)

    def partition(self, method: str = "auto") -> np.ndarray:
        """i, the weight of all trees below each symbol, by "newton", "stolcke" or the better one: (N,)."""
        return self.branching.inside(method)

    @cached_property
    def inside(self) -> np.ndarray:
        """i: (N,)."""
        return self.branching.inside()

    @cached_property
    def outside(self) -> np.ndarray:
        """o: (N,)."""
        return self.branching.outside(self.inside, np.exp(self.roots))

    @cached_property
    def total(self) -> float:
        """The weight of all trees that end, one if the grammar is tight."""
        return float(np.exp(self.roots) @ self.inside)

    def conditioned(self) -> PCFG:
        """The grammar of trees given that they end, p(A → B C) i_B i_C / i_A (Chi, 1999); tight."""
        i, binary, unary = self.inside, self.grammar.binary, self.grammar.unary
        if self.total <= 0:
            raise LoglinError("no derivation of the grammar ends; give its recursive symbols rules with words")
        with np.errstate(divide="ignore", invalid="ignore"):
            log_i = np.log(i)
            above = np.where(i > 0, log_i, 0.0)
            below = np.concatenate([log_i[binary[:, 1]] + log_i[binary[:, 2]], log_i[unary[:, 1]]])
            roots = self.roots + log_i - np.log(self.total)
        return replace(
            self,
            rules=self.rules + below - above[self.grammar.parents],
            roots=roots,
            lexicon=self.lexicon.scaled(-above[self.lexicon.tags]),
        )

    # ------------------------------------------------------------------ expectations

    def expected_rules(self) -> tuple[np.ndarray, np.ndarray]:
        """Expected uses of each rule, o_A p i_B i_C (R,), and of each entry of the lexicon, o_A p (entries,)."""
        i, o, lexicon = self.inside, self.outside, self.lexicon
        binary, unary = self.grammar.binary, self.grammar.unary
        below = np.concatenate([i[binary[:, 1]] * i[binary[:, 2]], i[unary[:, 1]]])
        return o[self.grammar.parents] * np.exp(self.rules) * below, o[lexicon.tags[lexicon.columns]] * np.exp(
            lexicon.log_p
        )

    def expected_length(self) -> float:
        """The expected number of words of a sentence."""
        return float(self.expected_rules()[1].sum())

    def expected_count(self, part: str | Tree) -> float:
        """The expected number of occurrences of a contiguous piece, such as "(S NP (VP V NP))" or "(NP 'the' N)".

        o of its root times all of its rules times i of the symbols that it leaves open.
        """
        top = encoded(piece(part) if isinstance(part, str) else part)
        count = self.outside[self._symbol(top.label)]
        for node in top.nodes():
            if node.word is not None:
                count *= np.exp(self._word(node.word)[self._symbol(node.label)])
            elif not node.children:
                count *= self.inside[self._symbol(node.label)]
            else:
                rule = self.grammar.rule_number.get(_rule(node))
                count *= 0.0 if rule is None else np.exp(self.rules[rule])
        return float(count)

    def log_probability(self, tree: Tree) -> float:
        """log p of a tree of this grammar or of the rules it is the normal form of; −inf if it is impossible."""
        top = encoded(tree)
        score = self.roots[self.grammar.number[top.label]] if top.label in self.grammar.number else -np.inf
        leaves = top.leaves()
        words = self.lexicon.scores([str(leaf.word) for leaf in leaves])
        column = {self.grammar.symbols[s]: k for k, s in enumerate(self.lexicon.tags.tolist())}
        for t, leaf in enumerate(leaves):
            score += words[t, column[leaf.label]] if leaf.label in column else -np.inf
        for node in top.nodes():
            if node.children:
                rule = self.grammar.rule_number.get(_rule(node))
                score += -np.inf if rule is None else self.rules[rule]
        return float(score)

    def _symbol(self, name: str) -> int:
        if name not in self.grammar.number:
            raise LoglinError(f"the grammar has no symbol {name!r}; write the piece with its own symbols")
        return self.grammar.number[name]

    def _word(self, word: str) -> np.ndarray:
        """log p(word | symbol): (N,)."""
        row = self.lexicon.row(word)
        if row < 0 or word != self.lexicon.text(row):
            known = f"; its spelling is read as {self.lexicon.text(row)}, which can be counted" if row >= 0 else ""
            raise LoglinError(f"the grammar does not know the word {word!r}{known or '; write one that it has'}")
        found = np.full(self.grammar.n_symbols, -np.inf)
        entries = slice(self.lexicon.ptr[row], self.lexicon.ptr[row + 1])
        found[self.lexicon.tags[self.lexicon.columns[entries]]] = self.lexicon.log_p[entries]
        return found

    # ------------------------------------------------------------------ sentences and samples

    def forest(self, words: Sequence[str]) -> Forest:
        """All trees of a sentence: its partition is log p(words), and what it expects is expected given the words."""
        leaves = np.full((len(words), self.grammar.n_symbols), -np.inf)
        leaves[:, self.lexicon.tags] = self.lexicon.scores(words)
        return Forest(self.grammar, leaves, self.rules, self.roots)

    def sample(self, n: int, rng: np.random.Generator, max_length: int = 1000) -> list[Tree]:
        """n independent trees; those of more than max_length words are drawn again."""
        if not self.is_tight():
            raise LoglinError(
                f"the grammar is not tight: with probability {1 - self.total:.3g} a derivation never ends; sample from "
                "conditioned(), the grammar of trees that do"
            )
        return Sampler(self.grammar, self.rules, self.roots, self.lexicon).trees(n, rng, max_length)


def _rule(node: Tree) -> tuple[str, ...]:
    return (node.label, *(child.label for child in node.children))
