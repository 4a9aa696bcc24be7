"""Sentences whose labels are hidden or partly known, a dictionary of their words, and criteria on them."""

from __future__ import annotations

import numpy as np
from loglin.training.chains import _dictionary, _problem
from loglin.training.latent import lattice_criterion, possible_labels
from loglin.training.options import Options, labels_of

from loglin import Tagger
from loglin.corpus.columns import from_sentences
from loglin.criteria.settings import checked_settings
from loglin.features.extract import TemplateExtractor
from loglin.features.read import read_templates

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
    options = Options(criterion=criterion, order=order, dictionary=dictionary, settings=settings, **given)
    extractor = TemplateExtractor(read_templates(template))
    corpus = from_sentences(SENTENCES)
    design = extractor.fit(corpus)
    names, gold = labels_of(labels, np.diff(corpus.offsets).tolist(), options)
    words = _dictionary(design, names, gold, options)
    problem = _problem(design, extractor, names, possible_labels(corpus, words, len(names)), options, None)
    problem.hidden = gold
    return lattice_criterion(checked_settings(criterion, settings), problem, words, options)


PARTLY = [["X", "Y", None, {"X", "Z"}], None, None, ["X"], None, ["X", "X"], None]
