"""Forests against enumeration: sums, expectations, best, n-best, samples, covers, masks."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import oracle
from loglin.errors import LoglinError
from loglin.grammars.grammar import Grammar
from loglin.kernels import forest_logs
from loglin.structures import Forest, Forests
from loglin.structures.forest import chart_bytes, max_recall, scores_of
from loglin.threads import Threads
from support.forests import (
    CLOSE,
    INF,
    Attributed,
    Case,
    cells_of,
    check_forest,
    sprinkle,
)

SCALES = st.sampled_from([0.0, 1.0, 30.0, 1e4])


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 4),
    N=st.integers(1, 3),
    B=st.integers(0, 5),
    U=st.integers(0, 3),
    scale=SCALES,
    forbidden=st.sampled_from([0.0, 0.0, 0.2, 0.6]),
    per_cell=st.booleans(),
    splits=st.booleans(),
)
@example(seed=0, n=1, N=1, B=1, U=0, scale=1.0, forbidden=0.0, per_cell=False, splits=True)
@example(seed=0, n=1, N=3, B=0, U=3, scale=1.0, forbidden=0.0, per_cell=True, splits=False)
@example(seed=0, n=2, N=2, B=0, U=1, scale=1.0, forbidden=0.0, per_cell=False, splits=False)
@example(seed=0, n=3, N=2, B=3, U=1, scale=1.0, forbidden=1.0, per_cell=False, splits=False)
@example(seed=5, n=4, N=1, B=1, U=0, scale=1e4, forbidden=0.0, per_cell=True, splits=True)
def test_forest_equals_enumeration(seed, n, N, B, U, scale, forbidden, per_cell, splits):
    case = Case(seed, n, N, B, U, scale, forbidden, per_cell, splits)
    check_forest(case.forest(), case.listed())


@pytest.mark.without_jit
@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_plain_forest(scale):
    for seed in range(3):
        case = Case(seed, 3, 3, 4, 2, scale, 0.1, seed > 0, seed > 1)
        check_forest(case.forest(), case.listed())
    check_forest((case := Case(9, 2, 2, 2, 0, scale, 1.0)).forest(), case.listed())


def test_forest_without_roots_allows_all():
    case = Case(3, 3)
    case.roots = np.zeros(3)
    forest = Forest(case.grammar, case.leaves, case.rules)
    check_forest(forest, case.listed())


# ---------------------------------------------------------------- many sentences, attributes, gradients


def check_totals(case, seed=0, allowed=None, forests=None):
    weight = np.random.default_rng(seed).normal(size=len(case.lengths))
    forests = forests or case.forests
    goals = np.stack([0.25 * weight, 0.75 * weight], axis=1)  # of a sentence both goals are the same trees
    found = forests.totals(case.scores(), goals, dense=True, spans=True)
    for name, value in case.expected(weight, allowed).items():
        np.testing.assert_allclose(getattr(found, name), value, err_msg=name, **CLOSE)
    np.testing.assert_array_equal(forests.totals(case.scores()).partitions, found.partitions)
    for n, (best, listed) in enumerate(zip(forests.best(case.scores()), case.listed(allowed), strict=True)):
        if not listed.trees:
            assert best is None
            with pytest.raises(LoglinError, match="No tree is possible"):
                forests.sample(n, 1, case.scores(), np.random.default_rng(0))
            continue
        rows = forests.layout.row[forests.layout.arcs[n] :]
        scores = dict(listed.listing)
        assert best.score == pytest.approx(max(scores.values()), rel=1e-9, abs=1e-8)
        assert scores[listed.told(best.nodes, rows)] == pytest.approx(best.score, rel=1e-9, abs=1e-8)
        drawn = forests.sample(n, 5, case.scores(), np.random.default_rng(0))
        assert {listed.told(d.nodes, rows) for d in drawn} <= set(scores)
        top = forests.best_chart(n, case.scores()).nbest(3)
        np.testing.assert_allclose([s for _, s in top], sorted(scores.values(), reverse=True)[:3], **CLOSE)


ATTRIBUTED = {
    "seed": st.integers(0, 10**6),
    "lengths": st.lists(st.integers(1, 4), min_size=1, max_size=3),
    "N": st.integers(1, 3),
    "B": st.integers(0, 5),
    "U": st.integers(0, 2),
    "scale": SCALES,
    "forbidden": st.sampled_from([0.0, 0.0, 0.2]),
    "templates": st.integers(0, 3),
    "splits": st.integers(0, 2),
}


@settings(max_examples=100, deadline=None)
@given(**ATTRIBUTED, K=st.integers(1, 3))
def test_totals_equal_enumeration(K, **given):
    check_totals(Attributed(**given, K=min(K, given["N"])), given["seed"])


@pytest.mark.without_jit
@pytest.mark.parametrize("local", [1, 2])
@settings(max_examples=60, deadline=None)
@given(**ATTRIBUTED)
def test_locally_normalized_rules_equal_normalizing_by_hand(local, **given):
    check_totals(Attributed(**given, local=local), given["seed"])


@settings(max_examples=60, deadline=None)
@given(**ATTRIBUTED, none_at=st.sampled_from([0.0, 0.5]))
def test_masks_equal_enumeration_of_what_they_allow(none_at, **given):
    case = Attributed(**given)
    rng = np.random.default_rng(given["seed"])
    masks = rng.random((4, case.grammar.n_symbols)) < 0.7
    mask_of = np.where(rng.random(case.forests.n_cells) < none_at, -1, rng.integers(0, 4, case.forests.n_cells))
    allowed = np.where(mask_of[:, None] < 0, True, masks[mask_of])
    check_totals(case, given["seed"], allowed, case.forests.masked(mask_of, masks))


@pytest.mark.without_jit
def test_plain_totals_with_attributes_masks_and_normalization():
    for seed, local in itertools.product(range(2), range(3)):
        check_totals(Attributed(seed, [3, 1, 2], 2, 3, 1, local=local, forbidden=0.1), seed)
    case = Attributed(5, [3, 2], 2, 4, 1)
    allowed = np.random.default_rng(2).random((case.forests.n_cells, 2)) < 0.8
    check_totals(case, 0, allowed, case.forests.masked(np.arange(len(allowed)), allowed))
    check_totals(Attributed(3, [3], 2, 3, 1, scale=1e4), 0)


@pytest.mark.parametrize("shift", [0.0, -400.0])
@pytest.mark.parametrize("seed", range(3))
def test_expectations_are_gradients_of_the_partition(seed, shift):
    """Central differences for every input; a shift of one rule brings the sums into logarithms."""
    case = Attributed(seed, [4, 1, 3], 3, 6, 2, templates=3, splits=2)
    case.rules[0] += shift
    weight = np.random.default_rng(seed).normal(size=3)
    forests, goals = case.forests, np.stack([0 * weight, weight], axis=1)
    found = forests.totals(case.scores(), goals)
    start = {"leaves": case.leaves, "roots": case.roots, "rules": case.rules, "pairs": case.spans[3]}
    for name, at in (start | {"splits": case.splits[3]}).items():

        def value(x, name=name):
            return weight @ forests.totals(case.scores(**{name: x})).partitions[:, 1]

        np.testing.assert_allclose(getattr(found, name), oracle.numeric_gradient(value, at), atol=1e-7, err_msg=name)


def test_dense_expectations_are_gradients_of_the_partition():
    case = Case(4, 4, per_cell=True, splits=True)

    def partition(**changed):
        part = {"leaves": case.leaves, "rules": case.rules, "roots": case.roots, "splits": case.splits} | changed
        return Forest(case.grammar, **part).partition()

    slope = oracle.numeric_gradient(lambda x: partition(rules=x), case.rules)
    np.testing.assert_allclose(case.forest().marginals()[0], slope, atol=1e-7)
    slope = oracle.numeric_gradient(lambda x: partition(leaves=x), case.leaves)
    np.testing.assert_allclose(case.forest().leaf_marginals(), slope, atol=1e-7)


@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_attributes_that_cancel_or_meet_at_a_rule(scale):
    """A rule is hit twice by one attribute, by two, and by its parent's; the sum is exactly 0 or not."""
    case = Attributed(2, [4], 2, 5, 1)
    R, parent = case.grammar.n_rules, int(case.grammar.binary[1, 0])
    case.spans = [
        np.array([[0, 1], [0, 2], [1, 2], [2, -1], [-1, -1], [0, 0], [2, 2], [3, 1], [1, 1], [0, 3]], np.int32),
        np.array([0, 2, 4, 6, 7]),
        np.array([1, 1, 1, R + parent, R + parent, R - 1, 1], np.int32),
        scale * np.array([1.5, -1.5, 0.25, -0.25, 0.25, 0.5, 0.0]),
    ]
    check_totals(case)


def test_weights_of_zero_are_as_no_attributes():
    case = Attributed(1, [4, 2], 3, 5, 1)
    case.spans[3][:] = case.splits[3][:] = 0.0
    plain = case.forests.totals(scores_of(case.leaves, case.roots, case.rules))
    np.testing.assert_array_equal(case.forests.totals(case.scores()).partitions, plain.partitions)


# ---------------------------------------------------------------- numbers at their limits


def with_a_rule_too_small(grammar, leaves, rules, roots):
    """The same trees with a symbol that nothing makes, whose rule is beyond the range of scaled numbers."""
    other = Grammar.of([*grammar.rules, ("Z", "Z", "Z")], [*grammar.symbols, "Z"])
    wider = np.full((*rules.shape[:-1], other.n_rules), -1e4)
    wider[..., [other.rule_number[rule] for rule in grammar.rules]] = rules
    return Forest(other, np.column_stack([leaves, np.full(len(leaves), -INF)]), wider, np.append(roots, -INF))


@pytest.mark.parametrize("per_cell", [False, True])
@pytest.mark.parametrize("scale", [0.0, 1.0, 5.0])
def test_scaled_and_log_domain_sums_agree(per_cell, scale):
    rng = np.random.default_rng(1)
    for n in (1, 2, 7, 12):
        case = Case(n, n, 6, 30, 4, scale, 0.05, per_cell)
        case.roots = rng.normal(size=6)
        quick = case.forest()
        slow = with_a_rule_too_small(case.grammar, case.leaves, case.rules, case.roots)
        at = [slow.grammar.rule_number[rule] for rule in case.grammar.rules]
        np.testing.assert_allclose(quick.partition(), slow.partition(), **CLOSE)
        np.testing.assert_allclose(quick.expectations(), slow.expectations()[at], **CLOSE)
        for found, expected, columns in zip(quick.marginals(), slow.marginals(), (at, range(6)), strict=True):
            np.testing.assert_allclose(found, expected[:, columns], **CLOSE)
        np.testing.assert_allclose(quick.leaf_marginals(), slow.leaf_marginals()[:, :6], **CLOSE)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), exponents=st.tuples(*[st.sampled_from([0.0, 60.0, 120.0, 165.0])] * 6))
@example(seed=0, exponents=(165.0,) * 6)
def test_numbers_just_within_the_range_do_not_vanish(seed, exponents):
    """Every kind of score alone is within what scaled numbers hold, but together they are not."""
    case = Attributed(seed, [3], 3, 4, 2)
    rng, leaf, root, rule, unary, span, split = np.random.default_rng(seed), *exponents
    n_binary = len(case.grammar.binary)
    case.leaves -= leaf * rng.random(case.leaves.shape).round()
    case.roots -= root * rng.random(case.roots.shape).round()
    case.rules[:n_binary] -= rule * rng.random(n_binary).round()
    case.rules[n_binary:] -= unary * rng.choice([-1.0, 0.0, 1.0], len(case.rules) - n_binary)
    case.spans[3] -= span * rng.choice([-1.0, 0.0, 1.0], len(case.spans[3]))
    case.splits[3] -= split * rng.choice([-1.0, 0.0, 1.0], len(case.splits[3]))
    check_totals(case)


@pytest.mark.parametrize(("leaf", "rule", "span", "split", "unary"), [(160,) * 5, (160, 160, 160, 160, 0), (100,) * 5])
def test_a_tree_of_many_small_numbers_does_not_vanish(leaf, rule, span, split, unary):
    """One tree, each of whose scores is within the range of scaled numbers beside another that leads nowhere."""
    grammar = Grammar.of([("A", "B", "C"), ("Z", "Z", "Z"), ("U", "A"), ("V", "U")], "ABCXYZUV")
    leaves, roots = np.full((2, 8), -INF), np.full(8, -INF)
    leaves[0, [3, 1]], leaves[1, [4, 2]], roots[7] = (0, -leaf), (0, -leaf), 0
    numbers, rules = grammar.rule_number, np.zeros(4)
    rules[numbers["A", "B", "C"]], rules[2:] = -rule, -unary
    target = np.array([numbers["A", "B", "C"]], np.int32)
    here = np.array([[-1], [0], [-1]], np.int32)  # cell (0, 2), and state 1
    spans, splits = ((here, np.array([0, 1]), target, np.array([-float(x)])) for x in (span, split))
    found = Forests.of_sentences(grammar, np.arange(8), [2]).totals(
        scores_of(leaves, roots, rules, spans=spans, splits=splits), np.array([[0.0, 1.0]])
    )
    np.testing.assert_allclose(found.partitions, -float(2 * leaf + rule + span + split + 2 * unary))
    np.testing.assert_allclose(found.rules, [1, 0, 1, 1])


def test_sums_of_one_forest_leave_no_traces_in_the_next():
    """Sentences that need logarithms stand between others, in one chunk and so in one room."""
    case = Attributed(6, [3, 2, 3, 2, 4], 3, 6, 1, scale=1.0)
    case.leaves[[4, 9]] -= 1e4 * np.arange(3)
    forests = case.forests
    forests.chunks = [(0, 5)]
    check_totals(case, 1, forests=forests)


def test_long_sentences_neither_overflow_nor_vanish():
    """S → S S and a word: the number of trees is a Catalan number, whatever the scores."""
    grammar, n = Grammar.of([("S", "S", "S")]), 120
    for leaf, rule in ((0.0, 0.0), (-50.0, 20.0), (300.0, -90.0), (-1e4, 1e4)):
        forest = Forest(grammar, np.full((n, 1), leaf), np.array([rule]))
        catalan = math.lgamma(2 * n - 1) - math.lgamma(n + 1) - math.lgamma(n)
        np.testing.assert_allclose(forest.partition(), catalan + n * leaf + (n - 1) * rule, rtol=1e-11)
        np.testing.assert_allclose(forest.expectations(), [n - 1], rtol=1e-9)
        assert forest.best().score == pytest.approx(n * leaf + (n - 1) * rule, rel=1e-12)


# ---------------------------------------------------------------- draws, covers, decoding by spans


@pytest.mark.parametrize(("seed", "per_cell", "splits"), [(1, False, False), (2, True, True)])
def test_samples_come_as_often_as_they_should(seed, per_cell, splits):
    case = Case(seed, 3, 3, 5, 2, per_cell=per_cell, splits=splits)
    forest, listed, n = case.forest(), case.listed(), 40_000
    outcomes = [outcome for outcome, _ in listed.listing]
    drawn = Counter(
        listed.told(d.nodes, forest._forests.layout.row) for d in forest.sample(n, np.random.default_rng(1))
    )
    assert set(drawn) <= set(outcomes)
    expected = n * np.array(oracle.probabilities(listed.listing))
    seen = np.array([drawn[outcome] for outcome in outcomes])
    rare = expected < 5
    expected, seen = (np.append(x[~rare], x[rare].sum() + 1e-9) for x in (expected, seen))
    free = len(expected) - 1
    assert free > 8
    assert ((seen - expected) ** 2 / np.maximum(expected, 1e-3)).sum() < free + 5 * math.sqrt(2 * free)


def bracketings(i, j):
    """Every set of spans of a binary tree over words i … j − 1."""
    if j - i == 1:
        return [[(i, j)]]
    return [
        [(i, j), *left, *right]
        for k in range(i + 1, j)
        for left, right in itertools.product(bracketings(i, k), bracketings(k, j))
    ]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 6), N=st.integers(1, 3), zeros=st.sampled_from([0.0, 0.5, 1.0]))
def test_max_recall_equals_the_best_of_all_bracketings(seed, n, N, zeros):
    rng, at = np.random.default_rng(seed), cells_of(n + 1)
    spans, worth = rng.random((len(at), N)) * (rng.random((len(at), N)) >= zeros), rng.random(N)
    found = max_recall(spans, worth)
    gain = (spans * worth).max(axis=1)
    assert [(i, j) for _, i, j in found] in bracketings(0, n)
    truth = max(sum(gain[at[s]] for s in one) for one in bracketings(0, n))
    assert sum(gain[at[i, j]] for _, i, j in found) == pytest.approx(truth)
    for A, i, j in found:
        assert (A == -1 and gain[at[i, j]] == 0) or spans[at[i, j], A] * worth[A] == gain[at[i, j]] > 0


def test_max_recall_of_a_forest_takes_its_span_marginals():
    case = Case(7, 4)
    forest = case.forest()
    assert forest.max_recall() == max_recall(case.listed().expected()["spans"].round(12), np.ones(3))
    worth = np.array([0.0, 1.0, 0.0])
    assert {A for A, _, _ in forest.max_recall(worth)} <= {-1, 1}


def covers(items, i, n):
    """Every way to put items or unknown single words (−1) side by side: (pieces, unknown, −score), its items."""
    if i == n:
        return [((0, 0, 0.0), [])]
    found = []
    for (A, b, e), score in [*items.items(), ((-1, i, i + 1), 0.0)]:
        if b == i:
            for (pieces, unknown, cost), rest in covers(items, e, n):
                found.append(((pieces + 1, unknown + (A < 0), cost - score), [(A, b, e), *rest]))
    return found


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 5), B=st.integers(0, 4), forbidden=st.sampled_from([0.0, 0.5, 0.8]))
@example(seed=0, n=3, B=2, forbidden=1.0)
def test_cover_is_the_fewest_and_best_items(seed, n, B, forbidden):
    case = Case(seed, n, 3, B, 1, 1.0, 0.0)
    rng = np.random.default_rng(seed)
    case.leaves = sprinkle(rng, case.leaves, forbidden)
    case.roots[:] = 0.0
    allowed, items = rng.random(3) < 0.7, {}
    for i, j in cells_of(n + 1):
        listed = case.listed([(tuple(range(i, j + 1)), tuple(range(i, j)))])
        for _, tree, score in listed.trees:
            A = case.grammar.number[tree[0]]
            if allowed[A]:
                items[A, i, j] = max(score, items.get((A, i, j), -INF))
    chart = case.forest()._forests.best_chart(0, case.forest()._scores)
    found = chart.cover(allowed)
    truth = min(key for key, _ in covers(items, 0, n))
    assert [b for _, b, _ in found] == [0, *(e for _, _, e in found)][:-1]
    assert found[-1][2] == n
    assert (len(found), sum(A < 0 for A, _, _ in found)) == truth[:2]
    assert sum(items[piece] for piece in found if piece[0] >= 0) == pytest.approx(-truth[2])
    assert all(e == b + 1 for A, b, e in found if A < 0)
    for A, i, j in found:
        if A >= 0:
            assert chart.nodes(A, i, j)[0].tolist()[:3] == [A, i, j]
            assert (chart.nodes(A, i, j)[:, 3] < 0).sum() == j - i


def test_a_word_without_items_leaves_the_choice_of_the_others_to_their_scores():
    """Word 0 has no tag; behind it stand two pieces, either of one word and two or of two and one."""
    grammar = Grammar.of([("B", "B", "B"), ("A", "A", "A")])
    for better in (0, 1):
        leaves = np.array([[-INF, -INF], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
        leaves[1, 1 - better] = leaves[3, better] = -INF  # A A|B … B, of which A A or B B is better
        rules = np.zeros(2)
        rules[better] = 1.0
        forest = Forest(grammar, leaves, rules)
        found = forest._forests.best_chart(0, forest._scores).cover(np.ones(2, bool))
        assert found == [(-1, 0, 1), (better, 1, 3), (1 - better, 3, 4)]


def test_many_trees_of_deep_unary_chains():
    """Lists go as deep as the tree: 40 words, and over each constituent 30 unary rules."""
    depth, n = 30, 40
    names = [f"U{d:02}" for d in range(depth + 1)]
    grammar = Grammar.of([*itertools.pairwise(names), (names[-1], names[0], names[0])], names)
    leaves = np.full((n, depth + 1), -INF)
    leaves[:, -1] = 0.0
    roots = np.where(np.arange(depth + 1) == 0, 0.0, -INF)
    found = Forest(grammar, leaves, -np.ones(grammar.n_rules), roots).nbest(30)
    assert len({d.nodes.tobytes() for d in found}) == 30
    assert {len(d.nodes) for d in found} == {(2 * n - 1) * (depth + 1)}


# ---------------------------------------------------------------- threads, empty and wrong input


def test_any_number_of_threads_gives_the_same_numbers():
    rng = np.random.default_rng(0)
    case = Attributed(1, rng.integers(1, 9, 60).tolist(), 6, 25, 2)
    forests, weights = case.forests, rng.normal(size=(60, 2))
    assert len(forests.chunks) > 4
    first, *others = (forests.totals(case.scores(), weights, Threads(n), True, True) for n in (1, 2, 3))
    assert np.abs(first.rules).max() > 0.1
    for part, other in itertools.product(vars(first), others):
        np.testing.assert_array_equal(getattr(first, part), getattr(other, part))
    trees = [forests.best(case.scores(), Threads(n)) for n in (1, 2)]
    for one, two in zip(*trees, strict=True):
        assert (one is None) == (two is None)
        assert one is None or (one.score == two.score and one.nodes.tolist() == two.nodes.tolist())


def test_no_sentences_at_all():
    case = Attributed(0, [1], 2, 2, 1)
    forests = Forests.of_sentences(case.grammar, case.tags, [])
    scores = scores_of(np.empty((0, 2)), case.roots, case.rules)
    assert forests.totals(scores, np.empty((0, 2))).partitions.shape == (0, 2)
    assert forests.best(scores) == []


def test_what_is_refused():
    case = Case(0, 3, 2, 2, 1)
    grammar, leaves, rules = case.grammar, case.leaves, case.rules
    R, n_binary = grammar.n_rules, len(grammar.binary)
    for call, part in (
        (lambda: Forest(grammar, leaves[:, :1], rules), "leaves must have shape (words, 2)"),
        (lambda: Forest(grammar, leaves[:0], rules), "with at least one word, not (0, 2)"),
        (lambda: Forest(grammar, leaves[0], rules), "leaves must have shape (words, 2)"),
        (lambda: Forest(grammar, leaves, rules[1:]), f"rules must have shape ({R},) or (6, {R})"),
        (lambda: Forest(grammar, leaves, np.zeros((5, R))), f"not (5, {R})"),
        (lambda: Forest(grammar, leaves, rules, np.zeros(3)), "roots must have shape (2,), not (3,)"),
        (
            lambda: Forest(grammar, leaves, rules, splits=np.zeros((3, n_binary))),
            f"splits must have shape (4, {n_binary})",
        ),
        (lambda: Forest(grammar, leaves * np.nan, rules), "leaves[0, 0] is nan"),
        (lambda: Forest(grammar, leaves, rules + np.inf), "rules[0] is inf"),
        (lambda: Forest(grammar, leaves, rules, np.array([0, np.nan])), "roots[1] is nan"),
        (lambda: Forest(grammar, leaves, rules, splits=np.full((4, n_binary), np.nan)), "splits[0, 0] is nan"),
        (lambda: Forest(grammar, [["x", "y"]], rules), "leaves must be an array of numbers"),
        (lambda: case.forest().nbest(0), "Cannot list 0 trees"),
    ):
        with pytest.raises(LoglinError) as caught:
            call()
        assert part in str(caught.value)


def test_a_forest_keeps_its_own_arrays():
    case = Case(0, 3)
    forest, truth = case.forest(), case.listed().partition()
    case.leaves += 5.0
    case.rules -= 5.0
    assert forest.partition() == pytest.approx(truth)


# ---------------------------------------------------------------- memory


def allocated(kernel, *given):
    """The most bytes of arrays that a kernel holds at once: those of its own, as plain Python makes them."""
    plain = getattr(kernel, "py_func", kernel)
    plain(*given)
    tracemalloc.start()
    try:
        plain(*given)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("splits", [0, 1])
def test_chart_bytes_are_what_is_allocated(splits):
    n, N = 40, 150
    case = Attributed(0, [n], N, 300, 3, templates=0, splits=splits)
    claimed, forests, scores = chart_bytes(case.grammar, n, splits > 0), case.forests, case.scores()
    nodes = np.empty((1, forests.most_nodes(0, 1), 4), np.int32)
    given = (0, 1, forests.layout, forests.tables, scores, np.empty(1), np.empty(1, np.int64), nodes)
    found = allocated(forest_logs.best_trees, *given) + nodes.nbytes
    assert 0.98 * claimed.best < found < 1.005 * claimed.best
    case.rules[0] -= 1e4  # brings the sums into logarithms
    for wanted, bytes_claimed in ((False, claimed.sums), (True, claimed.expectations)):
        room = forests._room(0, 1, scores, wanted)
        weights = np.array([[0.0, 1.0]])[: int(wanted)]
        gradient = [
            np.zeros(x.shape) for x in (case.leaves, case.roots, case.rules, *(t[3] for t in (case.spans, case.splits)))
        ]
        given = (room, weights, np.empty((1, 2)), (*gradient, np.empty((0, 0))), np.empty((0, N)))
        logs = allocated(forest_logs.sums, 0, 1, forests.layout, forests.tables, case.scores(), *given)
        assert 0.97 * bytes_claimed < sum(a.nbytes for a in room) + logs < 1.005 * bytes_claimed
