"""Small random problems on label sequences, and their scores for enumeration."""

from __future__ import annotations

import itertools

import numpy as np

from loglin.corpus.columns import from_sentences
from loglin.corpus.labels import Gold
from loglin.features.design import Design, Incidence
from loglin.features.extract import TemplateExtractor
from loglin.features.index import build_index
from loglin.features.template import parse_templates
from loglin.optimize.penalties import Penalties
from loglin.problems.chains import ChainProblem
from loglin.threads import Threads

PLAIN = "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nU2:%x[1,0]\nB\n"


CONDITIONED = PLAIN + "B1:%x[0,0]\n"


def problem(
    seed: int,
    *,
    template=PLAIN,
    order=1,
    partial=False,
    candidates=False,
    values=False,
    n_labels=3,
    lengths=(1, 4, 2, 3, 0, 5),
    transitions=True,
):
    """Design, gold labels and feature index of random sentences short enough for enumeration."""
    rng = np.random.default_rng(seed)
    sentences = [[str(rng.integers(4)) for _ in range(n)] for n in lengths]
    extractor = TemplateExtractor(parse_templates(template + ("T\n" if order == 2 else "")))
    design = extractor.fit(from_sentences(sentences), fold=seed % 2 == 0)
    n = design.n_tokens
    if values:
        tokens = design.tokens
        weighted = Incidence(tokens.ptr, tokens.ids, rng.normal(size=len(tokens.ids)))
        design = Design(
            design.offsets, weighted, design.bigrams, design.n_attributes, design.n_bigram_attributes, design.heads
        )
    codes = rng.integers(n_labels, size=n).astype(np.int32)
    gold = Gold.certain(codes, n_labels)
    if partial:
        sets = np.array([[True] * n_labels, [True, False] + [True] * (n_labels - 2)])
        codes = np.where(rng.random(n) < 0.4, ~rng.integers(2, size=n), codes).astype(np.int32)
        gold = Gold(codes, n_labels, sets, np.empty(0, np.int32))
    if candidates:
        sets = np.array([[True] * n_labels, [True, True] + [False] * (n_labels - 2)])
        gold = Gold(np.minimum(codes, 1), n_labels, sets, rng.integers(2, size=n).astype(np.int32))
    index = build_index(design, gold, all_features=seed % 3 == 0, transitions=transitions, order=order)
    return design, gold, index


def classification(seed: int, **given):
    """Design, gold labels and feature index of random sentences of one token each, without features of label pairs."""
    return problem(seed, template="U\nU0:%x[0,0]\n", lengths=(1,) * 12, transitions=False, **given)


def parts_of(design, index, weights):
    """Scores, steps and trigrams of every sentence, summed attribute by attribute."""
    unigram, bigram, _, _ = index.split(np.asarray(weights, float))
    T, cube, L = index.transitions(weights), index.trigrams(weights), index.n_labels
    tokens = design.unfolded()
    for b, e in itertools.pairwise(design.offsets.tolist()):
        scores, steps = np.zeros((e - b, L)), np.tile(T, (max(e - b - 1, 0), 1, 1))
        for t in range(b, e):
            for q in range(tokens.ptr[t], tokens.ptr[t + 1]):
                a, value = tokens.ids[q], tokens.values[q] if tokens.values.size else 1.0
                for f in range(index.ptr[a], index.ptr[a + 1]):
                    scores[t - b, index.labels[f]] += value * unigram[f]
            for q in range(design.bigrams.ptr[t], design.bigrams.ptr[t + 1]) if t > b else ():
                a = design.bigrams.ids[q]
                for f in range(index.bigram_ptr[a], index.bigram_ptr[a + 1]):
                    i, j = divmod(int(index.bigram_pairs[f]), L)
                    steps[t - b - 1, i, j] += bigram[f]
        yield scores, steps, cube


S1, S2, Y = np.array([0.5, -0.25]), np.array([[1.0, -1.0], [0.0, 2.0]]), (0, 1)


def known():
    """One sentence of two tokens whose scores are S1, then S2 by the label before."""
    tokens = Incidence(np.array([0, 1, 1]), np.array([0], np.int32))
    steps = Incidence(np.array([0, 0, 1]), np.array([0], np.int32))
    design = Design(np.array([0, 2]), tokens, steps, 1, 1)
    gold = Gold.certain(np.array(Y), 2)
    index = build_index(design, gold, all_features=True, transitions=False, order=1)
    return design, gold, index, np.concatenate([S1, S2.ravel()])


def numbered(design, gold, index, labels=None, *, extractor=None, weight=None, threads=1) -> ChainProblem:
    """A training problem with this feature index, and without penalties."""
    labels = list(range(index.n_labels)) if labels is None else labels
    found = ChainProblem(design, extractor, labels, gold, threads=Threads(threads))
    found.__dict__.update(index=index, weight=weight, penalties=Penalties.uniform(index.n_features, 0.0, 0.0))
    return found
