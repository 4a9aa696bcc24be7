"""Probabilities of sentences and of their best trees against the parsers of NLTK."""

from __future__ import annotations

import math

import nltk
import pytest

from loglin.generative.pcfg import PCFG
from loglin.grammars import files
from support.grammars import toy_grammars

# unary chains, rules of three and four children, and words among symbols
MORE = """
S -> NP VP [0.6] | VP [0.1] | 'if' S 'then' S [0.1] | S 'and' S [0.2]
NP -> Det N [0.5] | Det Adj N PP [0.1] | NP PP [0.2] | Name [0.2]
VP -> V [0.3] | V NP [0.4] | V NP PP [0.2] | 'does' 'not' VP [0.1]
PP -> P NP [1.0]
Det -> 'the' [0.6] | 'a' [0.4]
Adj -> 'old' [0.7] | 'dog' [0.3]
N -> 'dog' [0.5] | 'man' [0.3] | 'park' [0.2]
Name -> 'John' [0.5] | Short [0.5]
Short -> 'Bob' [0.9] | 'John' [0.1]
V -> 'sees' [0.6] | 'walks' [0.2] | 'dog' [0.2]
P -> 'in' [0.7] | 'with' [0.3]
"""
SENTENCES = {
    "toy 1": [
        "I saw the man with my telescope",
        "John ate",
        "the man under my telescope with John saw I with the telescope",
        "saw John",
    ],
    "toy 2": [
        "the boy saw Jack with Bob under the table with a telescope",
        "Jack ran",
        "my cookie ate the hill under Bob",
    ],
    "more": [
        "John sees the dog in the park with a man",
        "if Bob walks then the old dog with John walks and John sees the dog dog in the park",
        "dog the dog and the man does not dog John in a park",
        "sees",
        "John John",
    ],
}


def cases():
    theirs = [*toy_grammars(), nltk.PCFG.fromstring(MORE)]
    for name, grammar in zip(SENTENCES, theirs, strict=True):
        for sentence in SENTENCES[name]:
            yield pytest.param(grammar, sentence.split(), id=f"{name}: {sentence}")


def ours(theirs: nltk.PCFG) -> PCFG:
    text = "\n".join(str(production) for production in theirs.productions())
    return PCFG.of_productions(*files.parse(text).rooted())


@pytest.mark.parametrize(("theirs", "words"), list(cases()))
def test_probabilities(theirs, words):
    found = [tree.prob() for tree in nltk.InsideChartParser(theirs).parse(words)]
    forest = ours(theirs).forest(words)
    if not found:
        assert forest.partition() == -math.inf
        return
    assert forest.partition() == pytest.approx(math.log(math.fsum(found)), abs=1e-9)
    (best,) = nltk.ViterbiParser(theirs).parse(words)
    assert forest.best().score == pytest.approx(math.log(best.prob()), abs=1e-9)
    listed = [math.exp(derivation.score) for derivation in forest.nbest(len(found) + 1)]
    assert listed == pytest.approx(sorted(found, reverse=True))


def test_sentences_have_trees():
    """That the cases above compare something: one sentence of each grammar has several trees, one has none."""
    numbers = {}
    for case in cases():
        theirs, words = case.values
        numbers[case.id] = sum(1 for _ in nltk.InsideChartParser(theirs).parse(words))
    assert sum(n > 1 for n in numbers.values()) >= 6
    assert sum(n == 0 for n in numbers.values()) == 2
