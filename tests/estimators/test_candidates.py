"""Features of input and class together, f(x, y), and candidates that every example brings."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loglin import LoglinError, MaxEnt
from loglin.corpus.labels import Choices
from loglin.features.attributes import AttributeExtractor
from loglin.features.index import build_index
from loglin.objectives.candidates import CandidateLikelihood


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_value_gradient_and_curvature_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    names = [f"a{k}" for k in range(4)]
    lists = [
        [{name: float(rng.normal()) for name in names if rng.random() < 0.6} for _ in range(rng.integers(1, 5))]
        for _ in range(5)
    ] + [[{name: 1.0 for name in names}]]
    right = [set(rng.choice(len(c), rng.integers(1, len(c) + 1), replace=False).tolist()) for c in lists]
    weight = rng.random(len(lists))
    extractor = AttributeExtractor()
    design = extractor.fit(lists)
    chosen = np.array([c in answers for cs, answers in zip(lists, right, strict=True) for c in range(len(cs))])
    index = build_index(design, Choices(chosen, False), True, False, 1)
    criterion = CandidateLikelihood(design, Choices(chosen, False), index, weight)
    order = [extractor.attribute_name(a) for a in range(4)]

    def value(w):
        by_name = dict(zip(order, w, strict=True))
        total = 0.0
        for cs, answers, m in zip(lists, right, weight, strict=True):
            u = [math.exp(sum(by_name[k] * v for k, v in c.items())) for c in cs]
            total -= m * math.log(sum(u[c] for c in answers) / sum(u))
        return total

    w = rng.normal(size=4)
    found, gradient = criterion(w)
    assert found == pytest.approx(value(w), abs=1e-10)
    numeric = [(value(w + e) - value(w - e)) / 2e-6 for e in np.eye(4) * 1e-6]
    np.testing.assert_allclose(gradient, numeric, atol=1e-7)
    if all(len(answers) == 1 for answers in right):
        second = [(value(w + e) - 2 * value(w) + value(w - e)) / 1e-8 for e in np.eye(4) * 1e-4]
        np.testing.assert_allclose(criterion.curvature(w), second, atol=1e-4)


WORDS = [["in", "Québec"], ["in", "Arcadia"], ["taking", "Zantac"], ["saw", "Sue"], ["saw", "Québec"]]
KINDS = ["LOCATION", "LOCATION", "DRUG", "PERSON", "LOCATION"]


def crossed(x, y):
    return [f"{word}∧{y}" for word in x]


def test_crossing_by_hand_is_the_ordinary_classifier():
    plain = MaxEnt(fit_intercept=False).fit(WORDS, KINDS)
    joint = MaxEnt(features=crossed).fit(WORDS, KINDS)
    assert joint.classes_.tolist() == plain.classes_.tolist()
    np.testing.assert_allclose(joint.predict_proba(WORDS), plain.predict_proba(WORDS), atol=1e-6)
    assert joint.predict(WORDS).tolist() == plain.predict(WORDS).tolist()
    limits = [["LOCATION", "DRUG"]] * 5
    for ours, theirs in zip(
        joint.predict_proba(WORDS, limits), plain.predict_proba(WORDS, limits)[:, [1, 0]], strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


def agreement(mention, antecedent):
    features = {"distance": mention["place"] - antecedent["place"]}
    features["same gender"] = mention["gender"] == antecedent["gender"]
    return features


def people(rng, n):
    return [{"place": int(p), "gender": str(rng.choice(["f", "m"]))} for p in rng.integers(0, 9, n)]


def test_ranking_antecedents_never_seen_before(tmp_path):
    """Coreference style: candidates are objects of the example, and weights are shared by all of them."""
    rng = np.random.default_rng(0)
    X, choices, y = [], [], []
    for _ in range(300):
        mention = {"place": 10, "gender": str(rng.choice(["f", "m"]))}
        options = people(rng, int(rng.integers(2, 6)))
        best = max(options, key=lambda c: (c["gender"] == mention["gender"], c["place"]))
        X.append(mention)
        choices.append([(c["place"], c["gender"], k) for k, c in enumerate(options)])
        y.append(choices[-1][options.index(best)])

    def features(mention, candidate):
        return agreement(mention, {"place": candidate[0], "gender": candidate[1]})

    model = MaxEnt(features=features, l2=0.1).fit(X[:200], y[:200], candidates=choices[:200])
    found = model.predict(X[200:], candidates=choices[200:])
    assert np.mean([a == b for a, b in zip(found, y[200:], strict=True)]) > 0.9
    assert all(p.sum() == pytest.approx(1) for p in model.predict_proba(X[200:], candidates=choices[200:]))
    votes = model.explain(X[0], candidates=choices[0])
    assert votes.label == model.predict(X[:1], candidates=choices[:1])[0]
    assert {v.feature for v in votes} == {"distance", "same gender"}
    model.save(tmp_path / "m")
    again = MaxEnt.load(tmp_path / "m", features=features)
    assert again.predict(X, candidates=choices) == model.predict(X, candidates=choices)
    with pytest.raises(LoglinError, match=r"MaxEnt\.load"):
        MaxEnt.load(tmp_path / "m").predict(X, candidates=choices)
    with pytest.raises(LoglinError, match="give candidates"):
        again.predict(X)


def test_cutoff_and_weights():
    model = MaxEnt(features=crossed, cutoff=2).fit(WORDS, KINDS)
    assert {v.feature for v in model.explain(["in", "Québec", "saw"])} == {"in∧LOCATION", "Québec∧LOCATION"}
    heavy = MaxEnt(features=crossed).fit(WORDS, KINDS, sample_weight=[1, 1, 1, 9, 1])
    light = MaxEnt(features=crossed).fit(WORDS, KINDS)
    assert heavy.predict_proba([["saw"]])[0, 2] > light.predict_proba([["saw"]])[0, 2]


@pytest.mark.parametrize(
    ("y", "candidates", "message"),
    [
        (["DRUG"] * 5, None, "only one class"),
        (KINDS[:4], None, "5 examples but 4 answers"),
        (KINDS, [KINDS] * 4, "5 examples but 4 candidate sets"),
        (KINDS, [["DRUG"]] * 5, "example 0: its answer 'LOCATION' is not among"),
        (KINDS, [[]] * 5, "example 0 has no candidates"),
    ],
)
def test_bad_input(y, candidates, message):
    with pytest.raises(LoglinError, match=message):
        MaxEnt(features=crossed).fit(WORDS, y, candidates=candidates)


def test_bad_feature_values_are_named():
    with pytest.raises(LoglinError, match="'a' has the value nan"):
        MaxEnt(features=lambda x, y: {"a": float("nan")}).fit(WORDS, KINDS)
    with pytest.raises(LoglinError, match="likelihood"):
        MaxEnt("perceptron", features=crossed).fit(WORDS, KINDS)


def test_no_examples_have_no_answers():
    model = MaxEnt(features=lambda x, c: [f"{x}={c}"]).fit(["u", "v"], ["a", "b"])
    assert model.predict([]).tolist() == []
    assert model.predict_proba([]).shape == model.decision_function([]).shape == (0, 2)
    own = MaxEnt(features=lambda x, c: [c]).fit(["u", "v"], ["a", "b"], candidates=[["a", "b"], ["b", "c"]])
    assert own.predict([], candidates=[]) == own.predict_proba([], candidates=[]) == []


@pytest.mark.parametrize(
    ("parameters", "y", "message"),
    [
        ({"dev": (WORDS, KINDS)}, KINDS, "neither dev nor a start"),
        ({"warm_start": True}, KINDS, "neither dev nor a start"),
        ({}, [("a", 1), ("b", 2)] * 2 + [("a", 1)], "neither a string nor a number"),
        ({}, ["a", 1, "a", 1, "a"], "of several kinds"),
    ],
)
def test_what_would_be_passed_over_is_refused(parameters, y, message):
    with pytest.raises(LoglinError, match=message):
        MaxEnt(features=crossed, **parameters).fit(WORDS, y)
