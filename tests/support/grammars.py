"""Small grammars and treebanks, and the list of all trees of a grammar."""

from __future__ import annotations

import math

import nltk

import oracle
from loglin.corpus.trees import Tree
from loglin.generative.pcfg import PCFG


def doubling(p):
    return PCFG.of({("S", "S", "S"): p, ("S", "a"): 1 - p})


ENGLISH = {
    ("S", "NP", "VP"): 1.0,
    ("NP", "D", "N"): 0.6,
    ("NP", "NP", "PP"): 0.2,
    ("NP", "she"): 0.2,
    ("VP", "V", "NP"): 0.5,
    ("VP", "VP", "PP"): 0.2,
    ("VP", "sleeps"): 0.3,
    ("PP", "P", "NP"): 1.0,
    ("D", "the"): 0.7,
    ("D", "a"): 0.3,
    ("N", "dog"): 0.5,
    ("N", "park"): 0.5,
    ("V", "sees"): 1.0,
    ("P", "in"): 1.0,
}


FINITE = {
    ("S", "A", "B"): 0.5,
    ("S", "A"): 0.2,
    ("S", "S1", "A"): 0.3,
    ("S1", "B", "B"): 1.0,
    ("A", "C"): 0.25,
    ("A", "C", "B"): 0.25,
    ("A", "x"): 0.5,
    ("B", "x"): 0.25,
    ("B", "y"): 0.35,
    ("B", "C", "C"): 0.4,
    ("C", "y"): 0.6,
    ("C", "z"): 0.4,
}


def listing(rules, start="S", longest=12):
    scores = {rule: math.log(p) for rule, p in rules.items()}
    return [(tree, math.exp(score)) for tree, score in oracle.language(scores, start, longest)]


def as_node(tree: Tree):
    return (tree.label, tree.word) if tree.word is not None else (tree.label, *map(as_node, tree.children))


TREES = [
    "(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat))))",
    "(S (NP (DT the) (NN cat)) (VP (VBD saw) (NP (DT the) (NN man)) (PP (IN with) (NP (DT a) (NN dog)))))",
    "(S (NP (DT a) (NN man)) (VP (VBD saw) (NP (NP (DT the) (NN dog)) (PP (IN with) (NP (DT the) (NN cat))))))",
    "(S (NP (NNP Kim)) (VP (VBD slept)))",
    "(S (NP (NNP Kim)) (VP (VBD saw) (NP (DT the) (NN dog))))",
    "(S (NP (DT the) (NN man)) (VP (VBD slept)) (. .))",
    "(S (NP (NP (DT the) (NN man)) (PP (IN with) (NP (DT a) (NN cat)))) (VP (VBD slept)) (. .))",
    "(NP (NNP Kim))",
]


SENTENCE = ["the", "man", "saw", "a", "dog", "with", "the", "cat"]


def toy_grammars() -> list[nltk.PCFG]:
    older = [getattr(nltk, name) for name in ("toy_pcfg1", "toy_pcfg2") if hasattr(nltk, name)]
    texts = [text for text in nltk.grammar.pcfg_demo.__code__.co_consts if isinstance(text, str) and " -> " in text]
    found = older or [nltk.PCFG.fromstring(text) for text in texts if "NP" in text]
    assert len(found) == 2
    return found
