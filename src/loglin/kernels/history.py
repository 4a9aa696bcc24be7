"""Sums over the next word of many histories at a cost that follows the active features, not the vocabulary.

A word's score is its own weight plus those of the features that the history activates for it,

    s_h(w) = u_w + Σ_{attributes a of h} λ_{a,w},           Z_h = Σ_w e^{s_h(w)}.

Attributes list only the words that they have a weight for; all other words keep e^{u_w}. Histories are leaves of a
tree: attributes that many share, such as the document's author, the class or the letters of the previous word, and
then that word itself, stand on the path to them. One level down only the words that the new attribute touches change,

    Z_below = Z_above + Σ_{w touched} (e^{s_below(w)} − e^{s_above(w)}),

so that a sum costs what it touches. Expectations cost no more. A visit of history h gives every word w the expected
count r_h e^{s_h(w)}, r_h = count_h / Z_h. While a word's score does not change these are its score times the growth of
R = Σ r_h, so they are added to E_w only when it does. A feature (a, w) expects what E_w gains from the moment when a
becomes active to the moment when it no longer is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loglin.kernels.compile import kernel, record

CANCELLED = 1e-6  # a sum that shrinks to this share of itself has lost digits: it is made anew over all words


@record("i4[,] i8[] i8[] i4[] f8[]")
class Tree(NamedTuple):
    """Histories as leaves below groups, which are sorted by the attributes on the path to them."""

    path: np.ndarray  # (groups, depth) int32: an attribute a level, −1 for no more
    histories: np.ndarray  # (groups + 1,) int64: group g has the histories from histories[g] on
    history_ptr: np.ndarray  # (histories + 1,) int64
    history_attributes: np.ndarray  # int32: of history h those from history_ptr[h] on
    counts: np.ndarray  # (histories,) float64


@record("i8[] i4[] f8[] f8[]")
class Features(NamedTuple):
    """The words that each attribute has a weight for."""

    ptr: np.ndarray  # (attributes + 1,) int64
    words: np.ndarray  # (features,) int32
    factors: np.ndarray  # (features,) float64: e^λ, made once a pass, so that no touch costs an exponential
    expected: np.ndarray  # (features,) float64, added to; empty where expectations are not wanted


@record("i8[] i4[] f8[]")
class Targets(NamedTuple):
    """Words whose probabilities are wanted; ``ptr`` is empty where none are."""

    ptr: np.ndarray  # (histories + 1,) int64
    words: np.ndarray  # (targets,) int32
    log_p: np.ndarray  # (targets,) float64, written


class Walk(NamedTuple):
    """Where a walk stands: level 0 is the root, level l the node below the first l attributes of a path."""

    scores: np.ndarray  # (words,) e^{s(w)} here
    Z: np.ndarray  # (levels,)
    above: np.ndarray  # (levels, words): e^{s(w)} one level up, of the words that the node touches
    R: np.ndarray  # (1,) Σ count / Z of the histories visited
    E: np.ndarray  # (words,) expected counts of words, as of
    R_then: np.ndarray  # (words,) when R was this


@kernel
def _begin(base, depth):
    levels, n = depth + 1, base.shape[0]
    walk = Walk(base.copy(), np.empty(levels), np.empty((levels, n)), np.zeros(1), np.zeros(n), np.zeros(n))
    walk.Z[0] = base.sum()
    return walk


@kernel
def _descend(walk, level, attribute, features):
    """To a node of this level, whose attribute changes the scores of the words that it lists; how many these are."""
    learning, R, Z = features.expected.shape[0] > 0, walk.R[0], walk.Z[level - 1]
    scores, above, E, R_then = walk.scores, walk.above[level], walk.E, walk.R_then
    for i in range(features.ptr[attribute], features.ptr[attribute + 1]):
        w = features.words[i]
        old = scores[w]
        if learning:
            E[w] += old * (R - R_then[w])
            R_then[w] = R
            features.expected[i] -= E[w]
        above[w] = old
        scores[w] = old * features.factors[i]
        Z += scores[w] - old
    walk.Z[level] = Z if Z >= CANCELLED * walk.Z[level - 1] else scores.sum()
    return features.ptr[attribute + 1] - features.ptr[attribute]


@kernel
def _ascend(walk, level, attribute, features):
    """From a node of this level: its features' expected counts are known, and the scores are again those above."""
    learning, R = features.expected.shape[0] > 0, walk.R[0]
    scores, above, E, R_then = walk.scores, walk.above[level], walk.E, walk.R_then
    for i in range(features.ptr[attribute], features.ptr[attribute + 1]):
        w = features.words[i]
        if learning:
            E[w] += scores[w] * (R - R_then[w])
            R_then[w] = R
            features.expected[i] += E[w]
        scores[w] = above[w]


@kernel
def _visit_histories(tree, g, level, features, learning, targets, walk, score, listed, touched):
    """The leaves of a group: Σ count·log Z, and the words touched; ``score``, ``listed`` and ``touched`` are room."""
    ptr, words, factors, expected = features.ptr, features.words, features.factors, features.expected
    in_group, Z_group, E, R_then, R = walk.scores, walk.Z[level], walk.E, walk.R_then, walk.R[0]
    value, touches = 0.0, 0
    for h in range(tree.histories[g], tree.histories[g + 1]):
        n, Z = 0, Z_group
        for k in range(tree.history_ptr[h], tree.history_ptr[h + 1]):
            a = tree.history_attributes[k]
            for i in range(ptr[a], ptr[a + 1]):
                w = words[i]
                if listed[w]:
                    score[w] *= factors[i]
                else:
                    listed[w] = True
                    score[w] = in_group[w] * factors[i]
                    touched[n] = w
                    n += 1
        touches += n
        for k in range(n):
            w = touched[k]
            Z += score[w] - in_group[w]
        if Z < CANCELLED * Z_group:
            Z = 0.0
            for w in range(in_group.shape[0]):
                Z += score[w] if listed[w] else in_group[w]
        value += tree.counts[h] * np.log(Z)
        if targets.ptr.shape[0]:
            for j in range(targets.ptr[h], targets.ptr[h + 1]):
                w = targets.words[j]
                targets.log_p[j] = np.log(score[w] if listed[w] else in_group[w]) - np.log(Z)
        if learning:
            r = tree.counts[h] / Z
            for k in range(tree.history_ptr[h], tree.history_ptr[h + 1]):
                a = tree.history_attributes[k]
                for i in range(ptr[a], ptr[a + 1]):
                    expected[i] += r * score[words[i]]
            for k in range(n):
                w = touched[k]
                E[w] += in_group[w] * (R - R_then[w]) + r * score[w]
                R_then[w] = R + r
            R += r
        for k in range(n):
            listed[touched[k]] = False
    walk.R[0] = R
    return value, touches


@kernel
def _length(path):
    """The number of attributes on a path."""
    n = 0
    while n < path.shape[0] and path[n] >= 0:
        n += 1
    return n


@kernel("Tree int int f8[] Features f8[] Targets")
def visit(tree, begin, end, unigram, features, expected_unigrams, targets):
    """Visit the groups begin … end − 1: (Σ_h count_h·log Z_h, words touched); expectations and log p are written."""
    n_words, peak = unigram.shape[0], unigram.max()  # shifted by the largest, no e^u overflows
    walk = _begin(np.exp(unigram - peak), tree.path.shape[1])
    score, listed, touched = np.empty(n_words), np.zeros(n_words, np.bool_), np.empty(n_words, np.int32)
    value, touches, counted, deep, learning = 0.0, 0, 0.0, 0, expected_unigrams.shape[0] > 0
    for g in range(begin, end):
        depth, shared = _length(tree.path[g]), 0
        while shared < min(deep, depth) and tree.path[g, shared] == tree.path[g - 1, shared]:
            shared += 1
        for level in range(deep, shared, -1):
            _ascend(walk, level, tree.path[g - 1, level - 1], features)
        for level in range(shared + 1, depth + 1):
            touches += _descend(walk, level, tree.path[g, level - 1], features)
        of_leaves, below = _visit_histories(tree, g, depth, features, learning, targets, walk, score, listed, touched)
        value, touches, deep = value + of_leaves, touches + below, depth
        counted += tree.counts[tree.histories[g] : tree.histories[g + 1]].sum()
    for level in range(deep, 0, -1):
        _ascend(walk, level, tree.path[end - 1, level - 1], features)
    if learning:
        for w in range(n_words):
            expected_unigrams[w] += walk.E[w] + walk.scores[w] * (walk.R[0] - walk.R_then[w])
    return value + counted * peak, touches
