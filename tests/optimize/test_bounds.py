"""How far the optimum is: what is proved is true, and close; what cannot be proved is not called converged."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize as scipy_minimize

from loglin import LoglinError, Tagger
from loglin.corpus.columns import from_sentences
from loglin.corpus.labels import gold_of_sequences
from loglin.demo.ingredients import generate
from loglin.features.extract import TemplateExtractor
from loglin.features.index import build_index
from loglin.features.read import read_templates
from loglin.kernels.bundle import best_mixture
from loglin.objectives import dual
from loglin.objectives.likelihood import ConditionalLikelihood
from loglin.optimize.bounds import Certificate, LowerBound, likely
from loglin.optimize.penalties import Penalized, Penalties
from support.solving import fit_weights


def chain_problem(lines, dtype=np.float64, order=1):
    design = TemplateExtractor(read_templates(None)).fit(from_sentences([[t for t, _ in line] for line in lines]))
    _, gold = gold_of_sequences([[y for _, y in line] for line in lines], np.diff(design.offsets).tolist())
    index = build_index(design, gold, False, True, order)
    return lambda dtype=dtype: ConditionalLikelihood(design, gold, index, None, dtype)


@pytest.fixture(scope="module")
def problem():
    return chain_problem(generate(120, 3))


@given(st.integers(1, 7), st.integers(0, 10_000))
@settings(max_examples=50, deadline=None)
def test_the_best_mixture_is_that_of_a_general_solver(n, seed):
    rng = np.random.default_rng(seed)
    root, heights = rng.normal(size=(n, 4)), 3 * rng.normal(size=n)
    K = root @ root.T
    found = best_mixture(K, heights, c := np.full(n, np.nan))
    assert found == pytest.approx(heights @ c - 0.5 * c @ K @ c)
    assert c.sum() == pytest.approx(1)
    assert c.min() >= 0
    start = np.full(n, 1 / n)
    exact = scipy_minimize(
        lambda c: 0.5 * c @ K @ c - heights @ c, start, method="SLSQP", bounds=[(0, 1)] * n,
        constraints={"type": "eq", "fun": lambda c: c.sum() - 1}, options={"maxiter": 500, "ftol": 1e-12},
    )  # fmt: skip
    assert found == pytest.approx(-exact.fun, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(("l1", "l2"), [(0.0, 0.02), (0.0, 1.0), (0.0, 30.0), (0.5, 0.0), (0.3, 0.5)])
def test_a_bound_is_never_above_the_optimum(problem, l1, l2):
    objective = problem()
    n = objective.n_features
    penalties = Penalties.uniform(n, l1, l2)
    best = fit_weights(lambda dtype: problem(), l1=penalties.l1, l2=penalties.l2, dtype="float64", tol=1e-10)
    bound, function, gaps = LowerBound.of(objective, penalties), Penalized(objective, l2), []
    rng = np.random.default_rng(0)
    for share in (0.0, 0.3, 0.5, 0.8, 0.95, 0.99, 1.0):
        w = share * best.weights + (1 - share) * 0.1 * rng.normal(size=n)
        value, gradient = function(w)
        value += float(penalties.l1 @ np.abs(w))
        bound.see(w, value, gradient)
        assert bound.best <= best.value * (1 + 1e-9)
        gaps.append(bound.gap(value))
    assert gaps[-1] < 1e-4 if l2 else gaps[-1] < 0.5  # at the optimum it is tight


@pytest.mark.parametrize("l2", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("tol", [1e-2, 5e-4, 1e-5])
def test_what_is_proved_is_true_and_the_estimate_is_no_promise_too_much(problem, l2, tol):
    n = problem().n_features
    strengths = {"l1": np.zeros(n), "l2": np.full(n, l2)}
    best = fit_weights(problem, **strengths, dtype="float64", tol=1e-11).value
    found = fit_weights(problem, **strengths, tol=tol)
    above = found.value / best - 1
    assert found.converged
    assert above <= found.certificate.proved + 1e-7
    assert above <= 2 * tol
    certified = fit_weights(problem, **strengths, tol=tol, certify=True)
    assert certified.certificate.proved <= tol
    assert "proved: at most" in certified.stopped


def test_certify_is_refused_where_nothing_can_be_proved(problem):
    n = problem().n_features
    with pytest.raises(LoglinError, match="certify needs a convex criterion"):
        fit_weights(problem, l1=np.zeros(n), l2=np.zeros(n), certify=True, max_iter=3)


def test_max_iter_is_no_convergence_and_says_how_far_the_optimum_is(problem):
    n = problem().n_features
    found = fit_weights(problem, l1=np.zeros(n), l2=np.ones(n), max_iter=2, warm_start=False)
    assert not found.converged
    assert "max_iter = 2" in found.stopped
    lines = generate(12, 3)
    X, y = [[t for t, _ in line] for line in lines], [[label for _, label in line] for line in lines]
    with pytest.warns(Warning, match=r"max_iter = 2 .*raise max_iter"):
        Tagger(max_iter=2, tol=1e-9).fit(X, y)


def test_a_certificate_reads_as_a_sentence():
    assert str(Certificate(0.004, 0.0003, "")) == "about 0.03 % above the optimum; proved: at most 0.4 %"
    proofs = np.logspace(-9, 0, 200)
    estimates = [likely(p) for p in proofs]
    assert np.all(np.diff(estimates) > 0)
    assert np.all(estimates < proofs)


# ---------------------------------------------------------------------- the warm start


@pytest.mark.parametrize("l2", [0.05, 1.0, 20.0])
def test_dual_ascent_keeps_the_weights_that_its_residuals_make(problem, l2):
    """w = −(1/λ)·Σ m over all features: no sentence's step is lost or counted twice."""
    criterion = problem(np.float64)
    learner, n = criterion.learner(0), criterion.n_features
    weights = learner.warm_start(np.zeros(n), np.full(n, l2))
    unigrams = np.zeros(criterion.index.sizes[0])
    criterion.scorer.gradient(criterion.residuals, unigrams)  # the memory of the tokens, summed by feature
    assert weights[: len(unigrams)] == pytest.approx(-unigrams / l2, abs=1e-8)
    function = Penalized(criterion, l2)
    assert function(weights)[0] < 0.5 * function(np.zeros(n))[0]


@pytest.mark.parametrize("l1", [0.05, 1.0])
@pytest.mark.parametrize("order", [1, 2])
def test_dual_ascent_with_an_l1_penalty(order, l1):
    """Its weights are near the optimum of both penalties, and those are zero that are zero there, but for a few."""
    make = chain_problem(generate(120, 3), order=order)
    criterion, n = make(), make().n_features
    weights = criterion.learner(0).warm_start(np.full(n, l1), np.ones(n), tol=1e-4)
    best = fit_weights(make, l1=np.full(n, l1), l2=np.ones(n), dtype="float64", tol=1e-9)
    assert Penalized(criterion, 1.0)(weights)[0] + l1 * np.abs(weights).sum() < 1.01 * best.value
    zero = best.weights == 0
    assert 0.1 < zero.mean() < 1
    assert np.mean(weights[zero] == 0) > 0.9
    assert weights[~zero] == pytest.approx(best.weights[~zero], abs=0.2)


def test_dual_ascent_with_hardly_an_l2():
    """What is solved is a problem with more of it, from which the optimum is nearer than from zero."""
    make = chain_problem(generate(120, 3))
    n = make().n_features
    for l2 in (0.0, 0.001):
        weights = make().learner(0).warm_start(np.ones(n), np.full(n, l2), tol=1e-4)
        best = fit_weights(make, l1=np.ones(n), l2=np.full(n, l2), dtype="float64", tol=1e-9)
        here = Penalized(make(), l2)(weights)[0] + np.abs(weights).sum()
        zero = Penalized(make(), l2)(np.zeros(n))[0]
        assert here - best.value < 0.2 * (zero - best.value)


@pytest.mark.parametrize("l1", [0.2, 1.0])
def test_an_l1_alone_ends_near_the_optimum(l1):
    """Its bound is weak, so gains and one-sided slopes decide, and what is said is no less than the truth."""
    lines = generate(300, 3)
    X, y = [[t for t, _ in line] for line in lines], [[label for _, label in line] for line in lines]
    template = "U0:%x[0,0]\nU1:%x[-1,0]\nU2:%x[1,0]\nB\n"
    found = Tagger(template=template, l1=l1, l2=0).fit(X, y).model_.record
    best = Tagger(template=template, l1=l1, l2=0, tol=1e-9, max_iter=3000, dtype="float64").fit(X, y).model_.record
    assert found["converged"]
    assert found["iterations"] < 300
    above = found["objective"] / best["objective"] - 1
    assert above < 1e-3
    assert above <= found["certificate"]["estimated"] + 1e-6
    assert above <= found["certificate"]["proved"]


@pytest.mark.parametrize("l1", [0.0, 0.1])
def test_dual_ascent_where_steps_have_features_of_their_own(l1):
    """Label bigrams crossed with words."""
    lines = generate(12, 3)
    X, y = [[t for t, _ in line] for line in lines], [[label for _, label in line] for line in lines]
    found = Tagger(template="U0:%x[0,0]\nB0:%x[0,0]\nB", l1=l1).fit(X, y).model_.record
    assert found["converged"]
    assert found["certificate"]["proved"] < 0.002


def test_dual_ascent_with_room_for_some_label_bigrams_only(problem, monkeypatch):
    monkeypatch.setattr(dual, "ROOM_FOR_PAIRS", 120 * 5)
    criterion = problem(np.float64)
    n = criterion.n_features
    weights = criterion.learner(0).warm_start(np.zeros(n), np.ones(n))
    best = fit_weights(problem, l1=np.zeros(n), l2=np.ones(n), dtype="float64", tol=1e-9).value
    assert Penalized(criterion, 1.0)(weights)[0] < 1.1 * best


@pytest.mark.parametrize("room", [120 * 5, 120 * 12, 10**6])
def test_dual_ascent_learns_label_trigrams(room, monkeypatch):
    """Near the optimum of second order, with room for all label n-grams of a sentence or for some."""
    monkeypatch.setattr(dual, "ROOM_FOR_PAIRS", room)
    make = chain_problem(generate(120, 3), order=2)
    criterion, n = make(), make().n_features
    weights = criterion.learner(0).warm_start(np.zeros(n), np.ones(n), tol=1e-4)
    best = fit_weights(make, l1=np.zeros(n), l2=np.ones(n), dtype="float64", tol=1e-9)
    assert Penalized(criterion, 1.0)(weights)[0] < (1.01 if room == 10**6 else 1.1) * best.value
    triples, learned = (criterion.index.split(w)[3] for w in (best.weights, weights))
    assert np.abs(triples).max() > 0.1
    if room == 10**6:
        assert learned == pytest.approx(triples, abs=0.1)


@pytest.mark.parametrize("lengths", [[1] * 400, [1000, 3, 5, 700], [2, 40] * 15, [0, 5, 0, 5] * 20])
@pytest.mark.parametrize("l2", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("l1", [0.0, 0.2])
def test_any_length_of_sentences_and_any_strength_ends_near_the_optimum(lengths, l1, l2):
    rng = np.random.default_rng(1)
    words = [[f"w{k}" for k in rng.zipf(1.5, n).clip(max=300)] for n in lengths]
    lines = [[(w, str(int(w[1:]) % 3 if rng.random() < 0.9 else rng.integers(3))) for w in s] for s in words]
    make = chain_problem(lines)
    n = make().n_features
    strengths = {"l1": np.full(n, l1), "l2": np.full(n, l2)}
    best = fit_weights(make, **strengths, dtype="float64", tol=1e-9, max_iter=3000).value
    found = fit_weights(make, **strengths)
    assert found.value <= best * 1.001
    assert found.converged


# ---------------------------------------------------------------------- values of any size


def softmax_optimum(X, y, l2):
    """The least penalized loss of single decisions, by another optimizer in variables of equal size."""
    scale = np.maximum(np.abs(X).max(axis=0), 1e-300)
    Z, K = X / scale, int(y.max()) + 1

    def function(flat):
        U = flat.reshape(-1, K)
        S = Z @ U
        top = S.max(axis=1, keepdims=True)
        log_z = top[:, 0] + np.log(np.exp(S - top).sum(axis=1))
        P = np.exp(S - log_z[:, None])
        P[np.arange(len(y)), y] -= 1
        ridge = l2 / scale[:, None] ** 2
        value = (log_z - S[np.arange(len(y)), y]).sum() + 0.5 * (ridge * U**2).sum()
        return value, (Z.T @ P + ridge * U).ravel()

    options = {"maxiter": 20_000, "maxfun": 200_000, "ftol": 1e-14, "gtol": 1e-9}
    return scipy_minimize(function, np.zeros(Z.shape[1] * K), jac=True, method="L-BFGS-B", options=options).fun


@pytest.mark.parametrize("size", [1e-6, 1e-3, 1.0, 1e3, 1e5, 1e9])
@pytest.mark.parametrize("duplicated", [False, True])
def test_values_of_any_size_end_at_the_optimum(size, duplicated):
    rng = np.random.default_rng(0)
    n = 150
    words, y = rng.integers(0, 12, n), rng.integers(0, 3, n)
    values = size * (1 + 0.3 * rng.normal(size=n) + 0.5 * (y == 1))
    X = np.zeros((n, 13 + duplicated))
    X[np.arange(n), words] = 1
    X[:, 12:] = values[:, None]
    names = ["time", "again"][: 1 + duplicated]
    tokens = [[{f"w{w}": 1.0} | dict.fromkeys(names, float(v))] for w, v in zip(words, values, strict=True)]
    tagger = Tagger(all_features=True).fit(tokens, [[str(c)] for c in y])
    record = tagger.model_.record
    assert record["converged"], record["stopped"]
    assert record["objective"] <= softmax_optimum(X, y, 1.0) * 1.001


def test_one_large_attribute_beside_words():
    """Attributes {"w": word, "time": 1e5·(1 + noise)}: the words decide, as they would without the other."""
    rng = np.random.default_rng(0)
    words = [[f"w{k}" for k in rng.integers(0, 30, 6)] for _ in range(150)]
    y = [[f"L{int(w[1:]) % 3}" for w in s] for s in words]
    X = [[{"w=" + w: 1.0, "time": 1e5 * (1 + 0.01 * rng.normal())} for w in s] for s in words]
    with_time, without = Tagger().fit(X, y), Tagger().fit([[{"w=" + w: 1.0} for w in s] for s in words], y)
    assert with_time.score(X, y) == 1.0
    assert with_time.model_.record["objective"] <= 1.001 * without.model_.record["objective"]


@pytest.mark.parametrize("size", [1.0, 1e9, 1e15])
def test_opposite_values_are_learned(size):
    X, y = [[{"a": size}, {"a": -size}]] * 20, [["A", "B"]] * 20
    tagger = Tagger().fit(X, y)
    assert tagger.model_.record["converged"]
    assert tagger.model_.record["objective"] < 20 * 2 * np.log(2)
    assert tagger.predict(X[:1]) == [["A", "B"]]


@pytest.mark.parametrize("size", [1e16, -1e30, 1e300])
def test_larger_values_are_refused(size):
    with pytest.raises(LoglinError, match=r"attribute 'a' has the value .* too large; give values between"):
        Tagger().fit([[{"a": size}, {"a": 1.0}]] * 20, [["A", "B"]] * 20)


@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([["a"], ["b"]], [["A"], ["A"]]),  # one label
        ([["a"]], [["A"]]),  # one token
        ([["a"], ["b"]] * 5, [["A"], ["B"]] * 5),  # separable
        ([["a"]] * 4, [["A"], ["B"]] * 2),  # the same twice with different labels
    ],
)
def test_small_and_separable_data_converge(X, y):
    record = Tagger().fit(X, y).model_.record
    assert record["converged"], record["stopped"]


def test_continuing_at_the_optimum_ends_at_once_and_no_worse():
    lines = generate(200, 5)
    X, y = [[t for t, _ in line] for line in lines], [[label for _, label in line] for line in lines]
    far = Tagger(tol=1e-7).fit(X, y)
    again = Tagger().fit(X, y, start=far.model_)
    assert again.model_.record["objective"] <= far.model_.record["objective"] * 1.001
    assert again.model_.record["iterations"] <= 9
    assert again.model_.record["certificate"]["proved"] < 0.002
