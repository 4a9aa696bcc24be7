"""Sentences whose labels are hidden or partly known, a dictionary of their words, and criteria on them."""

from __future__ import annotations

import numpy as np

from loglin import Tagger

WORDS = {"a": ["X"], "b": ["X", "Y"], "c": ["Y", "Z"], "d": ["X", "Y", "Z"], "see": ["Z", "X"]}


SENTENCES = [s.split() for s in ("a b c d", "b b c b", "c d c d c", "d", "see a see", "b a", "a b c d")]


def untrained(template, order=2, seed=0, sentences=SENTENCES, words=WORDS, criterion="contrastive", **given):
    """A tagger whose weights are random: nothing is at an optimum."""
    given = {"max_iter": 1, "dictionary": words} | given
    tagger = Tagger(criterion, template=template, order=order, **given).fit(sentences)
    rng = np.random.default_rng(seed)
    tagger.model_.weights = rng.standard_normal(len(tagger.model_.weights))
    return tagger._adopt(tagger.model_)


def criterion_of(
    labels, criterion="contrastive", order=2, template="trigram", settings=None, dictionary=WORDS, **given
):
    """The objective of a criterion on the sentences, of which ``labels`` are known."""
    tagger = Tagger(criterion, order=order, template=template, settings=settings, dictionary=dictionary, **given)
    return tagger.chosen_criterion().objective(tagger.problem(SENTENCES, labels))


PARTLY = [["X", "Y", None, {"X", "Z"}], None, None, ["X"], None, ["X", "X"], None]
