"""Every criterion against its definition by enumeration, its gradient against finite differences."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import oracle
from loglin.corpus.labels import Gold
from loglin.criteria.registry import criterion as chosen
from loglin.errors import LoglinError
from loglin.features.design import Design, Incidence
from loglin.features.index import build_index
from loglin.objectives.aggressive import Rule, course
from loglin.objectives.likelihood import ConditionalLikelihood
from loglin.objectives.local import Instances, LocalLikelihood
from loglin.objectives.sentences import local_marginals, scaled_likelihood
from loglin.objectives.stochastic import StochasticLearner
from loglin.optimize.checkpoint import Stage
from loglin.optimize.reporter import Reporter
from loglin.optimize.run import Run
from loglin.threads import Threads
from support.chains import CONDITIONED, PLAIN, classification, known, numbered, parts_of, problem
from support.definitions import COST_TEXT, defined
from support.losses import check_gradient

CASES = [
    ("crf", {}),
    ("memm", {}),
    ("pseudolikelihood", {}),
    ("pseudolikelihood", {"nota": "all"}),
    ("pseudolikelihood", {"nota": "one"}),
    ("piecewise", {"nota": "all"}),
    ("piecewise", {"nota": "none"}),
    ("margin", {"loss": "softmax", "cost": COST_TEXT}),
    ("margin", {"loss": "hinge", "cost": COST_TEXT}),
    ("label-likelihood", {}),
    ("accuracy", {"sharpness": 2.5}),
    ("expected-accuracy", {}),
    ("boosting", {}),
]
IDS = [name + "".join(f"-{v}" for v in given.values() if v != COST_TEXT) for name, given in CASES]


def criterion_of(name, given, design, gold, index, order, instance=None, threads=1, dtype=np.float64):
    everything = numbered(design, gold, index, weight=instance, threads=threads)
    return chosen(name, "chain", given).way(everything, Run()).objective(dtype)


def settings_of(name, given):
    return chosen(name, "chain", given).plain_settings()


@pytest.mark.parametrize("template", [PLAIN, CONDITIONED], ids=["plain", "conditioned"])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("name", "given"), CASES, ids=IDS)
def test_value_and_gradient(name, given, seed, order, template):
    design, gold, index = problem(seed, template=template, order=order, values=seed == 1)
    if name == "pseudolikelihood" and given and order == 2:
        with pytest.raises(LoglinError, match="order 1"):
            criterion_of(name, given, design, gold, index, order)
        return
    rng = np.random.default_rng(seed + 7)
    instance = rng.uniform(0.5, 2, design.n_sentences) if seed == 2 else None
    criterion = criterion_of(name, given, design, gold, index, order, instance)
    weights = rng.normal(size=index.n_features)
    value, _ = criterion(weights)
    settings = settings_of(name, given)
    assert value == pytest.approx(defined(name, settings, design, gold, index, weights, instance), rel=1e-9)
    check_gradient(criterion, weights, rng)


@pytest.mark.parametrize(("name", "given"), CASES, ids=IDS)
def test_value_and_gradient_of_classifiers(name, given):
    design, gold, index = classification(0)
    criterion, rng = criterion_of(name, given, design, gold, index, 1), np.random.default_rng(0)
    weights = rng.normal(size=index.n_features)
    expected = defined(name, settings_of(name, given), design, gold, index, weights)
    assert criterion(weights)[0] == pytest.approx(expected, rel=1e-9)
    check_gradient(criterion, weights, rng)


@pytest.mark.parametrize(("name", "given"), CASES, ids=IDS)
def test_same_bits_for_any_number_of_threads(name, given):
    design, gold, index = problem(3, template=CONDITIONED)
    weights = np.random.default_rng(0).normal(size=index.n_features)
    runs = [criterion_of(name, given, design, gold, index, 1, threads=n, dtype=np.float32)(weights) for n in (1, 2, 3)]
    for value, gradient in runs[1:]:
        assert value == runs[0][0]
        assert np.array_equal(gradient, runs[0][1])


# ---------------------------------------------------------------------- known answers of notes/piecewise.md


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("crf", {}, -2.952867),
        ("memm", {}, -2.513799),
        ("piecewise", {"nota": "all"}, -5.378988),
        ("piecewise", {"nota": "none"}, -3.139444),
        ("pseudolikelihood", {}, -4.477135),
        ("pseudolikelihood", {"nota": "all"}, -8.977623),
    ],
)
def test_known_values(name, given, value):
    design, gold, index, weights = known()
    assert -criterion_of(name, given, design, gold, index, 1)(weights)[0] == pytest.approx(value, abs=1e-6)


def test_known_gradient_of_piecewise():
    design, gold, index, weights = known()
    _, gradient = criterion_of("piecewise", {"nota": "all"}, design, gold, index, 1)(weights)
    expected = [0.518976, -0.227220, -0.665241, 0.909969, -0.106507, -0.786986]
    assert -gradient == pytest.approx(expected, abs=1e-6)


def test_known_scale_factors():
    design, gold, index, weights = known()
    chain = ConditionalLikelihood(design, gold, index, None, np.float64)
    value, slopes = scaled_likelihood(chain, weights, np.array([0.5, 2.0, 1.0]))
    assert -value == pytest.approx(-3.850534, abs=1e-6)
    assert -slopes[:2] == pytest.approx([-1.036545, -1.808709], abs=1e-6)


def test_known_answers_of_a_rewriting_step():
    """A rule chosen among two at a span (notes: CFG): the local model with and without none of the above."""
    tokens = Incidence(np.array([0, 1]), np.array([0], np.int32))
    design = Design(np.array([0, 1]), tokens, Incidence.empty(1), 1, 0)
    for scores, label, nota, value in [
        ((0.3, -0.2), 0, False, -0.474077),
        ((0.3, -0.2), 0, True, -0.853287),
        ((0.7, -0.2), 2, True, -1.343513),
    ]:
        index = build_index(design, Gold.certain(np.zeros(1, int), 2), True, False, 1)
        one = Instances(np.zeros(1, int), np.full((1, 1), -1), np.array([label]), np.ones(1))
        criterion = LocalLikelihood(design, index, one, nota, np.float64)
        assert -criterion(np.array(scores))[0] == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("order", [1, 2])
def test_scale_factors_against_enumeration(order):
    design, gold, index = problem(4, template=CONDITIONED, order=order)
    rng = np.random.default_rng(5)
    weights, alpha = rng.normal(size=index.n_features), rng.uniform(0.5, 2, index.n_labels + 1)
    chain = ConditionalLikelihood(design, gold, index, None, np.float64, Threads(2))
    value, slopes = scaled_likelihood(chain, weights, alpha)

    def by_listing(alpha) -> float:
        total = 0.0
        for parts, (b, e) in zip(
            parts_of(design, index, weights), itertools.pairwise(design.offsets.tolist()), strict=True
        ):
            if e > b:
                total -= math.log(oracle.gold_probability(oracle.scaled_rows(*parts, alpha), gold.codes[b:e].tolist()))
        return total

    assert value == pytest.approx(by_listing(alpha), rel=1e-9)
    assert slopes == pytest.approx(oracle.numeric_gradient(by_listing, alpha), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("order", [1, 2])
def test_local_marginals_against_enumeration(order):
    design, gold, index = problem(6, template=CONDITIONED, order=order)
    weights = np.random.default_rng(1).normal(size=index.n_features)
    chain = ConditionalLikelihood(design, gold, index, None, np.float64, Threads(2))
    found = local_marginals(chain, weights, least=0.0)
    if order == 1:
        quick = chain.step_marginals(weights)
    for parts, (b, e) in zip(
        parts_of(design, index, weights), itertools.pairwise(design.offsets.tolist()), strict=True
    ):
        nodes = np.zeros((e - b, index.n_labels))
        for y in itertools.product(range(index.n_labels), repeat=e - b):
            p = math.exp(oracle.memm(*parts, list(y))) if e > b else 0.0
            for t, label in enumerate(y):
                nodes[t, label] += p
        assert found[b:e] == pytest.approx(nodes, abs=1e-9)
        if order == 1:
            assert quick[b:e] == pytest.approx(nodes, abs=1e-9)


def test_softmax_margin_is_likelihood_without_costs():
    design, gold, index = problem(8)
    weights = np.random.default_rng(2).normal(size=index.n_features)
    plain = ConditionalLikelihood(design, gold, index, None, np.float64)
    free = criterion_of("margin", {"cost": 0}, design, gold, index, 1)
    assert free(weights)[0] == pytest.approx(plain(weights)[0])


@pytest.mark.parametrize("template", [PLAIN, CONDITIONED], ids=["plain", "conditioned"])
@pytest.mark.parametrize("order", [1, 2])
def test_perceptron_learns_every_kind_of_feature(order, template):
    """Averaged weights against a plain loop over feature vectors, the guesses by enumeration."""
    design, gold, index = problem(2, template=template, order=order, values=True)
    likelihood = ConditionalLikelihood(design, gold, index, None, np.float64)
    learner = StochasticLearner(likelihood, seed=3)
    found = learner.perceptron(3)
    rng = np.random.default_rng(3)
    cuts, sentences = design.offsets.tolist(), np.flatnonzero(np.diff(design.offsets) > 0)
    weights, total, clock = np.zeros(index.n_features), np.zeros(index.n_features), 0
    for _ in range(3):
        mistakes = 0
        for s in rng.permutation(sentences):
            parts = list(parts_of(design, index, weights))[s]
            guess = oracle.ranked(oracle.chain(*parts))[0][0]
            true = gold.codes[cuts[s] : cuts[s + 1]].tolist()
            total += weights
            clock += 1
            mistakes += sum(a != b for a, b in zip(guess, true, strict=True))
            if list(guess) != true:
                weights = weights + counts_of(design, index, s, true) - counts_of(design, index, s, guess)
        if not mistakes:
            break
    # weights − sums / clock, with a change at time t weighing t: the mean of the weights before each sentence,
    # and of those after the last in place of those before the first
    assert found == pytest.approx(total / clock, abs=1e-9)


RULES = {
    "PA": Rule(0.5),
    "PA-I": Rule(0.0, most=0.05),
    "PA-II": Rule(0.5, slack=0.7),
    "AROW": Rule(slack=0.6, variance=1.5, gamma=0.6),
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("template", [PLAIN, CONDITIONED], ids=["plain", "conditioned"])
@pytest.mark.parametrize("order", [1, 2])
def test_aggressive_learning_moves_every_kind_of_weight(order, template, rule):
    """Averaged weights against the definition, on feature vectors, the guesses by enumeration."""
    design, gold, index = problem(2, template=template, order=order, values=True)
    learner = StochasticLearner(ConditionalLikelihood(design, gold, index, None, np.float64), seed=3)
    losses = []
    run = course(learner, rule, settled=False)
    found = run(2, lambda epoch, loss, weights: losses.append(loss), True, Stage(Reporter()))
    rng = np.random.default_rng(3)
    cuts, sentences = design.offsets.tolist(), np.flatnonzero(np.diff(design.offsets) > 0)
    w, total, expected = np.zeros(index.n_features), np.zeros(index.n_features), []
    variance = np.full(index.n_features, rule.variance or 1.0)
    for _ in range(2):
        lost = 0.0
        for s in rng.permutation(sentences):
            total += w
            guess = oracle.ranked(oracle.chain(*list(parts_of(design, index, w))[s]))[0][0]
            true = gold.codes[cuts[s] : cuts[s + 1]].tolist()
            wrong = sum(a != b for a, b in zip(guess, true, strict=True))
            if not wrong:
                continue
            d = counts_of(design, index, s, true) - counts_of(design, index, s, guess)
            cost = wrong**rule.power - w @ d
            lost += cost
            if d @ (variance * d) + rule.slack > 0:
                w = w + min(rule.most, cost / (d @ (variance * d) + rule.slack)) * variance * d
            if rule.variance:
                variance = 1 / (1 / variance + d * d / rule.gamma)
        expected.append(lost)
    assert losses == pytest.approx(expected, rel=1e-9)
    assert found == pytest.approx((total + w) / (1 + 2 * len(sentences)), abs=1e-9)


def counts_of(design, index, s: int, labels) -> np.ndarray:
    """f(x, y) of sentence s by one-sided differences of its score, which is linear in the weights."""

    def score(weights):
        return oracle.chain_score(*list(parts_of(design, index, weights))[s], labels)

    eye = np.eye(index.n_features)
    return np.array([score(row) for row in eye]) if len(labels) else np.zeros(index.n_features)
