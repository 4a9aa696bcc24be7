"""Naive Bayes against scikit-learn, by its definition, and on the way to the conditional model."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.naive_bayes import BernoulliNB, MultinomialNB
from sklearn.utils.estimator_checks import check_estimator

from loglin import LoglinError, MaxEnt, NaiveBayes, load
from loglin.corpus.labels import Gold
from loglin.criteria.naive_bayes import JointModel
from loglin.criteria.registry import criteria
from loglin.features.index import build_index
from loglin.features.matrix import MatrixExtractor
from loglin.objectives.likelihood import ConditionalLikelihood
from loglin.objectives.naive_bayes import NaiveBayesLikelihood


def problem(seed=0, n=60, columns=8, classes=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    y[:classes] = np.arange(classes)
    return sparse.csr_matrix(
        rng.poisson(rng.random((classes, columns)) * 1.5, (n, classes, columns))[np.arange(n), y]
    ), y


@pytest.mark.parametrize("kind", ["multinomial", "bernoulli"])
def test_is_a_scikit_learn_classifier(kind):
    check_estimator(NaiveBayes(kind))


@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_equals_scikit_learn(alpha):
    X, y = problem()
    weight = np.random.default_rng(1).random(len(y))
    for kind, theirs in (("multinomial", MultinomialNB(alpha=alpha)), ("bernoulli", BernoulliNB(alpha=alpha))):
        ours = NaiveBayes(kind, alpha=alpha).fit(X, y, sample_weight=weight)
        theirs.fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-10)
        np.testing.assert_allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), atol=1e-8)


@pytest.mark.parametrize("kind", ["multinomial", "bernoulli"])
def test_conditional_criterion_has_the_gradient_of_its_value(kind):
    X, y = problem(2, n=20, columns=4)
    design = MatrixExtractor(intercept=True).fit(X.astype(float))
    gold = Gold.certain(y, 3)
    inner = ConditionalLikelihood(design, gold, build_index(design, gold, True, False, 1), None, np.float64)
    criterion = NaiveBayesLikelihood(inner, np.arange(5) == 4, kind, 0.7)
    rng = np.random.default_rng(3)
    v = rng.normal(size=15)
    value, gradient = criterion(v)
    w = criterion.weights(v).reshape(5, 3)
    scores = np.hstack([X.toarray(), np.ones((20, 1))]) @ w
    nll = -(scores[np.arange(20), y] - np.log(np.exp(scores).sum(axis=1))).sum()
    table = v.reshape(5, 3)[:4]
    p = np.exp(table) / np.exp(table).sum(axis=0) if kind == "multinomial" else 1 / (1 + np.exp(-table))
    prior = np.log(p).sum() + (np.log(1 - p).sum() if kind == "bernoulli" else 0.0)
    assert value == pytest.approx(nll - 0.7 * prior)
    numeric = [(criterion(v + e)[0] - criterion(v - e)[0]) / 2e-6 for e in np.eye(15) * 1e-6]
    np.testing.assert_allclose(gradient, numeric, atol=1e-6)
    np.testing.assert_allclose(criterion.weights(criterion.parameters(w.ravel())), w.ravel(), atol=1e-12)


@pytest.mark.parametrize("kind", ["multinomial", "bernoulli"])
def test_the_conditional_objective_raises_the_conditional_likelihood(kind):
    X, y = problem(4, n=200)

    def likelihood(model):
        return model.predict_log_proba(X)[np.arange(len(y)), y].sum()

    joint = NaiveBayes(kind).fit(X, y)
    conditional = NaiveBayes(kind, objective="conditional").fit(X, y)
    assert likelihood(conditional) > likelihood(joint) + 0.5
    # still naive Bayes: of every class the probabilities of attributes sum to one
    if kind == "multinomial":
        np.testing.assert_allclose(np.exp(conditional.coef_).sum(axis=1), 1)


def test_joint_to_conditional_ends_where_maxent_does():
    X, y = problem(5, n=200)
    from_joint = NaiveBayes().fit(X, y).joint_to_conditional(X, y, l2=0.5)
    np.testing.assert_allclose(from_joint.predict_proba(X), MaxEnt(l2=0.5).fit(X, y).predict_proba(X), atol=1e-5)
    one_step = NaiveBayes().fit(X, y).joint_to_conditional(X, y, l2=0.5, max_iter=1)
    first = MaxEnt(l2=0.5, max_iter=1).fit(X, y)
    assert one_step.model_.record["objective"] != first.model_.record["objective"]


def test_files_names_and_unseen_words(tmp_path):
    X, y = [["ball", "goal"], ["ball"], ["vote", "law"], ["law"]], ["sport", "sport", "politics", "politics"]
    model = NaiveBayes().fit(X, y)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert isinstance(again, NaiveBayes)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_allclose(model.predict_proba([["unheard"]])[0], 0.5)
    np.testing.assert_allclose(model.predict_proba([[]])[0], 0.5)
    # two tokens of sport and goal once: (1 + 1) / (3 + 4)
    assert model.explain(["goal"])[0].votes["sport"] == pytest.approx(np.log(2 / 7))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kind": "gaussian"}, "kind is 'gaussian'; choose multinomial, bernoulli"),
        ({"alpha": -1}, "alpha is -1"),
        ({"alpha": float("nan")}, "alpha is nan"),
        ({"objective": "both"}, "choose joint, conditional"),
        ({"objective": "conditional", "alpha": 0}, "no maximum"),
        ({"class_prior": {0: 0.5, 1: 0.2, 2: 0.2}}, "in all 1"),
        ({"class_prior": {0: 0.5, 7: 0.5}}, "give each class"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(LoglinError, match=message):
        NaiveBayes(**parameters).fit(*problem())


def test_bad_input():
    X, y = problem()
    with pytest.raises(LoglinError, match="at least 0"):
        NaiveBayes().fit(-X, y)
    with pytest.raises(LoglinError, match="one class"):
        NaiveBayes().fit([["a"]], ["x"])
    with pytest.raises(ValueError, match="NaN"):
        NaiveBayes().fit(np.array([[np.nan], [1.0]]), [0, 1])


def test_files_are_opened_by_the_estimator_that_wrote_them(tmp_path):
    X, y = [{"a": 3.0, "b": 1.0}, {"a": 1.0}, {"b": 2.0}, {"c": 5.0}], ["x", "x", "y", "y"]
    NaiveBayes("bernoulli").fit(X, y).save(tmp_path / "nb")
    MaxEnt().fit(X, y).save(tmp_path / "maxent")
    with pytest.raises(LoglinError, match=r"NaiveBayes\.load"):
        MaxEnt.load(tmp_path / "nb")
    with pytest.raises(LoglinError, match="no naive Bayes model"):
        NaiveBayes.load(tmp_path / "maxent")


def test_class_priors_of_numbers_survive_files(tmp_path):
    X, y = problem()
    prior = dict(zip(np.unique(y), (0.5, 0.3, 0.2), strict=True))
    model = NaiveBayes(class_prior=prior).fit(X, y)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.class_prior == prior
    np.testing.assert_array_equal(again.fit(X, y).predict_proba(X), model.predict_proba(X))


def test_bad_examples_are_told():
    X = [["a"], ["b"], ["a", "b"]]
    with pytest.raises(LoglinError, match="3 examples but 2 classes"):
        NaiveBayes().fit(X, ["x", "y"])
    with pytest.raises(LoglinError, match="3 finite numbers of at least 0"):
        NaiveBayes().fit(X, ["x", "y", "x"], [1.0, -1.0, 1.0])


def test_naive_bayes_is_a_criterion_with_settings(tmp_path):
    assert list(criteria("joint")) == ["naive-bayes"]
    assert [f.name for f in JointModel.settings()] == ["kind", "alpha", "objective", "class_prior"]
    written = JointModel().with_settings({"kind": "bernoulli", "alpha": "0.5"})
    assert written == JointModel("bernoulli", 0.5)
    with pytest.raises(LoglinError, match="alpha is 'much'; give a number of at least 0"):
        JointModel(alpha="much")
    with pytest.raises(LoglinError, match="class_prior is 'half'; give each class"):
        NaiveBayes(class_prior="half").fit(*problem())
    X, y = problem()
    model = NaiveBayes("bernoulli", alpha=0.5, objective="conditional", max_iter=7, tol=1e-3).fit(X, y)
    assert model.model_.record["settings"]["kind"] == "bernoulli"
    assert model.model_.record["iterations"] == len(model.model_.record["history"]) <= 7
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").get_params() == model.get_params()
    counted = NaiveBayes().fit(X, y).model_.record
    assert (counted["stop"], counted["iterations"]) == ("counted", 0)
    assert "objective" not in counted
