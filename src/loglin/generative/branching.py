"""Sums over all derivations of a context-free grammar, of every size at once.

    i_A = e_A + Σ_{A→BC} p i_B i_C + Σ_{A→B} p i_B         total weight of the trees below A; e_A that of words
    M_AB = Σ_{A→BC} p i_C + Σ_{A→CB} p i_C + Σ_{A→B} p     how often B is a child of A, the rest of the rule finished
    o_B = roots_B + Σ_A o_A M_AB                           total weight around B

(§4.1.2 of Smith, Vail and Lafferty, 2007.) i is the least solution of a quadratic system. A symbol is settled, i = 1,
if all symbols that it can lead to have rules that sum to one, can end, and are in no strongly connected part whose M
(with i = 1) has a spectral radius above 1 (Booth and Thompson, 1973). For the others Newton's method rises from 0 to
the least solution (Etessami and Yannakakis, 2009), as does plain propagation, more slowly (Stolcke, 1995).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from loglin.errors import LoglinError
from loglin.grammars.grammar import Grammar
from loglin.structures.automaton import components, factorized, reachable

METHODS = ("auto", "newton", "stolcke")
STEPS = 200  # steps of Newton's method, which gains one bit per step even at its slowest
SWEEPS = 20_000  # steps of propagation
PRECISION = 1e-15
PROPER = 1e-9  # how far the sum of a symbol's rules may be from one
LARGEST = 1e7  # a critical grammar has infinite o, of which rounding leaves about 1e8

Arcs = tuple[np.ndarray, np.ndarray, np.ndarray]  # from a symbol, to a symbol, weight


@dataclass(frozen=True, eq=False)
class Branching:
    grammar: Grammar
    weights: np.ndarray  # (R,) of the rules
    ends: np.ndarray  # (N,) e: weight of all words of a symbol

    def propagated(self, i: np.ndarray) -> np.ndarray:
        """F(i), the right side of the equation of i: (N,)."""
        binary, unary = self.grammar.binary, self.grammar.unary
        below = np.concatenate([i[binary[:, 1]] * i[binary[:, 2]], i[unary[:, 1]]])
        return self.ends + np.bincount(self.grammar.parents, self.weights * below, len(i))

    def mean(self, i: np.ndarray) -> Arcs:
        """The entries of M that are not zero; two between the same symbols add up."""
        binary, unary = self.grammar.binary, self.grammar.unary
        source = np.concatenate([binary[:, 0], binary[:, 0], unary[:, 0]]).astype(np.int64)
        target = np.concatenate([binary[:, 1], binary[:, 2], unary[:, 1]]).astype(np.int64)
        p, q = self.weights[: len(binary)], self.weights[len(binary) :]
        weight = np.concatenate([p * i[binary[:, 2]], p * i[binary[:, 1]], q])
        return source[weight > 0], target[weight > 0], weight[weight > 0]

    @cached_property
    def productive(self) -> np.ndarray:
        """Symbols below which some tree ends: (N,) bool."""
        found = self.ends > 0
        while True:
            more = self.propagated(found.astype(float)) > 0
            if (more == found).all():
                return found
            found = more

    @cached_property
    def settled(self) -> np.ndarray:
        """Symbols whose trees end with probability one: (N,) bool."""
        ones = np.ones(self.grammar.n_symbols)
        source, target, weight = self.mean(ones)
        wrong = ~self.productive | (np.abs(self.propagated(ones) - 1) > PROPER)
        component = components(len(ones), source, target)
        inner = component[source] == component[target]
        for c in np.unique(component[source[inner]]).tolist():
            arcs, members = inner & (component[source] == c), np.flatnonzero(component == c)
            place = np.searchsorted(members, (source[arcs], target[arcs]))
            wrong[members] |= not _ends(place[0], place[1], weight[arcs], len(members))
        return ~reachable(target, source, wrong)

    def inside(self, method: str = "auto") -> np.ndarray:
        """i: (N,); "auto" gives settled symbols 1 and takes Newton's method for the others."""
        if method not in METHODS:
            raise LoglinError(f"no method is called {method!r}; there are {', '.join(METHODS)}")
        i = self.settled.astype(float) if method == "auto" else np.zeros(self.grammar.n_symbols)
        free = np.flatnonzero(self.productive & (i == 0))
        if len(free):
            self._propagate(i, free) if method == "stolcke" else self._rise(i, free)
        return i

    def _propagate(self, i: np.ndarray, free: np.ndarray) -> None:
        for _ in range(SWEEPS):
            value = self.propagated(i)[free]
            change, i[free] = np.abs(value - i[free]).max(), value
            if change <= PRECISION:
                return
        raise LoglinError(
            f"propagation still changes sums by {change:.1g} after {SWEEPS} rounds, as the grammar hardly ends; take "
            "method='newton'"
        )

    def _rise(self, i: np.ndarray, free: np.ndarray) -> None:
        """Newton's method for the ``free`` symbols: i ← i + (I − M)⁻¹ (F(i) − i) until it stops rising."""
        place = np.full(len(i), -1)
        place[free] = np.arange(len(free))
        for _ in range(STEPS):
            source, target, weight = self.mean(i)
            among = (place[source] >= 0) & (place[target] >= 0)
            solve = factorized(place[source[among]], place[target[among]], weight[among], len(free))
            step = self.propagated(i)[free] - i[free]
            step = step if solve is None else solve(step)  # singular: one step of propagation instead
            i[free] = np.minimum(i[free] + np.maximum(step, 0), 1)
            if step.max() <= PRECISION:
                return

    def outside(self, i: np.ndarray, roots: np.ndarray) -> np.ndarray:
        """o: (N,), zero for symbols that no root leads to and for those that never end."""
        source, target, weight = self.mean(i)
        live = np.flatnonzero(reachable(source, target, roots > 0) & (i > 0))
        place = np.full(len(i), -1)
        place[live] = np.arange(len(live))
        among = (place[source] >= 0) & (place[target] >= 0)
        solve = factorized(place[target[among]], place[source[among]], weight[among], len(live))
        o = np.zeros(len(i))
        o[live] = np.inf if solve is None else solve(roots[live])
        if not np.isfinite(o).all() or o.min() < -PROPER or o.max() > LARGEST:
            raise LoglinError(
                "the grammar's derivations have no finite expected size; lower the probability of its recursive rules"
            )
        return np.maximum(o, 0)


def _ends(source: np.ndarray, target: np.ndarray, weight: np.ndarray, n: int) -> bool:
    """Whether an irreducible M has a spectral radius of at most 1.

    Below 1, x = 1 + M x is the expected number of descendants; at 1 there is no x, and above 1 not all x are positive.
    """
    solve = factorized(source, target, weight, n)
    if solve is None:
        return True
    x = solve(np.ones(n))
    return bool((x > 0).all() or not np.isfinite(x).all() or np.abs(x).max() > LARGEST)
