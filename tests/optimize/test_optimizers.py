"""Every optimizer of the lectures: the same optimum, known answers, and what is said where there is none."""

from __future__ import annotations

import warnings
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize as scipy_minimize
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning

import oracle
from loglin import LoglinError, MaxEnt, Tagger
from loglin.cli.main import cli
from loglin.corpus import datasets
from loglin.corpus.labels import Choices, Gold
from loglin.demo.ingredients import generate
from loglin.features.attributes import AttributeExtractor
from loglin.features.design import Design, Incidence
from loglin.features.index import FeatureIndex, build_index
from loglin.objectives.candidates import CandidateLikelihood
from loglin.objectives.likelihood import ConditionalLikelihood
from loglin.objectives.local import LocalLikelihood, true_instances
from loglin.optimize.ascent import Steepest
from loglin.optimize.conjugate import Conjugate
from loglin.optimize.descent import Descent
from loglin.optimize.optimizers import optimizers
from loglin.optimize.penalties import Penalized
from loglin.optimize.record import StopTraining
from loglin.optimize.reporter import Reporter
from loglin.optimize.scaling import scale_generalized, scale_improved
from loglin.optimize.separation import recession, unbounded
from loglin.threads import Threads
from support.losses import bowl
from support.solving import fit_weights, solve_by

OPTIMIZERS = list(optimizers())
GENERAL = [name for name in OPTIMIZERS if name not in ("auto", "lbfgs")]
NOTHING = np.empty(0, np.int32)


# ---------------------------------------------------------------------- problems


def attributes(n=120, n_labels=4, seed=0, values=False):
    """Examples whose attributes tell something of their class."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_labels, size=n)
    rows = []
    for y in codes:
        names = [f"a{(y + rng.integers(3)) % n_labels}", f"b{rng.integers(6)}", "always"]
        rows.append([{name: float(rng.integers(1, 9)) / 4 if values else 1.0 for name in names[: rng.integers(1, 4)]}])
    extractor = AttributeExtractor()
    return extractor.fit(rows), codes, extractor


def problem(kind: str):
    """A criterion in float64 for each way that features come."""
    design, codes, _ = attributes(values=kind == "values")
    gold, weight = Gold.certain(codes, 4), None
    if kind == "candidates":
        sets = np.random.default_rng(5).random((8, 4)) < 0.5
        rows = np.arange(len(codes)) % 8
        for i, y in enumerate(codes):
            sets[rows[i], y] = True
        gold = Gold(codes.astype(np.int32), 4, sets, rows.astype(np.int32))
    if kind == "weights":
        weight = np.random.default_rng(1).integers(0, 4, len(codes)).astype(float)
    index = build_index(design, gold, kind != "observed", False, 1)
    return ConditionalLikelihood(design, gold, index, weight, np.float64, Threads(1))


KINDS = ("all", "observed", "values", "weights", "candidates")


@pytest.mark.parametrize("kind", KINDS)
def test_every_optimizer_reaches_the_same_optimum(kind):
    criterion, n = problem(kind), problem(kind).n_features
    l2 = np.linspace(0.5, 2.0, n)  # every weight its own prior
    reference = scipy_minimize(Penalized(criterion, l2), np.zeros(n), jac=True, method="BFGS", options={"gtol": 1e-7})
    for name in GENERAL:
        result = solve_by(name, criterion, None, l1=np.zeros(n), l2=l2, tol=2e-5, max_iter=5000)
        assert result.converged, (name, result.stopped)
        assert reference.fun * (1 - 1e-9) <= result.value <= reference.fun * (1 + 1e-4), (name, result.value)


@pytest.mark.parametrize("kind", KINDS)
def test_decisions_equal_enumeration(kind):
    """What optimizers ask of a classifier, against the definition with every pair listed."""
    ours = problem(kind)
    n, L, F = ours.design.n_tokens, ours.index.n_labels, ours.n_features
    lists = ours.design.unfolded()
    listed = np.zeros((n, L, F))
    for d in range(n):
        for q in range(lists.ptr[d], lists.ptr[d + 1]):
            a = lists.ids[q]
            for f in range(ours.index.ptr[a], ours.index.ptr[a + 1]):
                listed[d, ours.index.labels[f], f] += lists.values[q] if lists.values.size else 1.0
    weight = ours.instance if ours.instance.size else None
    gold, sets = ours.gold, ours.gold.sets
    decisions, rng = ours.decisions, np.random.default_rng(2)
    w, v = rng.normal(size=F), rng.normal(size=F)
    levels = rng.integers(3, size=n * L).astype(np.int32)
    if gold.candidates.size:  # one example at a time, since they have different candidates
        parts = [np.flatnonzero(sets[gold.candidates[d]]) for d in range(n)]
    else:
        parts = [np.arange(L)] * n
    truth = [
        oracle.ListedDecisions(
            listed[d : d + 1, own],
            [int(np.searchsorted(own, gold.codes[d]))],
            None if weight is None else weight[d : d + 1],
        )
        for d, own in enumerate(parts)
    ]
    by_pair = levels.reshape(n, L)
    np.testing.assert_allclose(decisions.empirical(), sum(t.empirical() for t in truth))
    np.testing.assert_allclose(decisions.mass, sum(t.mass for t in truth))
    assert decisions.feature_sums().max() == pytest.approx(max(t.feature_sums().max() for t in truth))
    expected = sum(t.expected_by_level(w, by_pair[d, parts[d]], 3) for d, t in enumerate(truth))
    np.testing.assert_allclose(decisions.expected_by_level(w, levels, 3), expected, atol=1e-9)
    np.testing.assert_allclose(decisions.hessian_product(w, v), sum(t.hessian_product(w, v) for t in truth), atol=1e-9)
    for got, wanted in zip(decisions.extremes(), zip(*(t.extremes() for t in truth), strict=True), strict=True):
        np.testing.assert_allclose(got, sum(wanted))
    rows = np.concatenate([t.differences(0).reshape(-1, F) for t in truth])
    assert Counter(map(tuple, decisions.differences(10**9).toarray())) == Counter(map(tuple, rows))
    assert decisions.differences(10) is None
    assert decisions.negative() is None


def candidate_lists(n=40, seed=0):
    """Examples with two to four candidates, features of both, one right."""
    rng = np.random.default_rng(seed)
    lists = [
        [
            {f"f{j}": float(rng.integers(1, 4)) for j in range(6) if rng.random() < 0.5}
            for _ in range(rng.integers(2, 5))
        ]
        for _ in range(n)
    ]
    design = AttributeExtractor().fit(lists)
    right = design.offsets[:-1] + [rng.integers(len(one)) for one in lists]
    chosen = np.isin(np.arange(design.n_tokens), right)
    choices = Choices(chosen, True)
    index = build_index(design, choices, True, False, 1)
    weight = rng.integers(0, 3, n).astype(float)
    return CandidateLikelihood(design, choices, index, weight), choices, design, weight


def test_decisions_among_candidates_equal_enumeration():
    ours, choices, design, weight = candidate_lists()
    F, rng, cuts = ours.F.toarray(), np.random.default_rng(1), design.offsets
    w, v = rng.normal(size=(2, ours.n_features))
    levels = rng.integers(3, size=len(F)).astype(np.int32)
    parts = [slice(a, b) for a, b in pairwise(cuts)]
    truth = [
        oracle.ListedDecisions(F[None, part], [int(choices.chosen[part].argmax())], weight[d : d + 1])
        for d, part in enumerate(parts)
    ]
    got = ours.decisions
    assert got.mass == sum(t.mass for t in truth)
    np.testing.assert_allclose(got.empirical(), sum(t.empirical() for t in truth))
    np.testing.assert_allclose(got.feature_sums(), np.concatenate([t.feature_sums() for t in truth]))
    expected = sum(t.expected_by_level(w, levels[part], 3) for t, part in zip(truth, parts, strict=True))
    np.testing.assert_allclose(got.expected_by_level(w, levels, 3), expected, atol=1e-9)
    np.testing.assert_allclose(got.hessian_product(w, v), sum(t.hessian_product(w, v) for t in truth), atol=1e-9)
    for end, wanted in zip(got.extremes(), zip(*(t.extremes() for t in truth), strict=True), strict=True):
        np.testing.assert_allclose(end, sum(wanted))
    rows = np.concatenate([t.differences(0).reshape(-1, F.shape[1]) for t in truth])
    assert Counter(map(tuple, got.differences(10**9).toarray())) == Counter(map(tuple, rows))
    assert got.differences(10) is None
    assert got.negative() is None


def test_every_optimizer_chooses_among_candidates_alike():
    criterion, *_ = candidate_lists()
    n = criterion.n_features
    l2 = np.full(n, 0.5)
    reference = scipy_minimize(Penalized(criterion, l2), np.zeros(n), jac=True, options={"gtol": 1e-7})
    for name in ("gradient", "conjugate-gradient", "newton", "gis", "iis"):
        result = solve_by(name, criterion, None, l1=0 * l2, l2=l2, tol=1e-5, max_iter=5000)
        assert result.value == pytest.approx(reference.fun, rel=1e-4), name
    with pytest.raises(LoglinError, match="sgd takes one sentence at a time"):
        solve_by("sgd", criterion, None, l1=0 * l2, l2=l2)


def test_hessian_products_equal_differences_of_gradients():
    criterion, rng = problem("values"), np.random.default_rng(0)
    w, v = rng.normal(size=criterion.n_features), rng.normal(size=criterion.n_features)
    numeric = (criterion(w + 1e-6 * v)[1] - criterion(w - 1e-6 * v)[1]) / 2e-6
    np.testing.assert_allclose(criterion.decisions.hessian_product(w, v), numeric, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("direction", [Steepest, Conjugate])
def test_line_methods_on_a_badly_scaled_bowl(direction):
    function, _, target = bowl(8)
    result = Descent(np.zeros(8), direction(), tol=0).run(function, 20_000)
    assert result.converged
    np.testing.assert_allclose(result.weights, target, atol=1e-4)
    # conjugate directions end a quadratic in about as many steps as it has dimensions, gradients zigzag
    assert (len(result.iterations) <= 30) == (direction is Conjugate)


def test_chains_by_the_methods_that_fit_them():
    lines = generate(25, 3, "train")
    X, y = [[t for t, _ in line] for line in lines], [[label for _, label in line] for line in lines]
    best = Tagger(l2=0.5, tol=1e-7).fit(X, y).model_.record["objective"]
    for name in ("lbfgs", "gradient", "conjugate-gradient", "sgd", "averaged-sgd"):
        record = Tagger(l2=0.5, tol=2e-5, optimizer=name, max_iter=3000).fit(X, y).model_.record
        assert record["converged"], (name, record["stopped"])
        assert record["objective"] == pytest.approx(best, rel=1e-4), name
        assert record["options"]["optimizer"] == name
    memm = {
        name: Tagger("memm", l2=5.0, tol=1e-6, max_iter=5000, optimizer=name).fit(X, y).model_
        for name in ("auto", "gis")
    }
    assert memm["gis"].record["objective"] == pytest.approx(memm["auto"].record["objective"], rel=1e-4)
    assert Tagger(optimizer="gradient").get_params()["optimizer"] == "gradient"


def test_l1_by_stochastic_steps():
    criterion = problem("all")
    n = criterion.n_features
    l1, l2 = np.full(n, 0.5), np.full(n, 0.1)
    exact = fit_weights(lambda dtype: criterion, l1=l1, l2=l2, warm_start=False, dtype="float64", tol=1e-10)
    result = solve_by("sgd", criterion, None, l1=l1, l2=l2, tol=1e-5, max_iter=800)
    assert exact.value * (1 - 1e-9) <= result.value <= exact.value * (1 + 5e-4)


def test_they_stop_when_told_and_say_why():
    criterion = problem("all")
    n = criterion.n_features
    for name in GENERAL:
        seen = []

        def end(iteration, weights, seen=seen):
            seen.append(iteration)
            if len(seen) == 2:
                raise StopTraining("enough")

        common = {"l1": np.zeros(n), "l2": np.ones(n), "tol": 0.0}
        assert solve_by(name, criterion, None, callback=end, **common).stopped == "enough", name
        assert [i.number for i in seen] == [1, 2]
        few = solve_by(name, criterion, None, max_iter=2, **common)
        assert "max_iter = 2" in few.stopped
        assert not few.converged
        asked = solve_by(name, criterion, None, stop=lambda: "asked to", **common)
        assert asked.stopped == "asked to"
        assert np.isfinite(asked.value)


# ---------------------------------------------------------------------- iterative scaling


def toy():
    """f1 = [x1 ∧ a], f2 = [a]; counts x1 (a 3, b 1), x2 (a 1, b 3)."""
    index = FeatureIndex(
        2, np.array([0, 1, 2]), np.array([0, 0], np.uint16), np.zeros(1, np.int64), NOTHING, NOTHING,
        np.empty(0, np.int64),
    )  # fmt: skip
    rows = [[0, 1]] * 4 + [[1]] * 4
    tokens = Incidence(np.cumsum([0, *map(len, rows)]), np.array([a for row in rows for a in row], np.int32))
    design = Design(np.arange(9), tokens, Incidence.empty(8), 2, 0)
    gold = Gold.certain(np.array([0, 0, 0, 1, 0, 1, 1, 1]), 2)
    return ConditionalLikelihood(design, gold, index, None, np.float64, Threads(1))


def test_gis_takes_the_known_steps():
    criterion, seen = toy(), []
    scale_generalized(
        criterion,
        criterion.decisions,
        np.zeros(2),
        tol=0,
        max_iter=3,
        reporter=Reporter(lambda i, w: seen.append((w, i.value))),
    )
    known = [(0.202732554, 0, -0.052680258), (0.334351108, -0.042899249, -0.071005527)]
    known.append((0.440370266, -0.096754997, -0.077534566))
    for (w, value), (first, second, slack), likelihood in zip(seen, known, (5.338426, 5.233434, 5.150533), strict=True):
        np.testing.assert_allclose(w, [first - slack, second - slack], atol=2e-9)
        assert value == pytest.approx(likelihood, abs=1e-6)
    for scale in (scale_generalized, scale_improved):
        result = scale(criterion, criterion.decisions, np.zeros(2), tol=0)
        np.testing.assert_allclose(result.weights, [np.log(9), -np.log(3)], atol=1e-7)
        assert result.value == pytest.approx(4.498681157, abs=1e-9)
        assert result.converged


def test_base_with_a_prior():
    """`base` three times, always Vt, one weight among 45 tags."""
    index = FeatureIndex(
        45, np.array([0, 1]), np.array([7], np.uint16), np.zeros(1, np.int64), NOTHING, NOTHING, np.empty(0, np.int64)
    )
    design = Design(np.arange(4), Incidence(np.arange(4), np.zeros(3, np.int32)), Incidence.empty(3), 1, 0)
    criterion = ConditionalLikelihood(design, Gold.certain(np.full(3, 7), 45), index, None, np.float64, Threads(1))
    for variance, weight, p in ((1.0, 2.399317189, 0.200228), (10.0, 5.318949561, 0.822702)):
        for name in ("lbfgs", *GENERAL):
            l2 = np.full(1, 1 / variance)
            if name == "lbfgs":
                found = fit_weights(lambda dtype: criterion, l1=0 * l2, l2=l2, warm_start=False, dtype="float64", tol=0)
            else:
                found = solve_by(name, criterion, None, l1=0 * l2, l2=l2, tol=0, max_iter=300)
            near = 1e-6 if "sgd" not in name else 1e-2
            assert found.weights[0] == pytest.approx(weight, abs=near), name
        assert criterion.decisions.expected_by_level(np.array([weight]), np.zeros(135, np.int32), 1)[0, 0] / 3 == (
            pytest.approx(p, abs=1e-6)
        )
    assert unbounded(criterion.decisions, np.ones(1, bool)).tolist() == [0]  # without a prior it grows without end


@pytest.mark.parametrize("optimizer", ["auto", "newton", "gis", "iis"])
def test_a_die_with_mean_four_and_a_half(optimizer):
    """One feature, the number thrown; 4 and 5 were seen."""
    die = MaxEnt(features=lambda x, y: {"face": float(y)}, l2=0, optimizer=optimizer, max_iter=5000, dtype="float64")
    die.fit(["throw"] * 2, [4, 5], candidates=[range(1, 7)] * 2)
    assert die.model_.record["unbounded"] == ""
    assert die.model_.weights[0] == pytest.approx(0.371048938, abs=1e-6)
    p = np.asarray(die.predict_proba(["throw"], candidates=[range(1, 7)])[0])
    assert -(p @ np.log(p)) == pytest.approx(1.6135810982, abs=1e-6)


def test_candidates_that_are_separable():
    model = MaxEnt(features=lambda x, y: {"size": float(y)}, l2=0)
    with pytest.warns(ConvergenceWarning, match="the classes are separable"):
        model.fit(["a", "b"], [3, 3], candidates=[[1, 2, 3], [2, 3]])
    mixed = MaxEnt(features=lambda x, y: {"large": float(y == 3), "odd": float(y % 2)}, l2=0)
    with pytest.warns(ConvergenceWarning, match="no finite optimum without a prior, such as that of odd; give l2"):
        mixed.fit(["a", "b"], [3, 1], candidates=[[1, 2, 3], [1, 3]])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.booleans())
def test_scaling_never_lowers_the_likelihood(seed, penalized, improved):
    rng = np.random.default_rng(seed)
    n, L, F = rng.integers(1, 8), rng.integers(2, 5), rng.integers(1, 7)
    features = rng.integers(0, 4, (n, L, F)) * rng.choice([1.0, 0.3], (n, L, F))
    listed = oracle.ListedDecisions(features, rng.integers(L, size=n), rng.random(n) + 0.1)
    l2 = rng.random(F) * penalized
    values = [listed(np.zeros(F))[0]]
    scale = scale_improved if improved else scale_generalized
    scale(
        Penalized(listed, l2),
        listed,
        np.zeros(F),
        l2=l2,
        tol=0,
        max_iter=40,
        reporter=Reporter(lambda i, w: values.append(i.value)),
    )
    assert np.all(np.diff(values) <= 1e-9 * abs(values[0]))


def sensors():
    """Four examples in which ten sensors say the same, three rainy and one sunny; twenty others with one attribute."""
    design = AttributeExtractor().fit([[[f"sensor {i}" for i in range(10)]]] * 4 + [[["clock"]]] * 20)
    gold = Gold.certain(np.array([0, 0, 0, 1] + [0, 1] * 10), 2)
    index = build_index(design, gold, True, False, 1)
    return ConditionalLikelihood(design, gold, index, None, np.float64, Threads(1))


def test_gis_needs_its_slack_feature_or_the_largest_sum():
    """Without the slack the sum is not constant; with its usual size for M the updates overshoot and values rise."""
    criterion, start = sensors(), np.zeros(22)
    decisions = criterion.decisions
    usual = float(decisions.empirical().sum()) / decisions.mass
    assert usual == pytest.approx(2.5)
    assert decisions.feature_sums().max() == 10

    def values(**options):
        found = [criterion(start)[0]]
        follow = {"tol": 0, "max_iter": 30, "reporter": Reporter(lambda i, w: found.append(i.value))}
        scale_generalized(criterion, decisions, start, **follow, **options)
        return np.array(found)

    assert np.all(np.diff(values()) <= 1e-12)
    assert np.any(np.diff(values(slack=False, total=usual)) > 0.1)
    # Curran & Clark: with the largest sum for M the slack feature is not needed for convergence
    assert np.all(np.diff(values(slack=False)) <= 1e-12)


def test_iis_rounds_many_sums_upwards():
    rng = np.random.default_rng(0)
    listed = oracle.ListedDecisions(rng.random((60, 3, 5)), rng.integers(3, size=60))  # 180 distinct sums
    values = [listed(np.zeros(5))[0]]
    l2 = np.full(5, 0.1)
    result = scale_improved(
        Penalized(listed, l2),
        listed,
        np.zeros(5),
        l2=l2,
        tol=1e-9,
        reporter=Reporter(lambda i, w: values.append(i.value)),
    )
    assert np.all(np.diff(values) <= 1e-9)
    best = scipy_minimize(Penalized(listed, l2), np.zeros(5), jac=True).fun
    assert result.value == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("name", ["lbfgs", "gradient", "conjugate-gradient", "newton", "gis", "iis"])
def test_expectations_equal_counts_without_a_prior(name):
    """At the unregularized optimum E_model[f] = E_empirical[f]."""
    rng = np.random.default_rng(3)
    rows = [[{"x": float(rng.integers(0, 2)), "z": float(rng.integers(0, 2)), "one": 1.0}] for _ in range(200)]
    codes = rng.integers(3, size=200)
    extractor = AttributeExtractor()
    design = extractor.fit(rows)
    gold = Gold.certain(codes, 3)
    index = build_index(design, gold, True, False, 1)
    criterion = ConditionalLikelihood(design, gold, index, None, np.float64, Threads(1))
    zero = np.zeros(index.n_features)
    if name == "lbfgs":
        found = fit_weights(
            lambda dtype: criterion, l1=zero, l2=zero, warm_start=False, scaled=False, dtype="float64", tol=0
        )
    else:
        found = solve_by(name, criterion, None, l1=zero, l2=zero, tol=1e-13, max_iter=20_000)
    decisions = criterion.decisions
    expected = decisions.expected_by_level(found.weights, np.zeros(600, np.int32), 1)[:, 0]
    np.testing.assert_allclose(expected / 200, decisions.empirical() / 200, atol=1e-6)


# ---------------------------------------------------------------------- separable classes


POINTS = [{"x": 1.0}, {"x": 2.0}, {"x": 5.0}, {"x": 6.0}]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_separable_classes_are_reported_and_end_training(optimizer):
    with pytest.warns(ConvergenceWarning, match="the classes are separable: without a prior the weights grow"):
        model = MaxEnt(l2=0, optimizer=optimizer, max_iter=100_000).fit(POINTS, ["a", "a", "b", "b"])
    record = model.model_.record
    assert record["stopped"].startswith("the classes are separable")
    assert not record["converged"]
    assert np.abs(model.model_.weights).max() < 100
    assert model.predict(POINTS).tolist() == ["a", "a", "b", "b"]


def test_what_has_an_optimum_is_not_called_separable():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mixed = MaxEnt(l2=0).fit([*POINTS, {"x": 5.5}, {"x": 1.5}], ["a", "a", "b", "b", "a", "b"])
        MaxEnt(l2=1e-3).fit(POINTS, ["a", "a", "b", "b"])
    assert mixed.model_.record["converged"]
    assert mixed.model_.record["unbounded"] == ""


def test_a_deterministic_attribute_without_a_prior():
    X = [["base", "up"], ["base"], ["base"], ["run", "up"], ["run"], ["run", "up"]]
    with pytest.warns(ConvergenceWarning, match=r"of \d+ weights have no finite optimum .* of base for Vt; give l2"):
        model = MaxEnt(l2=0, all_features=False).fit(X, ["Vt", "Vt", "Vt", "Vt", "N", "N"])
    assert not model.model_.record["converged"]
    assert np.isfinite(model.model_.weights).all()


def test_separable_in_part():
    """Above the line x + y = 2 there is b only, on it a and b; no weight tells it alone."""
    points = [(x, 2 - x, label) for x in range(3) for label in "ab"] + [(2, 2, "b"), (3, 1, "b")]
    X = [{"x": float(x), "y": float(y)} for x, y, _ in points]
    with pytest.warns(ConvergenceWarning, match="some classes are separable from others"):
        model = MaxEnt(l2=0).fit(X, [label for _, _, label in points])
    assert not model.model_.record["converged"]


def test_the_linear_program_agrees_with_growth():
    """Whether a direction of recession exists, against whether weights keep growing under a vanishing prior."""
    found = Counter()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        features = rng.integers(0, 3, (6, 2, 3)).astype(float)
        listed = oracle.ListedDecisions(features, rng.integers(2, size=6))
        rows = csr_matrix(listed.differences(0))
        listed.differences = lambda limit, rows=rows: rows
        sizes = []
        for l2 in (1e-6, 1e-9):
            start = np.zeros(3)
            best = scipy_minimize(Penalized(listed, l2), start, jac=True, method="BFGS", options={"gtol": 1e-13}).x
            sizes.append(np.abs(best).max())
        grows = sizes[1] > 1.2 * sizes[0]
        assert recession(listed, np.ones(3, bool)) == grows, seed
        found[grows] += 1
        if len(unbounded(listed, np.ones(3, bool))):
            assert grows
    assert min(found.values()) >= 5


def test_separable_sentences_end_a_chain_too(tmp_path):
    X, y = [["a", "b"], ["b", "a"], ["c"]], [["A", "B"], ["B", "A"], ["C"]]
    with pytest.warns(ConvergenceWarning, match="separable"):
        tagger = Tagger(l2=0).fit(X, y)
    assert "separable" in tagger.model_.record["stopped"]
    (tmp_path / "train.txt").write_text("a A\nb B\n\nb B\na A\n\nc C\n")
    words = ["train", str(tmp_path / "train.txt"), "--l2", "0", "-o", str(tmp_path / "m"), "--quiet"]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0
    assert "the classes are separable: without a prior the weights grow without end; give l2 above 0" in result.output


def test_cutoffs_without_a_prior_on_real_text(conll2000):
    """Many deterministic features and no prior: training ends, and says what it found."""
    corpus = datasets.load("conll2000")
    words, tags = (column.strings()[:6000] for column in corpus.columns[:2])
    X = [[f"w={w}", f"s={w[-2:]}", f"p={before}"] for w, before in zip(words, ["", *words], strict=False)]
    with pytest.warns(ConvergenceWarning, match="weights have no finite optimum without a prior"):
        model = MaxEnt(l2=0, all_features=False, min_count=5, tol=1e-6, max_iter=300).fit(X, tags)
    record = model.model_.record
    assert not record["converged"]
    assert np.isfinite(model.model_.weights).all()
    assert record["train_seconds"] < 60


# ---------------------------------------------------------------------- perceptron, errors, shell


def test_the_perceptron_without_averaging():
    lines = generate(80, 1, "train")
    X, y = [[t for t, _ in line] for line in lines], [[label for _, label in line] for line in lines]
    plain = Tagger("perceptron", settings={"averaged": False}, max_iter=50).fit(X, y)
    averaged = Tagger("perceptron", max_iter=50).fit(X, y)
    assert "without a mistake" in plain.model_.record["stopped"]
    assert plain.predict(X) == y  # an epoch without a mistake leaves weights that make none
    weights = plain.model_.weights
    np.testing.assert_array_equal(weights, np.round(weights))  # counts of nudges
    assert not np.array_equal(averaged.model_.weights, np.round(averaged.model_.weights))


CHAIN = [["a", "b", "a"], ["b", "a", "a"]], [["A", "B", "A"], ["B", "B", "A"]]


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (lambda: MaxEnt(optimizer="adam").fit(POINTS, list("aabb")), "no optimizer is called 'adam'; there are auto"),
        (lambda: MaxEnt(optimizer="gis", l1=0.1).fit(POINTS, list("aabb")), "gis has no l1 penalty; set l1 to 0"),
        (lambda: MaxEnt(optimizer="iis").fit([{"x": -1.0}, {"x": 1.0}], list("ab")), "and x for a has a negative"),
        (lambda: MaxEnt(optimizer="gis").fit(POINTS, ["a", {"a", "b"}, "b", "b"]), "gis is for independent decisions"),
        (lambda: Tagger(optimizer="gis").fit(*CHAIN), "gis is for independent decisions"),
        (lambda: Tagger(optimizer="newton").fit(*CHAIN), "newton is for independent decisions"),
        (lambda: Tagger(optimizer="sgd", order=2).fit(*CHAIN), "sgd takes one sentence at a time"),
        (lambda: Tagger("label-likelihood", optimizer="sgd").fit(*CHAIN), "sgd takes one sentence at a time"),
        (lambda: Tagger("perceptron", optimizer="sgd").fit(*CHAIN), "perceptron has its own way"),
        (
            lambda: Tagger("m-estimation", optimizer="gradient", settings={"optimizer": "newton"}).fit(*CHAIN),
            "give one of them",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(fit, message):
    with pytest.raises(LoglinError, match=message):
        fit()


def test_m_estimation_takes_the_general_option_too():
    lines = generate(40, 3, "train")
    X, y = [[t for t, _ in line] for line in lines], [[label for _, label in line] for line in lines]
    values = [
        Tagger("m-estimation", l2=0.5, tol=1e-7, optimizer=name).fit(X, y).model_.record["objective"]
        for name in ("auto", "lbfgs", "newton", "conjugate-gradient", "gradient")
    ]
    np.testing.assert_allclose(values, values[0], rtol=1e-4)


def test_in_the_shell(tmp_path):
    data = tmp_path / "docs.jsonl"
    data.write_text('{"label": "sport", "text": "goal team"}\n{"label": "law", "text": "court team"}\n')
    for name in OPTIMIZERS:
        words = [
            "classify-train",
            str(data),
            "--optimizer",
            name,
            "-o",
            str(tmp_path / "m"),
            "--tol",
            "1e-4",
            "--quiet",
        ]
        result = CliRunner().invoke(cli, words)
        assert result.exit_code == 0, (name, result.output)
    assert MaxEnt.load(tmp_path / "m").optimizer == OPTIMIZERS[-1]
    refused = CliRunner().invoke(cli, [*words[:2], "--optimizer", "newton", "--l1", "1", "-o", str(tmp_path / "m")])
    assert refused.exit_code != 0
    assert "has no l1 penalty" in str(refused.output) + str(refused.exception)


def test_an_memm_has_decisions_and_pseudolikelihood_not():
    design, codes, _ = attributes(30)
    gold = Gold.certain(codes, 4)
    index = build_index(design, gold, False, True, 1)
    memm, tied = (
        LocalLikelihood(design, index, true_instances(design, gold, 1, None, behind), False, np.float64)
        for behind in (False, True)
    )
    assert memm.decisions is not None
    assert tied.decisions is None


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["sgd", "averaged-sgd"])
def test_values_too_large_for_any_step_are_told(name):
    with pytest.raises(LoglinError, match="too large"):
        MaxEnt(optimizer=name).fit([{"a": 1e200}, {"a": -1e200}, {"b": 1.0}], ["x", "y", "x"])
