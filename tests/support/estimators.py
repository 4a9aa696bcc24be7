"""Small data for every estimator."""

from __future__ import annotations

from loglin.demo.ingredients import generate

_LINES = generate(60, 1, "train")
SENTENCES = [[w for w, _ in line] for line in _LINES], [[y for _, y in line] for line in _LINES]  # words, labels
LINES = [" ".join(words) for words in SENTENCES[0]]
X = [{"first": words[0], "last": words[-1], "length": len(words)} for words in SENTENCES[0]]
Y = [labels[0] for labels in SENTENCES[1]]
TREES = [
    "(S (NP (NNS dogs)) (VP (VBP bark)))",
    "(S (NP (NNS cats)) (VP (VBP see) (NP (NP (NNS dogs)) (PP (IN with) (NP (NNS cats))))))",
    "(S (NP (NNS cats)) (VP (VP (VBP see) (NP (NNS dogs))) (PP (IN with) (NP (NNS dogs)))))",
] * 3
