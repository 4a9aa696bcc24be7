"""Criteria of whole sentences, one sentence at a time in the log domain: slow beside kernels/chain.py, and right for
any weights.

Each fills nodes (n, L), pairs (n − 1, L, L) and adds to triples: the derivatives of its loss by the scores of
labels, steps and label trigrams.
"""

from __future__ import annotations

import math

import numpy as np

from loglin.kernels import logspace
from loglin.kernels.careful import add_residuals, log_scores, log_scratch
from loglin.kernels.chain import add_costs, label_mask
from loglin.kernels.compile import kernel
from loglin.kernels.moments import covariances
from loglin.kernels.ranked import best_path
from loglin.kernels.sentences import weight_of

LIKELIHOOD, HINGE, LABEL_LIKELIHOOD, ALL_NEIGHBORS, ONE_NEIGHBOR = range(5)


@kernel
def add_path(labels, amount, scores, steps, trigrams, nodes, pairs, triples):
    """Count a label sequence ``amount`` times; return its score."""
    total = 0.0
    for t in range(labels.shape[0]):
        c = labels[t]
        nodes[t, c] += amount
        total += scores[t, c]
        if t > 0:
            b = labels[t - 1]
            pairs[t - 1, b, c] += amount
            total += steps[min(t - 1, steps.shape[0] - 1), b, c]
            if t > 1 and trigrams.shape[0]:
                triples[labels[t - 2], b, c] += amount
                total += trigrams[labels[t - 2], b, c]
    return total


# log Σ exp(score) over all sequences, or over the observed ones alone: likelihood is the difference
@kernel
def masked_sum(observed, first, n, text, scores, steps, trigrams, nodes, pairs, triples):
    mask, kept = np.empty(scores.shape, np.bool_), np.empty(scores.shape)
    label_mask(first, n, text, observed, mask)
    for t in range(n):
        for j in range(text.n_labels):
            kept[t, j] = scores[t, j] if mask[t, j] else -np.inf
    return logspace.forward_backward(kept, steps, trigrams, nodes, pairs, triples)


# max_y [score(y) + cost(y, gold)] − score(gold); the costs are in the scores
@kernel
def hinge(gold, scores, steps, trigrams, nodes, pairs, triples):
    best = np.empty(gold.shape[0], np.int64)
    loss = best_path(scores, steps, trigrams, best)
    add_path(best, 1.0, scores, steps, trigrams, nodes, pairs, triples)
    return loss - add_path(gold, -1.0, scores, steps, trigrams, nodes, pairs, triples)


# −Σ_t log p(y_t = gold_t | x); its derivative is −Cov(f, Σ_t 1{y_t = gold_t} / p(y_t = gold_t))
@kernel
def label_likelihood(gold, scores, steps, trigrams, nodes, pairs, triples):
    alpha = logspace.forward(scores, steps, trigrams)
    beta = logspace.backward(scores, steps, trigrams)
    logz = logspace.log_partition(alpha)
    logspace.node_marginals(alpha, beta, logz, nodes)
    gains = np.zeros(scores.shape)
    loss = 0.0
    for t in range(gold.shape[0]):
        p = max(nodes[t, gold[t]], 1e-300)
        loss -= math.log(p)
        gains[t, gold[t]] = -1 / p
    covariances(scores, steps, trigrams, alpha, beta, logz, gains, nodes, pairs, triples)
    return loss


# Σ_{a, b} log(1 + Σ_j exp(S_t[a, j] + S_{t+1}[j, b])) over neighbors a before and b behind, minus the score of
# the true ones, for every t; S_t[a, j] = scores[t, j] + steps[t−1, a, j]. None of the above scores 0.
@kernel
def neighbors(kind, gold, scores, steps, nodes, pairs):
    n, L = scores.shape
    before, behind, share = np.empty(L), np.empty(L), np.empty(L)
    loss = 0.0
    for t in range(n):
        y = gold[t]
        last = t == n - 1
        for a in range(L if t > 0 else 1):
            for j in range(L):
                before[j] = scores[t, j]
                if t > 0:
                    before[j] += steps[min(t - 1, steps.shape[0] - 1), a, j]
            for b in range(1 if last else L):
                right = (t == 0 or a == gold[t - 1]) + (last or b == gold[t + 1])
                if kind == ONE_NEIGHBOR and right == 0:
                    continue
                for j in range(L):
                    behind[j] = before[j]
                    if not last:
                        behind[j] += steps[min(t, steps.shape[0] - 1), j, b] + scores[t + 1, b]
                total = logspace.log_sum(behind)
                top = max(total, 0.0)
                z = math.exp(-top) + math.exp(total - top)
                loss += top + math.log(z)
                for j in range(L):
                    share[j] = math.exp(behind[j] - top) / z
                if right == 2:
                    loss -= behind[y]
                    share[y] -= 1
                for j in range(L):
                    nodes[t, j] += share[j]
                    if t > 0:
                        pairs[t - 1, a, j] += share[j]
                    if not last:
                        nodes[t + 1, b] += share[j]
                        pairs[t, j, b] += share[j]
    return loss


@kernel("int i8[] Sentences Parameters f8[,,] Residuals", T="f8")
def whole_sentences(kind, numbers, text, parameters, trigrams, out):
    """The numbered sentences under the criterion ``kind``; all but likelihood need all labels to be known.

    trigrams and out.triples (L, L, L), or (0, L, L) in first order; out.X and out.unsafe are not used.
    """
    scratch, triples = log_scratch(numbers, text, parameters.table), out.triples
    all_pairs = np.zeros((scratch.e.shape[0], text.n_labels, text.n_labels))
    for s in numbers:
        first, n = text.offsets[s], text.offsets[s + 1] - text.offsets[s]
        out.losses[s] = 0.0
        if n == 0:
            continue
        scores, steps = log_scores(first, n, text, parameters, scratch)
        add_costs(first, n, text, scores)
        y = text.labels.gold[first : first + n]
        out.tokens[first : first + n] = 0
        for side in range(2 if kind == LIKELIHOOD else 1):  # over all sequences, then over those that were observed
            sign = weight_of(s, text) if side == 0 else -weight_of(s, text)
            nodes, pairs, one = np.zeros(scores.shape), all_pairs[: n - 1], np.zeros(trigrams.shape)
            pairs[:] = 0
            if kind == LIKELIHOOD:
                loss = masked_sum(side == 1, first, n, text, scores, steps, trigrams, nodes, pairs, one)
            elif kind == HINGE:
                loss = hinge(y, scores, steps, trigrams, nodes, pairs, one)
            elif kind == LABEL_LIKELIHOOD:
                loss = label_likelihood(y, scores, steps, trigrams, nodes, pairs, one)
            else:
                loss = neighbors(kind, y, scores, steps, nodes, pairs)
            out.losses[s] += sign * loss
            triples += sign * one
            add_residuals(
                first, text.n_labels, text.steps, sign, nodes, pairs, out.tokens, out.pairs, out.steps, out.curved
            )


# Likelihood of the chain whose step from label r scores α_r·s[r, ·] (α_L from START), piecewise_training §3:
# ∂/∂α_r = Σ_t (observed − expected s[r, ·])
@kernel("int int Sentences Parameters f8[,,] f8[] f8[]", T="f8")
def scaled_rows(begin, end, text, parameters, trigrams, alpha, slopes):
    """−log-likelihood of the sentences begin … end − 1; its derivatives by α are added to slopes (L + 1,)."""
    gold = text.labels.gold
    L, loss = text.n_labels, 0.0
    scaled_trigrams = np.empty(trigrams.shape)
    for b in range(L if trigrams.shape[0] else 0):
        scaled_trigrams[:, b] = trigrams[:, b] * alpha[b]
    scratch = log_scratch(range(begin, end), text, parameters.table)
    for s in range(begin, end):
        first, n = text.offsets[s], text.offsets[s + 1] - text.offsets[s]
        if n == 0:
            continue
        scores, steps = log_scores(first, n, text, parameters, scratch)
        full = np.empty((max(n - 1, 1), L, L))
        scaled = np.zeros((max(n - 1, 1), L, L))
        for t in range(n - 1):
            for i in range(L):
                for j in range(L):
                    full[t, i, j] = steps[min(t, steps.shape[0] - 1), i, j] + scores[t + 1, j]
                    scaled[t, i, j] = alpha[i] * full[t, i, j]
        start = np.zeros(scores.shape)
        start[0] = alpha[L] * scores[0]
        nodes, pairs, one = np.zeros(scores.shape), np.zeros((n - 1, L, L)), np.zeros(trigrams.shape)
        loss += logspace.forward_backward(start, scaled, scaled_trigrams, nodes, pairs, one)
        loss -= add_path(gold[first : first + n], -1.0, start, scaled, scaled_trigrams, nodes, pairs, one)
        for j in range(L):
            slopes[L] += nodes[0, j] * scores[0, j]
        for t in range(n - 1):
            for i in range(L):
                for j in range(L):
                    slopes[i] += pairs[t, i, j] * full[t, i, j]
        for b in range(L if trigrams.shape[0] else 0):
            slopes[b] += (one[:, b] * trigrams[:, b]).sum()
    return loss


@kernel("int int Sentences Parameters f8[,,] float f8[,]", T="f8")
def local_marginals(begin, end, text, parameters, trigrams, least, out):
    """out[t, j] = p(y_t = j) where every step is normalized by itself; states below ``least`` are passed over."""
    L, H = text.n_labels, logspace.histories(trigrams)
    nothing, arcs = np.zeros(L), np.empty(L)
    scratch = log_scratch(range(begin, end), text, parameters.table)
    for s in range(begin, end):
        first, n = text.offsets[s], text.offsets[s + 1] - text.offsets[s]
        if n == 0:
            continue
        scores, steps = log_scores(first, n, text, parameters, scratch)
        now, following = np.zeros((H, L)), np.zeros((H, L))
        logspace.outgoing(scores, steps, trigrams, -1, H - 1, L, nothing, arcs)
        now[H - 1] = np.exp(arcs - logspace.log_sum(arcs))
        for t in range(n):
            for h in range(H):
                for c in range(L):
                    out[first + t, c] += now[h, c]
            if t == n - 1:
                break
            following[:] = 0
            for h in range(H):
                for b in range(L):
                    if now[h, b] >= least:
                        logspace.outgoing(scores, steps, trigrams, t, h, b, nothing, arcs)
                        total = logspace.log_sum(arcs)
                        for c in range(L):
                            following[logspace.next_history(trigrams, b), c] += now[h, b] * math.exp(arcs[c] - total)
            now, following = following, now
