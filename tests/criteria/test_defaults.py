"""Criteria with their defaults: strengths chosen on held-out sentences, none of the above by template, quick passes."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import oracle
from loglin import Tagger
from loglin.cli.main import cli as main
from loglin.criteria import MEstimation, Piecewise
from loglin.criteria.minimizing import likelihood
from loglin.criteria.pseudolikelihood import held_ngrams
from loglin.demo.ingredients import generate
from loglin.objectives.sentences import LabelLikelihood, OfProbability, WholeSentences
from loglin.optimize.record import CONVERGED, LIMIT
from loglin.optimize.run import Run
from loglin.problems.base_features import posterior_features
from loglin.training.strength import TOKENS, climb, parts, summit
from support.chains import parts_of
from support.errors import refused

LINES = generate(120, 1, "train")
X, Y = [[t for t, _ in line] for line in LINES], [[y for _, y in line] for line in LINES]
TEMPLATES = {"single labels": "U0:%x[0,0]\nU1:%suffix[0,0,2]\nB", "label pairs": "U0:%x[0,0]\nB\nB0:%x[0,0]"}
CROSSED = "U0:%x[0,0]\nB0:%x[0,0]\nB1:%suffix[0,0,2]\nB"


def problem(template=TEMPLATES["single labels"], order=1, X=X, Y=Y):
    return Tagger(template=template, order=order, threads=1).problem(X, Y)


# ---------------------------------------------------------------------- perceptron


def test_a_perceptron_has_converged_only_without_a_mistake():
    doubtful = [["a", "b"]] * 2, [["A", "B"], ["B", "A"]]
    record = Tagger("perceptron", max_iter=3).fit(*doubtful).model_.record
    assert (record["converged"], record["stop"], record["iterations"]) == (False, LIMIT, 3)
    record = Tagger("perceptron").fit([["a", "b"]], [["A", "B"]]).model_.record
    assert (record["converged"], record["stop"]) == (True, CONVERGED)


# ---------------------------------------------------------------------- passes in scaled probabilities


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("large", [1.0, 40.0])
def test_label_likelihood_in_one_pass(template, large):
    """The same as in the log domain, to which it leaves sentences whose numbers are too large."""
    p, rng = problem(TEMPLATES[template]), np.random.default_rng(0)
    about = (p.design, p.gold, p.index, rng.random(p.design.n_sentences), np.float64)
    quick, slow = LabelLikelihood(*about), WholeSentences("label-likelihood", *about)
    weights = large * rng.normal(size=p.index.n_features)
    (value, gradient), (wanted, slopes) = quick(weights), slow(weights)
    assert quick.unsafe.any() == (large > 1)
    assert value == pytest.approx(wanted, rel=1e-10)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-8, atol=1e-8 * np.abs(slopes).max())


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize(("rises", "sharpness"), [(False, 1.0), (False, 3.0), (True, 1.0)])
def test_functions_of_probability_in_one_pass(template, rises, sharpness):
    p, rng = problem(TEMPLATES[template]), np.random.default_rng(1)
    p.options = replace(p.options, instance_weights=rng.random(p.design.n_sentences))
    weights = 0.2 * rng.normal(size=p.index.n_features)
    quick, slow = (OfProbability(likelihood(p, np.float64), rises, sharpness) for _ in range(2))
    slow.quick = False
    (value, gradient), (wanted, slopes) = quick(weights), slow(weights)
    assert value == pytest.approx(wanted, rel=1e-10)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-7, atol=1e-9 * np.abs(slopes).max())


def test_accuracy_begins_with_the_probabilities_of_its_start():
    """γ · (w / γ): sharpened probabilities are at first those of the CRF."""
    p, run = problem(), Run()
    by = {name: Tagger(name).chosen_criterion().initial(p.with_l2(1.0), run) for name in ("accuracy", "boosting")}
    assert np.linalg.norm(4 * by["accuracy"]) < np.linalg.norm(by["boosting"])  # l2 1 is strong for accuracy: 25 · 1
    assert np.corrcoef(by["accuracy"], by["boosting"])[0, 1] > 0.8


# ---------------------------------------------------------------------- pieces


@pytest.mark.parametrize(("template", "nota"), [("U0:%x[0,0]\nB", "selected"), (CROSSED, "all")])
def test_none_of_the_above_by_template(template, nota):
    common = {"template": template, "threads": 1, "dtype": "float64"}
    auto, named = (Tagger(Piecewise(nota=n), **common).fit(X, Y).model_ for n in ("auto", nota))
    assert auto.weights.tobytes() == named.weights.tobytes()
    assert auto.decoding == named.decoding


def test_pseudolikelihood_holds_label_bigrams_back():
    p = problem(X=X * 30, Y=Y * 30)
    tokens = p.design.n_tokens
    _, _, pairs, _ = p.index.split(held_ngrams(p, 0.0005).l2)
    assert 0.0005 * tokens > 1
    assert np.all(pairs == 0.0005 * tokens)
    assert np.all(p.penalties.l2 == 1)
    assert np.array_equal(held_ngrams(p, 0.0).l2, p.penalties.l2)
    own = problem("#! variance=0.25 B\n" + TEMPLATES["single labels"], X=X * 30, Y=Y * 30)
    assert np.all(own.index.split(held_ngrams(own, 0.0005).l2)[2] == 4)


# ---------------------------------------------------------------------- M-estimation from an MEMM


@pytest.mark.parametrize("order", [1, 2])
def test_expected_features_of_a_chain_by_enumeration(order):
    sentences, labels = [["a", "b", "a"], ["b"], ["b", "a"]], [["A", "B", "B"], ["A"], ["B", "A"]]
    p = problem("U0:%x[0,0]\nB", order, sentences, labels)
    weights = np.random.default_rng(2).normal(size=p.index.n_features)
    expected = np.zeros(p.index.n_features)
    for f in range(p.index.n_features):
        one = np.zeros(p.index.n_features)
        one[f] = 1.0
        scored, counted = parts_of(p.design, p.index, weights), parts_of(p.design, p.index, one)
        for by_weight, by_count in zip(scored, counted, strict=True):
            paths = list(itertools.product(range(p.index.n_labels), repeat=len(by_weight[0])))
            mass = np.array([math.exp(oracle.chain_score(*by_weight, y)) for y in paths])
            counts = np.array([oracle.chain_score(*by_count, y) for y in paths])
            expected[f] += mass @ counts / mass.sum() / len(sentences)
    np.testing.assert_allclose(posterior_features(p, weights, False), expected, atol=1e-10)


def test_m_estimation_needs_no_words():
    """Its default base model is a chain of the same features, whatever they are."""
    attributes = [[{"w=" + t: 1.0} for t in s] for s in X]
    tagger = Tagger("m-estimation").fit(attributes, Y)
    assert tagger.model_.base is None
    assert tagger.evaluate(attributes, Y).accuracy > 0.85


def test_the_base_model_is_part_of_the_model():
    kept, dropped = (Tagger(MEstimation(keep_base=k), l2=1e6, threads=1).fit(X, Y).model_ for k in (True, False))
    assert np.abs(dropped.weights).max() < 1e-3  # so strong a penalty leaves the base model as it is
    assert np.abs(kept.weights).max() > 0.5


# ---------------------------------------------------------------------- l2 = "auto"


@pytest.mark.parametrize("criterion", ["crf", "memm", "m-estimation", "expected-accuracy", "pseudolikelihood"])
def test_a_chosen_strength_is_recorded_and_reproducible(criterion):
    first, second = (Tagger(criterion, l2="auto", seed=3).fit(X, Y).model_ for _ in range(2))
    assert first.weights.tobytes() == second.weights.tobytes()
    trials = first.record["l2_trials"]
    assert len(trials) >= 3
    best = summit({trial["l2"]: trial["score"] for trial in trials})
    assert first.record["l2"] == pytest.approx(best * (0.75**0.4 if criterion == "m-estimation" else 1))
    assert f"chosen by the score on {len(X) // 4} held-out sentences" in first.record["l2_choice"]
    given = Tagger(criterion, l2=first.record["l2"], seed=3).fit(X, Y).model_
    np.testing.assert_allclose(given.weights, first.weights, rtol=1e-5, atol=1e-6)


def test_defaults_of_strength():
    assert "l2_choice" in Tagger("m-estimation").fit(X, Y).model_.record
    assert "l2_choice" not in Tagger().fit(X, Y).model_.record
    assert Tagger("expected-accuracy").problem(X, Y).options.l2 == 0.01
    assert "too few" in Tagger(l2="auto").fit(X[:1], Y[:1]).model_.record["l2_choice"]
    assert "l2_choice" not in Tagger("perceptron", l2="auto").fit(X, Y).model_.record  # which has no penalty
    assert "l2_choice" not in Tagger("hmm", l2="auto").fit(X, Y).model_.record


def test_on_the_command_line(tmp_path):
    lines = ["\n".join(f"{t} {y}" for t, y in zip(*pair, strict=True)) for pair in zip(X, Y, strict=True)]
    (tmp_path / "data").write_text("\n\n".join(lines) + "\n")
    common = ["train", str(tmp_path / "data"), "-o", str(tmp_path / "m"), "--quiet"]
    shown = CliRunner().invoke(main, [*common, "--l2", "auto"])
    assert "held-out sentences" in shown.output
    found = json.loads(CliRunner().invoke(main, [*common, "--criterion", "m-estimation", "--json"]).output)
    assert found["l2"] == Tagger.load(tmp_path / "m").model_.record["l2"] > 0
    assert {"l2", "score"} == set(found["l2_trials"][0])
    wrong = CliRunner().invoke(main, [*common, "--l2", "much"])
    assert wrong.exit_code != 0


def test_partly_labelled_sentences_are_not_held_out():
    labels = [[None, *y[1:]] if n % 2 else y for n, y in enumerate(Y)]
    assert Tagger(l2="auto").fit(X, labels).model_.record["l2_trials"]


def test_what_is_refused():
    refused(lambda: Tagger(l2="best").fit(X, Y), "l2 is 'best'; give a number of at least 0, or auto")
    refused(
        lambda: Tagger("contrastive", l2="auto", dictionary={"a": ["A"]}).fit([["a"]]),
        "l2 is auto, which labelled sentences choose, but criterion contrastive",
    )


def test_parts_are_apart_and_of_bounded_size():
    lengths = [100] * 2000
    some, held = parts(lengths, [True] * 2000, 0)
    assert not set(some) & set(held)
    assert len(some) + len(held) == TOKENS // 100
    assert len(held) == (len(some) + len(held)) // 4
    assert not len(parts(lengths, [False] * 2000, 0)[1])


@pytest.mark.parametrize("best", [0.01, 0.3, 1.0, 9.0])
def test_the_search_climbs_to_the_best(best):
    found = climb(1.0, lambda l2: -abs(math.log(l2 / best)), lambda: None)
    nearest = max(found, key=found.__getitem__)
    assert abs(math.log(nearest / best)) <= math.log(3) / 2 + 1e-9


def test_the_summit_of_a_parabola():
    scores = {l2: -((math.log(l2) - math.log(1.3)) ** 2) for l2 in (1 / 3, 1.0, 3.0)}
    assert summit(scores) == pytest.approx(1.3)
    assert summit({1.0: 0.5, 3.0: 0.5}) == 3.0
    assert summit({1 / 3: 0.5, 1.0: 0.5, 3.0: 0.4}) == pytest.approx(3**-0.5)


# ---------------------------------------------------------------------- mixture


def test_a_mixture_looks_at_what_a_crf_looks_at():
    """With words and label trigrams alone it was far behind a CRF of the labelled sentences."""
    known, test = 20, generate(100, 2, "test")
    gold = [[t for t, _ in line] for line in test], [[y for _, y in line] for line in test]
    crf = Tagger().fit(X[:known], Y[:known])
    mixture = Tagger("mixture").fit(X[:60], [*Y[:known], *[None] * (60 - known)])
    assert mixture.score(*gold) > crf.score(*gold) - 0.02

    def looked_at(tagger):
        return {t.text.partition(":")[2] for t in tagger.model_.extractor.templates.templates if t.kind == "unigram"}

    assert looked_at(crf) <= looked_at(mixture)
    first = Tagger("mixture", order=1).fit(X[:30], [*Y[:known], *[None] * (30 - known)])
    assert looked_at(crf) <= looked_at(first)
