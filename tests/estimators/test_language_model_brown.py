"""Language models of the Brown corpus: the figures that they must reach, and what a pass costs."""

from __future__ import annotations

import numpy as np
import pytest

from loglin import LanguageModel
from loglin.corpus import datasets
from loglin.criteria.likelihood import next_word_likelihood
from loglin.problems.histories import HistoryProblem, LanguageOptions
from support.corpora import corpus_folder


@pytest.fixture(scope="module")
def brown():
    """Training and test sentences."""
    corpus_folder("brown")
    text = datasets.load_text("brown")
    cut = int(text.corpus.n_sentences * 0.9)
    return text.part(0, cut), text.part(cut, text.corpus.n_sentences)


def test_counted_models(brown):
    plain = LanguageModel(criterion="kneser-ney").fit(brown[0])
    assert plain.perplexity(brown[1]) == pytest.approx(107.61, abs=0.2)
    assert sum(p for _, p in plain.next("of the", 20_000)) == pytest.approx(1)
    modified = LanguageModel(criterion="modified-kneser-ney").fit(brown[0])
    assert modified.perplexity(brown[1]) == pytest.approx(105.66, abs=0.2)


def test_a_pass_follows_the_features_not_the_vocabulary(brown):
    part, passes = brown[0].part(0, 10_000), []
    for vocabulary in (5_000, 20_000):
        problem = HistoryProblem.of(part, LanguageOptions(vocabulary=vocabulary))
        criterion = next_word_likelihood(problem.histories)
        criterion(np.zeros(criterion.n_features))
        passes.append((criterion.touches, criterion.n_features, len(criterion.tree.counts) * criterion.n_words))
    (touches, features, dense), (more_touches, more_features, more_dense) = passes
    assert more_touches / touches < 1.1 * more_features / features < 1.7
    assert more_dense / dense > 5
    assert dense / touches > 1000


@pytest.mark.full
def test_one_to_three_grams_and_a_cache(brown):
    model = LanguageModel(features=("bigram", "trigram", "cache"), threads=1).fit(brown[0])
    assert model.without_cache().perplexity(brown[1]) < 102.5
    assert model.perplexity(brown[1]) < 93.5


@pytest.mark.full
def test_richer_features_are_better(brown):
    features = ("bigram", "trigram", "skip", "class", "class-pair")
    model = LanguageModel(features=features, max_iter=40, threads=1).fit(brown[0])
    assert model.perplexity(brown[1]) < 98
