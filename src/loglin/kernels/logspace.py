"""One chain in the log domain, float64: slow beside the batched kernels, and safe for every input.

    scores       (T, L)      label c at position t
    transitions  (K, L, L)   label b at t to label c at t + 1; K = 1 (every step alike) or K = T - 1
    trigrams     (R, L, L)   labels a, b, c in a row; R = 0 in a first-order chain, else R = L

A state at position t is a pair (h, b) of history and label. A first-order chain has one history,
H = 1; a second-order chain has H = L + 1, the previous label or the begin of the sentence, BOS = L.
Label c turns state (h, b) into state (next, c), with next = 0 in first order and next = b in second.

A zero is -inf: forbidden things stay exactly forbidden, nothing becomes NaN, and a chain in which
nothing is possible has log Z = -inf. Every array is C-contiguous float64, int64 or bool.
"""

from __future__ import annotations

import math

import numpy as np

from loglin.kernels.compile import kernel


@kernel
def log_sum(values):  # (n,)
    """log Σᵢ exp(values[i]), shifted by the maximum."""
    peak = -np.inf
    for i in range(values.shape[0]):
        if values[i] > peak:
            peak = values[i]
    if peak == -np.inf:
        return peak
    total = 0.0
    for i in range(values.shape[0]):
        total += math.exp(values[i] - peak)
    return peak + math.log(total)


@kernel
def add_logs(a, b):
    """log(eᵃ + eᵇ)."""
    if a < b:
        a, b = b, a
    return a if b == -np.inf else a + math.log1p(math.exp(b - a))


@kernel
def histories(trigrams):
    """H, the number of histories."""
    return trigrams.shape[0] + 1


@kernel
def next_history(trigrams, b):
    """The history that label b leaves behind; BOS leaves H - 1 in either order."""
    return b if trigrams.shape[0] > 0 else 0


# arcs[c] = scores[t+1, c] + transitions[t, b, c] + trigrams[h, b, c] + ahead[c]
#
# At t = -1 stands the begin of the sentence, b = L, from which there is no transition; after the
# begin there is no trigram.
@kernel
def outgoing(scores, transitions, trigrams, t, h, b, ahead, arcs):  # ahead, arcs (L,)
    """Score every label at t + 1 after state (h, b) at t, with what lies ahead of it."""
    L = scores.shape[1]
    for c in range(L):
        arcs[c] = scores[t + 1, c] + ahead[c]
    if t >= 0:
        step = min(t, transitions.shape[0] - 1)
        for c in range(L):
            arcs[c] += transitions[step, b, c]
    if h < trigrams.shape[0]:
        for c in range(L):
            arcs[c] += trigrams[h, b, c]


# target[next(b), c] = log Σ_{h, b} exp(source[h, b] + arcs(h, b)[c])
@kernel
def advance(scores, transitions, trigrams, t, source, target):  # source, target (H, L)
    """Move forward sums from position t to t + 1."""
    H, L = source.shape
    ahead = np.zeros(L)
    arcs = np.empty(L)
    peak = np.full((H, L), -np.inf)
    total = np.zeros((H, L))
    for summing in range(2):
        for h in range(H):
            for b in range(L):
                if source[h, b] == -np.inf:
                    continue
                outgoing(scores, transitions, trigrams, t, h, b, ahead, arcs)
                n = next_history(trigrams, b)
                for c in range(L):
                    value = source[h, b] + arcs[c]
                    if summing == 0:
                        peak[n, c] = max(peak[n, c], value)
                    elif value > -np.inf:
                        total[n, c] += math.exp(value - peak[n, c])
    for n in range(H):
        for c in range(L):
            target[n, c] = peak[n, c] + math.log(total[n, c]) if total[n, c] > 0 else -np.inf


# alpha[0, H-1, c] = scores[0, c];   alpha[t+1] = advance(alpha[t])
@kernel("f8[,] const f8[,,] f8[,,]")
def forward(scores, transitions, trigrams):
    """Log-sums of all beginnings that end in each state: alpha (T, H, L)."""
    T, L = scores.shape
    H = histories(trigrams)
    alpha = np.full((T, H, L), -np.inf)
    if T > 0:
        alpha[0, H - 1] = scores[0]
    for t in range(T - 1):
        advance(scores, transitions, trigrams, t, alpha[t], alpha[t + 1])
    return alpha


# beta[T-1, h, b] = 0;   beta[t, h, b] = log Σ_c exp(arcs(h, b)[c] with ahead = beta[t+1, next(b)])
@kernel("f8[,] const f8[,,] f8[,,]")
def backward(scores, transitions, trigrams):
    """Log-sums of all continuations after each state: beta (T, H, L)."""
    T, L = scores.shape
    H = histories(trigrams)
    arcs = np.empty(L)
    beta = np.zeros((T, H, L))
    for t in range(T - 2, -1, -1):
        for h in range(H):
            for b in range(L):
                ahead = beta[t + 1, next_history(trigrams, b)]
                outgoing(scores, transitions, trigrams, t, h, b, ahead, arcs)
                beta[t, h, b] = log_sum(arcs)
    return beta


@kernel("f8[,,]")
def log_partition(alpha):  # (T, H, L)
    """log Z of a chain; the empty sentence has one labeling of score 0."""
    T = alpha.shape[0]
    return log_sum(alpha[T - 1].ravel()) if T > 0 else 0.0


# nodes[t, b] = Σ_h exp(alpha[t, h, b] + beta[t, h, b] - log Z)
@kernel("f8[,,] f8[,,] float f8[,]")
def node_marginals(alpha, beta, logz, nodes):  # nodes (T, L), overwritten
    """Probability of each label at each position."""
    T, H, L = alpha.shape
    nodes[:] = 0.0
    if logz == -np.inf:
        return
    for t in range(T):
        for h in range(H):
            for b in range(L):
                nodes[t, b] += math.exp(alpha[t, h, b] + beta[t, h, b] - logz)


# p(h, b, c at t) = exp(alpha[t, h, b] + arcs(h, b)[c] - log Z) with ahead = beta[t+1, next(b)]
# pairs[t, b, c] = Σ_h p(h, b, c at t);   triples[a, b, c] += Σ_t p(a, b, c at t)
@kernel("f8[,] const f8[,,] f8[,,] f8[,,] f8[,,] float f8[,,] f8[,,]")
def pair_marginals(scores, transitions, trigrams, alpha, beta, logz, pairs, triples):
    """Overwrite ``pairs`` (T-1, L, L); add expected counts to ``triples`` (L, L, L), or none if (0, L, L)."""
    T, H, L = alpha.shape
    arcs = np.empty(L)
    pairs[:] = 0.0
    if logz == -np.inf:
        return
    for t in range(T - 1):
        for h in range(H):
            for b in range(L):
                if alpha[t, h, b] == -np.inf:
                    continue
                ahead = beta[t + 1, next_history(trigrams, b)]
                outgoing(scores, transitions, trigrams, t, h, b, ahead, arcs)
                for c in range(L):
                    p = math.exp(alpha[t, h, b] + arcs[c] - logz)
                    pairs[t, b, c] += p
                    if h < triples.shape[0]:
                        triples[h, b, c] += p


@kernel("f8[,] const f8[,,] f8[,,] f8[,] f8[,,] f8[,,]")
def forward_backward(scores, transitions, trigrams, nodes, pairs, triples):
    """Fill nodes (T, L) and pairs (T-1, L, L), add to triples (L, L, L) or (0, L, L); return log Z.

    If nothing is possible, log Z is -inf, nodes and pairs are zero and triples are left alone.
    """
    alpha = forward(scores, transitions, trigrams)
    beta = backward(scores, transitions, trigrams)
    logz = log_partition(alpha)
    node_marginals(alpha, beta, logz, nodes)
    pair_marginals(scores, transitions, trigrams, alpha, beta, logz, pairs, triples)
    return logz


# log Σ over the sequences whose label at start + i lies in allowed[i], for i < k
@kernel("f8[,] const f8[,,] f8[,,] f8[,,] f8[,,] int b1[,]")
def span_log_sum(scores, transitions, trigrams, alpha, beta, start, allowed):  # allowed (k, L) bool, k > 0
    """Log-sum of the sub-lattice in which the labels from ``start`` on are limited to a mask."""
    k, L = allowed.shape
    H = alpha.shape[1]
    inside = alpha[start].copy()  # (H, L)
    for i in range(k):
        if i > 0:
            reached = np.empty((H, L))
            advance(scores, transitions, trigrams, start + i - 1, inside, reached)
            inside = reached
        for b in range(L):
            if not allowed[i, b]:
                inside[:, b] = -np.inf
    return log_sum((inside + beta[start + k - 1]).ravel())


# p(c) = exp(arcs[c]) / Σ exp(arcs);   entropy = Σ_c p(c) (rest[c] - log p(c)), with 0 log 0 = 0
@kernel
def step_entropy(arcs, rest):  # (L,), (L,)
    """Entropy of one choice and of the rest that follows each outcome."""
    total = log_sum(arcs)
    entropy = 0.0
    if total > -np.inf:
        for c in range(arcs.shape[0]):
            if arcs[c] > -np.inf:
                log_p = min(arcs[c] - total, 0.0)
                entropy += math.exp(log_p) * (rest[c] - log_p)
    return entropy


# The chain rule from the right (Hernando, Crespi & Cybenko 2005): rest[t, h, b] is the entropy of
# the labels after t given state (h, b) at t. All terms are >= 0, so nothing cancels.
@kernel("f8[,] const f8[,,] f8[,,] f8[,,]")
def sequence_entropy(scores, transitions, trigrams, beta):
    """Entropy in nats of the distribution over label sequences."""
    T, L = scores.shape
    H = histories(trigrams)
    if T == 0:
        return 0.0
    arcs = np.empty(L)
    rest = np.zeros((H, L))
    for t in range(T - 2, -1, -1):
        earlier = np.empty((H, L))
        for h in range(H):
            for b in range(L):
                n = next_history(trigrams, b)
                outgoing(scores, transitions, trigrams, t, h, b, beta[t + 1, n], arcs)
                earlier[h, b] = step_entropy(arcs, rest[n])
        rest = earlier
    outgoing(scores, transitions, trigrams, -1, H - 1, L, beta[0, H - 1], arcs)
    return step_entropy(arcs, rest[H - 1])


@kernel
def choose(arcs, uniform):  # (L,), [0, 1)
    """The label drawn from exp(arcs) by one uniform number; never one at -inf."""
    L = arcs.shape[0]
    total = log_sum(arcs)
    cumulative = 0.0
    possible = 0
    for c in range(L):
        p = math.exp(arcs[c] - total)
        if p > 0.0:
            possible = c
            cumulative += p
            if cumulative > uniform:
                break
    return possible


# p(c | h, b) = exp(arcs(h, b)[c]) / Σ, with ahead = beta[t+1, next(b)]: exact draws, left to right
@kernel("f8[,] const f8[,,] f8[,,] f8[,,] f8[,] i8[,]")
def sample_paths(scores, transitions, trigrams, beta, uniforms, labels):  # uniforms, labels (n, T)
    """Draw sequences from the distribution, which must not be empty (log Z > -inf)."""
    n, T = uniforms.shape
    L = scores.shape[1]
    arcs = np.empty(L)
    for i in range(n):
        h, b = histories(trigrams) - 1, L
        for t in range(-1, T - 1):
            following = next_history(trigrams, b)
            outgoing(scores, transitions, trigrams, t, h, b, beta[t + 1, following], arcs)
            h, b = following, choose(arcs, uniforms[i, t + 1])
            labels[i, t + 1] = b
