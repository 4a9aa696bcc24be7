"""Sums over the next word of many histories at a cost that follows the active features, not the vocabulary.

A word's score is its own weight plus those of the features that the history activates for it,

    s_h(w) = u_w + Σ_{attributes a of h} λ_{a,w},           Z_h = Σ_w e^{s_h(w)}.

Attributes list only the words that they have a weight for; all other words keep e^{u_w}. Histories are leaves of
a tree: document → previous word → rest of the history, each with attributes of its own, shared by all below. One
level down only the words that the new attributes touch change,

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
    """Histories as leaves; ``*_attributes`` of node i are those from ``*_ptr[i]`` to ``*_ptr[i + 1]``."""

    document_ptr: np.ndarray  # (documents + 1,) int64
    document_attributes: np.ndarray  # int32
    document_of: np.ndarray  # (groups,) int32: the document of each group, never falling
    group_ptr: np.ndarray  # (groups + 1,) int64; a group is a previous word in a document
    group_attributes: np.ndarray  # int32
    histories: np.ndarray  # (groups + 1,) int64: group g has the histories from histories[g] on
    history_ptr: np.ndarray  # (histories + 1,) int64
    history_attributes: np.ndarray  # int32
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


class Sparse(NamedTuple):
    """A vector over words that is zero but for those listed; their number is kept by the caller."""

    value: np.ndarray  # (words,) float64
    listed: np.ndarray  # (words,) bool
    words: np.ndarray  # (words,) int32


@kernel
def _nothing(n):
    return Sparse(np.zeros(n), np.zeros(n, np.bool_), np.empty(n, np.int32))


@kernel
def _put(sparse, n, w, amount):
    """sparse[w] += amount; the number of words listed."""
    if sparse.listed[w]:
        sparse.value[w] += amount
        return n
    sparse.listed[w] = True
    sparse.value[w] = amount
    sparse.words[n] = w
    return n + 1


@kernel
def _clear(sparse, n):
    for k in range(n):
        sparse.listed[sparse.words[k]] = False


@kernel
def _descend(attributes, begin, end, features, touched, above, below, Z):
    """below[w] = above[w]·Π e^λ for the words that a node's attributes touch: their number, and their normalizer."""
    n = 0
    for k in range(begin, end):
        a = attributes[k]
        for i in range(features.ptr[a], features.ptr[a + 1]):
            w = features.words[i]
            n = _put(touched, n, w, 0.0)
            below[w] *= features.factors[i]
    Z_below = Z
    for k in range(n):
        w = touched.words[k]
        Z_below += below[w] - above[w]
    if Z_below < CANCELLED * Z:
        Z_below = below.sum()
    return n, Z_below


@kernel
def _expect(attributes, begin, end, features, below, A, change):
    """Expected counts of a node's features: A·e^{s(w)} + change[w]."""
    for k in range(begin, end):
        a = attributes[k]
        for i in range(features.ptr[a], features.ptr[a + 1]):
            w = features.words[i]
            features.expected[i] += A * below[w]
            if change.listed[w]:
                features.expected[i] += change.value[w]


@kernel
def _ascend(n, touched, above, below, A, n_changed, change, n_changed_above, change_above):
    """Hand the changes of a node and below it to the node above, and forget the node; the changes listed above."""
    for k in range(n_changed):
        w = change.words[k]
        n_changed_above = _put(change_above, n_changed_above, w, change.value[w])
    _clear(change, n_changed)
    for k in range(n):
        w = touched.words[k]
        n_changed_above = _put(change_above, n_changed_above, w, A * (below[w] - above[w]))
        below[w] = above[w]
    _clear(touched, n)
    return n_changed_above


@kernel
def _visit_histories(tree, g, features, targets, in_group, Z_group, of_history, change):
    """The leaves of a group: Σ count·log Z, Σ count / Z, the words changed, and the touches."""
    ptr, words, factors, expected = features.ptr, features.words, features.factors, features.expected
    score, listed, touched = of_history.value, of_history.listed, of_history.words
    value, A, n_changed, touches = 0.0, 0.0, 0, 0
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
                n_changed = _put(change, n_changed, w, r * (score[w] - in_group[w]))
        for k in range(n):
            listed[touched[k]] = False
    return value, A, n_changed, touches


@kernel
def visit(tree, begin, end, unigram, features, expected_unigrams, targets):
    """Visit the groups begin … end − 1: (Σ_h count_h·log Z_h, words touched); expectations and log p are written."""
    n_words, peak = unigram.shape[0], unigram.max()  # shifted by the largest, no e^u overflows
    base = np.exp(unigram - peak)
    in_document, in_group = base.copy(), base.copy()
    of_document, of_group, of_history = _nothing(n_words), _nothing(n_words), _nothing(n_words)
    base_change, document_change, group_change = _nothing(n_words), _nothing(n_words), _nothing(n_words)
    Z_base = base.sum()
    value, touches, counted, A_base, n_base_changed = 0.0, 0, 0.0, 0.0, 0
    g = begin
    while g < end:
        document = tree.document_of[g]
        attributes, first, last = tree.document_attributes, tree.document_ptr[document], tree.document_ptr[document + 1]
        n_document, Z_document = _descend(attributes, first, last, features, of_document, base, in_document, Z_base)
        for k in range(n_document):
            in_group[of_document.words[k]] = in_document[of_document.words[k]]
        touches += n_document
        A_document, n_document_changed = 0.0, 0
        while g < end and tree.document_of[g] == document:
            begins, ends = tree.group_ptr[g], tree.group_ptr[g + 1]
            n_group, Z_group = _descend(
                tree.group_attributes, begins, ends, features, of_group, in_document, in_group, Z_document
            )
            of_leaves, A_group, n_changed, below = _visit_histories(
                tree, g, features, targets, in_group, Z_group, of_history, group_change
            )
            if features.expected.shape[0]:
                _expect(tree.group_attributes, begins, ends, features, in_group, A_group, group_change)
            n_document_changed = _ascend(
                n_group, of_group, in_document, in_group, A_group, n_changed, group_change, n_document_changed,
                document_change,
            )  # fmt: skip
            value, touches, A_document = value + of_leaves, touches + n_group + below, A_document + A_group
            counted += tree.count[tree.histories[g] : tree.histories[g + 1]].sum()
            g += 1
        if features.expected.shape[0]:
            _expect(attributes, first, last, features, in_document, A_document, document_change)
        for k in range(n_document):
            in_group[of_document.words[k]] = base[of_document.words[k]]
        n_base_changed = _ascend(
            n_document, of_document, base, in_document, A_document, n_document_changed, document_change, n_base_changed,
            base_change,
        )  # fmt: skip
        A_base += A_document
    if features.expected.shape[0]:
        for w in range(n_words):
            expected_unigrams[w] += A_base * base[w] + (base_change.value[w] if base_change.listed[w] else 0.0)
    return value + counted * peak, touches
