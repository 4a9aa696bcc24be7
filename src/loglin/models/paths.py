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
    reached = _reached(t)
    lost = np.argwhere(reached & ~_stopping(t))
    if len(lost):
        raise LoglinError(
            f"the base model does not end with probability one: from {name(*lost[0])} no way leads to STOP; "
            "smooth its transitions"
        )
    a, b = np.nonzero(reached)
    number = np.full((H, S), -1)
    number[a, b] = np.arange(len(a))
    matrix = np.eye(len(a))
    r, c = np.nonzero(t[a, b, :-1])
    matrix[r, number[0 if H == 1 else b[r], c]] -= t[a[r], b[r], c]
    into, out = np.zeros((H, S)), np.zeros((H, S))
    try:
        into[a, b] = np.linalg.solve(matrix.T, (number[a, b] == number[-1, -1]).astype(float))
        out[a, b] = np.linalg.solve(matrix, t[a, b, -1])
    except np.linalg.LinAlgError:
        into[:] = np.nan
    if not (into >= 0).all():
        raise LoglinError(
            "the base model does not end with probability one: its transitions sum to more than one; normalize them"
        )
    return PathSums(reached, matrix, into, out)


def _reached(t: np.ndarray) -> np.ndarray:
    """States (H, S) that START leads to."""
    possible, reached = t > 0, np.zeros(t.shape[:2], bool)
    reached[-1, -1] = True
    while True:
        steps = possible[:, :, :-1] & reached[:, :, None]
        more = reached.copy()
        more[:, :-1] |= steps.any(axis=1 if len(t) == 1 else 0)  # (b, c) behind (a, b), or c behind b
        if (more == reached).all():
            return reached
        reached = more


def _stopping(t: np.ndarray) -> np.ndarray:
    """States (H, S) from which some way leads to STOP."""
    possible, stopping = t > 0, t[:, :, -1] > 0
    while True:
        behind = stopping[:, None, :-1] if len(t) == 1 else stopping[None, :, :-1]  # c, or (b, c), behind (a, b)
        more = stopping | (possible[:, :, :-1] & behind).any(axis=2)
        if (more == stopping).all():
            return stopping
        stopping = more
