"""Trees drawn from a probabilistic grammar, from the root downwards."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

import numpy as np

from loglin.corpus.trees import Tree
from loglin.errors import LoglinError
from loglin.generative.lexicon import Lexicon
from loglin.grammars.grammar import Grammar

TRIES = 1000  # consecutive draws that may be too long before sampling gives up
BLOCK = 4096  # uniform numbers drawn at once


class Sampler:
    def __init__(self, grammar: Grammar, rules: np.ndarray, roots: np.ndarray, lexicon: Lexicon):
        self.symbols = grammar.symbols
        self.roots = np.cumsum(np.exp(roots)).tolist()
        self.words = [lexicon.text(row) for row in range(len(lexicon.terminals))]
        children = [row[1:] for rows in (grammar.binary, grammar.unary) for row in rows.tolist()]
        terminal = np.repeat(np.arange(len(self.words)), np.diff(lexicon.ptr))
        # what each symbol can become: rules, then −1 − word, with their probabilities summed up
        parent = np.concatenate([grammar.parents, lexicon.tags[lexicon.columns]])
        become = np.concatenate([np.arange(len(children)), -1 - terminal])
        p = np.exp(np.concatenate([rules, lexicon.log_p]))
        order = np.argsort(parent, kind="stable")
        ptr = np.searchsorted(parent[order], np.arange(len(self.symbols) + 1)).tolist()
        self.children = children
        self.become = [become[order[b:e]].tolist() for b, e in pairwise(ptr)]
        self.sums = [np.cumsum(p[order[b:e]]).tolist() for b, e in pairwise(ptr)]

    def trees(self, n: int, rng: np.random.Generator, max_length: int) -> list[Tree]:
        if max_length < 1:
            raise LoglinError(f"max_length is {max_length}; allow at least one word")
        uniforms: list[float] = []

        def uniform() -> float:
            if not uniforms:
                uniforms.extend(rng.random(BLOCK).tolist())
            return uniforms.pop()

        found: list[Tree] = []
        tries = 0
        while len(found) < n:
            derivation = self._derivation(uniform, max_length)
            tries = 0 if derivation else tries + 1
            if derivation:
                found.append(self._tree(derivation))
            elif tries == TRIES:
                raise LoglinError(
                    f"{TRIES} draws in a row had more than max_length = {max_length} words; raise max_length"
                )
        return found

    def _derivation(self, uniform, max_length: int) -> list[tuple[int, int]]:
        """(symbol, what it becomes) in preorder, or nothing if there are too many words; each open symbol has one."""
        ahead, found, n_words = [_choice(self.roots, uniform())], [], 0
        while ahead:
            symbol = ahead.pop()
            become = self.become[symbol][_choice(self.sums[symbol], uniform())]
            found.append((symbol, become))
            if become >= 0:
                ahead += reversed(self.children[become])
            else:
                n_words += 1
            if n_words + len(ahead) > max_length:
                return []
        return found

    def _tree(self, derivation: list[tuple[int, int]]) -> Tree:
        labels = [self.symbols[symbol] for symbol, _ in derivation]
        n_children = [len(self.children[become]) if become >= 0 else 0 for _, become in derivation]
        words = [self.words[-1 - become] if become < 0 else None for _, become in derivation]
        return Tree.from_preorder(labels, n_children, words)


def _choice(sums: list[float], uniform: float) -> int:
    """The first place whose running sum exceeds ``uniform`` of the total."""
    return min(bisect_right(sums, uniform * sums[-1]), len(sums) - 1)
