"""Language models on the one way of training: optimizers, held-out text, other models to start from, parameters."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from loglin import LanguageModel, LoglinError, load
from loglin.corpus import datasets
from loglin.corpus.plaintext import from_lines
from loglin.criteria.kneser_ney import KneserNey
from loglin.criteria.likelihood import LikelihoodOfWords
from loglin.models.next_word import NextWordModel
from loglin.problems.histories import HistoryProblem, LanguageOptions
from support.corpora import corpus_folder

LINES = [
    "#! author=A topic=x", "the cat sat on the mat", "the dog sat on the cat", "", "#! author=B", "a bird sang",
    "the bird sat on a cat", "",
] * 3  # fmt: skip
OTHER = ["#! author=B topic=y", "the horse sat on the cat", "a dog sang", "", "#! author=C", "the cat ran", ""] * 2
KINDS = (
    "bigram", "trigram", "4-gram", "skip", "skip-1-3", "suffix", "prefix", "class", "class-pair", "trigger",
    "document",
)  # fmt: skip
CLASSES = {"cat": "N", "dog": "N", "horse": "N", "sat": "V", "ran": "V"}


def all_names(problem):
    return {problem.feature_name(f): f for f in range(len(problem.observed))}


# ------------------------------------------------------------------ optimizers


@pytest.mark.parametrize("optimizer", ["lbfgs", "gradient", "conjugate-gradient"])
def test_optimizers_end_at_the_same_optimum(optimizer):
    best = LanguageModel(tol=1e-10, max_iter=500).fit(LINES)
    other = LanguageModel(tol=1e-10, max_iter=5000, optimizer=optimizer).fit(LINES)
    assert other.record_["objective"] == pytest.approx(best.record_["objective"], rel=1e-5)
    np.testing.assert_allclose(other.model_.weights, best.model_.weights, atol=0.02)
    assert other.record_["history"] != best.record_["history"]


@pytest.mark.parametrize("optimizer", ["newton", "gis", "iis", "sgd", "averaged-sgd"])
def test_optimizers_that_need_more_than_a_gradient_are_refused(optimizer):
    with pytest.raises(LoglinError, match=f"optimizer {optimizer} needs more than value and gradient.*; use auto"):
        LanguageModel(optimizer=optimizer).fit(LINES)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"optimizer": "lbfgs"}, "leave optimizer at auto"),
        ({"dev": LINES}, "leave out dev"),
        ({"optimizer": "none"}, "no optimizer is called 'none'; there are auto"),
        ({"settings": {"x": 1}}, "no setting 'x'; it has none"),
    ],
)
def test_counted_models_refuse_what_they_have_no_use_for(parameters, message):
    with pytest.raises(LoglinError, match=message):
        LanguageModel(criterion="kneser-ney", **parameters).fit(LINES)


# ------------------------------------------------------------------ held-out text


@pytest.mark.parametrize("features", [("bigram", "trigram"), ("bigram", "cache")])
def test_the_best_weights_on_held_out_text_are_kept(features):
    model = LanguageModel(features=features, variances={"bigram": 1e4}, max_iter=200, tol=0.0, dev=OTHER).fit(LINES)
    scores = [i["score"] for i in model.record_["history"]]
    assert len(scores) == model.record_["iterations"] < 200
    assert model.record_["stop"] == "held-out"
    assert "likelihood has not risen for 10 iterations" in model.record_["stopped"]
    assert scores.index(max(scores)) == len(scores) - 11
    found = model.without_cache().evaluate(OTHER)
    assert found.log_probability / found.tokens == pytest.approx(max(scores), rel=1e-12)
    whole = LanguageModel(features=features, variances={"bigram": 1e4}, max_iter=200, tol=0.0).fit(LINES)
    assert whole.without_cache().perplexity(OTHER) > model.without_cache().perplexity(OTHER)


def test_held_out_text_without_words_is_refused():
    with pytest.raises(LoglinError, match="no words; give held-out text"):
        LanguageModel(dev=["", ""]).fit(LINES)


# ------------------------------------------------------------------ other models to start from


@pytest.mark.parametrize("features", [(), *((kind,) for kind in KINDS), KINDS])
def test_weights_are_matched_by_words_and_values(features):
    given = {"min_count": 1, "trigger_window": 5, "trigger_pairs": 8}
    model = LanguageModel(features=features, classes=CLASSES, max_iter=20, **given).fit(LINES)
    options = LanguageOptions(features=features, **given)
    same = HistoryProblem.of(from_lines(LINES), options, classes=CLASSES)
    np.testing.assert_array_equal(same.transferred(model.model_), model.model_.weights)
    other = HistoryProblem.of(from_lines(OTHER), options, classes=CLASSES | {"bird": "B"})
    old, new, start = all_names(same), all_names(other), other.word_shares()
    assert len(old) == len(same.observed)
    expected = [model.model_.weights[old[name]] if name in old else start[f] for name, f in new.items()]
    np.testing.assert_array_equal(other.transferred(model.model_), expected)
    assert any(name not in old for name in new)


def test_training_continues_from_a_model():
    whole = LanguageModel(features=("bigram", "cache"), tol=1e-8).fit(LINES)
    again = LanguageModel(features=("bigram",), tol=1e-8).fit(LINES, start=whole.model_)
    assert again.record_["iterations"] < whole.record_["iterations"]
    assert again.record_["objective"] <= whole.record_["objective"]
    few = LanguageModel(max_iter=3, warm_start=True).fit(LINES)
    first = few.record_["objective"]
    assert few.fit(LINES).record_["objective"] < first
    assert few.fit(OTHER).knows("horse")


def test_what_has_no_weights_of_histories_starts_nothing():
    counted = LanguageModel(criterion="kneser-ney", warm_start=True).fit(LINES)
    with pytest.raises(LoglinError, match=r"no weights of histories.*; choose another"):
        LanguageModel().fit(LINES, start=counted.model_)
    with pytest.raises(LoglinError, match="kneser-ney starts as its settings say"):
        counted.fit(LINES)


# ------------------------------------------------------------------ parameters


@pytest.mark.parametrize("criterion", ["likelihood", "modified-kneser-ney"])
def test_files_restore_every_parameter(tmp_path, criterion):
    more = {"features": ("bigram", "4-gram", "cache"), "variances": {"bigram": 2.0, "cache": 3.0}, "window": 7}
    if criterion == "likelihood":
        more |= {"features": ("class", "trigger"), "classes": CLASSES, "variances": {"class": 2.0}, "max_iter": 5}
        more |= {"min_count": {"class": 1, "trigger": 1}, "optimizer": "gradient", "trigger_window": 5}
    model = LanguageModel(criterion=criterion, vocabulary=9, trigger_pairs=6, tol=1e-3, **more).fit(LINES)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert isinstance(again, LanguageModel)
    assert again.get_params() == model.get_params()
    assert again.record_ == model.record_
    assert again.fit(LINES).perplexity(OTHER) == model.perplexity(OTHER)


def test_a_criterion_is_a_word_or_an_object():
    word, thing = (LanguageModel(criterion=c).fit(LINES) for c in ("kneser-ney", KneserNey()))
    assert word.next("the") == thing.next("the")
    assert thing.record_["criterion"] == "kneser-ney"
    assert thing.record_["options"] == word.record_["options"]
    copy = clone(LanguageModel(criterion=LikelihoodOfWords(), max_iter=4, dev=OTHER))
    assert copy.get_params()["criterion"] == LikelihoodOfWords()
    assert (copy.max_iter, copy.dev) == (4, OTHER)
    copy.set_params(criterion="modified-kneser-ney", dev=None)
    assert copy.fit(LINES).record_["stop"] == "counted"
    with pytest.raises(LoglinError, match="modified-kneser-ney has no setting 'order'; it has none"):
        copy.set_params(criterion__order=3)
    with pytest.raises(ValueError, match="no parameter 'order'"):
        copy.set_params(order=3)


def test_the_default_number_of_iterations_is_the_criterion_s():
    assert LanguageModel(tol=0.0).fit(LINES).record_["iterations"] <= 100
    assert LikelihoodOfWords.defaults.max_iter == 100


# ------------------------------------------------------------------ real text


@pytest.fixture(scope="module")
def brown():
    """Two parts to train on, and a held-out one."""
    corpus_folder("brown")
    text = datasets.load_text("brown")
    return text.part(0, 1500), text.part(500, 2000), text.part(2000, 2400)


def test_brown_with_held_out_text_optimizers_and_a_start(brown):
    first, second, held_out = brown
    given = {"vocabulary": 1000, "threads": 1}
    long = LanguageModel(tol=0.0, max_iter=60, variances={"bigram": 1e3, "trigram": 1e3}, **given).fit(first)
    stopped = clone(long).set_params(dev=held_out).fit(first)
    assert stopped.record_["stop"] == "held-out"
    assert stopped.perplexity(held_out) < long.perplexity(held_out)
    given |= {"tol": 1e-4, "max_iter": 500}
    base = LanguageModel(**given).fit(first)
    slower = LanguageModel(optimizer="lbfgs", **given).fit(first)
    assert slower.record_["converged"]
    assert slower.record_["iterations"] > base.record_["iterations"]
    assert slower.record_["objective"] == pytest.approx(base.record_["objective"], rel=2e-3)
    fresh = LanguageModel(**given).fit(second)
    again = LanguageModel(**given).fit(second, start=base.model_)
    assert isinstance(again.model_, NextWordModel)
    assert again.record_["iterations"] < fresh.record_["iterations"]
    assert again.record_["objective"] == pytest.approx(fresh.record_["objective"], rel=1e-3)
