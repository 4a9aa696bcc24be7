"""The sum of an objective over parts of a corpus that are not in memory together.

    weights ──► those of the part's features ──► the part's objective ──► gradients of these features ──► sum

What a part's objective is, this does not know: each is the one that the criterion makes of a problem. Parts are summed
in a tree whose form depends on their number alone, so that the sum is the same to the last bit wherever they are
computed and in whatever order they finish.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from loglin.corpus.stored import StoredFile, read_ahead
from loglin.kernels.vectors import add_at
from loglin.optimize.objective import HasCurvature, HasLearner
from loglin.optimize.rows import Room

GROUP, FAN = 4, 16  # neighboring parts that are added first, and sums that are added to one of the next level


class Sums(NamedTuple):
    """A part's share of a sum: a number, and one for some of the features."""

    value: float
    places: np.ndarray | slice  # (k,) uint32, of the features; slice(None): all
    numbers: np.ndarray  # (k,)

    def add_to(self, total: np.ndarray, seen: np.ndarray) -> None:
        """Add the numbers to ``total`` (features,), and mark their places in ``seen`` unless that is empty."""
        if isinstance(self.places, slice):
            total += self.numbers
            seen[:] = True
        else:
            aligned = (
                np.require(array, requirements=("C", "A")) for array in (self.places, self.numbers)
            )  # off the wire
            add_at(*aligned, total, seen)


_NOBODY = np.zeros(0, bool)


class Total:
    """Sums added up one after the other."""

    def __init__(self, n_features: int):
        self.value, self.numbers, self.added = 0.0, np.zeros(n_features), 0

    def add(self, sums: Sums) -> None:
        self.value += sums.value
        sums.add_to(self.numbers, _NOBODY)
        self.added += 1

    def clear(self) -> None:
        self.value, self.added = 0.0, 0
        self.numbers[:] = 0.0

    def add_all(self, other: Total) -> None:
        self.value += other.value
        self.numbers += other.numbers
        self.added += 1


def total(sums: Iterable[Sums], n_features: int) -> Total:
    """The sum of parts that come in their order, by the tree in which every GROUP of them are added first."""
    levels = [Total(n_features)]
    for part in sums:
        levels[0].add(part)
        k = 0
        while levels[k].added == (FAN if k else GROUP):
            if k + 1 == len(levels):
                levels.append(Total(n_features))
            levels[k + 1].add_all(levels[k])
            levels[k].clear()
            k += 1
    for lower, upper in itertools.pairwise(levels):
        if lower.added:
            upper.add_all(lower)
    return levels[-1]


class Share(NamedTuple):
    """What is stored of a part: its objective, and where its features stand among all."""

    objective: Any
    places: np.ndarray  # (features of the part,) uint32


class Engine(Protocol):
    """Where parts are computed: one seam, "map over parts, reduce in order"."""

    @property
    def threads(self) -> int | None:
        """Threads of a part."""

    is_here: bool  # whether it is this process

    def map(self, function: Callable[[Any], Any], items: Sequence) -> Iterator:
        """function(item) of every item, in their order."""

    def total(self, function: Callable[[StoredFile, np.ndarray], Sums], files: Sequence, weights: np.ndarray) -> Total:
        """The tree sum of function(file, weights) over all files."""

    def about(self) -> dict[str, Any]:
        """What a model's record says of it."""


class InOrder:
    """One part after the other in this process, the next one read ahead."""

    is_here = True

    def __init__(self, threads: int | None = None):
        self.threads = threads

    def map(self, function: Callable[[Any], Any], items: Sequence) -> Iterator:
        return map(function, items)

    def total(self, function: Callable[[StoredFile, np.ndarray], Sums], files: Sequence, weights: np.ndarray) -> Total:
        def sums() -> Iterator[Sums]:
            for number, file in enumerate(files):
                read_ahead(files[(number + 1) % len(files)].path)
                yield function(file, weights)

        return total(sums(), len(weights))

    def about(self) -> dict[str, Any]:
        return {}


def value_and_gradient(file: StoredFile, weights: np.ndarray) -> Sums:
    """Value and gradient of the part in a file."""
    objective, places = file.load()
    value, gradient = objective(weights[places])
    return Sums(value, places, gradient)


def curvature(file: StoredFile, weights: np.ndarray) -> Sums:
    """The guess of the Hessian's diagonal of the part in a file."""
    objective, places = file.load()
    return Sums(0.0, places, objective.curvature(weights[places]))


def magnitudes(file: StoredFile) -> tuple[np.ndarray, np.ndarray | None]:
    """Places, and the largest |value| behind each weight, of the part in a file."""
    objective, places = file.load()
    return places, objective.magnitudes()


class Facts(NamedTuple):
    """What is known of a part's objective without looking at it again."""

    file: StoredFile
    convex: bool
    nonnegative: bool
    curved: bool
    learns: bool
    weighted: bool  # its attributes have values other than 1
    tokens: int

    @classmethod
    def of(cls, file: StoredFile, objective: Any, tokens: int) -> Facts:
        of_values = getattr(objective, "magnitudes", lambda: None)()
        return cls(
            file,
            bool(getattr(objective, "convex", False)),
            bool(getattr(objective, "nonnegative", True)),
            isinstance(objective, HasCurvature),
            isinstance(objective, HasLearner),
            of_values is not None,
            tokens,
        )


def summed(engine: Engine, parts: Sequence[Facts], n_features: int, dtype: type, room: Room) -> Sum:
    """The sum of parts, with the capabilities that all of them have."""
    curved, learns = all(p.curved for p in parts), all(p.learns for p in parts)
    return (LearningSum if curved and learns else CurvedSum if curved else Sum)(engine, parts, n_features, dtype, room)


class Sum:
    """Σ over parts of their objectives, as optimizers see it."""

    def __init__(self, engine: Engine, parts: Sequence[Facts], n_features: int, dtype: type, room: Room):
        self.room = room  # of what the optimizer remembers
        self.engine, self.parts, self.n_features, self.dtype = engine, parts, n_features, np.dtype(dtype)
        self.files = [part.file for part in parts]
        self.convex = all(part.convex for part in parts)
        self.nonnegative = all(part.nonnegative for part in parts)
        self.evaluations = 0

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient at ``weights``."""
        self.evaluations += 1
        found = self.engine.total(value_and_gradient, self.files, weights)
        return found.value, found.numbers.astype(self.dtype)

    def magnitudes(self) -> np.ndarray | None:
        """The largest |value| of every feature's attribute: (features,); None if all values are 1."""
        if not any(part.weighted for part in self.parts):
            return None
        found = np.zeros(self.n_features)
        for places, largest in self.engine.map(magnitudes, self.files):
            found[places] = np.maximum(found[places], 1.0 if largest is None else largest)
        return found


class CurvedSum(Sum):
    def curvature(self, weights: np.ndarray) -> np.ndarray:
        """Σ p·(1 − p) of every feature."""
        self.evaluations += 1
        return self.engine.total(curvature, self.files, weights).numbers.astype(self.dtype)


class LearningSum(CurvedSum):
    def learner(self, seed: int = 0) -> MixedLearner | None:
        """What finds weights to begin with, every part by itself; None where parts have none."""
        objective, _ = self.files[0].load()
        return None if objective.learner(seed) is None else MixedLearner(self, seed)


class MixedLearner:
    """A warm start on every part by itself, whose weights are averaged (Mann et al. 2009), by how sure each is of them.

    Σ over a part ≈ its share of Σ over all, so a part learns with its share of the penalty. Near its optimum w_p the
    part's objective is about ½ Σ_i c_pi·(w_i − w_pi)², c_p its curvature with its share of the penalty, and the sum of
    these is least at w = Σ_p c_p·w_p / Σ_p c_p; of features that a part lacks c_p is the penalty's share and w_p = 0.
    That comes less near than a warm start of the whole (``near``). L-BFGS on all parts goes on from there and alone
    decides convergence: with a convex objective it ends at the same optimum as from anywhere else.
    """

    order = 1
    near = False

    def __init__(self, whole: Sum, seed: int):
        self.whole, self.seed = whole, seed

    def warm_start(
        self, l1: np.ndarray, l2: np.ndarray, report: Callable | None, tol: float, stage: Any = None
    ) -> np.ndarray:
        """Weights near the optimum of the penalized sum; a checkpoint keeps them, but nothing of the way to them."""
        whole, n = self.whole, self.whole.n_features
        tokens = sum(part.tokens for part in whole.parts)
        how: dict[str, Any] = {
            "l1": l1 if l1.any() else None,
            "shares": {part.file.path: part.tokens / max(tokens, 1) for part in whole.parts},
            "seed": self.seed,
            "tol": tol,
            "report": report if whole.engine.is_here else None,
        }
        given = np.concatenate([l2, np.zeros(n)])  # the sums have two numbers for every feature
        found = whole.engine.total(partial(learned, **how), whole.files, given).numbers
        return found[:n] / np.maximum(l2 + found[n:], 1e-300)

    def get(self) -> np.ndarray:
        """Zero: what parts had learned when they were stopped is no average."""
        return np.zeros(self.whole.n_features)


def learned(
    file: StoredFile,
    l2: np.ndarray,
    l1: np.ndarray | None,
    shares: dict[str, float],
    seed: int,
    tol: float,
    report: Callable | None,
) -> Sums:
    """c·w of a part's features, and behind those of all features its curvature without the penalty, c − share·l2."""
    objective, places = file.load()
    share, n = shares[file.path], len(l2) // 2
    laplace = np.zeros(len(places)) if l1 is None else share * l1[places]
    penalty = share * l2[places]
    weights = objective.learner(seed).warm_start(laplace, penalty, report, tol)
    curvature = objective.curvature(weights).astype(np.float64)
    return Sums(0.0, np.concatenate([places, places + n]), np.concatenate([(penalty + curvature) * weights, curvature]))
