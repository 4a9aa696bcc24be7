"""Expected numbers of rules over spans of a given length, with given words in and beside them, exactly.

    F_A(x) = p(A → x) + Σ_{A→BC} p F_B(x) i_C + Σ_{A→B} p F_B(x)      weight of the trees below A that begin with x
    t_A(m) = Σ_{A→BC} p Σ_k t_B(k) t_C(m−k) + Σ_{A→B} p t_B(m)        of those with m words; t_A(1) begins with words
    F_A(x, m)                                                         of both: as t, with F in the place of the left t
    N_A(x) = Σ_{B→AC} o_B p F_C(x) + Σ_{B→CA} N_B(x) p i_C + …        weight around A with x behind what is below it

The expected number of A → B C over spans that begin with x and end with y is o_A p F_B(x) L_C(y), L as F of last words
(§4.1.2 of Smith, Vail and Lafferty, 2007); with the span's length m, o_A p Σ_k F_B(x, k) L_C(y, m−k); with a word
beside the span, N_A in the place of o_A. The words on both sides of A come from its sister and from beside its parent,
which are independent given the parent: Σ_{B→AC} P_B(x) p F_C(y) + Σ_{B→CA} L_C(x) p N_B(y), P as N of words before.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from scipy import sparse

from loglin.errors import LoglinError
from loglin.models.pcfg import PCFG
from loglin.structures.automaton import factorized

# words: the span's first and last, those beside it, and the two where its children meet
PLACES = ("first", "last", "before", "after", "split-left", "split-right")
OF_LEFT = {"first": "first", "split-left": "last"}  # places in the left child, and which of its words that is
OF_RIGHT = {"last": "last", "split-right": "first"}
OF_ONLY = {"first": "first", "last": "last"}
CHUNK = 1 << 20  # numbers of one array of sums over the rules around a symbol

Words = Mapping[str, np.ndarray]  # place → (n,) numbers of words


class Spans:
    """What stands at the spans of a grammar's trees; words are numbers of the lexicon's terminals (V)."""

    def __init__(self, pcfg: PCFG):
        self.pcfg = pcfg
        N = pcfg.grammar.n_symbols
        self.emitted = np.zeros((N, len(pcfg.lexicon.terminals)))  # p(A → x)
        self.emitted[pcfg.lexicon.tags] = pcfg.lexicon.matrix.T.toarray()
        self._lengths = [np.zeros(N)]
        self._edges: dict[str, list[np.ndarray]] = {side: [np.zeros_like(self.emitted)] for side in ("first", "last")}

    # ------------------------------------------------------------------ below a symbol

    @cached_property
    def first(self) -> np.ndarray:
        """F: (N, V)."""
        return self._edge(1)

    @cached_property
    def last(self) -> np.ndarray:
        """The same of last words: (N, V)."""
        return self._edge(2)

    def _edge(self, side: int) -> np.ndarray:
        live = self.pcfg.inside > 0
        matrix = self.to_child(side, self.pcfg.inside) + self._unary
        return _solve(matrix, np.where(live[:, None], self.emitted, 0), live)

    def lengths(self, longest: int) -> np.ndarray:
        """The weight of trees with 0 … ``longest`` words: (longest + 1, N)."""
        for m in range(len(self._lengths), longest + 1):
            words = self.emitted.sum(axis=1)
            self._lengths.append(self._close(self._joined(m, self._lengths, 1) if m > 1 else words))
        return np.stack(self._lengths[: longest + 1])

    def edges(self, side: str, length: int) -> np.ndarray:
        """F of trees with ``length`` words, or of last words: (N, V)."""
        found, number = self._edges[side], 1 if side == "first" else 2
        for m in range(len(found), length + 1):
            self.lengths(m)
            found.append(self._close(self._joined(m, found, number) if m > 1 else self.emitted))
        return found[length]

    def _joined(self, m: int, found: list[np.ndarray], side: int) -> np.ndarray:
        """Σ_k of the child on one side with k words and the other with m − k."""
        return sum(self.to_child(side, self._lengths[m - k]) @ found[k] for k in range(1, m))

    def _close(self, values: np.ndarray) -> np.ndarray:
        """With the trees that unary rules put on top."""
        return values if not self._unary.nnz else _solve(self._unary, values, np.ones(len(values), bool))

    def to_child(self, side: int, other: np.ndarray) -> sparse.csr_array:
        """p of the rules from a parent to its left (1) or right (2) child, times ``other`` of the other one: (N, N)."""
        N, binary = self.pcfg.grammar.n_symbols, self.pcfg.grammar.binary
        weight = np.exp(self.pcfg.rules[: len(binary)]) * other[binary[:, 3 - side]]
        return sparse.csr_array((weight, (binary[:, 0], binary[:, side])), (N, N))

    @cached_property
    def _unary(self) -> sparse.csr_array:
        N, unary = self.pcfg.grammar.n_symbols, self.pcfg.grammar.unary
        weight = np.exp(self.pcfg.rules[len(self.pcfg.grammar.binary) :])
        return sparse.csr_array((weight, (unary[:, 0], unary[:, 1])), (N, N))

    @cached_property
    def above(self) -> sparse.csr_array:
        """The weight of all chains of unary rules from a symbol (row) to another that it stands above: (N, N)."""
        N = self.pcfg.grammar.n_symbols
        return sparse.csr_array(self._close(np.eye(N)) if self._unary.nnz else sparse.eye_array(N))

    # ------------------------------------------------------------------ around a symbol

    @cached_property
    def after(self) -> np.ndarray:
        """N, the last column that of the sentence's end: (N, V + 1)."""
        return self._beside(1, self.first)

    @cached_property
    def before(self) -> np.ndarray:
        """P, the last column that of the sentence's beginning: (N, V + 1)."""
        return self._beside(2, self.last)

    def _beside(self, near: int, words: np.ndarray) -> np.ndarray:
        """``near`` is the child whose neighbor is its sister; that of the other is what stands beside the parent."""
        pcfg, i, o = self.pcfg, self.pcfg.inside, self.pcfg.outside
        given = self.to_sister(near, o) @ words
        given = np.column_stack([given, np.exp(pcfg.roots)])
        live = (o > 0) & (i > 0)
        return _solve((self.to_child(3 - near, i) + self._unary).T, np.where(live[:, None], given, 0), live)

    def to_sister(self, side: int, parents: np.ndarray) -> sparse.csr_array:
        """p of the rules from their left (1) or right (2) child to the other one, times ``parents``: (N, N)."""
        N, binary = self.pcfg.grammar.n_symbols, self.pcfg.grammar.binary
        weight = np.exp(self.pcfg.rules[: len(binary)]) * parents[binary[:, 0]]
        return sparse.csr_array((weight, (binary[:, side], binary[:, 3 - side])), (N, N))

    # ------------------------------------------------------------------ expectations

    def expected(
        self,
        rules: np.ndarray,
        words: Words,
        shortest: int = 1,
        longest: int | None = None,
        classes: Words | None = None,
    ) -> np.ndarray:
        """How often each rule is used over a span of shortest … longest words with words at some places: (n,).

        ``rules`` (n,) are numbers; so are ``words`` at each place, of which −1 before or after a span is the end of the
        sentence. ``classes`` of a place gives every terminal's class (V,), −1 for none; its words are then classes.
        """
        rules = np.asarray(rules, np.int64)
        tables = Tables(self, words, classes or {})
        if longest is not None:
            parts = (tables.over(rules, m) for m in range(max(shortest, 1), longest + 1))
            return sum(parts, np.zeros(len(rules)))
        shorter = self.expected(rules, words, 1, shortest - 1, classes) if shortest > 1 else 0.0
        return np.maximum(tables.over(rules, None) - shorter, 0)

    def expected_leaves(self, tags: np.ndarray, words: Words, classes: Words | None = None) -> np.ndarray:
        """How often each symbol writes a word, "first", with words before and after it: (n,)."""
        tables = Tables(self, words, classes or {})
        tags = np.asarray(tags, np.int64)
        if "first" not in words:
            return tables.around(tags) * self.emitted.sum(axis=1)[tags]
        return tables.around(tags) * tables.merged("first", self.emitted)[tags, tables.words["first"]]


class Tables:
    """The sums of a grammar for the classes of words that a question is about."""

    def __init__(self, spans: Spans, words: Words, classes: Words):
        self.spans = spans
        self.words = {place: np.asarray(numbers, np.int64) for place, numbers in words.items()}
        self.merge: dict[str, sparse.csr_array] = {}
        V = spans.emitted.shape[1]
        for place, numbers in self.words.items():
            if place not in PLACES:
                raise LoglinError(f"no place is called {place!r}; there are {', '.join(PLACES)}")
            size = V
            if place in classes:
                self.merge[place] = _merge(np.asarray(classes[place]), V)
                size = self.merge[place].shape[1]
            if numbers.min(initial=0) < (-1 if place in ("before", "after") else 0) or numbers.max(initial=-1) >= size:
                raise LoglinError(
                    f"the words at {place} are numbered {numbers.min()} to {numbers.max()}, but there are {size}; "
                    "correct the numbers"
                )
        for pair in (("first", "split-left"), ("last", "split-right")):
            if set(pair) <= set(self.words):
                raise LoglinError(f"{pair[0]} and {pair[1]} are words of one child, whose joint sums are not kept")

    def over(self, rules: np.ndarray, m: int | None) -> np.ndarray:
        """Expected uses over spans of m words, or of any number of them: (n,)."""
        grammar = self.spans.pcfg.grammar
        parent, inner = grammar.parents[rules], np.zeros(len(rules))
        two = rules < len(grammar.binary)
        if two.any():
            left, right = np.zeros((2, len(rules)), np.int64)
            left[two], right[two] = grammar.binary[rules[two], 1], grammar.binary[rules[two], 2]
            for k, rest in [(None, None)] if m is None else [(k, m - k) for k in range(1, m)]:
                inner += np.where(two, self.below(left, OF_LEFT, k) * self.below(right, OF_RIGHT, rest), 0)
        if not two.all() and not any(place.startswith("split") for place in self.words):
            if {"first", "last"} <= set(self.words):
                raise LoglinError("unary rules have their first and last words from one child; ask for one of them")
            child = np.zeros(len(rules), np.int64)
            child[~two] = grammar.unary[rules[~two] - len(grammar.binary), 1]
            inner += np.where(two, 0, self.below(child, OF_ONLY, m))
        return self.around(parent) * np.exp(self.spans.pcfg.rules[rules]) * inner

    def below(self, symbols: np.ndarray, sides: Mapping[str, str], m: int | None) -> np.ndarray:
        """The weight of the trees below each symbol with m words, or any number, and the word of a place: (n,)."""
        place = next((place for place in sides if place in self.words), None)
        if place is None:
            return (self.spans.pcfg.inside if m is None else self.spans.lengths(m)[m])[symbols]
        side = sides[place]
        table = getattr(self.spans, side) if m is None else self.spans.edges(side, m)
        return self.merged(place, table)[symbols, self.words[place]]

    def merged(self, place: str, table: np.ndarray) -> np.ndarray:
        """A table of terminals, and perhaps the end of the sentence, as one of the place's classes."""
        if place not in self.merge:
            return table
        V = self.spans.emitted.shape[1]
        return np.column_stack([table[:, :V] @ self.merge[place], table[:, V:]])

    def around(self, symbols: np.ndarray) -> np.ndarray:
        """The weight around each symbol with the words beside it: (n,)."""
        beside = [place for place in ("before", "after") if place in self.words]
        if not beside:
            return self.spans.pcfg.outside[symbols]
        if len(beside) == 1:
            return self.merged(beside[0], getattr(self.spans, beside[0]))[symbols, self.words[beside[0]]]
        asked, place = np.unique(
            np.stack([symbols, self.words["before"], self.words["after"]]), axis=1, return_inverse=True
        )
        return self._between(*asked)[place.reshape(-1)]

    def _between(self, symbols: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Of both words: what is beside a symbol, or beside those that unary rules put above it: (n,)."""
        spans, binary = self.spans, self.spans.pcfg.grammar.binary
        chains = spans.above.tocsc()  # by the lower symbol
        asked, chain = _expanded(symbols, chains.indptr)
        top, x, y = chains.indices[chain], before[asked], after[asked]
        found = np.where((x < 0) & (y < 0), np.exp(spans.pcfg.roots)[top], 0.0)
        parents = [self.merged("before", spans.before), self.merged("after", spans.after)]
        # a sister has words, so that it is never the end of the sentence
        sisters = [_padded(self.merged("before", spans.last)), _padded(self.merged("after", spans.first))]
        for side in (1, 2):
            order = np.argsort(binary[:, side], kind="stable")
            ptr = np.searchsorted(binary[order, side], np.arange(len(spans.emitted) + 1))
            step = max(1, CHUNK // max(1, int(np.diff(ptr).max(initial=0))))
            for start in range(0, len(top), step):
                owner, rule = _expanded(top[start : start + step], ptr)
                owner, rule = owner + start, order[rule]
                parent, sister, p = binary[rule, 0], binary[rule, 3 - side], np.exp(spans.pcfg.rules[rule])
                if side == 1:
                    weight = p * parents[0][parent, x[owner]] * sisters[1][sister, y[owner]]
                else:
                    weight = p * sisters[0][sister, x[owner]] * parents[1][parent, y[owner]]
                found += np.bincount(owner, weight, len(found))
        return np.bincount(asked, chains.data[chain] * found, len(symbols))


def _expanded(keys: np.ndarray, ptr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every item of the list ptr[key] … ptr[key + 1] − 1 of each key: the number of the key, and the item."""
    sizes = np.diff(ptr)[keys]
    owner = np.repeat(np.arange(len(keys)), sizes)
    return owner, np.arange(len(owner)) + np.repeat(ptr[:-1][keys] - np.cumsum(sizes) + sizes, sizes)


def _padded(table: np.ndarray) -> np.ndarray:
    return np.column_stack([table, np.zeros(len(table))])


def _merge(classes: np.ndarray, n: int) -> sparse.csr_array:
    """Which terminals make a class: (n, classes)."""
    if classes.shape != (n,):
        raise LoglinError(f"classes have the shape {classes.shape}; give one for each of the {n} terminals")
    some = np.flatnonzero(classes >= 0)
    return sparse.csr_array((np.ones(len(some)), (some, classes[some])), (n, int(classes.max(initial=-1)) + 1))


def _solve(matrix: sparse.sparray, given: np.ndarray, live: np.ndarray) -> np.ndarray:
    """x = given + matrix x, among the symbols that are live: of the shape of given."""
    entries, place = sparse.coo_array(matrix), np.cumsum(live) - 1
    among = live[entries.row] & live[entries.col] & (entries.data > 0)
    row, col, weight = place[entries.row[among]], place[entries.col[among]], entries.data[among]
    solve = factorized(row, col, weight, int(live.sum()))
    assert solve is not None  # a live symbol has trees that end, so that all of this is finite
    found = np.zeros_like(given)
    found[live] = solve(given[live])
    return np.maximum(found, 0)
