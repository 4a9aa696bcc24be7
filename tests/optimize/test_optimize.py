"""Optimizers against SciPy, and trainers against one another."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize

from loglin.corpus.columns import from_sentences
from loglin.corpus.labels import gold_of_sequences
from loglin.demo.ingredients import generate
from loglin.features.extract import TemplateExtractor
from loglin.features.index import build_index
from loglin.features.read import read_templates
from loglin.objectives.likelihood import ConditionalLikelihood
from loglin.optimize.descent import improvement_left
from loglin.optimize.lbfgs import minimize
from loglin.optimize.penalties import Penalized
from loglin.optimize.record import StopTraining
from loglin.optimize.reporter import Reporter
from loglin.threads import Threads
from support.losses import bowl
from support.solving import fit_weights


def test_lbfgs_finds_the_minimum():
    function, _, target = bowl()
    result = minimize(function, np.zeros(30), tol=0, gradient_tol=1e-8)
    np.testing.assert_allclose(result.weights, target, atol=1e-5)
    assert result.converged
    assert "gradient" in result.stopped or "rounding" in result.stopped


def test_scaling_by_the_diagonal_needs_fewer_passes():
    function, scales, _ = bowl()
    plain = minimize(function, np.zeros(30), tol=0)
    scaled = minimize(function, np.zeros(30), tol=0, scale=1 / scales)
    assert scaled.evaluations < plain.evaluations / 2


def test_owlqn_equals_the_soft_threshold():
    """Separable quadratic: argmin ½·s·(w − t)² + l1·|w| is soft(t, l1 / s)."""
    function, scales, target = bowl()
    result = minimize(function, np.zeros(30), l1=1.0, tol=0, gradient_tol=1e-10)
    expected = np.sign(target) * np.maximum(np.abs(target) - 1 / scales, 0)
    np.testing.assert_allclose(result.weights, expected, atol=1e-6)
    assert (result.weights == 0).sum() == (expected == 0).sum()


def test_reasons_for_stopping():
    function, _, _ = bowl()
    assert "max_iter = 3" in minimize(function, np.zeros(30), max_iter=3, tol=0).stopped
    assert "tol = 0.01" in minimize(function, np.zeros(30), tol=0.01).stopped

    def stop(iteration, weights):
        raise StopTraining("enough")

    assert minimize(function, np.zeros(30), reporter=Reporter(stop)).stopped == "enough"


def test_improvement_left_of_a_geometric_series():
    values = [1 + 0.9**k for k in range(20)]
    assert improvement_left(values) == pytest.approx(values[-1] - 1, rel=1e-6)
    assert improvement_left(values[:5]) is None
    assert improvement_left([1.0] * 20) == 0.0


@pytest.fixture(scope="module")
def problem():
    lines = generate(150, 3, "train")
    extractor = TemplateExtractor(read_templates(None))
    design = extractor.fit(from_sentences([[t for t, _ in line] for line in lines]))
    _labels, gold = gold_of_sequences([[y for _, y in line] for line in lines], np.diff(design.offsets).tolist())
    index = build_index(design, gold, False, True, 1)
    return design, gold, index


@pytest.mark.parametrize(("l1", "l2"), [(0.0, 1.0), (0.0, 0.05), (0.0, 20.0), (0.5, 0.0), (0.3, 0.5)])
def test_every_trainer_reaches_the_optimum(problem, l1, l2):
    design, gold, index = problem
    n = index.n_features

    def criterion(dtype):
        return ConditionalLikelihood(design, gold, index, None, dtype, Threads(2))

    def run(**extra):
        return fit_weights(criterion, l1=np.full(n, l1), l2=np.full(n, l2), **extra)

    exact = run(dtype="float64", warm_start=False, scaled=False, tol=1e-9)
    for extra in ({"tol": 1e-6}, {}, {"warm_start": False}, {"dtype": "float64"}):
        result = run(**extra)
        allowed = 1e-5 if extra.get("tol") else 1e-3
        assert exact.value * (1 - 1e-6) <= result.value <= exact.value * (1 + allowed), extra
    if l1 == 0:
        smooth = Penalized(criterion(np.float64), l2)
        reference = scipy_minimize(smooth, np.zeros(n), jac=True, method="L-BFGS-B", options={"maxiter": 3000})
        assert exact.value == pytest.approx(reference.fun, rel=1e-5)
    else:
        assert 0 < np.count_nonzero(exact.weights) < n / 2


def test_the_same_weights_for_any_number_of_threads(problem):
    design, gold, index = problem
    n = index.n_features
    runs = [
        fit_weights(
            lambda dtype, k=k: ConditionalLikelihood(design, gold, index, None, dtype, Threads(k)),
            l1=np.zeros(n),
            l2=np.ones(n),
        )
        for k in (1, 2, 3)
    ]
    assert runs[0].weights.tobytes() == runs[1].weights.tobytes() == runs[2].weights.tobytes()


def test_a_request_to_stop_during_the_warm_start_keeps_its_weights(problem):
    design, gold, index = problem
    n = index.n_features
    result = fit_weights(
        lambda dtype: ConditionalLikelihood(design, gold, index, None, dtype),
        l1=np.zeros(n),
        l2=np.ones(n),
        stop=lambda: "asked to",
    )
    assert result.stopped == "asked to"
    assert np.count_nonzero(result.weights) > 0
