"""Independent decisions among very many classes: the same numbers without labels × labels."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from loglin import LoglinError, MaxEnt, NaiveBayes, Tagger
from loglin.corpus.labels import MOST_LABELS, gold_of_sequences
from loglin.criteria.minimizing import likelihood
from loglin.features.attributes import AttributeExtractor
from loglin.objectives import likelihood as module
from loglin.problems.chains import ChainProblem
from loglin.problems.options import ChainOptions

EXAMPLES = [["a", "b"], ["b"], ["a", {"c": 2.5}], ["c", "b"], ["a"]]
CLASSES = {"certain": [0, 1, 2, 3, 1], "partial": [0, {1, 2}, None, 3, 1]}


def problem(classes, weights=None) -> ChainProblem:
    extractor = AttributeExtractor()
    design = extractor.fit([[example] for example in EXAMPLES])
    labels, gold = gold_of_sequences([[y] for y in classes], [1] * len(classes), [0, 1, 2, 3])
    options = ChainOptions(all_features=True, instance_weights=weights)
    return ChainProblem(design, extractor, labels, gold, options, task="classify", sequential=False)


@pytest.mark.parametrize("classes", CLASSES)
@pytest.mark.parametrize("weights", [None, np.array([1.0, 2, 0.5, 3, 1])])
def test_the_same_value_and_gradient_as_of_chains(monkeypatch, classes, weights):
    given = problem(CLASSES[classes], weights)
    w = np.random.default_rng(0).normal(size=given.index.n_features)
    chains = likelihood(given, np.float64)
    assert not chains.alone
    monkeypatch.setattr(module, "MANY", 0)
    alone = likelihood(given, np.float64)
    assert alone.alone
    (value, gradient), (expected, slopes) = alone(w), chains(w)
    assert value == pytest.approx(expected, rel=1e-12)
    assert gradient == pytest.approx(slopes, abs=1e-12)
    assert alone.curvature(w) == pytest.approx(chains.curvature(w), abs=1e-12)


@pytest.mark.parametrize("criterion", ["likelihood", "perceptron"])
def test_the_same_model_as_of_chains(monkeypatch, criterion):
    y = [f"y{i}" for i in CLASSES["certain"]]
    expected = MaxEnt(criterion, max_iter=20).fit(EXAMPLES, y)
    monkeypatch.setattr(module, "MANY", 0)
    found = MaxEnt(criterion, max_iter=20).fit(EXAMPLES, y)
    assert found.model_.weights == pytest.approx(expected.model_.weights, abs=1e-6)


TRAIN = """
import resource, warnings
warnings.simplefilter("ignore")
from loglin import MaxEnt, NaiveBayes
import loglin
resource.setrlimit(resource.RLIMIT_AS, ({gib} << 30,) * 2)
n = {n}
X = [[f"a{{i % 50}}", f"b{{i // 50 % 50}}", f"c{{i // 2500}}"] for i in range(n)]
y = [f"y{{i}}" for i in range(n)]
model = {model}.fit(X, y)
if {gives}:
    assert abs(model.predict_proba(X[:3]).sum(axis=1) - 1).max() < 1e-6
model.save("m")
assert (loglin.load("m").predict(X[:20]) == model.predict(X[:20])).all()
"""


@pytest.mark.parametrize(
    ("model", "n", "gib"),
    [
        ("NaiveBayes()", 20_000, 2),
        ("NaiveBayes('bernoulli')", 20_000, 2),
        ("MaxEnt(max_iter=1, tol=1e-1)", 6_000, 2),
        ("MaxEnt('perceptron', max_iter=1, all_features=False)", 6_000, 2),
    ],
)
def test_memory(tmp_path, model, n, gib):
    """Labels × labels of 8 bytes would be 3 GB of 20,000 classes, and 0.3 GB for each of 16 chunks of 6,000."""
    code = TRAIN.format(model=model, n=n, gib=gib, gives="perceptron" not in model)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("model", [MaxEnt(), NaiveBayes()])
def test_more_classes_than_can_be_numbered(model):
    n = MOST_LABELS + 465
    with pytest.raises(LoglinError, match=r"66,000 labels, and models have at most 65,535; join"):
        model.fit([["a"]] * n, [f"y{i}" for i in range(n)])


def test_more_labels_than_can_be_numbered():
    with pytest.raises(LoglinError, match=r"66,000 labels"):
        Tagger().fit([[f"w{i}"] for i in range(66_000)], [[f"y{i}"] for i in range(66_000)])
