"""Chains, local decisions and forests with wild scores and arguments."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from fuzz import prepared, wild
from loglin import Chain, Forest, Lattice, Local
from loglin.structures import Sites
from loglin.structures.word_lattices import WordLattices

ODD = [np.nan, np.inf, -np.inf, 1e308, -1e308, 0.0, 700.0, -1e5]


def _array(rng: random.Random, *shape: int) -> object:
    draw = np.random.default_rng(rng.randrange(2**32))
    found = draw.normal(size=shape) * rng.choice([1, 1, 100, 1e6])
    for _ in range(rng.choice([0, 0, 1, 3])):
        if found.size:
            found.flat[rng.randrange(found.size)] = rng.choice(ODD)
    return wild.value(rng) if rng.random() < 0.05 else found.astype(rng.choice(["f8", "f8", "f4", "i8"]), copy=False)


def _sizes(rng: random.Random, n: int) -> list[int]:
    return [rng.choice([0, 1, 2, 3, 3]) for _ in range(n)]


def _count(rng: random.Random) -> Any:
    """A number of answers, most often one that can be given."""
    return (
        rng.choice([0, 1, 2, 3, 5, np.int64(2)])
        if rng.random() < 0.8
        else rng.choice([-1, 2**70, 1.5, None, "a", np.nan])
    )


def chain(rng: random.Random) -> None:
    T, L = _sizes(rng, 2)
    order = rng.choice([(L,) * 2, (max(0, T - 1), L, L), (L, L, L), (max(0, T - 2), L, L, L), (L + 1, L)])
    made = Chain(_array(rng, T, L), _array(rng, *order))
    found = made.partition()
    assert not np.isnan(found), "a partition that is no number"
    if rng.random() < 0.7:
        prepared.check_probabilities(made.marginals()) if T else made.marginals()
    made.nbest(_count(rng))
    made.sample(_count(rng), np.random.default_rng(0))
    labels, score = made.best()
    assert len(labels) == len(made.scores)
    assert not np.isnan(score)
    if rng.random() < 0.3:
        made.restrict({rng.choice([0, 1, 9, -1]): wild.value(rng)})
        made.score(wild.value(rng))


def local(rng: random.Random) -> None:
    made = Local(_array(rng, *_sizes(rng, rng.choice([1, 2, 2, 2, 3]))))
    names = [n for n in dir(made) if not n.startswith("_") and callable(getattr(made, n))]
    name = rng.choice(names)
    if name in ("partition", "marginals", "best", "entropy"):
        found = getattr(made, name)()
        if name == "marginals" and len(found):
            prepared.check_probabilities(found)


def lattice(rng: random.Random) -> None:
    allowed = np.array([[rng.random() < 0.8 for _ in range(2)] for _ in range(3)])
    words = WordLattices.chains([[rng.randrange(3) for _ in range(rng.randrange(1, 5))]], 3)
    given: list = [words, Sites.of(allowed), _array(rng, *rng.choice([(4, 4, 4), (1, 4, 4), (2, 4)]))]
    given.append(_array(rng, int(allowed.sum()) + (rng.random() < 0.1)))
    if rng.random() < 0.1:
        given[rng.randrange(2)] = wild.value(rng)
    made = Lattice(*given)
    assert not np.isnan(made.partition()), "a partition that is no number"
    rng.choice([made.best, made.expectations])()
    made.nbest(_count(rng))
    made.sample(_count(rng), np.random.default_rng(0))


def forest(rng: random.Random) -> None:
    grammar = prepared.parser().model_.grammar
    given = [grammar if rng.random() < 0.95 else wild.value(rng)]
    given.append(
        _array(rng, *(_sizes(rng, 2) if rng.random() < 0.1 else (rng.choice([0, 1, 2, 4]), grammar.n_symbols)))
    )
    given.append(_array(rng, grammar.n_rules + (rng.random() < 0.1)))
    if rng.random() < 0.2:
        given.append(_array(rng, grammar.n_symbols))
    made = Forest(*given)
    assert not np.isnan(made.partition()), "a partition that is no number"
    rng.choice([made.best, made.expectations, made.marginals, made.max_recall])()
    made.nbest(_count(rng))
    made.sample(_count(rng), np.random.default_rng(0))


KINDS = {"chain": chain, "local": local, "lattice": lattice, "forest": forest}
