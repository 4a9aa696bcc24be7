"""The worked examples of the lectures, to the digits printed there or in the prototypes' notes.

Iterative scaling, `base` and the die are tested by every optimizer in test_optimizers.py; here only through MaxEnt.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from loglin import MaxEnt, NaiveBayes
from loglin.reproduce import slides_examples

KNOWN = {
    "votes": {
        "P(LOCATION | in Québec)": "0.585561",
        "P(DRUG | in Québec)": "0.238071",
        "P(PERSON | in Québec)": "0.176368",
        "P(LOCATION | by Goéric)": "0.189332",
        "P(DRUG | by Goéric)": "0.465682",
        "P(PERSON | by Goéric)": "0.344986",
    },
    "sensors, naive Bayes": {
        "P(s)": "0.500000",
        "P(+ | s)": "0.250000",
        "P(+ | r)": "0.750000",
        "P(r, +, +)": "0.281250",
        "P(s, +, +)": "0.031250",
        "P(r | +, +)": "0.900000",
        "P(s | +, +)": "0.100000",
        "P(r | +…), n = 1": "0.750000",
        "P(r | +…), n = 2": "0.900000",
        "P(r | +…), n = 3": "0.964286",
        "P(r | +…), n = 5": "0.995902",
    },
    "sensors, maximum entropy, n = 2": {"mean log-likelihood": "-0.6277411626", "E[f_r1]": "0.375000"},
    "sensors, maximum entropy, n = 2, joint": {"exp(λ_r − λ_s)": "2.11327"},
    "stoplights, naive Bayes": {
        "P(w)": f"{6 / 7:.6f}",
        "P(b)": f"{1 / 7:.6f}",
        "P(red | w)": "0.500000",
        "P(green | w)": "0.500000",
        "P(red | b)": "1.000000",
        "P(green | b)": "0.000000",
        "P(b, red, red)": f"{4 / 28:.6f}",
        "P(w, red, red)": f"{6 / 28:.6f}",
        "P(w | red, red)": "0.600000",
        "joint log-likelihood": "-11.18858",
        "conditional log-likelihood": "-0.916291",
    },
    "stoplights, naive Bayes, P(b) = 1/2": {
        "P(b, red, red)": "0.500000",
        "P(w, red, red)": "0.125000",
        "P(w | red, red)": "0.200000",
        "joint log-likelihood": "-13.16980",
        "conditional log-likelihood": "-0.223144",
    },
    "stoplights, maximum entropy, σ² = 1": {"P(w | red, red)": "0.558364"},
    "stoplights, maximum entropy, σ² = 10": {"P(w | red, red)": "0.206825"},
    # weights less the slack feature's
    "iterative scaling, round 1": {
        "weight of f1": f"{0.202732554 + 0.052680258:.8f}",
        "weight of f2": f"{0.052680258:.8f}",
        "log-likelihood": "-5.338426",
    },
    "iterative scaling, round 2": {
        "weight of f1": f"{0.334351108 + 0.071005527:.8f}",
        "weight of f2": f"{-0.042899249 + 0.071005527:.8f}",
        "log-likelihood": "-5.233434",
    },
    "iterative scaling, round 3": {
        "weight of f1": f"{0.440370266 + 0.077534566:.8f}",
        "weight of f2": f"{-0.096754997 + 0.077534566:.8f}",
        "log-likelihood": "-5.150533",
    },
    "iterative scaling, converged": {
        "weight of f1": f"{math.log(9):.7f}",
        "weight of f2": f"{-math.log(3):.7f}",
        "log-likelihood": "-4.498681157",
    },
    "base is Vt three times, σ² = 1": {"weight": "2.399317189", "P(Vt | base)": "0.200228"},
    "base is Vt three times, σ² = 10": {"weight": "5.318949561", "P(Vt | base)": "0.822702"},
    "die": {"mean": "4.500000000", "λ": "0.371048938", "entropy": "1.6135810982"},
}
for n in slides_examples.SENSORS:
    KNOWN.setdefault(f"sensors, maximum entropy, n = {n}", {}).update(
        {
            "exp(λ_r − λ_s)": f"{3 ** (1 / n):.6f}",
            "λ_r": f"{math.log(3) / (2 * n):.6f}",
            "P(r | +…)": "0.750000",
            "P(r | −…)": "0.500000",
        }
    )


@pytest.fixture(scope="module")
def table():
    return slides_examples.run(False, lambda line: None, 1)


def test_every_number_to_the_last_digit(table):
    found = {(row.name, row.metric): row.ours for row in table.rows if row.ours is not None}
    known = {(name, metric): text for name, metrics in KNOWN.items() for metric, text in metrics.items()}
    assert found.keys() == known.keys()
    for place, text in known.items():
        digits = len(text.partition(".")[2])
        assert f"{found[place] + 0.0:.{digits}f}" == text, place


def test_published_numbers_are_met_as_shown(table):
    published = [row for row in table.rows if row.published is not None]
    assert len(published) > 30
    for row in published:
        assert abs(row.ours - row.published) <= 0.5001 * 10**-row.digits, row
    assert "0.586" in table.text()


def test_votes_are_those_of_the_slides():
    explanation = slides_examples.voting_model().explain(("in", "Québec"))
    assert {v.feature: {y: s for y, s in v.votes.items() if s} for v in explanation} == {
        "f1": {"LOCATION": 1.8},
        "f2": {"LOCATION": -0.6},
        "f3": {"DRUG": 0.3},
    }
    assert explanation.scores == pytest.approx({"LOCATION": 1.2, "DRUG": 0.3, "PERSON": 0.0})
    assert explanation.label == "LOCATION"
    arcadia, zantac, sue = [("in", "Arcadia"), ("taking", "Zantac"), ("saw", "Sue")]
    assert slides_examples.voting_model().predict([arcadia, zantac]).tolist() == ["LOCATION", "DRUG"]
    np.testing.assert_allclose(slides_examples.voting_model().predict_proba([sue]), 1 / 3)  # no feature is on


def test_working_lights_are_not_guessed_when_broken_ones_are_likelier():
    """The boosted prior makes the right decision where relative frequencies do not."""
    seen = slides_examples.crossing()
    counted = NaiveBayes("bernoulli", alpha=0).fit(seen.X, seen.y, sample_weight=seen.weight)
    boosted = NaiveBayes("bernoulli", alpha=0, class_prior={"w": 0.5, "b": 0.5})
    boosted.fit(seen.X, seen.y, sample_weight=seen.weight)
    assert counted.predict(seen.X).tolist() == ["w", "w", "w"]
    assert boosted.predict(seen.X).tolist() == seen.y


def test_conditional_likelihood_of_the_lights_has_no_maximum(table):
    seen = slides_examples.crossing()
    with pytest.warns(ConvergenceWarning, match="the classes are separable"):
        model = MaxEnt(l2=0).fit(seen.X, seen.y, sample_weight=seen.weight)
    assert not model.model_.record["converged"]
    (row,) = [row for row in table.rows if row.name.endswith("no prior")]
    assert row.ours is None
    assert "weights grow without end" in row.note
