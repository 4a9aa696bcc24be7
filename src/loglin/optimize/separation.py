"""Where a likelihood without a prior has no finite optimum, and what proves it.

Moving the weights along a direction v changes the score of a wrong class c against the right one by −v·D, with
D = f(d, c_d) − f(d, c). If v·D ≥ 0 for every example d and class c and > 0 for one of them, the likelihood rises
for ever along v from any weights: it has a supremum but no maximum. Three proofs, from the cheapest:

    separated       the weights met are such a v themselves, and strictly: every example is classified right
    unbounded       v is a single weight: a feature that the data have as often as they could (`base` is always
                    Vt), or as seldom (never with DT), though it is not the same for all classes
    recession       any v, found by a linear program: max Σ v·D with v·D ≥ 0 and |v_j| ≤ 1

v may move only weights without a penalty, which would grow beyond any gain.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from loglin.optimize.objective import Decisions

ALL_RIGHT = "the classes are separable: without a prior the weights grow without end; give l2 above 0"
SMALL = 100_000  # numbers that a linear program may have
ROUNDING = 1e-9
CLEARLY = 1e-4  # gain of a direction, relative to the largest difference, that is no rounding of the program's
SECONDS = 5.0


def separated(criterion: Any) -> bool:
    """Whether the criterion's last weights classify every example strictly right."""
    return hasattr(criterion, "all_right") and criterion.all_right()


def unbounded(decisions: Decisions, free: np.ndarray) -> np.ndarray:
    """The features marked by ``free`` whose weight alone can grow for ever; none if some value is below 0."""
    if decisions.negative() is not None:
        return np.empty(0, np.int64)
    (least, most), given = decisions.extremes(), decisions.empirical()
    room = ROUNDING * np.maximum(most, 1.0)
    at_an_end = (given >= most - room) | (given <= least + room)
    return np.flatnonzero(free & at_an_end & (most - least > room))


def recession(decisions: Decisions, free: np.ndarray) -> bool:
    """Whether some direction of the free weights makes no example worse and one better; False if undecided."""
    differences = decisions.differences(SMALL)
    if differences is None or not differences.nnz:
        return False
    from scipy.optimize import linprog

    D = differences[:, np.flatnonzero(free)]
    size = float(np.abs(D.data).max(initial=0.0))
    if size == 0:
        return False
    D = D / size
    found = linprog(
        -np.asarray(D.sum(axis=0)).ravel(),
        A_ub=-D,
        b_ub=np.zeros(D.shape[0]),
        bounds=(-1, 1),
        options={"time_limit": SECONDS},
    )
    return bool(found.success and -found.fun > CLEARLY)
