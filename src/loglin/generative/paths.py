"""Sums over all label sequences of a Markov chain, of every length at once.

A state is what the next label depends on: the label before in order 1, the two labels before in order 2.
In both, t[a, b, c] = t(c | a, b) has sources a and b numbered with START last and successors c with STOP
last; order 1 has a single a, which stands for all.

    i_start = 1    i_s = Σ_r i_r t(r, s)                       total weight of the ways into s     (Eq. 9, 10)
    o_stop = 1     o_r = t(r, STOP) + Σ_s t(r, s) o_s          total weight of the ways out of r   (Eq. 11)
    G = Σ_{n≥1} tⁿ = (I − t)⁻¹ − I                             ways of at least one step between states

Equations of Smith, Vail and Lafferty (2007). The first line of their Eq. 10 lacks the step from START to s;
the linear system is right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from loglin.errors import LoglinError
from loglin.structures.automaton import reachable


@dataclass(frozen=True, eq=False)
class PathSums:
    reached: np.ndarray  # (H, S) bool: states that START leads to
    matrix: np.ndarray  # (n, n): I − t between those states
    into: np.ndarray  # (H, S): i, zero for the others
    out: np.ndarray  # (H, S): o, zero for the others

    def gaps(self) -> np.ndarray:
        """G between all states: (H, S, H, S)."""
        full = np.zeros(self.reached.shape * 2)
        flat = full.reshape(self.reached.size, -1)
        where = np.flatnonzero(self.reached)
        flat[np.ix_(where, where)] = np.linalg.inv(self.matrix) - np.eye(len(where))
        return full

    def before(self, targets: np.ndarray) -> np.ndarray:
        """Σ_s G[r, s] targets[s] for every state r, by one linear system: (H, S)."""
        found = np.zeros(self.reached.shape)
        found[self.reached] = np.linalg.solve(self.matrix, targets[self.reached]) - targets[self.reached]
        return found


def solve(t: np.ndarray, name: Callable[[int, int], str]) -> PathSums:
    """Path sums of the chain t (H, S, L + 1); ``name`` writes a state in messages."""
    H, S = t.shape[:2]
    a, b, c = np.nonzero(t[:, :, :-1])
    source, target = a * S + b, (0 if H == 1 else b * S) + c  # (b, c) behind (a, b), or c behind b
    reached = reachable(source, target, np.arange(H * S) == H * S - 1)
    lost = np.flatnonzero(reached & ~reachable(target, source, t[:, :, -1].ravel() > 0))
    if len(lost):
        raise LoglinError(
            f"the base model does not end with probability one: from {name(*divmod(int(lost[0]), S))} no way leads to "
            "STOP; smooth its transitions"
        )
    matrix = np.eye(H * S)
    matrix[source, target] -= t[a, b, c]
    matrix = matrix[np.ix_(reached, reached)]
    into, out = np.zeros(H * S), np.zeros(H * S)
    try:
        into[reached] = np.linalg.solve(matrix.T, np.arange(len(matrix)) == len(matrix) - 1)
        out[reached] = np.linalg.solve(matrix, t[:, :, -1].ravel()[reached])
    except np.linalg.LinAlgError:
        into[:] = np.nan
    if not (into >= 0).all():
        raise LoglinError(
            "the base model does not end with probability one: its transitions sum to more than one; normalize them"
        )
    return PathSums(reached.reshape(H, S), matrix, into.reshape(H, S), out.reshape(H, S))
