"""CRF as an estimator: parameters, copies, search, files, metrics."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, classification_report, f1_score, make_scorer
from sklearn.model_selection import RandomizedSearchCV, cross_val_score

from loglin import Tagger
from loglin.crfsuite import CRF, CRFSuiteError, Trainer, metrics, scorers
from support.weather import weather

X, Y = weather(40)


@pytest.fixture(scope="module")
def crf():
    return CRF(c1=0.05, c2=0.2, max_iterations=50, all_possible_transitions=True).fit(X, Y)


def test_attributes_of_a_fitted_crf(crf):
    assert set(crf.classes_) == {label for y in Y for label in y}
    assert crf.num_attributes_ == len(crf.attributes_) == len(set(crf.attributes_))
    assert set(crf.attributes_) == {attribute for attribute, _ in crf.state_features_}
    assert {type(w) for w in crf.state_features_.values()} == {float}
    assert all(a in crf.classes_ and b in crf.classes_ for a, b in crf.transition_features_)
    assert 0 not in crf.state_features_.values()
    assert crf.size_ == len(Path(crf.modelfile.name).read_bytes())
    assert crf.training_log_.iterations[-1]["loss"] > 0


def test_single_sentences_and_many(crf):
    assert crf.predict(X) == [crf.predict_single(x) for x in X]
    rows = crf.predict_marginals(X)
    assert [len(row) for row in rows] == [len(x) for x in X]
    for x, row in zip(X, rows, strict=True):
        for one, other in zip(crf.predict_marginals_single(x), row, strict=True):
            assert one == pytest.approx(other)
        crf.tagger_.set(x)
        for t, marginals in enumerate(row):
            assert sum(marginals.values()) == pytest.approx(1)
            assert crf.tagger_.marginal(crf.classes_[0], t) == pytest.approx(marginals[crf.classes_[0]])
    flat = [[label for y in part for label in y] for part in (Y, crf.predict(X))]
    assert crf.score(X, Y) == accuracy_score(*flat)


def test_before_fit_everything_is_none():
    crf = CRF(c2=1)
    for name in ("tagger_", "classes_", "size_", "num_attributes_", "attributes_", "state_features_", "training_log_"):
        assert getattr(crf, name) is None
    assert crf.transition_features_ is None
    assert crf.modelfile.name is None
    with pytest.raises(NotFittedError):
        crf.predict(X)


def test_clone_and_repr():
    crf = CRF(algorithm="arow", gamma=0.5, model_filename=None, keep_tempfiles=True)
    assert repr(crf) == "CRF(algorithm='arow', gamma=0.5, keep_tempfiles=True)"
    assert clone(crf).get_params() == crf.get_params()
    assert repr(CRF()) == "CRF()"


@pytest.mark.parametrize("algorithm", ["lbfgs", "pa"])
def test_pickling_keeps_everything(algorithm):
    crf = CRF(algorithm, max_iterations=20).fit(X, Y)
    again = pickle.loads(pickle.dumps(crf))
    assert again.get_params() == crf.get_params()
    assert again.predict(X) == crf.predict(X)
    assert again.state_features_ == crf.state_features_
    assert again.training_log_.iterations == crf.training_log_.iterations
    assert pickle.loads(pickle.dumps(CRF(c1=3))).c1 == 3


def test_search_and_cross_validation():
    labels = sorted({label for y in Y for label in y} - {"O"})
    scorer = make_scorer(metrics.flat_f1_score, average="weighted", labels=labels, zero_division=0)
    search = RandomizedSearchCV(
        CRF(max_iterations=15, all_possible_transitions=True),
        {"c1": [0.01, 0.1], "c2": [0.1, 50.0]},
        n_iter=3,
        cv=2,
        scoring=scorer,
        random_state=0,
    )
    search.fit(X, Y)
    assert search.best_params_["c2"] == 0.1
    assert search.best_estimator_.predict(X[:3]) == search.predict(X[:3])
    assert len(cross_val_score(CRF(max_iterations=5), X, Y, cv=2, scoring=scorers.sequence_accuracy)) == 2


def test_a_named_file_is_written_and_opened_by_name(tmp_path):
    path = tmp_path / "named.model"
    crf = CRF(c2=0.3, model_filename=path)
    assert crf.tagger_ is None
    crf.fit(X, Y)
    assert crf.modelfile.name == str(path)
    assert CRF(model_filename=path).predict(X) == crf.predict(X) == Tagger.load(path).predict(X)
    assert pickle.loads(pickle.dumps(crf)).predict(X) == crf.predict(X)


@pytest.mark.parametrize("kept", [False, True])
def test_temporary_files_are_made_when_asked_for(kept, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    crf = CRF(c2=0.3, max_iterations=5, keep_tempfiles=kept).fit(X, Y)
    assert os.listdir(tmp_path) == []
    name = crf.modelfile.name
    assert name == crf.modelfile.name
    assert os.listdir(tmp_path) == [os.path.basename(name)]
    assert Tagger.load(name).predict(X[:3]) == crf.predict(X[:3])
    crf.fit(X[:20], Y[:20])
    assert os.path.exists(name) == kept
    second = crf.modelfile.name
    del crf
    assert os.path.exists(second) == kept


def test_dev_data_are_logged_and_printed(capsys):
    crf = CRF(c2=0.3, max_iterations=4, verbose=True).fit(X[:30], Y[:30], X[30:], Y[30:])
    printed = capsys.readouterr().out
    assert "Iter 1 " in printed
    assert "F1=" in printed
    assert "Support" in printed
    last = crf.training_log_.last_iteration
    assert set(last["scores"]) == set(crf.classes_)
    assert last["item_accuracy_float"] == pytest.approx(crf.score(X[30:], Y[30:]))


def test_the_same_weights_for_any_number_of_threads():
    one, two = (CRF(c2=0.1, threads=n).fit(X, Y).tagger_.model.weights for n in (1, 2))
    assert np.array_equal(one, two)


def test_a_trainer_of_ones_own():
    class Counting(Trainer):
        seen = 0

        def on_iteration(self, log, info):
            Counting.seen += 1

    crf = CRF(trainer_cls=Counting, verbose=True, max_iterations=3).fit(X, Y)
    assert Counting.seen == len(crf.training_log_.iterations) == 3


def test_as_tagger_explains(crf):
    tagger = crf.as_tagger()
    n = next(n for n, x in enumerate(X) if len(x) > 2)
    assert tagger.predict(X[:5]) == crf.predict(X[:5])
    assert tagger.explain(X[n], 1).label == crf.predict_single(X[n])[1]


def test_metrics_are_those_of_scikit_learn():
    true, found = [["x", "z", "y"], ["x", "x"], []], [["y", "z", "y"], ["x", "y"], []]
    flat = [[label for y in part for label in y] for part in (true, found)]
    assert metrics.flat_accuracy_score(true, found) == 0.6
    assert metrics.flat_precision_score(true, found, average="micro") == 0.6
    assert metrics.flat_recall_score(true, found, average="micro") == 0.6
    assert metrics.flat_fbeta_score(true, found, 1, average="macro") == f1_score(*flat, average="macro")
    report = metrics.flat_classification_report(true, found, ["x", "y"], digits=3)
    assert report == classification_report(*flat, labels=["x", "y"], digits=3)
    assert metrics.sequence_accuracy_score(true, found) == pytest.approx(1 / 3)
    assert metrics.sequence_accuracy_score([], []) == 0
    with pytest.raises(CRFSuiteError, match="give as many"):
        CRF().fit(X, Y[:3])
