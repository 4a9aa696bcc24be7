"""Train, save, load and use models of every kind; print what of Numba was imported for it."""

from __future__ import annotations

import sys

from loglin import LanguageModel, MaxEnt, NaiveBayes, Parser, Tagger

words = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "barks"]]
labels = [["D", "N", "V"]] * 3
for criterion in ("crf", "memm", "perceptron", "margin", "hmm"):
    tagger = Tagger(criterion=criterion).fit(words, labels)
tagger = Tagger().fit(words, labels)
tagger.save(sys.argv[1])
Tagger.load(sys.argv[1]).predict(words)
for classifier in (MaxEnt(), NaiveBayes()):
    classifier.fit([["a", "b"], ["b", "c"], ["c", "d"]], ["x", "y", "x"]).predict([["a"]])
Parser().fit(["(S (NP (D the) (N dog)) (VP (V barks)))", "(S (NP (D a) (N cat)) (VP (V sleeps)))"]).parse(words)
LanguageModel().fit(words).scores(words)
print([name for name in ("numba", "llvmlite") if name in sys.modules])
