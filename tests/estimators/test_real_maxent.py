"""Reuters, prepositional phrases: the figures that classifiers must reach on the corpora of the lectures."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.metrics import f1_score

from loglin import MaxEnt
from loglin.corpus import datasets
from loglin.reproduce import pp_attachment
from support.corpora import corpus_folder


@pytest.fixture(scope="module")
def reuters():
    corpus_folder("reuters21578")
    return datasets.load("reuters21578", "train"), datasets.load("reuters21578", "test")


def vectors(train, test):
    """tf-idf of the words, of length one."""
    counter = CountVectorizer(token_pattern="[a-z]+", min_df=3)
    A, B = counter.fit_transform([d.text for d in train]), counter.transform([d.text for d in test])
    weigh = TfidfTransformer(sublinear_tf=True).fit(A)
    return weigh.transform(A).tocsr(), weigh.transform(B).tocsr()


def test_one_multinomial_model_of_52_classes(reuters):
    train, test = ([d for d in part if len(d.topics) == 1] for part in reuters)
    names = sorted({d.topics[0] for d in train} & {d.topics[0] for d in test})
    train, test = ([d for d in part if d.topics[0] in names] for part in (train, test))
    assert (len(train), len(test), len(names)) == (6532, 2568, 52)
    A, B = vectors(train, test)
    model = MaxEnt(l2=0.01).fit(A, [d.topics[0] for d in train])
    assert 100 * model.model_.record["objective"] == pytest.approx(26_052.75, abs=0.05)  # scikit-learn's at its end
    assert np.mean(model.predict(B) == [d.topics[0] for d in test]) == pytest.approx(0.9408, abs=0.001)


@pytest.mark.full
def test_ninety_topics(reuters):
    train, test = reuters
    names = sorted({t for d in train for t in d.topics} & {t for d in test for t in d.topics})
    assert (len(train), len(test), len(names)) == (9603, 3299, 90)
    A, B = vectors(train, test)
    Y, right = (np.array([[n in d.topics for n in names] for d in part], int) for part in (train, test))
    model = MaxEnt(l2=1 / 300, threshold="out-of-fold").fit(A, Y)
    assert f1_score(right, model.predict(B), average="micro") > 0.87


def test_prepositional_phrases():
    corpus_folder("ppattach")
    subsets = [s for size in (1, 2, 3, 4) for s in combinations(range(4), size)]

    def examples(part):
        data = datasets.load("ppattach", part)
        words = [(a.verb, a.noun1, a.preposition, a.noun2) for a in data]
        return [[f"{s}={[w[i].lower() for i in s]}" for s in subsets] for w in words], [a.site for a in data]

    model = MaxEnt(l2=0.25).fit(*examples("train"))
    assert model.score(*examples("test")) > 0.835


def test_without_a_prior_rare_features_do_not_take_over():
    """Many weights fit the training examples; those of scaled steps got 71 % of the new ones right."""
    corpus_folder("ppattach")
    words = pp_attachment.load(False)
    train, test = (
        [pp_attachment.attributes(pp_attachment.stemmed(x.words), pp_attachment.ALL) for x in part]
        for part in (words.training, words.test)
    )
    options = {"l2": 0.0, "all_features": False, "max_iter": 200, "tol": 1e-6}
    with pytest.warns(ConvergenceWarning, match="no finite optimum"):
        model = MaxEnt(**options).fit(train, [x.site for x in words.training])
    assert pp_attachment.accuracy(words.test, list(model.predict(test))) > 82
