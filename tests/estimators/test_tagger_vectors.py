"""Taggers whose tokens carry vectors: every way to predict, files, options, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from loglin import LoglinError, Tagger
from loglin.models.chain import Model

DIMENSIONS = 6
RIGHT = np.random.default_rng(7).standard_normal((DIMENSIONS, 3))
LABELS = ["B-A", "I-A", "O"]


def text(n: int, seed: int = 0):
    """Sentences of words that say nothing, whose labels follow from their vectors."""
    rng = np.random.default_rng(seed)
    X = [[f"w{rng.integers(9)}" for _ in range(rng.integers(1, 7))] for _ in range(n)]
    V = [rng.standard_normal((len(x), DIMENSIONS)) for x in X]
    return X, [[LABELS[k] for k in (v @ RIGHT).argmax(axis=1)] for v in V], V


X, Y, V = text(240)
X_NEW, Y_NEW, V_NEW = text(30, seed=1)


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return Tagger(threads=1).fit(X, Y, vectors=V)


def test_vectors_decide(tagger):
    without = Tagger(threads=1).fit(X, Y)
    assert tagger.score(X_NEW, Y_NEW, V_NEW) > 0.75 > 0.5 > without.score(X_NEW, Y_NEW)


def test_all_answers_are_those_of_one_distribution(tagger):
    best = tagger.predict(X_NEW, V_NEW)
    assert best == tagger.predict(X_NEW, vectors=np.concatenate(V_NEW))
    assert best == [tagger.predict_single(x, v) for x, v in zip(X_NEW, V_NEW, strict=True)]
    ranked = tagger.predict_nbest(X_NEW, k=2, vectors=V_NEW)
    assert [r[0][0] for r in ranked] == best
    proba, marginals = tagger.predict_proba(X_NEW, V_NEW), tagger.predict_marginals(X_NEW, V_NEW)
    assert [list(m[0].values()) for m in marginals] == [p[0].tolist() for p in proba]
    for found, sentence in zip(tagger.entities(X_NEW, V_NEW), best, strict=True):
        assert sum(label.startswith("B") for label in sentence) <= len(found)
        assert all(0 < e.probability <= 1 for e in found)
    assert tagger.evaluate(X_NEW, Y_NEW, V_NEW).f1 == tagger.score(X_NEW, Y_NEW, V_NEW)
    assert len(tagger.predict([], [])) == 0


def test_an_explanation_has_one_line_for_the_vector(tagger):
    sentence = next(n for n, x in enumerate(X_NEW) if len(x) > 1)
    found = tagger.explain(X_NEW[sentence], 1, V_NEW[sentence])
    (vote,) = [v for v in found.votes if v.feature == f"vector of {DIMENSIONS} dimensions"]
    model = tagger.model_
    W = model.index.split(model.weights)[0][-DIMENSIONS * 3 :].reshape(DIMENSIONS, 3)
    expected = V_NEW[sentence][1] @ W
    assert vote.votes == pytest.approx(dict(zip(tagger.classes_, expected, strict=True)), abs=1e-4)
    assert model.attribute_name(model.extractor.n_attributes + 2) == "vector[2]"


def test_the_optimum_is_that_of_lists_of_attributes():
    """What vectors give is what their numbers give as attributes of all labels."""
    attributes = [[{f"d{k}": float(v) for k, v in enumerate(row)} for row in rows] for rows in V]
    lists = Tagger(tol=1e-7, dtype="float64", all_features=True, threads=1).fit(attributes, Y)
    dense = Tagger(tol=1e-7, dtype="float64", template="B\n", threads=1).fit(X, Y, vectors=V)
    assert dense.model_.record["objective"] == pytest.approx(lists.model_.record["objective"], rel=1e-5)
    for optimizer in ("lbfgs", "gradient"):
        other = Tagger(tol=1e-5, template="B\n", optimizer=optimizer, threads=1).fit(X, Y, vectors=V)
        assert other.model_.record["objective"] == pytest.approx(lists.model_.record["objective"], rel=1e-3)


def test_files_keep_vectors_and_their_scale(tmp_path):
    far = [1000 + 50 * v for v in V]
    constant = [np.column_stack([v, np.full(len(v), 3.0)]) for v in far]
    tagger = Tagger(vector_scale=True, vector_l2=0.1, threads=1).fit(X, Y, vectors=constant)
    same = Tagger(vector_scale=True, vector_l2=0.1, threads=1).fit(X, Y, vectors=V)
    assert tagger.model_.record["objective"] == pytest.approx(same.model_.record["objective"], rel=1e-3)
    tagger.save(tmp_path / "m.model")
    again = Tagger.load(tmp_path / "m.model")
    assert (again.vector_scale, again.vector_l2) == (True, 0.1)
    assert again.predict(X, constant) == tagger.predict(X, constant)
    again.model_.prune(0.01).save(tmp_path / "small.model", half=True)
    small = Tagger.load(tmp_path / "small.model")
    assert small.model_.index.n_features < again.model_.index.n_features
    assert small.score(X, Y, constant) > 0.9
    whole = (tmp_path / "m.model").read_bytes()
    (tmp_path / "old.model").write_bytes(whole.replace(b'\\"size\\": 7', b'\\"size\\": 8'))
    with pytest.raises(LoglinError, match="damaged"):
        Model.load(tmp_path / "old.model")


def test_the_penalty_of_vectors_is_their_own():
    def norms(**given):
        model = Tagger(threads=1, **given).fit(X, Y, vectors=V).model_
        unigram, n = model.index.split(model.weights)[0], DIMENSIONS * 3
        return np.linalg.norm(unigram[:-n]), np.linalg.norm(unigram[-n:])

    words, numbers = norms()
    assert norms(vector_l2=1.0) == (words, numbers)
    strong = norms(vector_l2=100.0)
    assert strong[1] < 0.5 * numbers
    assert strong[0] > words
    by_template = norms(template="U0:%x[0,0] variance=0.001\nB\n", vector_l2=0.01)
    assert by_template[0] < 0.1 * by_template[1]


@pytest.mark.parametrize("more", [{"l2": "auto"}, {"cutoff": 3}, {"all_features": True}, {"dictionary": 2}])
def test_options_go_with_vectors(more):
    tagger = Tagger(threads=1, **more).fit(X, Y, vectors=V)
    dimensions = np.diff(tagger.model_.index.ptr)[-DIMENSIONS:]
    assert (dimensions == 3).all()
    assert tagger.score(X, Y, V) > 0.7


def test_partial_labels_weights_held_out_data_and_starts():
    partly = [[None if t == 1 else label for t, label in enumerate(y)] for y in Y]
    weights = np.linspace(0.5, 2, len(X))
    tagger = Tagger(dev=(X_NEW, Y_NEW, V_NEW), threads=1).fit(X, partly, sample_weight=weights, vectors=V)
    assert tagger.score(X_NEW, Y_NEW, V_NEW) > 0.7
    again = Tagger(threads=1).fit(X, partly, sample_weight=weights, vectors=V, start=tagger.model_)
    assert again.n_iter_ < Tagger(threads=1).fit(X, partly, sample_weight=weights, vectors=V).n_iter_
    more = {"X_dev": X_NEW, "y_dev": Y_NEW, "vectors_dev": V_NEW}
    same = Tagger(threads=1).fit(X, partly, sample_weight=weights, vectors=V, **more)
    assert same.predict(X_NEW, V_NEW) == tagger.predict(X_NEW, V_NEW)
    assert clone(tagger).get_params()["vector_l2"] is None


@pytest.mark.parametrize("criterion", ["perceptron", "memm", "margin"])
def test_other_criteria_learn_from_vectors(criterion):
    tagger = Tagger(criterion, threads=1).fit(X, Y, vectors=V)
    assert tagger.score(X_NEW, Y_NEW, V_NEW) > 0.7


@pytest.mark.parametrize("criterion", ["hmm", "m-estimation", "contrastive"])
def test_criteria_that_cannot_refuse_vectors(criterion):
    with pytest.raises(LoglinError, match="does not learn from vectors"):
        Tagger(criterion).fit(X, Y, vectors=V)


def with_one(value: float) -> list:
    other = [v.copy() for v in V_NEW]
    other[2][0, 3] = value
    return other


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (None, "trained with a vector of 6 numbers for every token; give vectors too"),
        (V_NEW[:-1], "30 sentences but 29 arrays"),
        ([v[:, :4] for v in V_NEW], "have 4 dimensions, but the model was trained with 6"),
        ([V_NEW[0][:, :2], *V_NEW[1:]], "of sentence 1 have 6 dimensions, but those before have 2"),
        ([V_NEW[0][:0], *V_NEW[1:]], r"of sentence 0: the shape is \(0, 6\), but it has"),
        (np.concatenate(V_NEW)[1:], "rows for"),
        (with_one(np.nan), "sentence 2, token 0 has nan in dimension 3"),
        (with_one(-np.inf), "sentence 2, token 0 has -inf in dimension 3"),
        (with_one(1e20), "give finite numbers"),
        ("numbers", "give an array"),
        ([["a"] * len(x) for x in X_NEW], "is no array of numbers"),
        ([[[1.0], [1.0, 2.0]]] * len(X_NEW), "is no array of numbers"),
        (3.0, "give an array"),
    ],
)
def test_wrong_vectors_are_one_sentence(tagger, vectors, message):
    with pytest.raises(LoglinError, match=message):
        tagger.predict(X_NEW, vectors)
    if vectors is not None and "dimensions, but the model" not in message:
        with pytest.raises(LoglinError, match=message):
            Tagger().fit(X_NEW, Y_NEW, vectors=vectors)


def test_vectors_where_there_must_be_none():
    with pytest.raises(LoglinError, match="trained without vectors"):
        Tagger().fit(X, Y).predict(X_NEW, V_NEW)
    with pytest.raises(LoglinError, match="vector_l2"):
        Tagger(vector_l2=-1).fit(X, Y, vectors=V)
    with pytest.raises(LoglinError, match="the vectors of dev"):
        Tagger(dev=(X_NEW, Y_NEW)).fit(X, Y, vectors=V)


def test_few_weights_of_vectors_remember_many_steps():
    """With ten remembered, 153 iterations: dimensions depend on each other."""
    rng = np.random.default_rng(0)
    shared, often = rng.standard_normal((60, 64)), 1 / np.arange(1, 61)
    words = [rng.choice(60, p=often / often.sum(), size=(7, 3)) for _ in range(150)]
    vectors = [shared[seen].sum(axis=1) + 0.3 * rng.standard_normal((7, 64)) for seen in words]
    better = rng.standard_normal((60, 4))
    y = [[f"L{k}" for k in (better[seen].sum(axis=1) + rng.gumbel(size=(7, 4))).argmax(axis=1)] for seen in words]
    X = [["token"] * 7 for _ in words]
    record = Tagger(template="B\n", threads=1, tol=1e-6).fit(X, y, vectors=vectors).model_.record
    assert record["converged"]
    assert record["iterations"] < 130
