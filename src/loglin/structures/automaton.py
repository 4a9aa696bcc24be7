"""Weighted automata that may have cycles: sums over all their paths, of every length, by linear systems.

    o_r = e_r + Σ_s A_rs o_s        weight of all paths from r to an end        (Tarjan 1981)
    i_s = b_s + Σ_r i_r A_rs        weight of all paths from a start to s
    Z = Σ_r b_r o_r                 expected uses of an arc r → s: i_r A_rs o_s / Z

Strongly connected components are solved one after the other, those that others lead to first, so that only states
on common cycles share a system; it is scaled by their best paths, so that weights may have any size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from loglin.errors import LoglinError
from loglin.structures.local import checked_scores

DENSE = 2000  # states of a component; larger ones are factorized as sparse matrices
SLOWEST = 1e12  # expected steps in a component; beyond it rounding decides whether its sum is finite


class Divergence(LoglinError):
    """A sum over all paths that has no limit."""


@dataclass(frozen=True, eq=False)
class Expectations:
    arcs: np.ndarray  # (arcs,) how often each is used
    starts: np.ndarray  # (states,) how often a path begins there
    ends: np.ndarray  # (states,)


@dataclass(frozen=True, eq=False)
class Automaton:
    source: np.ndarray  # (arcs,)
    target: np.ndarray  # (arcs,)
    weights: np.ndarray  # (arcs,) log A; two arcs between the same states are two ways
    start: np.ndarray  # (states,) log b, -inf where no path begins
    end: np.ndarray  # (states,) log e
    name: Callable[[int], str] = str  # a state in messages

    def __post_init__(self) -> None:
        for field in ("weights", "start", "end"):
            object.__setattr__(self, field, checked_scores(field, getattr(self, field)))
        for field in ("source", "target"):
            object.__setattr__(self, field, np.array(getattr(self, field), np.int64))
        shapes = self.source.shape, self.target.shape, self.weights.shape
        if self.start.ndim != 1 or self.start.shape != self.end.shape or shapes != (self.weights.shape[:1],) * 3:
            raise LoglinError(
                f"an automaton needs as many sources, targets and weights, not {shapes}, and as many starts as ends, "
                f"not {self.start.shape} and {self.end.shape}"
            )
        for field in ("source", "target"):
            bad = np.flatnonzero((getattr(self, field) < 0) | (getattr(self, field) >= len(self.start)))
            if len(bad):
                raise LoglinError(
                    f"{field}[{bad[0]}] is state {getattr(self, field)[bad[0]]}; there are states from 0 to "
                    f"{len(self.start) - 1}"
                )

    def partition(self) -> float:
        """log Z, -inf if no path leads from a start to an end."""
        return float(np.logaddexp.reduce(self.start + self.out, initial=-np.inf))

    def expectations(self) -> Expectations:
        """Expected uses of arcs, starts and ends on a path drawn with probability weight / Z."""
        total = self.partition()
        if total == -np.inf:
            raise LoglinError("no path of the automaton leads from a start to an end, so nothing can be expected")
        arcs = self.into[self.source] + self.weights + self.out[self.target]
        return Expectations(*(np.exp(a - total) for a in (arcs, self.start + self.out, self.into + self.end)))

    @cached_property
    def out(self) -> np.ndarray:
        """log o, -inf for states on no path from a start to an end: (states,)."""
        return self._sums(self.source, self.target, self.end)

    @cached_property
    def into(self) -> np.ndarray:
        """log i, likewise: (states,)."""
        return self._sums(self.target, self.source, self.start)

    @cached_property
    def _useful(self) -> np.ndarray:
        """States on some path from a start to an end: (states,) bool."""
        some = self.weights > -np.inf
        source, target = self.source[some], self.target[some]
        return reachable(source, target, self.start > -np.inf) & reachable(target, source, self.end > -np.inf)

    def _sums(self, source: np.ndarray, target: np.ndarray, ends: np.ndarray) -> np.ndarray:
        some = (self.weights > -np.inf) & self._useful[source] & self._useful[target]
        source, target, weights = source[some], target[some], self.weights[some]
        sums = np.where(self._useful, ends, -np.inf)
        component = components(len(sums), source, target)
        by_arc, by_state = np.argsort(component[source], kind="stable"), np.argsort(component, kind="stable")
        cuts = np.arange(component.max(initial=-1) + 2)
        arc_ptr = np.searchsorted(component[source[by_arc]], cuts)
        state_ptr = np.searchsorted(component[by_state], cuts)
        position = np.empty(len(sums), np.int64)
        for c in np.flatnonzero(np.diff(arc_ptr)).tolist():
            arcs, states = by_arc[arc_ptr[c] : arc_ptr[c + 1]], by_state[state_ptr[c] : state_ptr[c + 1]]
            inner = component[target[arcs]] == c
            leaving, arcs = arcs[~inner], arcs[inner]
            np.logaddexp.at(sums, source[leaving], weights[leaving] + sums[target[leaving]])
            if len(arcs):
                position[states] = np.arange(len(states))
                found = _solve(position[source[arcs]], position[target[arcs]], weights[arcs], sums[states])
                if found is None:
                    self._diverge(int(source[arcs[weights[arcs].argmax()]]), len(states))
                sums[states] = found
        return sums

    def _diverge(self, state: int, size: int) -> None:
        others = f" and {size - 1} states that share cycles with it" if size > 1 else ""
        raise Divergence(
            f"the sum over all paths has no limit: the cycles through {self.name(state)}{others} weigh too much; "
            "lower the weights of their arcs, for example by a stronger penalty"
        )


def reachable(source: np.ndarray, target: np.ndarray, first: np.ndarray) -> np.ndarray:
    """States that the ``first`` (states,) bool lead to, these included: (states,) bool."""
    from scipy.sparse import csgraph, csr_matrix

    n, begins = len(first), np.flatnonzero(first)
    rows = np.concatenate([source, np.full(len(begins), n)])  # state n leads to all of the first
    graph = csr_matrix((np.ones(len(rows), bool), (rows, np.concatenate([target, begins]))), (n + 1, n + 1))
    found = np.zeros(n + 1, bool)
    found[csgraph.breadth_first_order(graph, n, return_predecessors=False)] = True
    return found[:n]


def components(n: int, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The strongly connected component of each state, so numbered that arcs lead to lower ones: (states,)."""
    from scipy.sparse import csgraph, csr_matrix

    graph = csr_matrix((np.ones(len(source), bool), (source, target)), (n, n))
    n_components, component = csgraph.connected_components(graph, connection="strong")
    between = component[source] != component[target]
    a, b = np.unique(np.stack([component[source[between]], component[target[between]]]), axis=1)
    waiting = np.bincount(a, minlength=n_components)
    by_target = np.argsort(b, kind="stable")
    ptr = np.searchsorted(b[by_target], np.arange(n_components + 1)).tolist()
    before, number = a[by_target].tolist(), np.empty(n_components, np.int64)
    ready = np.flatnonzero(waiting == 0).tolist()
    for k in range(n_components):
        c = ready.pop()
        number[c] = k
        for other in before[ptr[c] : ptr[c + 1]]:
            waiting[other] -= 1
            if waiting[other] == 0:
                ready.append(other)
    return number[component]


def _solve(source: np.ndarray, target: np.ndarray, weights: np.ndarray, ends: np.ndarray) -> np.ndarray | None:
    """log o of one component, or None if it has no limit.

    A is irreducible and e ≥ 0 is not zero, so o > 0 exists only if the spectral radius of A is below 1. Scaled by o
    the rows of A and e sum to one: a Markov chain, which takes (I − A)⁻¹ o / o steps to leave the component.
    """
    n, best = len(ends), ends
    for _ in range(n + 1):
        better = best.copy()
        np.maximum.at(better, source, weights + best[target])
        if (better == best).all():
            break
        best = better
    else:
        return None  # a single cycle weighs more than one
    solve = factorized(source, target, np.exp(weights + best[target] - best[source]), n)
    if solve is None:
        return None
    o = solve(np.exp(ends - best))
    if not (np.isfinite(o) & (o > 0)).all():
        return None
    steps = solve(o) / o
    return best + np.log(o) if (steps > 0).all() and steps.max() < SLOWEST else None


def factorized(
    source: np.ndarray, target: np.ndarray, weights: np.ndarray, n: int
) -> Callable[[np.ndarray], np.ndarray] | None:
    """Solves (I − A) x = y for x, or None if it is singular."""
    if n > DENSE:
        from scipy.sparse import csc_matrix, identity
        from scipy.sparse.linalg import splu

        try:
            return splu(identity(n, format="csc") - csc_matrix((weights, (source, target)), (n, n))).solve
        except RuntimeError:  # exactly singular
            return None
    from scipy.linalg.lapack import dgetrf, dgetrs

    matrix = np.eye(n)
    np.subtract.at(matrix, (source, target), weights)
    factors, pivots, info = dgetrf(matrix)
    return None if info else lambda y: dgetrs(factors, pivots, y)[0]
