"""Sums over the next word of many histories at a cost that follows the active features, not the vocabulary.

A word's score is its own weight plus those of the features that the history activates for it,

    s_h(w) = u_w + Σ_{attributes a of h} λ_{a,w},           Z_h = Σ_w e^{s_h(w)}.

Attributes list only the words that they have a weight for; all other words keep e^{u_w}. Histories are leaves of a
tree: attributes that many share, such as the document's author, the class or the letters of the previous word, and
then that word itself, stand on the path to them. One level down only the words that the new attribute touches change,

    Z_below = Z_above + Σ_{w touched} (e^{s_below(w)} − e^{s_above(w)}),

and expectations come back up the same way. With r_h = count_h / Z_h and A = Σ_{h below} r_h, a feature (a, w) of an
inner node has

    Σ_{h below} r_h e^{s_h(w)} = A e^{s(w)} + Σ_{h below} r_h (e^{s_h(w)} − e^{s(w)}):

one product, and the sum of the changes that words touched further down have left behind.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loglin.kernels.compile import kernel

CANCELLED = 1e-6  # a sum that shrinks to this share of itself has lost digits: it is made anew over all words


class Tree(NamedTuple):
    """Histories as leaves below groups, which are sorted by the attributes on the path to them."""

    path: np.ndarray  # (groups, depth) int32: an attribute a level, −1 for none
    histories: np.ndarray  # (groups + 1,) int64: group g has the histories from histories[g] on
    history_ptr: np.ndarray  # (histories + 1,) int64
    history_attributes: np.ndarray  # int32: of history h those from history_ptr[h] on
    count: np.ndarray  # (histories,) float64


class Features(NamedTuple):
    """The words that each attribute has a weight for."""

    ptr: np.ndarray  # (attributes + 1,) int64
    words: np.ndarray  # (features,) int32
    factors: np.ndarray  # (features,) float64: e^λ, made once a pass, so that no touch costs an exponential
    expected: np.ndarray  # (features,) float64, added to; empty where expectations are not wanted


class Targets(NamedTuple):
    """Words whose probabilities are wanted; ``ptr`` is empty where none are."""

    ptr: np.ndarray  # (histories + 1,) int64
    words: np.ndarray  # (targets,) int32
    log_p: np.ndarray  # (targets,) float64, written


class Walk(NamedTuple):
    """Where a walk stands: level 0 is the root, level l the node below the first l attributes of a path."""

    scores: np.ndarray  # (words,) e^{s(w)} here
    Z: np.ndarray  # (levels,)
    A: np.ndarray  # (levels,) Σ count / Z of the histories visited below
    above: np.ndarray  # (levels, words): e^{s(w)} one level up, of the words that the node touches
    change: np.ndarray  # (levels, words): Σ r_h (e^{s_h(w)} − e^{s(w)}), of the words listed
    listed: np.ndarray  # (levels, words) bool
    changed: np.ndarray  # (levels, words) int32: the words listed
    n_changed: np.ndarray  # (levels,)


@kernel
def _begin(base, depth):
    levels, n = depth + 1, base.shape[0]
    walk = Walk(
        base.copy(), np.empty(levels), np.zeros(levels), np.empty((levels, n)), np.empty((levels, n)),
        np.zeros((levels, n), np.bool_), np.empty((levels, n), np.int32), np.zeros(levels, np.int64),
    )  # fmt: skip
    walk.Z[0] = base.sum()
    return walk


@kernel
def _put(walk, level, w, amount):
    """Leave a change of a word with a node."""
    if walk.listed[level, w]:
        walk.change[level, w] += amount
    else:
        walk.listed[level, w] = True
        walk.change[level, w] = amount
        walk.changed[level, walk.n_changed[level]] = w
        walk.n_changed[level] += 1


@kernel
def _descend(walk, level, attribute, features):
    """To a node of this level, whose attribute changes the scores of the words that it lists; how many these are."""
    walk.A[level] = 0.0
    Z = walk.Z[level - 1]
    if attribute < 0:
        walk.Z[level] = Z
        return 0
    above = walk.above[level]
    for i in range(features.ptr[attribute], features.ptr[attribute + 1]):
        w = features.words[i]
        old = walk.scores[w]
        above[w] = old
        walk.scores[w] = old * features.factors[i]
        Z += walk.scores[w] - old
    walk.Z[level] = Z if Z >= CANCELLED * walk.Z[level - 1] else walk.scores.sum()
    return features.ptr[attribute + 1] - features.ptr[attribute]


@kernel
def _ascend(walk, level, attribute, features):
    """From a node of this level: its expected counts, and its changes handed to the node above."""
    learning, A = features.expected.shape[0] > 0, walk.A[level]
    walk.A[level - 1] += A
    first, last = (features.ptr[attribute], features.ptr[attribute + 1]) if attribute >= 0 else (0, 0)
    if learning:
        change, listed = walk.change[level], walk.listed[level]
        for i in range(first, last):
            w = features.words[i]
            features.expected[i] += A * walk.scores[w] + (change[w] if listed[w] else 0.0)
        for k in range(walk.n_changed[level]):
            w = walk.changed[level, k]
            listed[w] = False
            _put(walk, level - 1, w, change[w])
        walk.n_changed[level] = 0
    for i in range(first, last):
        w = features.words[i]
        old = walk.above[level, w]
        if learning:
            _put(walk, level - 1, w, A * (walk.scores[w] - old))
        walk.scores[w] = old


@kernel
def _visit_histories(tree, g, features, targets, walk, score, listed, touched):
    """The leaves of a group: Σ count·log Z, and the words touched; ``score``, ``listed`` and ``touched`` are room."""
    ptr, words, factors, expected = features.ptr, features.words, features.factors, features.expected
    level = tree.path.shape[1]
    in_group, Z_group = walk.scores, walk.Z[level]
    change, changed, is_changed, n_changed = walk.change[level], walk.changed[level], walk.listed[level], 0
    value, A, touches = 0.0, 0.0, 0
    for h in range(tree.histories[g], tree.histories[g + 1]):
        n = 0
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
        Z = Z_group
        for k in range(n):
            w = touched[k]
            Z += score[w] - in_group[w]
        if Z < CANCELLED * Z_group:
            Z = 0.0
            for w in range(in_group.shape[0]):
                Z += score[w] if listed[w] else in_group[w]
        value += tree.count[h] * np.log(Z)
        if targets.ptr.shape[0]:
            for j in range(targets.ptr[h], targets.ptr[h + 1]):
                w = targets.words[j]
                targets.log_p[j] = np.log(score[w] if listed[w] else in_group[w]) - np.log(Z)
        if expected.shape[0]:
            r = tree.count[h] / Z
            A += r
            for k in range(tree.history_ptr[h], tree.history_ptr[h + 1]):
                a = tree.history_attributes[k]
                for i in range(ptr[a], ptr[a + 1]):
                    expected[i] += r * score[words[i]]
            for k in range(n):
                w = touched[k]
                amount = r * (score[w] - in_group[w])
                if is_changed[w]:
                    change[w] += amount
                else:
                    is_changed[w] = True
                    change[w] = amount
                    changed[n_changed] = w
                    n_changed += 1
        for k in range(n):
            listed[touched[k]] = False
    walk.A[level], walk.n_changed[level] = A, n_changed
    return value, touches


@kernel
def visit(tree, begin, end, unigram, features, expected_unigrams, targets):
    """Visit the groups begin … end − 1: (Σ_h count_h·log Z_h, words touched); expectations and log p are written."""
    n_words, depth, peak = unigram.shape[0], tree.path.shape[1], unigram.max()  # shifted by it, no e^u overflows
    walk = _begin(np.exp(unigram - peak), depth)
    score, listed, touched = np.empty(n_words), np.zeros(n_words, np.bool_), np.empty(n_words, np.int32)
    value, touches, counted = 0.0, 0, 0.0
    for g in range(begin, end):
        shared = 0
        if g > begin:
            while shared < depth and tree.path[g, shared] == tree.path[g - 1, shared]:
                shared += 1
            for level in range(depth, shared, -1):
                _ascend(walk, level, tree.path[g - 1, level - 1], features)
        for level in range(shared + 1, depth + 1):
            touches += _descend(walk, level, tree.path[g, level - 1], features)
        of_leaves, below = _visit_histories(tree, g, features, targets, walk, score, listed, touched)
        value, touches = value + of_leaves, touches + below
        counted += tree.count[tree.histories[g] : tree.histories[g + 1]].sum()
    if end > begin:
        for level in range(depth, 0, -1):
            _ascend(walk, level, tree.path[end - 1, level - 1], features)
    if features.expected.shape[0]:
        for w in range(n_words):
            expected_unigrams[w] += walk.A[0] * walk.scores[w] + (walk.change[0, w] if walk.listed[0, w] else 0.0)
    return value + counted * peak, touches
