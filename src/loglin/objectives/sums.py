"""The sum of an objective over parts of a corpus that are not in memory together.

    weights ──► those of the part's features ──► the part's objective ──► gradients of these features ──► sum

What a part's objective is, this does not know: each is the one that the criterion makes of a problem. Parts are summed
in a tree whose form depends on their number alone, so that the sum is the same to the last bit wherever they are
computed and in whatever order they finish.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from loglin.corpus.stored import StoredFile, read_ahead
from loglin.kernels.vectors import add_at
from loglin.optimize.objective import HasCurvature, HasLearner
from loglin.optimize.rows import Room

if TYPE_CHECKING:
    from loglin.objectives.part_learners import PartLearner

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
    at_once: int  # how many parts are computed at the same time

    def map(self, function: Callable[[Any], Any], items: Sequence) -> Iterator:
        """function(item) of every item, in their order."""

    def total(self, function: Callable[[StoredFile, np.ndarray], Sums], files: Sequence, weights: np.ndarray) -> Total:
        """The tree sum of function(file, weights) over all files."""

    def about(self) -> dict[str, Any]:
        """What a model's record says of it."""


class InOrder:
    """One part after the other in this process, the next one read ahead."""

    is_here, at_once = True, 1

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
    memory: int  # numbers that L-BFGS should remember at least: steps times features

    @classmethod
    def of(cls, file: StoredFile, objective: Any, tokens: int) -> Facts:
        of_values = getattr(objective, "magnitudes", lambda: None)()
        return cls(
            file,
            bool(getattr(objective, "convex", False)),
            bool(getattr(objective, "nonnegative", True)),
            isinstance(objective, HasCurvature),
            isinstance(objective, HasLearner) and not getattr(objective, "starts_cold", False),
            of_values is not None,
            tokens,
            getattr(objective, "memory", 0) * getattr(objective, "n_features", 0),
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
        self.memory = min((part.memory for part in parts), default=0) // max(n_features, 1)
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
    def learner(self, seed: int = 0) -> PartLearner | None:
        """What finds weights to begin with; None where parts have none."""
        from loglin.objectives.part_learners import PartLearner

        objective, _ = self.files[0].load()
        return None if objective.learner(seed) is None else PartLearner(self, seed)
