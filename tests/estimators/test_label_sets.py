"""Label sets: independent yes-or-no models that share their passes, against scikit-learn, one label at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import f1_score
from sklearn.svm import LinearSVC

from loglin import LoglinError, MaxEnt, load
from loglin.corpus.labels import LabelSets
from loglin.evaluation.sequences import best_threshold, evaluate_label_sets
from loglin.features.index import build_index
from loglin.features.matrix import MatrixExtractor
from loglin.objectives.independent import LOSSES, IndependentLosses
from loglin.threads import Threads


def problem(seed, n=40, columns=6, labels=5):
    rng = np.random.default_rng(seed)
    X = sparse.csr_matrix(np.where(rng.random((n, columns)) < 0.5, rng.normal(size=(n, columns)), 0.0))
    Y = (X @ rng.normal(size=(columns, labels)) + rng.normal(size=(n, labels))) > 0.5
    Y[0], Y[1] = True, False
    return X, Y


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_value_gradient_and_curvature_by_their_definitions(kind, dtype):
    X, Y = problem(0)
    design = MatrixExtractor(intercept=True).fit(X)
    index = build_index(design, LabelSets(Y), True, False, 1)
    weight = np.random.default_rng(1).random(len(Y))
    criterion = IndependentLosses(kind, design, LabelSets(Y), index, weight, dtype, Threads(2))
    rng = np.random.default_rng(2)
    w = rng.normal(size=index.n_features)

    def value(w):
        scores = np.hstack([X.toarray(), np.ones((len(Y), 1))]) @ w.reshape(-1, Y.shape[1])
        sign = np.where(Y, 1.0, -1.0)
        loss = {
            "likelihood": np.logaddexp(0, -sign * scores),
            "margin": np.maximum(0, 1 - sign * scores) ** 2,
            "least-squares": 0.5 * (scores - Y) ** 2,
        }[kind]
        return float(weight @ loss.sum(axis=1))

    found, gradient = criterion(w)
    assert found == pytest.approx(value(w), rel=1e-12 if dtype is np.float64 else 1e-5)
    for _ in range(3):
        d = rng.normal(size=len(w))
        slope = (value(w + 1e-6 * d) - value(w - 1e-6 * d)) / 2e-6
        assert gradient @ d == pytest.approx(slope, rel=1e-6 if dtype is np.float64 else 1e-3)
    diagonal = criterion.curvature(w)
    for f in range(0, len(w), 7):
        e = np.eye(len(w))[f] * 1e-4
        second = (value(w + e) - 2 * value(w) + value(w - e)) / 1e-8
        if kind != "margin":  # whose second derivative jumps
            assert diagonal[f] == pytest.approx(second, rel=1e-3, abs=1e-4)


def test_each_label_equals_scikit_learn_on_its_own():
    X, Y = problem(3, n=120)
    ours = MaxEnt(l2=0.5).fit(X, Y.astype(int))
    margins = MaxEnt("margin", l2=0.5, fit_intercept=False).fit(X, Y.astype(int))
    squares = MaxEnt("least-squares", l2=0.5).fit(X, Y.astype(int))
    for j in range(Y.shape[1]):
        theirs = LogisticRegression(C=2.0, tol=1e-12, max_iter=10_000).fit(X, Y[:, j])
        np.testing.assert_allclose(ours.predict_proba(X)[:, j], theirs.predict_proba(X)[:, 1], atol=1e-5)
        svm = LinearSVC(C=2.0, fit_intercept=False, tol=1e-10, max_iter=100_000).fit(X, Y[:, j])
        np.testing.assert_allclose(margins.decision_function(X)[:, j], svm.decision_function(X), atol=1e-4)
        ridge = Ridge(alpha=0.5, tol=1e-12).fit(X.toarray(), Y[:, j])
        np.testing.assert_allclose(squares.decision_function(X)[:, j], ridge.predict(X.toarray()), atol=1e-5)


def test_margins_of_classes_equal_a_linear_support_vector_machine():
    X, y = load_iris(return_X_y=True)
    X = X - X.mean(axis=0)
    ours = MaxEnt("margin", l2=0.5, fit_intercept=False).fit(X, y)
    theirs = LinearSVC(C=2.0, fit_intercept=False, tol=1e-10, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    assert (ours.predict(X) == theirs.predict(X)).all()
    squares = MaxEnt("least-squares", l2=0.5).fit(X, y)
    ridge = Ridge(alpha=0.5).fit(X, np.eye(3)[y])
    np.testing.assert_allclose(squares.decision_function(X), ridge.predict(X), atol=1e-5)


DOCUMENTS = [["ball", "goal"], ["ball", "vote"], ["vote", "law"], ["law"], ["weather"], ["goal", "law"]]
TOPICS = [{"sport"}, {"sport", "politics"}, {"politics"}, {"politics"}, set(), {"sport", "politics"}]


def test_sets_of_names_and_files(tmp_path):
    model = MaxEnt(multi_label=True, l2=0.01).fit(DOCUMENTS, TOPICS)
    assert model.predict(DOCUMENTS) == TOPICS
    assert model.predict([["unheard"], []])[0] == model.predict([[]])[0]
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.predict(DOCUMENTS) == TOPICS
    np.testing.assert_array_equal(again.predict_proba(DOCUMENTS), model.predict_proba(DOCUMENTS))
    assert {v.feature for v in model.explain(["goal", "law"])} == {"goal", "law", "(intercept)"}


def test_threshold_is_chosen_on_examples_held_out():
    X, Y = problem(5, n=200)
    plain = MaxEnt(l2=5.0).fit(X, Y.astype(int))
    tuned = MaxEnt(l2=5.0, threshold="out-of-fold").fit(X, Y.astype(int))
    assert 0 < tuned.model_.decoding["threshold"] < 1
    np.testing.assert_array_equal(tuned.coef_, plain.coef_)
    fixed = MaxEnt(l2=5.0, threshold=0.9).fit(X, Y.astype(int))
    assert fixed.predict(X).sum() < plain.predict(X).sum()


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 6), st.integers(1, 4), st.integers(0, 10**6))
def test_best_threshold_is_the_best_of_all(n, labels, seed):
    rng = np.random.default_rng(seed)
    values, has = rng.integers(0, 5, (n, labels)) / 4, rng.random((n, labels)) < 0.5

    def f1(threshold):
        return evaluate_label_sets(has, values >= threshold, range(labels)).f1

    tries = [f1(t) for t in [*np.unique(values), *(np.unique(values) + 0.01)]]
    assert f1(best_threshold(values, has)) == pytest.approx(max(tries))


def test_evaluation_equals_scikit_learn():
    rng = np.random.default_rng(0)
    gold, predicted = rng.random((2, 30, 4)) < 0.4
    result = evaluate_label_sets(gold, predicted, "abcd")
    assert result.f1 == pytest.approx(f1_score(gold, predicted, average="micro"))
    assert result.macro_f1 == pytest.approx(f1_score(gold, predicted, average="macro"))
    assert result.sentence_accuracy == pytest.approx((gold == predicted).all(axis=1).mean())


@pytest.mark.parametrize(
    ("arguments", "y", "message"),
    [
        ({"multi_label": True}, ["sport"] * 6, "give a set of labels"),
        ({"multi_label": True}, [set()] * 6, "no example has a label"),
        ({"multi_label": True}, TOPICS[:5], "6 examples but 5 label sets"),
        ({}, np.eye(6, 3, dtype=int) * 0, "no example has the label 0"),
        ({"multi_label": True}, [{1, "a"}] * 6, "of several kinds"),
        ({"threshold": 0.3}, ["a", "b"] * 3, "it is for label sets"),
        ({"multi_label": True, "threshold": "half"}, TOPICS, "threshold is 'half'"),
        ({"multi_label": True, "threshold": float("nan")}, TOPICS, "threshold is nan"),
        ({"multi_label": True, "criterion": "perceptron"}, TOPICS, "perceptron is for one label"),
        ({"multi_label": True, "class_weight": {"sport": 2}}, TOPICS, "one class an example"),
        ({"criterion": "least-squares"}, ["a", {"a", "b"}, "b"] * 2, "one certain class"),
    ],
)
def test_bad_input(arguments, y, message):
    with pytest.raises(LoglinError, match=message):
        MaxEnt(**arguments).fit(DOCUMENTS, y)


def test_margins_give_no_probabilities():
    model = MaxEnt("margin", multi_label=True).fit(DOCUMENTS, TOPICS)
    with pytest.raises(LoglinError, match="gives no probabilities"):
        model.predict_proba(DOCUMENTS)
    assert "probability" not in str(model.explain(["goal"]))
    assert "probability" not in str(MaxEnt("perceptron").fit(DOCUMENTS, list("aabbaa")).explain(["goal"]))


def test_explained_probabilities_are_those_of_every_label_for_itself():
    model = MaxEnt(multi_label=True).fit(DOCUMENTS, TOPICS)
    explained = model.explain(["goal", "law"]).probabilities
    assert list(explained.values()) == pytest.approx(model.predict_proba([["goal", "law"]])[0].tolist())
    assert sum(explained.values()) > 1.01  # both topics are likely


@pytest.mark.parametrize(
    "y",
    [
        [{"a"}, set(), {"a"}, set(), {"a"}, set()],  # one label
        [{"a"}, set(), set(), {"a"}, set(), {"b"}],  # folds that know one label of two
        [{"a"}, set(), set(), set(), set(), set()],  # a fold that knows none
        np.array([[1, 0], [1, 0], [0, 1], [0, 0], [1, 0], [0, 0]]),
    ],
)
def test_threshold_is_chosen_where_folds_miss_rare_labels(y):
    for X in (DOCUMENTS, np.eye(6)):
        model = MaxEnt(multi_label=not isinstance(y, np.ndarray), threshold="out-of-fold").fit(X, y)
        assert 0 < model.model_.decoding["threshold"] < 1


def test_every_form_of_label_sets_means_the_same():
    X, Y = problem(6)
    sets = [set(np.flatnonzero(row).tolist()) for row in Y]
    expected = MaxEnt().fit(X, Y.astype(int)).coef_
    for y in (sets, [list(s) for s in sets], sparse.csr_matrix(Y.astype(int))):
        np.testing.assert_array_equal(MaxEnt(multi_label=True).fit(X, y).coef_, expected)
    column = MaxEnt(multi_label=True).fit(X, Y[:, :1].astype(int))
    assert column.predict(X).shape == (len(Y), 1)
    np.testing.assert_array_equal(column.coef_, MaxEnt(multi_label=True).fit(X, [s & {0} for s in sets]).coef_)


def test_a_matrix_of_labels_is_predicted_after_loading_too(tmp_path):
    X, Y = problem(7)
    model = MaxEnt().fit(X, Y.astype(int))
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(X), model.predict(X))


def test_score_is_the_share_of_whole_sets():
    model = MaxEnt(multi_label=True, l2=0.01).fit(DOCUMENTS, TOPICS)
    assert model.score(DOCUMENTS, TOPICS) == 1.0
    assert model.score(DOCUMENTS, [set(), *TOPICS[1:]]) == pytest.approx(5 / 6)
    assert model.score(DOCUMENTS, [set(), *TOPICS[1:]], sample_weight=[0, 1, 1, 1, 1, 1]) == 1.0


def test_scores_without_bounds_give_probabilities_without_warnings(recwarn):
    model = MaxEnt(multi_label=True).fit([{"a": 1.0}, {"a": -1.0}, {"b": 1.0}], [{"p"}, set(), {"p"}])
    np.testing.assert_array_equal(model.predict_proba([{"a": 1e9}, {"a": -1e9}]), [[1.0], [0.0]])
    assert not recwarn.list


def test_partial_labels_of_matrices():
    X = np.eye(4)
    model = MaxEnt().fit(X, ["x", None, {"x", "y"}, "y"])
    assert model.predict(X[[0, 3]]).tolist() == ["x", "y"]
    assert MaxEnt().fit(X, ["x", ("x", "y"), "y", "y"]).predict(X[:1]).tolist() == ["x"]


def test_a_bad_threshold_is_refused_before_training():
    seen: list = []
    with pytest.raises(LoglinError, match="threshold is 'half'"):
        MaxEnt(multi_label=True, threshold="half", callbacks=[seen.append]).fit(DOCUMENTS, TOPICS)
    assert not seen
