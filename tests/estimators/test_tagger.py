"""The Tagger estimator on the built-in corpus: what a user calls, and what comes back."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

from loglin import LoglinError, Tagger, load
from loglin.decoding.chains import Decoder
from loglin.demo.ingredients import generate


def split(lines):
    return [[t for t, _ in line] for line in lines], [[y for _, y in line] for line in lines]


TRAIN, TEST = split(generate(400, 1, "train")), split(generate(150, 2, "test"))


@pytest.fixture(scope="module")
def tagger():
    return Tagger(l2=0.5).fit(*TRAIN)


def test_learns(tagger):
    assert tagger.score(*TEST) > 0.8
    words_only = Tagger(template="U0:%x[0,0]\nB").fit(*TRAIN)
    assert words_only.score(*TEST) < tagger.score(*TEST) - 0.03


def test_predictions_fit_together(tagger):
    X = TEST[0][:20]
    best = tagger.predict(X)
    assert [len(s) for s in best] == [len(s) for s in X]
    for labels, ranked, marginals in zip(best, tagger.predict_nbest(X, 3), tagger.predict_proba(X), strict=True):
        assert ranked[0][0] == labels
        assert [p for _, p in ranked] == sorted((p for _, p in ranked), reverse=True)
        np.testing.assert_allclose(marginals.sum(axis=1), 1, atol=1e-9)
    as_dicts = tagger.predict_marginals(X[:1])[0]
    assert as_dicts[0][tagger.classes_[0]] == pytest.approx(tagger.predict_proba(X[:1])[0][0, 0])
    assert tagger.predict([]) == []
    assert tagger.predict([[]]) == [[]]
    assert tagger.predict_single(X[0]) == best[0]


def test_entities_have_exact_probabilities(tagger):
    sentence = TEST[0][0][:6]
    chain = next(
        tagger._decoder.chains(tagger.model_.extractor.transform(tagger.input_of(tagger.model_.extractor, [sentence])))
    )
    names, weights = tagger.classes_, {}
    for y in itertools.product(range(len(names)), repeat=2):  # the sum by hand, over the first two tokens
        weights[y] = chain.span_probability(0, np.eye(len(names), dtype=bool)[list(y)])
    assert sum(weights.values()) == pytest.approx(1)
    for entity in tagger.entities([sentence])[0]:
        assert 0 < entity.probability <= 1
        assert entity.text == " ".join(sentence[entity.start : entity.stop])
        if entity.stop == 1:
            ends = [j for j, n in enumerate(names) if n != f"I-{entity.type}"]
            expected = sum(weights[names.index(f"B-{entity.type}"), j] for j in ends)
            assert entity.probability == pytest.approx(expected)


def test_explanation_adds_up(tagger):
    sentence = TEST[0][0]
    explanation = tagger.explain(sentence, 1)
    design = tagger.model_.extractor.transform(tagger.input_of(tagger.model_.extractor, [sentence]))
    scores = tagger._decoder.scores(design)[1]
    for i, label in enumerate(tagger.classes_):
        assert sum(v.votes.get(label, 0.0) for v in explanation.votes) == pytest.approx(scores[i], abs=1e-5)
    sizes = [max(abs(x) for x in v.votes.values()) for v in explanation.votes]
    assert sizes == sorted(sizes, reverse=True)
    assert explanation.label in str(explanation)
    with pytest.raises(LoglinError, match="position 99"):
        tagger.explain(sentence, 99)


def test_save_and_load(tagger, tmp_path):
    tagger.save(tmp_path / "m")
    other = load(tmp_path / "m")
    assert other.predict(TEST[0]) == tagger.predict(TEST[0])
    tagger.save(tmp_path / "half", half=True)
    assert (tmp_path / "half").stat().st_size < (tmp_path / "m").stat().st_size
    assert Tagger.load(tmp_path / "half").score(*TEST) == pytest.approx(tagger.score(*TEST), abs=0.01)


def test_a_model_from_python_works_in_the_shell(tagger, tmp_path):
    from click.testing import CliRunner

    from loglin.cli.main import cli

    tagger.save(tmp_path / "m")
    lines = "\n\n".join("\n".join(map(" ".join, zip(x, y, strict=True))) for x, y in zip(*TEST, strict=True))
    (tmp_path / "test.txt").write_text(lines + "\n")
    result = CliRunner().invoke(cli, ["eval", str(tmp_path / "m"), str(tmp_path / "test.txt"), "--json"])
    assert result.exit_code == 0, result.output
    assert f'"f1": {tagger.evaluate(*TEST).f1}' in result.stdout


def test_attributes_dicts_and_functions_agree():
    def features(sentence):
        return [{"w": w, "n": len(w) / 10, "first": i == 0} for i, w in enumerate(sentence)]

    X, y = TRAIN[0][:80], TRAIN[1][:80]
    by_function = Tagger(features=features).fit(X, y)
    by_dict = Tagger().fit([features(s) for s in X], y)
    lists = [[[f"w:{w}"] for w in s] for s in X]
    assert by_function.predict(X) == by_dict.predict([features(s) for s in X])
    assert Tagger().fit(lists, y).score(lists, y) > 0.8
    assert by_function.model_.weights.tobytes() == by_dict.model_.weights.tobytes()


def test_generators_are_fine():
    tagger = Tagger(max_iter=3).fit((s for s in TRAIN[0][:20]), (y for y in TRAIN[1][:20]))
    assert len(tagger.predict(s for s in TEST[0][:3])) == 3


def test_partial_labels_help():
    """A third of the labels missing: still learns, and better than from the complete sentences alone."""
    rng = np.random.default_rng(0)
    X, y = TRAIN[0][:150], TRAIN[1][:150]
    partly = [[None if rng.random() < 0.3 else label for label in labels] for labels in y]
    complete = [i for i, labels in enumerate(partly) if None not in labels]
    few = Tagger().fit([X[i] for i in complete], [y[i] for i in complete]).score(*TEST)
    assert Tagger().fit(X, partly).score(*TEST) > few + 0.02


def test_weights_of_sentences_equal_repetition():
    X, y = TRAIN[0][:40], TRAIN[1][:40]
    twice = Tagger(dtype="float64", tol=1e-9).fit(X + X[:10], y + y[:10])
    weighted = Tagger(dtype="float64", tol=1e-9).fit(X, y, sample_weight=[2.0] * 10 + [1.0] * 30)
    assert weighted.model_.record["objective"] == pytest.approx(twice.model_.record["objective"], rel=1e-6)
    np.testing.assert_allclose(weighted.predict_proba(X)[0], twice.predict_proba(X)[0], atol=1e-3)


def test_constraint():
    X, y = TRAIN[0][:30], TRAIN[1][:30]
    free = Tagger(max_iter=1, warm_start=False, l2=50).fit(X, y)
    legal = Tagger(constrain="bio", max_iter=1, l2=50).fit(X, y)
    for labels in legal.predict(TEST[0]):
        for before, label in itertools.pairwise(["O", *labels]):
            assert not label.startswith("I-") or before[2:] == label[2:]
    assert free.classes_ == legal.classes_


def test_second_order_and_conditioned_bigrams():
    template = "U0:%x[0,0]\nU1:%suffix[0,0,2]\nB\nB1:%short-shape[0,0]"
    first = Tagger(template=template).fit(*TRAIN)
    second = Tagger(template=template, order=2).fit(*TRAIN)
    assert second.model_.order == 2
    assert second.model_.record["objective"] < first.model_.record["objective"]
    assert second.score(*TEST) > 0.75


def test_perceptron():
    assert Tagger("perceptron").fit(*TRAIN).score(*TEST) > 0.8


def test_l1_makes_sparse_models_that_prune_without_change(tmp_path):
    tagger = Tagger(l1=0.3, l2=0.0).fit(*TRAIN)
    model = tagger.model_
    assert np.count_nonzero(model.weights) < len(model.weights) / 2
    small = Tagger.from_model(model.prune())
    assert small.predict(TEST[0]) == tagger.predict(TEST[0])
    assert small.model_.extractor.n_attributes < model.extractor.n_attributes


def test_development_data_stops_training_and_keeps_the_best():
    scores = []
    tagger = Tagger(l2=1e-4, dev=TEST, tol=0, max_iter=60, callbacks=[lambda i: scores.append(i.score)])
    tagger.fit(*TRAIN)
    assert tagger.evaluate(*TEST).f1 == pytest.approx(max(scores), abs=1e-9)
    assert "development" in tagger.model_.record["stopped"]


def test_warm_start_continues():
    tagger = Tagger(tol=1e-5).fit(*TRAIN)
    passes = tagger.model_.record["evaluations"]
    tagger.set_params(warm_start=True).fit(*TRAIN)
    assert tagger.model_.record["evaluations"] < passes


def test_scikit_learn_tools():
    search = GridSearchCV(Tagger(max_iter=5), {"l2": [0.1, 10.0]}, cv=KFold(2))
    search.fit(TRAIN[0][:60], TRAIN[1][:60])
    assert search.best_params_["l2"] in (0.1, 10.0)
    assert clone(Tagger(l2=3)).get_params()["l2"] == 3


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([["a", "b"]], [["X"]], "2 tokens but 1 labels"),
        ([["a"]], [["X"], ["Y"]], "1 sentences but 2"),
        ([], [], "no tokens"),
        ([[]], [[]], "no tokens"),
        ([["a"]], [[None]], "no token has a label"),
        (["a b"], [["X", "Y", "Z"]], r"the string 'a b'; split it into tokens, such as text.split\(\)"),
        ([[{"x": float("nan")}]], [["X"]], "finite"),
        ([[3]], [["X"]], "sentence 0, token 0"),
    ],
)
def test_bad_input_is_one_sentence(X, y, message):
    with pytest.raises(LoglinError, match=message):
        Tagger().fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"l2": -1}, "l2 is -1"),
        ({"l1": float("nan")}, "l1 is nan"),
        ({"criterion": "svm"}, "no criterion is called 'svm'"),
        ({"order": 3}, "order is 3"),
        ({"max_iter": 0}, "max_iter is 0"),
        ({"template": "U0:%x[0,7]"}, "column 7"),
        ({"template": "U0:%y[0,0]"}, "line 1"),
        ({"label_weights": {"nothing": 2}}, "'nothing'"),
    ],
)
def test_bad_parameters_are_one_sentence(parameters, message):
    with pytest.raises(LoglinError, match=message):
        Tagger(**parameters).fit([["a"]], [["X"]])


@pytest.mark.parametrize("given", [{"threads": 5000}, {"threads": 0}, {"seed": -1}, {"seed": 2**70}])
def test_numbers_beyond_all_measure(given):
    with pytest.raises(LoglinError, match=f"{next(iter(given))} is"):
        Tagger(**given).fit([["a"]], [["X"]])


def test_a_beam_beyond_all_measure():
    tagger = Tagger(max_iter=1).fit([["a", "b"]], [["X", "Y"]])
    for beam in (2**70, -1, 1.5):
        with pytest.raises(LoglinError, match="beam is"):
            Decoder(tagger.model_, decoding={"beam": beam})
