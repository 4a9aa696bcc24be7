"""Every criterion on the smallest data: one label, one token, an empty sentence, a single sentence."""

from __future__ import annotations

import numpy as np
import pytest

from loglin import Tagger
from loglin.criteria.registry import criteria
from loglin.errors import LoglinError
from loglin.problems.request import Annotation

DATA = {
    "one label": ([["a", "b"], ["c"]], [["X", "X"], ["X"]]),
    "one token": ([["a"], ["b"], ["a"]], [["X"], ["Y"], ["X"]]),
    "an empty sentence": ([["a", "b"], [], ["c"]], [["X", "Y"], [], ["X"]]),
    "one sentence": ([["a", "b", "c"]], [["X", "Y", "X"]]),
}
VARIANTS = {
    "margin": [{}, {"loss": "hinge"}],
    "memm": [{}, {"beam": 2}, {"decoding": "scaled"}],
    "piecewise": [{}, {"nota": "selected"}, {"nota": "sampled"}, {"nota": "none"}, {"decoding": "scaled"}],
    "pseudolikelihood": [{}, {"nota": "all"}, {"nota": "one"}],
    "m-estimation": [
        {},
        {"base": "hmm"},
        {"base": "uniform"},
        {"base": "empirical"},
        {"base": "sampled", "samples": 50},
        {"optimizer": "newton"},
        {"input_features": True},
    ],
}


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("criterion", criteria("chain"))
def test_smallest_data(criterion, data):
    X, y = DATA[data]
    if criteria("chain")[criterion].needs == Annotation.HIDDEN and data == "an empty sentence":  # it has no neighbors
        with pytest.raises(LoglinError, match="sentence 1 has no words"):
            Tagger(criterion).fit(X, y)
        return
    for settings in VARIANTS.get(criterion, [{}]):
        for order in (1, 2):
            if order == 2 and settings.get("nota") in ("all", "one") and criterion == "pseudolikelihood":
                continue
            tagger = Tagger(criterion, order=order, settings=settings, max_iter=30).fit(X, y)
            found = tagger.predict([*X, ["unseen", "a"], []])
            assert [len(labels) for labels in found] == [*map(len, X), 2, 0]
            assert all(np.isfinite(p).all() for p in tagger.predict_proba(X))
            if data == "one label":
                assert {label for labels in found for label in labels} == {"X"}


def test_hinge_needs_labels():
    with pytest.raises(LoglinError, match="sentence 0, token 1 has none"):
        Tagger("margin", settings={"loss": "hinge"}).fit([["a", "b"]], [["X", None]])
