"""Both structures against enumeration: sums, marginals, best, n-best, samples, entropy, restrictions."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import oracle
from loglin.errors import LoglinError
from loglin.kernels import logspace
from loglin.structures import Chain, Local

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")  # no NaN on the way, with the JIT off
CLOSE = {"rtol": 1e-9, "atol": 1e-9}
KINDS = list(itertools.product((1, 2), (False, True)))  # order, per_step


def sprinkle(rng, array, share):
    """Forbid a random share of the entries."""
    if array is None:
        return None
    return np.where(rng.random(array.shape) < share, -np.inf, array)


def make_chain(seed, T, L, order, per_step, scale=1.0, forbidden=0.0):
    rng = np.random.default_rng(seed)
    arrays = oracle.random_chain(rng, T, L, order, per_step)
    return tuple(None if a is None else sprinkle(rng, scale * a, forbidden) for a in arrays)


def check_ranking(found, listing, k):
    """Scores in exact order, no duplicates, no more than exist, each label sequence with its own score."""
    truth = oracle.ranked(listing)[:k]
    scores = dict(listing)
    sequences = [tuple(int(l) for l in labels) for labels, _ in found]
    values = [score for _, score in found]
    assert len(found) == len(truth)
    assert len(set(sequences)) == len(sequences)
    assert all(a >= b for a, b in itertools.pairwise(values))
    np.testing.assert_allclose(values, [score for _, score in truth], **CLOSE)
    np.testing.assert_allclose(values, [scores[y] for y in sequences], **CLOSE)


def check_chain(arrays):
    """Every quantity of a chain against enumeration."""
    model, listing = Chain(*arrays), oracle.chain(*arrays)
    T, L = arrays[0].shape
    np.testing.assert_allclose(model.partition(), oracle.log_partition(listing), **CLOSE)
    for k in (1, 4, L**T + 3):
        check_ranking(model.nbest(k), listing, k)
    if not listing:
        for impossible in (model.marginals, model.transition_marginals, model.best, model.entropy):
            with pytest.raises(LoglinError, match="No sequence"):
                impossible()
        return
    np.testing.assert_allclose(model.marginals(), oracle.node_marginals(listing, T, L), **CLOSE)
    np.testing.assert_allclose(model.transition_marginals(), oracle.pair_marginals(listing, T, L), **CLOSE)
    np.testing.assert_allclose(model.entropy(), oracle.entropy(listing), **CLOSE)
    labels, score = model.best()
    assert tuple(labels) in oracle.best_set(listing)
    np.testing.assert_allclose(score, max(s for _, s in listing), **CLOSE)
    for y, score in listing:
        np.testing.assert_allclose(model.score(y), score, **CLOSE)
    drawn = model.sample(20, np.random.default_rng(0))
    assert {tuple(y) for y in drawn.tolist()} <= {y for y, _ in listing}


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    T=st.integers(0, 4),
    L=st.integers(1, 3),
    kind=st.sampled_from(KINDS),
    scale=st.sampled_from([0.0, 1.0, 30.0, 1e5]),
    forbidden=st.sampled_from([0.0, 0.3, 0.9]),
)
@example(seed=0, T=0, L=2, kind=(2, True), scale=1.0, forbidden=0.0)
@example(seed=0, T=1, L=1, kind=(1, True), scale=1.0, forbidden=0.0)
@example(seed=0, T=4, L=3, kind=(2, False), scale=1.0, forbidden=1.0)
def test_chain_equals_enumeration(seed, T, L, kind, scale, forbidden):
    check_chain(make_chain(seed, T, L, *kind, scale, forbidden))


@pytest.mark.parametrize(("order", "per_step"), KINDS)
@pytest.mark.parametrize(("T", "L"), [(6, 3), (5, 1), (1, 4), (2, 3)])
def test_chain_sizes(order, per_step, T, L):
    check_chain(make_chain(7, T, L, order, per_step))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(KINDS), forbidden=st.sampled_from([0.0, 0.2]))
def test_spans(seed, kind, forbidden):
    T, L = 5, 3
    arrays = make_chain(seed, T, L, *kind, forbidden=forbidden)
    listing = oracle.chain(*arrays)
    model = Chain(*arrays)
    rng = np.random.default_rng(seed)
    for start in range(T):
        allowed = rng.random((rng.integers(0, T - start + 1), L)) < 0.6
        if listing:
            truth = oracle.span_probability(listing, start, allowed)
            np.testing.assert_allclose(model.span_probability(start, allowed), truth, **CLOSE)
        else:
            with pytest.raises(LoglinError, match="No sequence"):
                model.span_probability(start, allowed)


@pytest.mark.parametrize(("order", "per_step"), KINDS)
def test_forced_labels(order, per_step):
    arrays = make_chain(3, 4, 3, order, per_step)
    model = Chain(*arrays).restrict({0: 2, 2: [0, 1], 3: np.int64(1)})
    kept = [(y, s) for y, s in oracle.chain(*arrays) if y[0] == 2 and y[2] < 2 and y[3] == 1]
    np.testing.assert_allclose(model.partition(), oracle.log_partition(kept), **CLOSE)
    np.testing.assert_allclose(model.marginals(), oracle.node_marginals(kept, 4, 3), **CLOSE)
    check_ranking(model.nbest(100), kept, 100)
    assert Chain(*arrays).restrict({}).partition() == Chain(*arrays).partition()
    assert Chain(*arrays).restrict({1: []}).partition() == -math.inf


@pytest.mark.parametrize(("order", "per_step"), KINDS)
@pytest.mark.parametrize("T", [1, 4])
def test_legal_transitions(order, per_step, T):
    arrays = make_chain(5, T, 3, order, per_step)
    legal = np.array([[1, 1, 0], [1, 1, 1], [1, 0, 1]], dtype=bool)
    first, last = np.array([1, 1, 0], dtype=bool), np.array([1, 0, 1], dtype=bool)
    kept = [
        (y, s)
        for y, s in oracle.chain(*arrays)
        if first[y[0]] and last[y[-1]] and all(legal[b, c] for b, c in itertools.pairwise(y))
    ]
    model = Chain(*arrays).forbid(legal, first, last)
    np.testing.assert_allclose(model.partition(), oracle.log_partition(kept), **CLOSE)
    np.testing.assert_allclose(model.transition_marginals(), oracle.pair_marginals(kept, T, 3), **CLOSE)
    np.testing.assert_allclose(model.entropy(), oracle.entropy(kept), **CLOSE)
    check_ranking(model.nbest(100), kept, 100)


@pytest.mark.parametrize(("order", "per_step"), KINDS)
@pytest.mark.parametrize("forbidden", [0.0, 0.1])
def test_forward_backward(order, per_step, forbidden):
    T, L = 5, 3
    arrays = make_chain(2, T, L, order, per_step, forbidden=forbidden)
    listing = oracle.chain(*arrays)
    assert listing
    nodes, pairs = np.full((T, L), np.nan), np.full((T - 1, L, L), np.nan)
    triples = np.ones((L if order == 2 else 0, L, L))
    logz = logspace.forward_backward(*Chain(*arrays)._arrays, nodes, pairs, triples)
    np.testing.assert_allclose(logz, oracle.log_partition(listing), **CLOSE)
    np.testing.assert_allclose(nodes, oracle.node_marginals(listing, T, L), **CLOSE)
    np.testing.assert_allclose(pairs, oracle.pair_marginals(listing, T, L), **CLOSE)
    if order == 2:
        np.testing.assert_allclose(triples, 1 + oracle.triple_counts(listing, T, L), **CLOSE)


def test_forward_backward_of_the_impossible():
    arrays = Chain(np.zeros((3, 2)), np.full((2, 2), -np.inf), np.zeros((2, 2, 2)))._arrays
    nodes, pairs, triples = np.ones((3, 2)), np.ones((2, 2, 2)), np.ones((2, 2, 2))
    assert logspace.forward_backward(*arrays, nodes, pairs, triples) == -math.inf
    assert not nodes.any()
    assert not pairs.any()
    assert (triples == 1).all()


def test_marginals_are_gradients_of_the_partition():
    scores, transitions, trigrams = make_chain(11, 4, 3, 2, True)
    model = Chain(scores, transitions, trigrams)
    slope = oracle.numeric_gradient(lambda x: Chain(x, transitions, trigrams).partition(), scores)
    np.testing.assert_allclose(model.marginals(), slope, atol=1e-8)
    slope = oracle.numeric_gradient(lambda x: Chain(scores, x, trigrams).partition(), transitions)
    np.testing.assert_allclose(model.transition_marginals(), slope, atol=1e-8)


@pytest.mark.parametrize("order", [1, 2])
def test_ties_come_in_lexicographic_order(order):
    rng = np.random.default_rng(4)
    T, L = 4, 3
    trigrams = rng.integers(0, 2, (L, L, L)) if order == 2 else None
    model = Chain(rng.integers(0, 2, (T, L)), rng.integers(0, 2, (L, L)), trigrams)
    truth = oracle.ranked(oracle.chain(model.scores, model.transitions, model.trigrams))
    assert len({score for _, score in truth}) < len(truth)
    assert [(tuple(y), score) for y, score in model.nbest(L**T)] == truth
    assert tuple(model.best()[0]) == truth[0][0]


@pytest.mark.parametrize(("order", "per_step"), KINDS)
def test_sample_frequencies(order, per_step):
    arrays = make_chain(8, 3, 3, order, per_step, forbidden=0.1)
    listing = oracle.chain(*arrays)
    n = 20_000
    drawn = Chain(*arrays).sample(n, np.random.default_rng(1))
    codes = drawn @ [9, 3, 1]
    counts = np.bincount(codes, minlength=27)
    expected = np.zeros(27)
    for (y, _), p in zip(listing, oracle.probabilities(listing), strict=True):
        expected[np.dot(y, [9, 3, 1])] = n * p
    assert (counts[expected == 0] == 0).all()
    deviation = np.abs(counts - expected) / np.sqrt(np.maximum(expected * (1 - expected / n), 1))
    assert deviation.max() < 4.5


def test_huge_weights_keep_small_differences():
    scores = np.array([[1e6, 1e6 + 1], [-1e6, -1e6 - 2], [1e6, -1e6]])
    transitions = np.array([[-1e6, 0.5], [-np.inf, -1e6]])
    check_chain((scores, transitions, None))
    check_chain((np.array([[1e5, 1e5 + 0.5], [0.0, 1e5]]), np.zeros((2, 2)), np.zeros((2, 2, 2))))


@pytest.mark.parametrize("order", [1, 2])
def test_empty_sentence(order):
    model = Chain(np.empty((0, 2)), np.zeros((2, 2)), np.zeros((2, 2, 2)) if order == 2 else None)
    assert model.partition() == 0
    assert model.entropy() == 0
    assert model.score([]) == 0
    assert model.marginals().shape == (0, 2)
    assert model.transition_marginals().shape == (0, 2, 2)
    assert model.best()[0].shape == (0,)
    assert [(y.tolist(), s) for y, s in model.nbest(3)] == [([], 0.0)]
    assert model.nbest(0) == []
    assert model.sample(4, np.random.default_rng(0)).shape == (4, 0)
    assert model.span_probability(0, np.empty((0, 2), dtype=bool)) == 1
    assert model.forbid(np.zeros((2, 2)), np.zeros(2), np.zeros(2)).partition() == 0


def test_impossible_chain_cannot_be_sampled():
    with pytest.raises(LoglinError, match="No sequence of 2 labels"):
        Chain(np.zeros((2, 2)), np.full((2, 2), -np.inf)).sample(1, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ((np.zeros(3), np.zeros((3, 3))), "scores must have shape"),
        ((np.zeros((2, 0)), np.zeros((0, 0))), "at least one label"),
        ((np.zeros((4, 3)), np.zeros((2, 3, 3))), r"\(3, 3, 3\).*not \(2, 3, 3\)"),
        ((np.zeros((4, 3)), np.zeros((3, 3)), np.zeros((3, 3))), "trigrams must have shape"),
        ((np.array([[0, np.nan]]), np.zeros((2, 2))), r"scores\[0, 1\] is nan"),
        ((np.zeros((1, 2)), np.array([[0, 0], [np.inf, 0]])), r"transitions\[1, 0\] is inf"),
        ((np.zeros((1, 1)), [["x"]]), "transitions must be an array of numbers"),
    ],
)
def test_chain_refuses(arrays, sentence):
    with pytest.raises(LoglinError, match=sentence):
        Chain(*arrays)


def test_chain_refuses_requests():
    model = Chain(np.zeros((2, 3)), np.zeros((3, 3)))
    for request in (
        lambda: model.score([0]),
        lambda: model.score([0, 3]),
        lambda: model.score([0, -1]),
        lambda: model.restrict({2: 0}),
        lambda: model.restrict({0: 3}),
        lambda: model.nbest(-1),
        lambda: model.span_probability(1, np.ones((2, 3))),
        lambda: model.span_probability(0, np.ones((1, 2))),
        lambda: model.forbid(np.ones((2, 2))),
        lambda: model.forbid(np.ones((3, 3)), first=np.ones(2)),
    ):
        with pytest.raises(LoglinError):
            request()


def test_chain_keeps_its_own_arrays():
    scores = np.zeros((2, 2))
    model = Chain(scores, np.zeros((2, 2)))
    scores[:] = 5
    assert model.partition() == pytest.approx(math.log(4))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    N=st.integers(0, 5),
    L=st.integers(1, 4),
    scale=st.sampled_from([0.0, 1.0, 30.0, 1e5]),
    forbidden=st.sampled_from([0.0, 0.3]),
    masked=st.booleans(),
)
def test_local_equals_enumeration(seed, N, L, scale, forbidden, masked):
    rng = np.random.default_rng(seed)
    scores = sprinkle(rng, scale * rng.normal(size=(N, L)), forbidden)
    candidates = rng.random((N, L)) < 0.6 if masked else None
    if masked:
        candidates[np.arange(N), rng.integers(0, L, N)] = True
    model, rows = Local(scores, candidates), oracle.local(scores, candidates)
    np.testing.assert_allclose(model.partition(), [oracle.log_partition(row) for row in rows], **CLOSE)
    labels, values = model.nbest(L + 2)
    assert labels.shape == values.shape == (N, L)
    for i, row in enumerate(rows):
        assert [((l,), v) for l, v in zip(labels[i], values[i], strict=True) if l >= 0] == oracle.ranked(row)
        assert (values[i, len(row) :] == -np.inf).all()
    blocked = [i for i, row in enumerate(rows) if not row]
    if blocked:
        for impossible in (model.marginals, model.best, model.entropy):
            with pytest.raises(LoglinError, match=f"row {blocked[0]};"):
                impossible()
        return
    for i, row in enumerate(rows):
        np.testing.assert_allclose(model.marginals()[i : i + 1], oracle.node_marginals(row, 1, L), **CLOSE)
        np.testing.assert_allclose(model.entropy()[i], oracle.entropy(row), **CLOSE)
        assert ((model.best()[0][i],), model.best()[1][i]) == oracle.ranked(row)[0]
    for drawn in model.sample(10, rng):
        assert all((l,) in dict(row) for l, row in zip(drawn.tolist(), rows, strict=True))


def test_local_sample_frequencies():
    scores = np.array([[0.0, 1.0, -np.inf, 2.0], [1e5, 1e5, -1e5, 1e5 - 1]])
    model, n = Local(scores, [[1, 1, 1, 1], [1, 0, 1, 1]]), 20_000
    drawn = model.sample(n, np.random.default_rng(2))
    assert drawn.shape == (n, 2)
    for i, row in enumerate(oracle.local(scores, model.candidates)):
        expected = n * oracle.node_marginals(row, 1, 4)[0]
        counts = np.bincount(drawn[:, i], minlength=4)
        deviation = np.abs(counts - expected) / np.sqrt(np.maximum(expected * (1 - expected / n), 1))
        assert deviation.max() < 4.5
        assert (counts[expected == 0] == 0).all()


def test_local_ties_go_to_the_lowest_label():
    scores = np.random.default_rng(3).integers(0, 3, (4, 200)).astype(float)
    model = Local(scores)
    for i, row in enumerate(oracle.local(scores)):
        assert [(l,) for l in model.nbest(200)[0][i]] == [y for y, _ in oracle.ranked(row)]
        assert model.best()[0][i] == oracle.ranked(row)[0][0][0]


def test_local_restrict():
    scores = np.arange(6.0).reshape(2, 3)
    model = Local(scores, [[1, 1, 0], [1, 1, 1]]).restrict({1: [0, 2]})
    rows = oracle.local(scores, [[1, 1, 0], [1, 0, 1]])
    np.testing.assert_allclose(model.partition(), [oracle.log_partition(row) for row in rows], **CLOSE)
    assert model.restrict({1: 1}).partition()[1] == -np.inf
    with pytest.raises(LoglinError, match="row 1;"):
        model.restrict({1: 1}).marginals()


def test_local_refuses():
    for scores, candidates, sentence in (
        ([[0.0, 1.0], [0.0, 1.0]], [[1, 0], [0, 0]], "Row 1 has no candidates"),
        ([[0.0, 1.0]], [[1, 1, 1]], "shape of scores"),
        ([0.0, 1.0], None, "scores must have shape"),
        ([[0.0, np.nan]], None, r"scores\[0, 1\] is nan"),
    ):
        with pytest.raises(LoglinError, match=sentence):
            Local(scores, candidates)
    with pytest.raises(LoglinError, match="Cannot restrict row 3"):
        Local([[0.0, 1.0]]).restrict({3: 0})


@pytest.mark.parametrize("length", [1, 2, 3, 5])
@pytest.mark.parametrize("second_order", [False, True])
def test_steps_around_a_label_are_what_the_score_changes_by(length, second_order):
    rng = np.random.default_rng(length)
    trigrams = rng.normal(size=(3, 3, 3)) if second_order else None
    chain = Chain(rng.normal(size=(length, 3)), rng.normal(size=(max(length - 1, 0), 3, 3)), trigrams)
    labels = rng.integers(0, 3, length)
    for t in range(length):
        before, after = chain.steps_around(labels, t)
        changed = [chain.score([*labels[:t], y, *labels[t + 1 :]]) - chain.scores[t, y] for y in range(3)]
        np.testing.assert_allclose(np.diff(before + after), np.diff(changed), atol=1e-12)
        alone = [chain.score([*labels[:t], y, *labels[t + 1 :]]) for y in range(3)] if t + 1 == length else None
        if alone is not None:
            np.testing.assert_allclose(np.diff(before + chain.scores[t]), np.diff(alone), atol=1e-12)
            assert not after.any()
