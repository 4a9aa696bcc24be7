"""A small model of every kind, trained in a moment."""

from __future__ import annotations

import numpy as np

from loglin import LanguageModel, MaxEnt, NaiveBayes, Parser, Tagger

X = [["a", "b", "c"], ["b", "a"], ["c", "a", "b", "b"]]
Y = [["X", "Y", "O"], ["Y", "X"], ["O", "X", "Y", "X"]]
TEMPLATE = "U0:%x[0,0]\nU1:%suffix[-1,0,1]\nB\nB1:%x[0,0]\n"
BAGS, CLASSES = [["p", "q"], ["q"], ["r", "p"], ["r"]], ["A", "B", "A", "B"]
TEXT = ["the cat sat on the mat", "the dog sat on the log", "a cat ran"] * 4
TREES = [
    "(S (NP (D the) (N dog)) (VP (V saw) (NP (D a) (N cat))))",
    "(S (NP (D a) (N cat)) (VP (V slept)))",
]
ALL = ("bigram", "trigram", "skip", "suffix", "prefix", "class", "trigger", "cache")

MADE = {
    "crf": lambda: Tagger(template=TEMPLATE, max_iter=3).fit(X, Y),
    "second order": lambda: Tagger(template=TEMPLATE + "T\n#! oov=first", order=2, max_iter=3, dictionary=1).fit(X, Y),
    "hmm": lambda: Tagger(criterion="hmm").fit(X, Y),
    "base": lambda: Tagger("m-estimation", settings={"base": "hmm"}, max_iter=3).fit(X, Y),
    "local": lambda: Tagger(criterion="memm", max_iter=3).fit(X, Y),
    "bags": lambda: MaxEnt(max_iter=3).fit(BAGS, CLASSES),
    "matrix": lambda: MaxEnt(max_iter=3).fit(np.array([[1.0, 2], [0, 1], [3, 1], [0, 0]]), CLASSES),
    "sets": lambda: MaxEnt(multi_label=True, max_iter=3).fit(BAGS, [{"A"}, {"B"}, {"A", "B"}, set()]),
    "candidates": lambda: MaxEnt(features=lambda x, c: [c], max_iter=3).fit(
        ["u", "v"], ["a", "b"], candidates=[["a", "b"], ["b", "c"]]
    ),
    "bayes": lambda: NaiveBayes().fit(BAGS, CLASSES),
    "words": lambda: LanguageModel(features=ALL, max_iter=3, min_count=1, classes={"cat": "N", "the": "D"}).fit(TEXT),
    "n-grams": lambda: LanguageModel(criterion="kneser-ney").fit(TEXT),
    "pcfg": lambda: Parser("pcfg").fit(TREES),
    "trees": lambda: Parser("crf", max_iter=3).fit(TREES),
}
