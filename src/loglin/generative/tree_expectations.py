"""Expected numbers of rules over spans of a given length, with given words in or beside them, exactly.

    F_A(x) = p(A → x) + Σ_{A→BC} p F_B(x) i_C + Σ_{A→B} p F_B(x)      weight of the trees below A that begin with x
    t_A(m) = Σ_{A→BC} p Σ_k t_B(k) t_C(m−k) + Σ_{A→B} p t_B(m)        of those with m words; t_A(1) begins with words
    F_A(x, m)                                                         of both: as t, with F in the place of the left t
    N_A(x) = Σ_{B→AC} o_B p F_C(x) + Σ_{B→CA} N_B(x) p i_C + …        weight around A with x behind what is below it

The expected number of A → B C over spans that begin with x is o_A p F_B(x) i_C (§4.1.2 of Smith, Vail and Lafferty,
2007); with the span's length m, o_A p Σ_k F_B(x, k) t_C(m−k). Last words and words before a span are mirror images.
What is around a span, below its left child and below its right child is independent given the rule, so that a word in
each of the three is a product.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np
from scipy import sparse

from loglin.errors import LoglinError
from loglin.generative.pcfg import PCFG
from loglin.structures.automaton import factorized

# the word that is looked at: the span's first and last, those beside it, and the two where its children meet
PLACES = ("first", "last", "before", "after", "split-left", "split-right")
BESIDE = ("before", "after")
OF_LEFT = {"first": "first", "split-left": "last"}  # which word of the left child that is, and of the right
OF_RIGHT = {"last": "last", "split-right": "first"}
Words = Mapping[str, np.ndarray]  # by place the numbers of words, (n,)


class Spans:
    """Words are terminals of the lexicon, or classes of them: ``classes`` (V,) gives each one's, −1 for none.

    Several such columns, (V, k), have classes that may overlap, if each column has numbers of its own.
    """

    def __init__(self, pcfg: PCFG, classes: np.ndarray | None = None):
        self.pcfg = pcfg
        V = len(pcfg.lexicon.terminals)
        classes = np.arange(V) if classes is None else np.asarray(classes)
        if classes.shape[:1] != (V,) or classes.ndim > 2:
            raise LoglinError(f"classes have the shape {classes.shape}; give one for each of the {V} terminals")
        self.n_words = int(classes.max(initial=-1)) + 1
        terminal, *_ = some = np.nonzero(classes >= 0)
        merge = sparse.csr_array((np.ones(len(terminal)), (terminal, classes[some])), (V, self.n_words))
        self.emitted = np.zeros((pcfg.grammar.n_symbols, self.n_words))  # p(A → x)
        self.emitted[pcfg.lexicon.tags] = (pcfg.lexicon.matrix.T @ merge).toarray()
        self._lengths = [np.zeros(pcfg.grammar.n_symbols)]
        self._edges: dict[str, list[np.ndarray]] = {side: [np.zeros_like(self.emitted)] for side in ("first", "last")}

    # ------------------------------------------------------------------ below a symbol

    @cached_property
    def first(self) -> np.ndarray:
        """F: (N, words)."""
        return self._edge(1)

    @cached_property
    def last(self) -> np.ndarray:
        """F of last words in place of first ones: (N, words)."""
        return self._edge(2)

    def _edge(self, side: int) -> np.ndarray:
        i = self.pcfg.inside
        live = i > 0
        matrix = self._to_child(side, i) + self._unary
        return _solve(matrix, np.where(live[:, None], self.emitted, 0), live)

    def lengths(self, longest: int) -> np.ndarray:
        """The weight of trees with 0 … ``longest`` words: (longest + 1, N)."""
        for m in range(len(self._lengths), longest + 1):
            self._lengths.append(self._close(self._joined(m, self._lengths, 1) if m > 1 else self.pcfg.branching.ends))
        return np.stack(self._lengths[: longest + 1])

    def edges(self, side: str, length: int) -> np.ndarray:
        """F of trees with ``length`` words, or of last words: (N, words)."""
        found, number = self._edges[side], 1 if side == "first" else 2
        for m in range(len(found), length + 1):
            self.lengths(m)
            found.append(self._close(self._joined(m, found, number) if m > 1 else self.emitted))
        return found[length]

    def _joined(self, m: int, found: list[np.ndarray], side: int) -> np.ndarray:
        """Σ_k of the trees whose child on one side has k words and whose other child has m − k."""
        return sum(self._to_child(side, self._lengths[m - k]) @ found[k] for k in range(1, m))

    def _close(self, values: np.ndarray) -> np.ndarray:
        """The values with the trees that unary rules put on top."""
        return values if not self._unary.nnz else _solve(self._unary, values, np.ones(len(values), bool))

    def _to_child(self, side: int, other: np.ndarray) -> sparse.csr_array:
        """p of the rules from a parent to its left (1) or right (2) child, times ``other`` of the other one: (N, N)."""
        N, binary = self.pcfg.grammar.n_symbols, self.pcfg.grammar.binary
        weight = np.exp(self.pcfg.rules[: len(binary)]) * other[binary[:, 3 - side]]
        return sparse.csr_array((weight, (binary[:, 0], binary[:, side])), (N, N))

    @cached_property
    def _unary(self) -> sparse.csr_array:
        N, unary = self.pcfg.grammar.n_symbols, self.pcfg.grammar.unary
        weight = np.exp(self.pcfg.rules[len(self.pcfg.grammar.binary) :])
        return sparse.csr_array((weight, (unary[:, 0], unary[:, 1])), (N, N))

    # ------------------------------------------------------------------ around a symbol

    @cached_property
    def after(self) -> np.ndarray:
        """N, the last column that of the sentence's end: (N, words + 1)."""
        return self._beside(1, self.first)

    @cached_property
    def before(self) -> np.ndarray:
        """N of the word before in place of the one behind; the last column is the sentence's beginning."""
        return self._beside(2, self.last)

    def _beside(self, near: int, words: np.ndarray) -> np.ndarray:
        """``near`` is the child whose neighbor is its sister; that of the other is what stands beside the parent."""
        pcfg, i, o = self.pcfg, self.pcfg.inside, self.pcfg.outside
        binary = pcfg.grammar.binary
        weight = np.exp(pcfg.rules[: len(binary)]) * o[binary[:, 0]]
        N = len(i)
        given = sparse.csr_array((weight, (binary[:, near], binary[:, 3 - near])), (N, N)) @ words
        given = np.column_stack([given, np.exp(pcfg.roots)])
        live = (o > 0) & (i > 0)
        return _solve((self._to_child(3 - near, i) + self._unary).T, np.where(live[:, None], given, 0), live)

    # ------------------------------------------------------------------ rules and tags

    def expected(
        self, rules: np.ndarray, words: Words | None = None, shortest: int = 1, longest: int | None = None
    ) -> np.ndarray:
        """Expected uses of rules over spans of shortest … longest words with given words at some places: (n,).

        ``rules`` (n,) and ``words`` are numbers; the word −1 before or after a span is the end of the sentence.
        """
        rules = np.asarray(rules, np.int64)
        words = {place: np.asarray(numbers, np.int64) for place, numbers in (words or {}).items()}
        self._check(rules, words)
        if longest is not None:
            parts = (self._over(rules, words, m) for m in range(max(shortest, 1), longest + 1))
            return sum(parts, np.zeros(len(rules)))
        shorter = self.expected(rules, words, 1, shortest - 1) if shortest > 1 else 0.0
        return np.maximum(self._over(rules, words, None) - shorter, 0)

    def _check(self, rules: np.ndarray, words: Words) -> None:
        for place, numbers in words.items():
            if place not in PLACES:
                raise LoglinError(f"no place is called {place!r}; there are {', '.join(PLACES)}")
            if numbers.min(initial=0) < (-1 if place in BESIDE else 0) or numbers.max(initial=0) >= self.n_words:
                raise LoglinError(
                    f"words are numbers up to {self.n_words - 1}; {place} cannot be {numbers.min()}…{numbers.max()}"
                )
        together = dependent(words, bool((rules >= len(self.pcfg.grammar.binary)).any()))
        if together:
            raise LoglinError(
                f"the words {' and '.join(together)} depend on each other, and are not worked out together; ask for "
                "one of them"
            )

    def _over(self, rules: np.ndarray, words: Words, m: int | None) -> np.ndarray:
        """The expected uses of rules over spans of m words, or of any number of words: (n,)."""
        grammar = self.pcfg.grammar
        parent, below = grammar.parents[rules], np.zeros(len(rules))
        two = rules < len(grammar.binary)
        _, left, right = grammar.binary[rules[two]].T
        of_left, of_right = ({side[p]: w[two] for p, w in words.items() if p in side} for side in (OF_LEFT, OF_RIGHT))
        for k, rest in [(None, None)] if m is None else [(k, m - k) for k in range(1, m)]:
            below[two] += self._below(left, of_left, k) * self._below(right, of_right, rest)
        if not two.all() and not any(place.startswith("split") for place in words):
            child = grammar.unary[rules[~two] - len(grammar.binary), 1]
            of_child = {place: w[~two] for place, w in words.items() if place not in BESIDE}
            below[~two] = self._below(child, of_child, m)
        place = next((p for p in BESIDE if p in words), None)
        around = self.pcfg.outside[parent] if place is None else getattr(self, place)[parent, words[place]]
        return around * np.exp(self.pcfg.rules[rules]) * below

    def _below(self, symbols: np.ndarray, words: Words, m: int | None) -> np.ndarray:
        """The weight of the trees below each symbol with m words, or any number, and with a word at one side: (n,)."""
        for side, numbers in words.items():
            return (getattr(self, side) if m is None else self.edges(side, m))[symbols, numbers]
        return (self.pcfg.inside if m is None else self.lengths(m)[m])[symbols]


def dependent(places: Iterable[str], unary: bool) -> list[str]:
    """Places whose words are not independent given the rule, by name; ``unary``: some rule has one child."""
    groups = [BESIDE, OF_LEFT, OF_RIGHT, *([("first", "last")] if unary else [])]
    found = [sorted(set(places) & set(group)) for group in groups]
    return next((both for both in found if len(both) > 1), [])


def _solve(matrix: sparse.sparray, given: np.ndarray, live: np.ndarray) -> np.ndarray:
    """The solution x of x = given + matrix x among the live symbols, zero for the others: of the shape of given."""
    entries, place = sparse.coo_array(matrix), np.cumsum(live) - 1
    among = live[entries.row] & live[entries.col] & (entries.data > 0)
    row, col, weight = place[entries.row[among]], place[entries.col[among]], entries.data[among]
    solve = factorized(row, col, weight, int(live.sum()))
    assert solve is not None  # a live symbol has trees that end, so that all of this is finite
    found = np.zeros_like(given)
    found[live] = solve(given[live])
    return np.maximum(found, 0)
