"""Estimators where scikit-learn uses them: its checks, scorers, cross-validation, routing, pickles, partial fits."""

from __future__ import annotations

import json
import logging
import pickle
from typing import Any, get_type_hints

import joblib
import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.metrics._scorer import _SCORERS
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import loglin
from loglin import LanguageModel, LoglinError, MaxEnt, NaiveBayes, Parser, Tagger
from loglin.demo.ingredients import generate
from loglin.estimators.scoring import FIELDS, register, scorers

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
DATA = generate(60, 1, "train")
X, Y = [[w for w, _ in s] for s in DATA], [[y for _, y in s] for s in DATA]
QUICK = {"max_iter": 3, "optimizer": "lbfgs"}
TREES = ["(S (NP (D the) (N dog)) (V barks))", "(S (NP (D a) (N cat)) (V sleeps))"] * 3
TEXTS = ["the team won", "shares fell", "a late goal", "the bank lost"] * 5
CLASSES = ["sport", "money"] * 10
# scikit-learn's checks that an estimator may fail, each with its reason
OWL_QN = "with l1 the last digits depend on the path to the optimum, and the check compares to 1e-7"
EXPECTED = {
    "MaxEnt": {
        "check_sample_weight_equivalence_on_dense_data": OWL_QN,
        "check_sample_weight_equivalence_on_sparse_data": OWL_QN,
    },
    "NaiveBayes": {},
}


@parametrize_with_checks(
    [NaiveBayes(objective="conditional"), MaxEnt(l1=0.01)],
    expected_failed_checks=lambda estimator: EXPECTED[type(estimator).__name__],
)
def test_checks_of_scikit_learn(estimator, check):
    """test_maxent.py and test_naive_bayes.py check the usual ones."""
    check(estimator)


@pytest.fixture(scope="module")
def tagger():
    return Tagger().fit(X, Y)


# ---------------------------------------------------------------------- scorers, cross-validation, routing


def expected_scores(field):
    """What evaluations say of the three folds of scikit-learn."""
    folds = np.array_split(np.arange(len(X)), 3)
    found = []
    for fold in folds:
        rest = [n for n in range(len(X)) if n not in fold]
        fitted = Tagger(**QUICK).fit([X[n] for n in rest], [Y[n] for n in rest])
        found.append(getattr(fitted.evaluate([X[n] for n in fold], [Y[n] for n in fold]), field))
    return found


def test_scorers(tagger):
    assert cross_val_score(Tagger(**QUICK), X, Y, cv=3, scoring=scorers["f1"]).tolist() == expected_scores("f1")
    with pytest.raises(LoglinError, match="is for taggers, not for MaxEnt"):
        scorers["f1"](MaxEnt(), X, Y)
    assert set(scorers) == set(FIELDS)
    assert all(0 <= scorer(tagger, X, Y) <= 1 for scorer in scorers.values())


def test_scorers_by_name(monkeypatch):
    for name in FIELDS:
        monkeypatch.setitem(_SCORERS, name, _SCORERS.get(name))
    matrix, classes = np.random.default_rng(0).random((30, 2)), [0, 1] * 15
    before = cross_val_score(MaxEnt(), matrix, classes, scoring="f1", cv=3)
    Tagger()
    register()  # twice is once
    assert cross_val_score(Tagger(**QUICK), X, Y, cv=3, scoring="f1").tolist() == expected_scores("f1")
    assert cross_val_score(MaxEnt(), matrix, classes, scoring="f1", cv=3).tolist() == before.tolist()
    assert get_scorer("f1").otherwise is not None
    search = GridSearchCV(Tagger(**QUICK), {"l2": [0.1, 100]}, scoring="f1", cv=2).fit(X, Y)
    assert search.best_params_ == {"l2": 0.1}


def test_answers_of_different_lengths_are_predicted_by_cross_validation(tagger):
    found = cross_val_predict(Tagger(**QUICK), X, Y, cv=3)
    assert [len(labels) for labels in found] == [len(s) for s in X]
    assert tagger.evaluate(X, found).tokens == sum(map(len, X))
    same = tagger.predict([X[0], X[0]])
    assert np.asarray(same).shape == (2,)  # of lists, however long
    assert same == [tagger.predict_single(X[0])] * 2
    assert json.dumps(same) == json.dumps(list(same))


def test_weights_are_routed():
    weight = np.linspace(0.1, 3, len(X))
    half = len(X) // 2
    with sklearn.config_context(enable_metadata_routing=True):
        asked = Tagger(**QUICK).set_fit_request(sample_weight=True)
        found = cross_val_score(clone(asked), X, Y, cv=2, params={"sample_weight": weight})
        renamed = cross_val_score(Tagger(**QUICK).set_fit_request(sample_weight="w"), X, Y, cv=2, params={"w": weight})
        with pytest.raises(ValueError, match="sample_weight"):
            cross_val_score(Tagger(**QUICK), X, Y, cv=2, params={"sample_weight": weight})
    by_hand = [
        Tagger(**QUICK).fit(X[half:], Y[half:], sample_weight=weight[half:]).score(X[:half], Y[:half]),
        Tagger(**QUICK).fit(X[:half], Y[:half], sample_weight=weight[:half]).score(X[half:], Y[half:]),
    ]
    assert found.tolist() == renamed.tolist() == by_hand


# ---------------------------------------------------------------------- pickles


FITTED = {
    "tagger": lambda: Tagger(constrain="bio", dictionary=1).fit(X, Y),
    "texts": lambda: MaxEnt().fit(TEXTS, CLASSES),
    "matrix": lambda: MaxEnt(feature_names=["a", "b"]).fit(np.eye(2).repeat(5, 0), [0] * 5 + [1] * 5),
    "naive bayes": lambda: NaiveBayes().fit(TEXTS, CLASSES),
    "parser": lambda: Parser(max_iter=3).fit(TREES),
    "language model": lambda: LanguageModel(max_iter=3, features=("bigram", "cache")).fit(TEXTS),
}


def answers(estimator):
    match estimator:
        case Tagger():
            return estimator.predict(X), [p.tolist() for p in estimator.predict_proba(X[:3])]
        case Parser():
            return [str(tree) for tree in estimator.predict([["the", "cat", "barks"]])]
        case LanguageModel():
            return estimator.perplexity(TEXTS)
    given = np.eye(2) if hasattr(estimator, "n_features_in_") else TEXTS
    return estimator.predict_proba(given).tolist(), estimator.get_feature_names_out().tolist()


@pytest.mark.parametrize("name", FITTED)
def test_pickles_hold_the_bytes_of_a_model_file(name, tmp_path):
    estimator = FITTED[name]()
    joblib.dump(estimator, tmp_path / "joblib")
    estimator.save(tmp_path / "model")
    state = estimator.__getstate__()
    assert state["model_"] == (tmp_path / "model").read_bytes()
    for other in (pickle.loads(pickle.dumps(estimator)), joblib.load(tmp_path / "joblib")):
        assert answers(other) == answers(estimator)
        assert other.get_params() == estimator.get_params()
    state["model_"] = state["model_"][:-1] + bytes([state["model_"][-1] ^ 1])
    with pytest.raises(LoglinError, match="the pickle is no loglin model or is damaged: its checksum"):
        type(estimator).__new__(type(estimator)).__setstate__(state)


@pytest.mark.parametrize("estimator", [Tagger(l2=3.0), MaxEnt(l1=1.0), Parser(), LanguageModel()])
def test_pickles_without_a_model(estimator):
    assert repr(pickle.loads(pickle.dumps(estimator))) == repr(estimator)


# ---------------------------------------------------------------------- partial fits


def test_partial_fits_of_a_tagger_are_one_fit_of_all():
    parts = Tagger(tol=1e-9, optimizer="lbfgs", dtype="float64")
    weight = np.linspace(0.5, 2, len(X))
    for begin in (0, 20, 40):
        chosen = slice(begin, begin + 20)
        assert parts.partial_fit(X[chosen], Y[chosen], weight[chosen]) is parts
    whole = clone(parts).fit(X, Y, sample_weight=weight)
    assert parts.model_.record["objective"] == pytest.approx(whole.model_.record["objective"], rel=1e-6)
    assert parts.predict(X) == whole.predict(X)
    parts.fit(X[:5], Y[:5])
    assert parts.partial_fit(X[5:9], Y[5:9]).model_.record["sentences"] == 4  # of the new ones alone
    with pytest.raises(LoglinError, match="partial_fit takes no vectors"):
        parts.partial_fit(X, Y, vectors=[])


@pytest.mark.parametrize("kind", ["dense", "sparse", "texts"])
def test_partial_fits_of_a_classifier_are_one_fit_of_all(kind):
    rng = np.random.default_rng(3)
    matrix, y = rng.random((40, 3)), rng.integers(0, 3, 40)
    given = {"dense": matrix, "sparse": sparse.csr_matrix(matrix), "texts": TEXTS * 2}[kind]
    y = y if kind != "texts" else np.array(CLASSES * 2)
    parts = MaxEnt()
    for begin in (0, 20):
        parts.partial_fit(given[begin : begin + 20], y[begin : begin + 20], classes=np.unique(y))
    whole = MaxEnt().fit(given, y)
    assert parts.predict_proba(given) == pytest.approx(whole.predict_proba(given), abs=1e-6)
    if kind != "texts":
        with pytest.raises(ValueError, match="features"):
            parts.partial_fit(given[:, :2], y)
        with pytest.raises(LoglinError, match="none of classes"):
            parts.partial_fit(given, y, classes=[0, 1])
        with pytest.raises(LoglinError, match="X is a matrix and was a list before, or the reverse"):
            parts.partial_fit(TEXTS * 2, y)


# ---------------------------------------------------------------------- what is told


def test_balanced_weights():
    classes = ["a"] * 30 + ["b"] * 10
    matrix = np.random.default_rng(1).random((40, 2))
    told = MaxEnt(class_weight={"a": 40 / 60, "b": 40 / 20}).fit(matrix, classes)
    assert np.allclose(MaxEnt(class_weight="balanced").fit(matrix, classes).coef_, told.coef_)
    flat = [y for s in Y for y in s]
    weights = {y: len(flat) / (len(set(flat)) * flat.count(y)) for y in set(flat)}
    balanced, by_hand = (Tagger(label_weights=w, **QUICK).fit(X, Y) for w in ("balanced", weights))
    assert np.allclose(balanced.model_.weights, by_hand.model_.weights, atol=1e-5)
    for estimator in (Tagger(label_weights="even"), MaxEnt(class_weight="even")):
        with pytest.raises(LoglinError, match="weights of labels are 'even'; give a dict of numbers, or balanced"):
            estimator.fit(
                X if isinstance(estimator, Tagger) else matrix, Y if isinstance(estimator, Tagger) else classes
            )


def test_weights_as_a_table(tagger):
    table = tagger.weights()
    assert {len(column) for column in table.values()} == {int(np.count_nonzero(tagger.model_.weights))}
    assert [abs(w) for w in table["weight"]] == sorted((abs(w) for w in table["weight"]), reverse=True)
    states, transitions = tagger.state_features_, tagger.transition_features_
    assert len(states) + len(transitions) == len(table["weight"])
    votes = {(v.feature, y): w for v in tagger.explain(X[0], 0).votes for y, w in v.votes.items() if w}
    assert votes.items() <= states.items()
    assert {name for name, _ in states} <= set(tagger.get_feature_names_out())
    explanation = tagger.explain(X[0][:2], 1)
    first = tagger.predict_single(X[0][:2])[0]
    for label, weight in explanation.transitions.items():
        assert transitions.get((first, label), 0.0) == pytest.approx(weight, abs=1e-6)
    triples = Tagger(order=2, **QUICK).fit(X, Y).transition_features_
    assert {len(labels) for labels in triples} == {2, 3}


def test_training_is_told(capfd, caplog):
    with caplog.at_level(logging.DEBUG, "loglin"):
        Tagger(**QUICK).fit(X, Y)
    assert capfd.readouterr().err == ""
    assert "iteration 1: objective" in caplog.text
    assert "crf: 3 iterations, objective" in caplog.text
    Tagger(verbose=True, **QUICK).fit(X, Y)
    MaxEnt(verbose=True).fit(TEXTS, CLASSES)
    assert capfd.readouterr().err.count("iteration 1  objective") == 2


def test_results_are_readable(tagger):
    evaluation = tagger.evaluate(X, Y)
    assert str(evaluation) == evaluation.report()
    assert "FB1" in f"{evaluation}"
    entities = [entity.as_dict() for entity in tagger.entities(X[:1])[0]]
    assert json.loads(json.dumps(entities))[0].keys() == {"type", "start", "stop", "text", "probability"}
    parser = Parser(max_iter=3).fit(TREES)
    assert parser.evaluate(TREES).f1 == parser.score(TREES) == 1.0
    assert parser.evaluate(TREES, max_length=3).sentences == 6
    offered = dir(loglin)
    assert set(loglin.__all__) <= set(offered)
    assert "Any" not in offered
    for estimator in (Tagger(), MaxEnt(), NaiveBayes(), Parser(), LanguageModel()):
        assert type(estimator).__name__ in (estimator._repr_html_() or "")


def test_answers_are_typed():
    for method in (MaxEnt.predict, NaiveBayes.predict, MaxEnt.predict_proba, MaxEnt.score, Tagger.predict):
        assert get_type_hints(method)["return"] is not Any
