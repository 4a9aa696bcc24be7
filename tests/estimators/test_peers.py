"""python-crfsuite computes the same things: objective, marginals, best paths."""

from __future__ import annotations

import numpy as np
import pytest

from loglin import Tagger
from loglin.demo.ingredients import generate
from loglin.features.transfer import transferred_weights

pycrfsuite = pytest.importorskip("pycrfsuite")


def attributes(tokens):
    rows = []
    for t, word in enumerate(tokens):
        row = [f"w={word}", f"s={word[-2:]}"]
        row.append(f"p={tokens[t - 1]}" if t else "BOS")
        rows.append(row)
    return rows


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("crfsuite") / "model")
    lines = generate(200, 5, "train")
    X, y = [attributes([t for t, _ in line]) for line in lines], [[label for _, label in line] for line in lines]
    trainer = pycrfsuite.Trainer(verbose=False)
    for x, labels in zip(X, y, strict=True):
        trainer.append(x, labels)
    trainer.set_params({"c1": 0, "c2": 0.5, "epsilon": 1e-9, "delta": 1e-9, "max_iterations": 2000})
    trainer.train(path)
    peer = pycrfsuite.Tagger()
    peer.open(path)
    return X, y, peer, float(trainer.logparser.last_iteration["loss"])


def test_objective(trained):
    X, y, _, loss = trained
    ours = Tagger(l2=1.0, tol=1e-8).fit(X, y)
    assert ours.model_.record["objective"] == pytest.approx(loss, rel=1e-5)


def test_marginals_and_paths_for_the_same_weights(trained):
    X, y, peer, _ = trained
    ours = Tagger(l2=1.0, max_iter=1, dtype="float64").fit(X, y)
    _adopt_weights(ours, peer.info())
    for x in X[:60]:
        peer.set(x)
        assert ours.predict([x])[0] == peer.tag()
        marginals = ours.predict_marginals([x])[0]
        for t in range(len(x)):
            for label in ours.classes_:
                assert marginals[t][label] == pytest.approx(peer.marginal(label, t), abs=1e-6)


def _adopt_weights(tagger, info) -> None:
    """Replace the tagger's weights by those of a CRFsuite model over the same features."""
    index, names = tagger.model_.index, tagger.model_.extractor.names.strings
    weights = np.zeros(index.n_features)
    number = {label: i for i, label in enumerate(tagger.classes_)}
    unigram, _, pairs, _ = index.split(weights)
    for a, name in enumerate(names):
        for f in range(index.ptr[a], index.ptr[a + 1]):
            unigram[f] = info.state_features.get((name, tagger.classes_[index.labels[f]]), 0.0)
    place = {int(p): i for i, p in enumerate(index.pairs)}
    for (a, b), w in info.transitions.items():
        pairs[place[number[a] * len(number) + number[b]]] = w
    tagger.model_.weights = weights
    tagger._adopt(tagger.model_)


def test_transfer_is_the_identity_on_the_same_model(trained):
    X, y, _, _ = trained
    model = Tagger(max_iter=2).fit(X, y).model_
    np.testing.assert_array_equal(
        transferred_weights(model, model.extractor, model.labels, model.index), model.weights.astype(float)
    )
