"""Small HMMs, base noun phrases as their labels, and features counted token by token."""

from __future__ import annotations

import numpy as np

from loglin.corpus import conll
from loglin.generative.hmm import HMM

LABELS = ["B", "I", "O"]


def small(order=1, seed=None, L=2, V=2, stop=0.2):
    """The note's HMM in order 1; random ones otherwise, whose last column of emissions is <oov>."""
    if seed is None:
        t, e = [[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.6, 0.4, 0]], [[[0.7, 0.3], [0.1, 0.9]]]
        return HMM.of([0, 1], np.array(t), [np.array(table) for table in e], [["a", "b"]])
    rng = np.random.default_rng(seed)
    S = L + 1
    t = rng.dirichlet(np.ones(L), (S,) * order) * (1 - stop)
    t = np.concatenate([t, np.full((*t.shape[:-1], 1), stop)], axis=-1)
    tables = [rng.dirichlet(np.ones(V + 1), L), rng.dirichlet(np.ones(2), L)]
    return HMM.of(list(range(L)), t, tables, [[f"w{v}" for v in range(V)], ["X"]])


def np_chunks(path):
    """The corpus with its first two columns, and NP chunks as label codes."""
    corpus = conll.read(path)
    names = corpus.columns[2].vocabulary.strings
    codes = np.array([LABELS.index(n[0] if n.endswith("-NP") else "O") for n in names])[corpus.columns[2].codes]
    corpus.columns = corpus.columns[:2]
    return corpus, codes


def counted(extractor, index, corpus, codes, weights):
    """Σ_s weights[s] · (features, attributes) of each sentence, counted token by token."""
    L = index.n_labels
    design = extractor.transform(corpus)
    sentence = np.repeat(np.arange(corpus.n_sentences), np.diff(corpus.offsets))
    first = np.zeros(corpus.n_tokens, bool)
    first[corpus.offsets[:-1][np.diff(corpus.offsets) > 0]] = True
    second = np.append(False, first[:-1]) | first
    step, third = np.flatnonzero(~first), np.flatnonzero(~second)
    tables = []
    for incidence, size in ((design.tokens, design.n_attributes), (design.bigrams, design.n_bigram_attributes)):
        token = np.repeat(np.arange(corpus.n_tokens), np.diff(incidence.ptr))
        known = incidence.ids >= 0
        tables.append((token[known], incidence.ids[known], size))
    token, attribute, n = tables[0]
    unigram = np.zeros((n, L))
    np.add.at(unigram, (attribute, codes[token]), weights[sentence[token]])
    token, attribute, n = tables[1]
    inside = ~first[token]
    token, attribute = token[inside], attribute[inside]
    bigram = np.zeros((n, L * L))
    np.add.at(bigram, (attribute, codes[token - 1] * L + codes[token]), weights[sentence[token]])
    pair, triple = np.zeros(L * L), np.zeros(L**3)
    np.add.at(pair, codes[step - 1] * L + codes[step], weights[sentence[step]])
    np.add.at(triple, (codes[third - 2] * L + codes[third - 1]) * L + codes[third], weights[sentence[third]])
    owner = np.repeat(np.arange(len(index.ptr) - 1), np.diff(index.ptr))
    bigram_owner = np.repeat(np.arange(len(index.bigram_ptr) - 1), np.diff(index.bigram_ptr))
    parts = unigram[owner, index.labels], bigram[bigram_owner, index.bigram_pairs], pair[index.pairs]
    return np.concatenate([*parts, triple[index.triples]]), unigram.sum(axis=1)
