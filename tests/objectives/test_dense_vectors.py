"""Vectors of tokens in every objective on chains: sums against enumeration, gradients against differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import oracle
from loglin import Tagger
from loglin.criteria.registry import criterion
from loglin.features.design import Vectors
from loglin.features.scoring import Scorer
from loglin.objectives.stochastic import StochasticLearner
from loglin.optimize.run import Run
from loglin.threads import Threads

CRITERIA = [
    ("crf", 1), ("crf", 2), ("memm", 1), ("memm", 2), ("pseudolikelihood", 1), ("piecewise", 1), ("margin", 1),
    ("label-likelihood", 1), ("accuracy", 1), ("expected-accuracy", 1), ("boosting", 1),
]  # fmt: skip
DIMENSIONS = 4


def small(seed: int = 0, labels: int = 3):
    """Sentences, labels and vectors."""
    rng = np.random.default_rng(seed)
    lengths = [3, 1, 4, 2, 3]
    X = [[f"w{rng.integers(4)}" for _ in range(n)] for n in lengths]
    y = [[f"y{rng.integers(labels)}" for _ in range(n)] for n in lengths]
    return X, y, [rng.standard_normal((n, DIMENSIONS)).astype(np.float32) for n in lengths]


def problem_of(name: str = "crf", order: int = 1, template: str | None = None, seed: int = 0, labels: int = 3):
    X, y, V = small(seed, labels)
    tagger = Tagger(name, order=order, template=template)
    return tagger.problem(X, y, vectors=V), V


def objective_of(name: str, problem, dtype: type = np.float64):
    return criterion(name, "chain").way(problem, Run()).objective(dtype)


@pytest.mark.parametrize(("name", "order"), CRITERIA)
def test_gradients_are_those_of_differences(name, order):
    problem, _ = problem_of(name, order)
    objective = objective_of(name, problem)
    w = np.random.default_rng(1).standard_normal(objective.n_features) * 0.3
    _, gradient = objective(w)
    places = np.random.default_rng(2).permutation(len(w))[:40]  # of words and steps too
    first, last = problem.index.ptr[problem.extractor.n_attributes], problem.index.ptr[-1]
    places = np.union1d(np.arange(first, last), places)
    assert last - first == DIMENSIONS * 3

    def at(u: np.ndarray) -> float:
        x = w.copy()
        x[places] = u
        return objective(x)[0]

    assert gradient[places] == pytest.approx(oracle.numeric_gradient(at, w[places]), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("labels", [2, 3])
def test_likelihood_is_that_of_all_sequences(labels):
    problem, V = problem_of(template="B\n", labels=labels)
    objective = objective_of("crf", problem)
    w = np.random.default_rng(1).standard_normal(objective.n_features)
    unigram, _, pairs, _ = problem.index.split(w)
    W, T = unigram.reshape(DIMENSIONS, labels), np.zeros(labels * labels)
    T[problem.index.pairs] = pairs
    expected, gold = 0.0, iter(problem.gold.codes.tolist())
    for v in V:
        scores, y = v.astype(np.float64) @ W, tuple(next(gold) for _ in v)
        listing = oracle.chain(scores, T.reshape(labels, labels))
        expected += oracle.log_partition(listing) - dict(listing)[y]
    assert objective(w)[0] == pytest.approx(expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_vectors_are_attributes_with_values(dtype):
    """The same sums, residuals and curvature as from lists of 4 attributes for each token."""
    problem, _ = problem_of()
    design = problem.design
    lists = replace(design, tokens=design.unfolded(), vectors=(), heads=None)
    w = np.random.default_rng(1).standard_normal(problem.index.n_features)
    ours, theirs = (objective_of("crf", _with_design(problem, d), dtype) for d in (design, lists))
    near = {"rel": 1e-4, "abs": 1e-4} if dtype is np.float32 else {"rel": 1e-9, "abs": 1e-12}
    assert ours(w)[0] == pytest.approx(theirs(w)[0], **near)
    assert ours(w)[1] == pytest.approx(theirs(w)[1], **near)
    assert ours.curvature(w) == pytest.approx(theirs.curvature(w), **near)
    assert ours.magnitudes() == pytest.approx(theirs.magnitudes())


def test_vectors_that_tokens_share_are_summed_once():
    """Tokens that name a row score and are summed as if each had a copy of it; several groups stand side by side."""
    problem, _ = problem_of()
    design, rng = problem.design, np.random.default_rng(3)
    rows = rng.standard_normal((3, 2)).astype(np.float32)
    which = rng.integers(0, 3, design.n_tokens).astype(np.int32)
    first = design.vectors[0].first
    for of_token, table in ((which, rows), (None, rows[which])):
        two = Vectors(first + DIMENSIONS, table, of_token), design.vectors[0]
        other = _with_design(problem, replace(design, n_attributes=first + DIMENSIONS + 2, vectors=two))
        objective = objective_of("crf", other)
        w = np.random.default_rng(1).standard_normal(objective.n_features)
        if of_token is not None:
            found = objective(w)
        else:
            assert objective(w)[0] == pytest.approx(found[0])
            assert objective(w)[1] == pytest.approx(found[1])


def test_any_number_of_threads_gives_the_same_bits():
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 30, 400).tolist()
    X = [[f"w{rng.integers(50)}" for _ in range(n)] for n in lengths]
    y = [[f"y{rng.integers(5)}" for _ in range(n)] for n in lengths]
    V = [rng.standard_normal((n, 40)).astype(np.float32) for n in lengths]
    found = []
    for threads in (1, 2, 3):
        problem = Tagger(threads=threads).problem(X, y, vectors=V)
        objective = objective_of("crf", problem, np.float32)
        w = np.random.default_rng(1).standard_normal(objective.n_features)
        value, gradient = objective(w)
        found.append((value, gradient.tobytes(), objective.curvature(w).tobytes()))
    assert found[0] == found[1] == found[2]


def test_a_learner_sees_vectors_as_attributes():
    problem, _ = problem_of()
    objective = objective_of("crf", problem, np.float64)
    learner = StochasticLearner(objective)
    w = np.random.default_rng(1).standard_normal(objective.n_features)
    learner.reset(w)
    assert learner.get() == pytest.approx(w)
    whole = Scorer(problem.design, problem.index, np.float64, Threads(1))
    whole.load(w)
    for scorer in (whole, learner.scorer):
        tokens, scores = scorer.tokens, []
        for t in range(problem.design.n_tokens):
            rows, single = (slice(p[t], p[t + 1]) for p in (tokens.row_ptr, tokens.entry_ptr))
            values = tokens.row_values[rows] if tokens.row_values.size else np.ones(rows.stop - rows.start)
            total = values @ scorer.table[tokens.row_ids[rows]]
            weights = w[tokens.entry_ids[single]] * (tokens.entry_values[single] if tokens.entry_values.size else 1)
            np.add.at(total, tokens.entry_labels[single], weights)
            scores.append(total)
        if scorer is whole:
            expected = np.array(scores)
    assert np.array(scores) == pytest.approx(expected, abs=1e-6)


def _with_design(problem, design):
    other = replace(problem, design=design)
    other.__dict__.pop("index", None)
    return other
