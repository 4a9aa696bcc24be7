"""MaxEnt against scikit-learn, and what scikit-learn does not have."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from loglin import LoglinError, MaxEnt, load


def test_is_a_scikit_learn_classifier():
    check_estimator(MaxEnt())


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("l2", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_equals_multinomial_logistic_regression(form, l2, intercept):
    X, y = load_iris(return_X_y=True)
    X = sparse.csr_matrix(X * (X > 1)) if form == "sparse" else X
    ours = MaxEnt(l2=l2, fit_intercept=intercept).fit(X, y)
    theirs = LogisticRegression(C=1 / l2, tol=1e-12, max_iter=100_000, fit_intercept=intercept).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


def test_equals_it_on_ten_classes():
    X, y = load_digits(return_X_y=True)
    X = X[:600] / 16
    ours = MaxEnt().fit(X, y[:600])
    theirs = LogisticRegression(tol=1e-10, max_iter=100_000).fit(X, y[:600])
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)


def test_sample_and_class_weights_equal_scikit_learn():
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).random(len(y))
    options = {"tol": 1e-12, "max_iter": 100_000}
    ours = MaxEnt(class_weight={0: 2.0, 2: 0.5}).fit(X, y, sample_weight=weight)
    theirs = LogisticRegression(class_weight={0: 2.0, 1: 1.0, 2: 0.5}, **options).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)


def test_in_a_pipeline():
    X, y = load_iris(return_X_y=True)
    assert make_pipeline(StandardScaler(), MaxEnt()).fit(X, y).score(X, y) > 0.95


DOCUMENTS = [["ball", "goal"], ["ball", "team"], ["vote", "law"], ["law", "court", "team"]]
TOPICS = ["sport", "sport", "politics", "politics"]


def test_strings_dicts_and_unseen_features(tmp_path):
    model = MaxEnt().fit(DOCUMENTS, TOPICS)
    assert model.predict([["goal"], ["vote", "unheard"]]).tolist() == ["sport", "politics"]
    prior = model.predict_proba([[], ["unheard"]])
    np.testing.assert_allclose(prior[0], prior[1])
    dicts = MaxEnt().fit([dict.fromkeys(d, 1.0) for d in DOCUMENTS], TOPICS)
    np.testing.assert_allclose(dicts.predict_proba([{"goal": 1.0}]), model.predict_proba([["goal"]]))
    model.save(tmp_path / "m")
    np.testing.assert_allclose(load(tmp_path / "m").predict_proba(DOCUMENTS), model.predict_proba(DOCUMENTS))
    assert model.explain(["goal"])[0].votes
    assert model.predict_nbest([["goal"]], 2)[0][0][0] == "sport"


def test_candidates_limit_the_choice():
    X = np.eye(3)
    model = MaxEnt(l2=0.1).fit(X, ["a", "b", "c"], candidates=[["a", "b"], ["a", "b", "c"], ["b", "c"]])
    proba = model.predict_proba(X, candidates=[["b", "c"], ["a"], ["a", "c"]])
    assert proba[0, 0] == 0.0
    assert proba[1].tolist() == [1.0, 0.0, 0.0]
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    with pytest.raises(LoglinError, match="not among its candidates"):
        MaxEnt().fit(X, ["a", "b", "c"], candidates=[["b"], ["b"], ["c"]])
    with pytest.raises(LoglinError, match="'z' is no class"):
        model.predict(X, candidates=[["z"], ["a"], ["a"]])


def test_partial_classes():
    X = [["x"], ["x"], ["y"], ["y"], ["z"]]
    model = MaxEnt(l2=0.1).fit(X, ["a", {"a", "b"}, "b", None, "c"])
    assert model.predict([["x"], ["y"], ["z"]]).tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([["a"], ["b"]], ["x", "x"], "one class"),
        (np.array([[np.nan], [1.0]]), [0, 1], "NaN"),
        (np.array([[np.inf], [1.0]]), [0, 1], "infinity"),
        ([{"a": float("inf")}, {"b": 1.0}], ["x", "y"], "finite"),
    ],
)
def test_bad_input(X, y, message):
    with pytest.raises(ValueError, match=message):
        MaxEnt().fit(X, y)


def test_options_given_as_numpy_numbers_survive_files(tmp_path):
    X, y = [["a"], ["b"], ["a", "b"], ["c"]], ["x", "y", "x", "y"]
    model = MaxEnt(max_iter=np.int64(50), l2=np.float64(0.5), variances={"a": np.float64(2.0)}).fit(X, y)
    model.save(tmp_path / "m")
    again = MaxEnt.load(tmp_path / "m")
    assert (again.max_iter, again.l2, again.variances) == (50, 0.5, {"a": 2.0})
    np.testing.assert_array_equal(again.fit(X, y).predict_proba(X), model.predict_proba(X))


def test_candidates_must_leave_a_possible_class():
    X, y = [["a"], ["b"], ["c"]], ["x", {"x"}, "y"]
    with pytest.raises(LoglinError, match="example 1: none of its possible classes"):
        MaxEnt().fit(X, y, candidates=[["x", "y"], ["y"], ["x", "y"]])


def test_lists_of_zeros_and_ones_are_no_classes():
    with pytest.raises(LoglinError, match="y holds lists"):
        MaxEnt().fit([["a"], ["b"], ["c"]], [[1, 0], [0, 1], [1, 1]])


def test_many_dense_numbers_converge():
    """Dimensions that depend on each other: with ten steps remembered, 1,000 iterations did not end."""
    rng = np.random.default_rng(0)
    shared, often = rng.standard_normal((100, 128)), 1 / np.arange(1, 101)
    seen = rng.choice(100, p=often / often.sum(), size=(2000, 5))
    X = shared[seen].sum(axis=1) + 0.5 * rng.standard_normal((2000, 128))
    y = (rng.standard_normal((100, 8))[seen].sum(axis=1) + rng.gumbel(size=(2000, 8))).argmax(axis=1)
    record = MaxEnt(threads=1).fit(X, y).model_.record
    assert record["converged"]
    assert record["iterations"] < 900
