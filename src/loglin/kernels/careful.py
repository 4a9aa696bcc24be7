"""The training pass for single sentences in the log domain: slow, and right for any weights."""

from __future__ import annotations

import numpy as np

from loglin.kernels import logspace
from loglin.kernels.chain import label_mask, score_tokens
from loglin.kernels.compile import kernel


@kernel
def careful_sentences(
    sentences, offsets, n_labels, tokens, bigrams, labels, instance, parameters, trigrams, R, XD, triples, residual
):
    """As ``chain.posteriors`` for the numbered sentences; returns the loss.

    XD and triples get all expected transitions. trigrams and triples (L, L, L), or (0, L, L) in first order.
    """
    gold, allowed, candidates = labels
    table, weights, T = parameters[0], parameters[1], parameters[2]
    ptr, ids, pair_of = bigrams
    one = np.zeros(trigrams.shape)
    loss = 0.0
    for s in sentences:
        first, n = offsets[s], offsets[s + 1] - offsets[s]
        weight = np.float64(instance[s]) if instance.shape[0] else 1.0
        e = np.zeros((n, table.shape[1]), table.dtype)
        score_tokens(first, n, tokens, table, weights, e)
        mask = np.empty((n, n_labels), np.bool_)
        scores, nodes = np.empty((n, n_labels)), np.empty((n, n_labels))
        steps, pairs = np.empty((max(n - 1, 1), n_labels, n_labels)), np.empty((n - 1, n_labels, n_labels))
        for t in range(steps.shape[0]):
            steps[t] = T
            if ptr.shape[0] and n > 1:
                for q in range(ptr[first + t + 1], ptr[first + t + 2]):
                    i, j = divmod(np.int64(pair_of[q]), n_labels)
                    steps[t, i, j] += weights[ids[q]]
        for t in range(n):
            for j in range(R.shape[1]):
                R[first + t, j] = 0
        for side in range(2):  # over all sequences, then over those that were observed
            sign = weight if side == 0 else -weight
            label_mask(first, n, n_labels, gold, allowed, candidates, side == 1, mask)
            for t in range(n):
                for j in range(n_labels):
                    scores[t, j] = e[t, j] if mask[t, j] else -np.inf
            one[:] = 0
            loss += sign * logspace.forward_backward(scores, steps, trigrams, nodes, pairs, one)
            triples += sign * one
            for t in range(n):
                for j in range(n_labels):
                    R[first + t, j] += sign * nodes[t, j]
            for t in range(n - 1):
                for i in range(n_labels):
                    for j in range(n_labels):
                        XD[i, j] += sign * pairs[t, i, j]
                if ptr.shape[0]:
                    for q in range(ptr[first + t + 1], ptr[first + t + 2]):
                        i, j = divmod(np.int64(pair_of[q]), n_labels)
                        residual[q] += sign * pairs[t, i, j]
    return loss
