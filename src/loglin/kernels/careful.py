"""Single sentences in the log domain: slow beside ``kernels.chain``, and right for any weights."""

from __future__ import annotations

import numpy as np

from loglin.kernels import logspace
from loglin.kernels.chain import add_costs, label_mask, score_tokens
from loglin.kernels.compile import kernel

u8 = np.uint64


@kernel
def log_scratch(offsets, s_begin, s_end, n_labels, bigrams, table):
    """Room for the scores and transitions of any of the sentences s_begin … s_end − 1."""
    longest = 1
    for s in range(s_begin, s_end):
        longest = max(longest, offsets[s + 1] - offsets[s])
    steps = longest if bigrams[0].shape[0] else 1
    return (
        np.zeros((longest, table.shape[1]), table.dtype),
        np.zeros((longest, n_labels)),
        np.zeros((steps, n_labels, n_labels)),
    )


@kernel
def log_scores(first, n, n_labels, tokens, bigrams, parameters, scratch):
    """scores (n, L) and transitions (n − 1, L, L), or (1, L, L) where all steps are alike; views of the scratch."""
    table, weights, T = parameters[0], parameters[1], parameters[2]
    ptr, ids, pairs = bigrams
    e, scores, steps = scratch
    score_tokens(first, n, tokens, table, weights, e)
    for t in range(n):
        for j in range(n_labels):
            scores[t, j] = e[t, j]
    per_token = ptr.shape[0] > 0 and n > 1
    n_steps = n - 1 if per_token else 1
    for t in range(n_steps):
        steps[t] = T
        if per_token:
            for q in range(u8(ptr[first + t + 1]), u8(ptr[first + t + 2])):
                i, j = divmod(np.int64(pairs[q]), n_labels)
                steps[t, i, j] += weights[u8(ids[q])]
    return scores[:n], steps[:n_steps]


@kernel
def add_residuals(first, n_labels, bigrams, sign, nodes, pairs, R, XD, residual):
    """Add sign·nodes to the residuals of tokens, sign·pairs to those of steps and of label bigrams."""
    ptr, _ids, pair_of = bigrams
    for t in range(nodes.shape[0]):
        for j in range(n_labels):
            R[first + t, j] += sign * nodes[t, j]
    for t in range(pairs.shape[0]):
        for i in range(n_labels):
            for j in range(n_labels):
                XD[i, j] += sign * pairs[t, i, j]
        if ptr.shape[0]:
            for q in range(ptr[first + t + 1], ptr[first + t + 2]):
                i, j = divmod(np.int64(pair_of[q]), n_labels)
                residual[q] += sign * pairs[t, i, j]


@kernel
def careful_sentences(
    sentences,
    offsets,
    n_labels,
    tokens,
    bigrams,
    labels,
    instance,
    parameters,
    trigrams,
    R,
    XD,
    triples,
    residual,
    losses,
):
    """As ``chain.posteriors`` for the numbered sentences.

    XD and triples get all expected transitions. trigrams and triples (L, L, L), or (0, L, L) in first order.
    """
    gold, allowed, candidates, costs = labels
    one = np.zeros(trigrams.shape)
    scratch = log_scratch(offsets, 0, offsets.shape[0] - 1, n_labels, bigrams, parameters[0])
    for s in sentences:
        first, n = offsets[s], offsets[s + 1] - offsets[s]
        weight = np.float64(instance[s]) if instance.shape[0] else 1.0
        e, steps = log_scores(first, n, n_labels, tokens, bigrams, parameters, scratch)
        if costs.shape[0]:
            add_costs(first, n, n_labels, gold, costs, e)
        mask = np.empty((n, n_labels), np.bool_)
        scores, nodes = np.empty((n, n_labels)), np.empty((n, n_labels))
        pairs = np.empty((n - 1, n_labels, n_labels))
        R[first : first + n] = 0
        losses[s] = 0.0
        for side in range(2):  # over all sequences, then over those that were observed
            sign = weight if side == 0 else -weight
            label_mask(first, n, n_labels, gold, allowed, candidates, side == 1, mask)
            for t in range(n):
                for j in range(n_labels):
                    scores[t, j] = e[t, j] if mask[t, j] else -np.inf
            one[:] = 0
            losses[s] += sign * logspace.forward_backward(scores, steps, trigrams, nodes, pairs, one)
            triples += sign * one
            add_residuals(first, n_labels, bigrams, sign, nodes, pairs, R, XD, residual)
