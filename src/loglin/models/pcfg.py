"""Probabilistic context-free grammars in Chomsky normal form: sums over all derivations.

    i_A = Σ_{B,C} r_A(B C) i_B i_C + Σ_x r_A(x)                total weight of the trees below A
    o_A = [A = S] + Σ_{B,C} o_B i_C [r_B(A C) + r_B(C A)]      total weight around A
    o_x = Σ_A o_A r_A(x)

(§4.1.2 of Smith, Vail and Lafferty, 2007.) i is the least solution of a quadratic system, all 1 if the
grammar is tight, that is, if derivations end with probability one; o is linear given i. The total weight of
all trees is i_S, which the expected counts below are not divided by.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from loglin.errors import LoglinError

ITERATIONS = 200
LARGEST = 1e7  # a critical grammar has infinite o, of which rounding leaves about 1e8


@dataclass(frozen=True, eq=False)
class PCFG:
    symbols: list[str]  # nonterminals, the start symbol first
    words: list[str]
    binary: np.ndarray  # (N, N, N): r_A(B C)
    lexical: np.ndarray  # (N, V): r_A(x)

    @classmethod
    def of(cls, rules: Mapping[tuple[str, ...], float], start: str = "S") -> PCFG:
        """From {("S", "S", "S"): 0.25, ("S", "a"): 0.75}: a nonterminal, then two nonterminals or a word."""
        symbols = list(dict.fromkeys([start, *(rule[0] for rule in rules if rule)]))
        words = list(dict.fromkeys(rule[1] for rule in rules if len(rule) == 2))
        number, word = {s: n for n, s in enumerate(symbols)}, {w: n for n, w in enumerate(words)}
        binary = np.zeros((len(symbols),) * 3)
        lexical = np.zeros((len(symbols), len(words)))
        for rule, weight in rules.items():
            if len(rule) not in (2, 3) or (len(rule) == 3 and not set(rule) <= number.keys()):
                raise LoglinError(
                    f"the rule {rule!r} is not in normal form; write (A, B, C), where B and C have rules, or (A, word)"
                )
            if not 0 <= weight <= 1:
                raise LoglinError(f"the rule {rule!r} has the probability {weight}; give one from 0 to 1")
            if len(rule) == 3:
                binary[number[rule[0]], number[rule[1]], number[rule[2]]] = weight
            else:
                lexical[number[rule[0]], word[rule[1]]] = weight
        totals = binary.sum(axis=(1, 2)) + lexical.sum(axis=1)
        if totals.max() > 1 + 1e-9:
            heavy = int(totals.argmax())
            raise LoglinError(f"the rules of {symbols[heavy]!r} sum to {totals[heavy]}; normalize them to one")
        return cls(symbols, words, binary, lexical)

    @cached_property
    def inside(self) -> np.ndarray:
        """i: (N,), by Newton's method from 0, which rises to the least solution (Etessami and Yannakakis, 2009)."""
        i, terminal, eye = np.zeros(len(self.symbols)), self.lexical.sum(axis=1), np.eye(len(self.symbols))
        for _ in range(ITERATIONS):
            value = terminal + np.einsum("abc,b,c->a", self.binary, i, i)
            slope = np.einsum("abc,c->ab", self.binary, i) + np.einsum("abc,b->ac", self.binary, i)
            try:
                change = np.linalg.solve(eye - slope, value - i)
            except np.linalg.LinAlgError:
                change = value - i  # one step of propagation instead (Stolcke, 1995)
            i = np.minimum(i + np.maximum(change, 0), 1)
            if np.abs(change).max() <= 1e-15:
                break
        return i

    @cached_property
    def outside(self) -> np.ndarray:
        """o: (N,)."""
        i = self.inside
        # around[A, B]: weight with which B takes A as its child
        around = np.einsum("bac,c->ab", self.binary, i) + np.einsum("bca,c->ab", self.binary, i)
        start = np.zeros(len(i))
        start[0] = 1
        try:
            o = np.linalg.solve(np.eye(len(i)) - around, start)
        except np.linalg.LinAlgError:
            o = np.full(len(i), np.inf)
        if not np.isfinite(o).all() or (o < -1e-9).any() or o.max() > LARGEST:
            raise LoglinError(
                "the grammar's derivations have no finite expected size; lower the probability of its recursive rules"
            )
        return o

    def path_sums(self) -> tuple[np.ndarray, np.ndarray]:
        """i and o of the nonterminals: (N,) each."""
        return self.inside, self.outside

    def expected_rules(self) -> tuple[np.ndarray, np.ndarray]:
        """How often each rule is used: o_A r_A(B C) i_B i_C (N, N, N) and o_A r_A(x) (N, V)."""
        i, o = self.path_sums()
        return np.einsum("a,abc,b,c->abc", o, self.binary, i, i), o[:, None] * self.lexical

    def expected_length(self) -> float:
        """How many words a sentence has: Σ_x o_x."""
        return float(self.expected_rules()[1].sum())
