"""A search among the likely labels of each token: exact among those, and all of them where nothing is pruned."""

from __future__ import annotations

import itertools
import json
import random

import numpy as np
import pytest

from loglin import Tagger
from loglin.decoding.chains import Decoder
from support.errors import refused_with_remedy
from support.shell import refusal, run


def sentences(n: int) -> tuple[list, list]:
    rng, X, y = random.Random(2), [], []
    for _ in range(n):
        words = [f"{rng.choice('abcdef')}{rng.randint(0, 9)}" for _ in range(rng.randint(1, 6))]
        X.append(words)
        y.append([f"{w[0].upper()}{rng.choice('xyy')}" if rng.random() < 0.8 else "O" for w in words])
    return X, y


X, Y = sentences(120)


def pruned(tagger, threshold):
    return Decoder(tagger.model_, decoding={"prune": threshold})


@pytest.mark.parametrize("order", [1, 2])
def test_the_best_of_what_is_left_is_found(order):
    tagger = Tagger(order=order, threads=1).fit(X, Y)
    whole = Decoder(tagger.model_)
    design = whole.design(whole.model.extractor and tagger.input_of(whole.model.extractor, X[:30]))
    exact = whole.best(design)
    assert np.array_equal(pruned(tagger, 1e-300).best(design), exact)
    decoder = pruned(tagger, 0.2)
    allowed, found = decoder.narrowed.allowed(design), decoder.best(design)
    assert allowed.sum() < 0.5 * allowed.size
    assert allowed[np.arange(len(found)), found].all()
    scores = decoder.scores(design)
    p = np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
    assert np.array_equal(allowed, (p >= 0.2) | (p == p.max(axis=1, keepdims=True)))
    for (b, e), chain in zip(itertools.pairwise(design.offsets.tolist()), whole.chains(design), strict=True):
        left = itertools.product(*(np.flatnonzero(row).tolist() for row in allowed[b:e]))
        best = max(chain.score(np.array(labels)) for labels in left)
        assert chain.score(found[b:e]) == pytest.approx(best, abs=1e-5)


def test_eval_says_what_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = (
        "\n".join(f"{w} {label}" for w, label in zip(s, t, strict=True)) + "\n\n" for s, t in zip(X, Y, strict=True)
    )
    (tmp_path / "data").write_text("".join(rows))
    run("train", "data", "-o", "model", "--quiet")
    found = json.loads(run("eval", "model", "data", "--prune", 0.05, "--json"))
    assert 0.5 < found["gold_labels_kept"] <= 1
    assert 1 <= found["labels_per_token"] < 13
    everything = json.loads(run("eval", "model", "data", "--prune", 1e-300, "--json"))
    assert everything["gold_labels_kept"] == 1
    assert "pruning keeps 100.00% of the right labels" in run("eval", "model", "data", "--prune", 1e-300)
    assert run("tag", "model", "data", "--prune", 1e-300) == run("tag", "model", "data")
    assert "leave out beam, constrain" in refusal("tag", "model", "data", "--prune", 0.1, "--beam", 3)
    tagger = Tagger(template="U:%x[0,0]\nB:%x[0,0]\n").fit(X, Y)
    design = Decoder(tagger.model_).design(tagger.input_of(tagger.model_.extractor, X))
    refused_with_remedy(lambda: pruned(tagger, 0.1).best(design), "prune")
    refused_with_remedy(lambda: pruned(tagger, 1.5), "1.5")
