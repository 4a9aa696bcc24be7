"""Model selection without labels, for taggers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.base import clone

from loglin.errors import LoglinError
from loglin.estimators.given import label_sequences
from loglin.estimators.parameters import opened
from loglin.estimators.tagger import Tagger
from loglin.models.chain import Model
from loglin.training.selection import Selection, check_grid, select, separated


def select_tagger(
    tagger: Tagger,
    grid: Mapping[str, Sequence],
    X: Any,
    y: Any = None,
    *,
    dev: Any = None,
    gold: tuple[Any, Any] | None = None,
) -> tuple[Tagger, Selection]:
    """The tagger whose criterion on the sentences ``dev``, which have no labels, is best over a grid of parameters.

    ``grid`` names parameters of the tagger or settings of its criterion: {"l2": [0.5, 1, 2]}, {"smoothing": [0, 1]}.
    With ``gold`` = (sentences, labels) the selection also tells what an oracle would have chosen. After Ctrl-C the
    given ``tagger`` has the best model so far.
    """
    dev = tagger.dev if dev is None else dev
    chosen = tagger.chosen_criterion()
    check_grid(grid, chosen, dev)
    known = tagger.get_params()
    unknown = [name for name in separated(dict(grid), chosen)[1] if name not in known]
    if unknown:
        raise LoglinError(f"the grid names {unknown[0]!r}; name a parameter of Tagger or a setting of its criterion")
    assert dev is not None
    sentences, held, labels = tagger.sentences_of(X), tagger.sentences_of(dev, "dev"), label_sequences(y)
    tried: list[Tagger] = []

    def train(parameters: dict[str, Any]) -> Model:
        inside, outside = separated(parameters, chosen)
        one = clone(tagger).set_params(dev=held, **outside)
        one.settings = {**(tagger.settings or {}), **inside} or None
        tried.append(one)
        return one.fit(sentences, labels).model_

    def accuracy(model: Model) -> float:
        return tried[-1].evaluate_unsupervised(*gold).telling_accuracy  # type: ignore[misc]

    name, tagger.checkpoint = tagger.checkpoint, opened(tagger)  # one for all trials
    try:
        found = select(grid, train, None if gold is None else accuracy)
    except KeyboardInterrupt:
        if trained := [one.model_ for one in tried if hasattr(one, "model_")]:
            tagger._adopt(max(trained, key=lambda model: model.record["held_criterion"]))
        raise
    finally:
        shared, tagger.checkpoint = tagger.checkpoint, name
    if shared is not None and shared is not name:
        shared.remove()
    return tried[found.trials.index(found.selected)], found
