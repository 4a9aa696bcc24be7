"""Criteria that judge one rule at a time, the symbol and the span above it being given: MECFG and PT-CFG.

    MECFG     the symbol of every inner node of a gold tree, with its span              → its rule
    PT-CFG    that, and edges of charts that are not in the gold tree                   → none of the above (NOTA)

(§5 of Sutton and McCallum, 2005.) Rules are scored by weights of their own and by attributes of the span, and compete
with the other binary rules of the symbol, so training parses nothing. NOTA has the score 0: with it, a normalizer is
1 + Σ exp(score). Features of symbols are the same for all rules of a symbol and cancel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from loglin.errors import LoglinError
from loglin.features.span_index import SpanIndex
from loglin.features.spans import Constituents, SpanDesign
from loglin.grammars.grammar import Grammar
from loglin.kernels import expansions as kernels
from loglin.kernels.keys import factorize
from loglin.threads import Threads, chunks_by_size


@dataclass(frozen=True, eq=False)
class Expansions:
    """Symbols at spans, and what each was expanded by."""

    symbols: np.ndarray  # (instances,) int32
    attributes: np.ndarray  # (instances, templates) int32, of the span; -1: none
    rules: np.ndarray  # (instances,) int32, binary; -1: none of the above
    counts: np.ndarray  # (instances,) float64

    @classmethod
    def of_trees(cls, design: SpanDesign, gold: Constituents, weights: np.ndarray | None = None) -> Expansions:
        """The inner nodes of gold trees; ``weights`` (sentences,) says how much each tree counts."""
        attributes = design.attributes[design.cells(gold)]
        counts = np.ones(len(gold.rules)) if weights is None else np.asarray(weights, np.float64)[gold.sentences]
        return cls(gold.symbols.astype(np.int32), attributes, gold.rules.astype(np.int32), counts)

    @classmethod
    def of_edges(
        cls, design: SpanDesign, sentence: int, symbols: np.ndarray, cells: np.ndarray, weight: float = 1.0
    ) -> Expansions:
        """Wrong edges of a sentence's chart: none of the above."""
        attributes = design.attributes[design.ptr[sentence] + cells]
        return cls(symbols.astype(np.int32), attributes, np.full(len(cells), -1, np.int32), np.full(len(cells), weight))

    @staticmethod
    def joined(parts: list[Expansions]) -> Expansions:
        columns = zip(*((p.symbols, p.attributes, p.rules, p.counts) for p in parts), strict=True)
        return Expansions(*(np.concatenate(column) for column in columns))

    def merged(self, index: SpanIndex, grammar: Grammar) -> Expansions:
        """Equal instances as one with their count; attributes without a weight for the symbol's rules are dropped."""
        begins, ends = self.runs(index, grammar)
        attributes = np.where(ends > begins, self.attributes, -1).astype(np.int32)
        keys = self.symbols.astype(np.int64) * (grammar.n_rules + 1) + self.rules + 1
        same = np.empty(len(keys), np.int32)
        distinct, _ = factorize(keys, same)
        for column in attributes.T:
            distinct, _ = factorize(same.astype(np.int64) * len(index.ptr) + column + 1, same)
        example = np.empty(len(distinct), np.int64)
        example[same[::-1]] = np.arange(len(same))[::-1]
        counts = np.bincount(same, self.counts, minlength=len(distinct))
        return Expansions(self.symbols[example], attributes[example], self.rules[example], counts)

    def runs(self, index: SpanIndex, grammar: Grammar) -> tuple[np.ndarray, np.ndarray]:
        """Where an attribute's pairs with the symbol's rules begin and end in the index: (instances, templates)."""
        begins, ends = np.empty(self.attributes.shape, np.int64), np.empty(self.attributes.shape, np.int64)
        kernels.find_runs(self.symbols, self.attributes, index.ptr, index.targets, grammar.expansions, begins, ends)
        return begins, ends


class ExpansionCriterion:
    """−log-likelihood of expansions: value and gradient, unpenalized."""

    def __init__(
        self,
        grammar: Grammar,
        index: SpanIndex,
        instances: Expansions,
        nota: bool = False,
        n_features: int | None = None,
        threads: Threads | None = None,
    ):
        """``nota``: none of the above is an outcome; ``n_features`` counts token features too, which have no part."""
        _refuse(grammar, index, instances, nota)
        self.n_features = index.n_features if n_features is None else n_features
        self.nota, self.threads, self.evaluations = nota, threads or Threads(1), 0
        merged = instances.merged(index, grammar)
        order = np.argsort(merged.symbols, kind="stable")
        merged = replace(merged, **{name: getattr(merged, name)[order] for name in vars(merged)})
        self.n_given, self.n_instances = len(instances.rules), len(order)  # equal ones are one
        self._lay_out(grammar, index)
        begins, ends = merged.runs(index, grammar)
        there = ends > begins
        lengths = (ends - begins)[there]
        run_begins = self._place[begins[there]]
        run_ptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int64)
        self._runs = kernels.Runs(run_ptr, run_begins, run_begins + lengths)
        local = merged.rules - grammar.expansions[merged.symbols]
        self._instances = kernels.Instances(merged.symbols, np.where(merged.rules < 0, -1, local), merged.counts)
        work = np.concatenate([[0], np.cumsum(lengths)])[run_ptr] + np.arange(len(run_ptr))
        work[1:] += np.cumsum(self._layout.sizes[merged.symbols])
        self._chunks = chunks_by_size(work)

    def _lay_out(self, grammar: Grammar, index: SpanIndex) -> None:
        """Features by symbol: its rules, then its pairs. Chunks of instances so meet few features besides their own."""
        n_binary = len(grammar.binary)
        of_rules = np.flatnonzero(index.targets < n_binary)
        rule = np.concatenate([np.arange(n_binary), index.targets[of_rules]])
        symbol = grammar.binary[rule, 0]
        order = np.argsort(symbol, kind="stable")
        features = np.concatenate([np.arange(n_binary), index.n_rules + index.n_symbols + of_rules])
        self.features = features[order]  # the number of each in the weight vector
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        self._place = np.zeros(len(index.targets), np.int64)  # of every pair
        self._place[of_rules] = place[n_binary:]
        first = np.searchsorted(symbol[order], np.arange(grammar.n_symbols + 1)).astype(np.int64)
        local = (rule - grammar.expansions[symbol])[order].astype(np.int32)
        self._layout = kernels.BySymbol(first, np.diff(grammar.expansions), local)

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        self.evaluations += 1
        return self._pass(weights, False)

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        """The Hessian's diagonal, Σ count·p(1 − p)."""
        return self._pass(weights, True)[1]

    def _pass(self, weights: np.ndarray, second: bool) -> tuple[float, np.ndarray]:
        first, symbols = self._layout.first, self._instances.symbols
        w = np.asarray(weights, np.float64)[self.features]

        def chunk(begin: int, end: int) -> tuple[float, int, np.ndarray]:
            origin, after = int(first[symbols[begin]]), int(first[symbols[end - 1] + 1])
            out = np.zeros(after - origin)
            value = kernels.losses_and_slopes(
                begin, end, self._instances, self._runs, self._layout, w, self.nota, second, origin, out
            )
            return value, origin, out

        total, inner = 0.0, np.zeros(len(w))
        for value, origin, out in self.threads.map(chunk, self._chunks):
            total += value
            inner[origin : origin + len(out)] += out
        gradient = np.zeros(self.n_features)
        gradient[self.features] = inner
        return total, gradient


def nota_instances(
    chart: np.ndarray,
    n: int,
    gold: tuple[np.ndarray, np.ndarray, np.ndarray],
    delta: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Symbols and cells of mistaken edges: those of a log score within ``delta`` of the best edge of their length.

    chart (cells, symbols): best log scores of a sentence of n words, -inf where there is no edge; gold: symbols,
    begins and ends of the right edges. Edges of one word are tags, not expansions, and left out.
    """
    chart = np.ascontiguousarray(chart, np.float64)
    symbols, i, j = (np.asarray(a, np.int64) for a in gold)
    right = j * (j - 1) // 2 + i, symbols
    nothing = np.empty(0, np.int64)
    found = kernels.wrong_edges(chart, n, *right, delta, nothing, nothing)
    cells, wrong = np.empty(found, np.int64), np.empty(found, np.int64)
    kernels.wrong_edges(chart, n, *right, delta, cells, wrong)
    return wrong, cells


def _refuse(grammar: Grammar, index: SpanIndex, instances: Expansions, nota: bool) -> None:
    if len(index.split_rules):
        raise LoglinError(
            "templates of S look at where a span parts, which a rule normalized at its span does not know; leave them "
            "out for MECFG and piecewise training, or train a CRF"
        )
    if len(grammar.unary):
        raise LoglinError(
            f"the grammar has {len(grammar.unary)} unary rules, but MECFG and piecewise training choose among binary "
            "ones; encode unary chains as symbols, as TreeCoder does"
        )
    if (index.n_rules, index.n_symbols) != (grammar.n_rules, grammar.n_symbols):
        raise LoglinError(
            f"the index is of {index.n_rules} rules and {index.n_symbols} symbols, the grammar has {grammar.n_rules} "
            f"and {grammar.n_symbols}; build it for this grammar"
        )
    used = np.flatnonzero(instances.rules >= 0)
    foreign = used[grammar.parents[instances.rules[used]] != instances.symbols[used]]
    if len(foreign):
        rule, symbol = instances.rules[foreign[0]], instances.symbols[foreign[0]]
        raise LoglinError(
            f"the rule {' '.join(grammar.rules[rule])} does not expand {grammar.symbols[symbol]}, as an instance has "
            "it; give symbols and rules of the same trees"
        )
    if not nota and len(used) < len(instances.rules):
        raise LoglinError("an instance has none of the above as its outcome; set nota for piecewise training")
