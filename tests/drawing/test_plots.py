"""Figures of training, confusion and transitions, read back from matplotlib's axes."""

from __future__ import annotations

import numpy as np
import pytest

from loglin import MaxEnt, Tagger
from loglin.errors import LoglinError

pyplot = pytest.importorskip("matplotlib.pyplot")

SENTENCES = [["two", "cups", "flour"], ["3", "eggs"], ["1", "pinch", "salt"]]
LABELS = [["Q", "U", "N"], ["Q", "N"], ["Q", "U", "N"]]


@pytest.fixture(autouse=True)
def no_window():
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def tagger():
    return Tagger(l2=0.1, threads=1, optimizer="lbfgs", dev=(SENTENCES, LABELS)).fit(SENTENCES, LABELS)


def test_training_shows_every_iteration(tagger):
    history = tagger.model_.record["history"]
    ax = tagger.plot_training()
    assert ax.lines[0].get_xydata().tolist() == [[i["number"], i["value"]] for i in history]
    other = next(one for one in ax.figure.axes if one is not ax)
    assert other.lines[0].get_ydata().tolist() == [i["score"] for i in history]


def test_confusion_counts_every_token(tagger):
    found = tagger.predict(SENTENCES)
    _, given = pyplot.subplots()
    ax = tagger.plot_confusion(SENTENCES, [["U", "U", "N"], ["Q", "N"], ["Q", "U", "N"]], ax=given)
    assert ax is given
    assert found == LABELS
    shares = np.asarray(ax.images[0].get_array())
    labels = [text.get_text() for text in ax.get_yticklabels()]
    assert labels == ["N", "Q", "U"]
    assert shares == pytest.approx(np.array([[1, 0, 0], [0, 1, 0], [0, 1 / 3, 2 / 3]]))
    assert [text.get_text() for text in ax.texts] == ["3", "", "", "", "2", "", "", "1", "2"]


def test_transitions_are_the_weights(tagger):
    ax = tagger.plot_transitions()
    index, names = tagger.model_.index, tagger.classes_
    weights = dict(zip(index.pairs.tolist(), index.split(tagger.model_.weights)[2].tolist(), strict=True))
    shown = np.asarray(ax.images[0].get_array())
    for code, weight in weights.items():
        assert shown[divmod(code, len(names))] == pytest.approx(weight)
    best = np.unravel_index(shown.argmax(), shown.shape)
    assert (names[best[0]], names[best[1]]) in {("Q", "U"), ("U", "N"), ("Q", "N")}


def test_classifiers_have_them_too():
    model = MaxEnt().fit([["goal"], ["law"]], ["sport", "politics"])
    assert model.plot_training().get_xlabel() == "iteration"
    shares = np.asarray(model.plot_confusion([["goal"], ["law"]], ["sport", "politics"]).images[0].get_array())
    assert shares.tolist() == [[1, 0], [0, 1]]


def test_what_has_no_figure_is_said():
    counted = Tagger("hmm").fit(SENTENCES, LABELS)
    with pytest.raises(LoglinError, match="no weights of label pairs"):
        counted.plot_transitions()
    with pytest.raises(LoglinError, match="nothing to compare"):
        Tagger().fit(SENTENCES, LABELS).plot_confusion([], [])
