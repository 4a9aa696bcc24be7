"""The best label sequences of a chain, in order: the best of all by one pass, the next ones as they are asked for.

Arrays, histories and states are those of kernels/logspace.py. Everything goes from right to left, so that equal scores
come out in lexicographic order of their labels.

    arcs(t, h, b)[c] = scores[t+1, c] + transitions[t, b, c] + trigrams[h, b, c]
    best[T-1, h, b] = 0;   best[t, h, b] = max_c arcs(t, h, b)[c] + best[t+1, next(b), c]

The r-th best continuation of a state takes the best of arcs[c] + (the used[c]-th best continuation of the state behind
c), where used[c] counts how often label c was taken before: only the label taken last has a new candidate, so that one
more rank is needed of one state at every position (Jiménez & Marzal 1999, the recursive enumeration algorithm).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loglin.kernels.compile import kernel

u8 = np.uint64


class Ranks(NamedTuple):
    """Ranks of the states that were asked for more than their best continuation; T·k of them at most."""

    slot: np.ndarray  # (T + 2, H, L + 1) int32: number of a state among these, or −1; position t stands at t + 1
    known: np.ndarray  # (states,) int64: how many ranks are known
    value: np.ndarray  # (states, k) scores of continuations, -inf where there are no more
    label: np.ndarray  # (states, k) int64: the label that each begins with
    behind: np.ndarray  # (states, k) int64: which rank of the state behind that label
    used: np.ndarray  # (states, L) int64


@kernel
def transposed(transitions, trigrams):
    """transitions (K, c, b) and trigrams (b, c, a), so that the states before label c stand in a row."""
    K, L = transitions.shape[0], transitions.shape[1]
    steps, triples = np.empty((K, L, L)), np.empty((L if trigrams.shape[0] else 0, L, L))
    for k in range(K):
        for b in range(L):
            for c in range(L):
                steps[k, c, b] = transitions[k, b, c]
    for a in range(trigrams.shape[0]):
        for b in range(L):
            for c in range(L):
                triples[b, c, a] = trigrams[a, b, c]
    return steps, triples


@kernel
def keep_best(first, middle, k, c, last, best, choice):
    """best[i] = max(best[i], first + middle[k, c, i] + last), and choice[i] = c where that has grown."""
    for i in range(u8(best.shape[0])):
        value = (first + middle[u8(k), u8(c), i]) + last
        better = value > best[i]
        best[i] = value if better else best[i]
        choice[i] = c if better else choice[i]


@kernel
def best_continuations(scores, transitions, steps, triples, best, choice):  # (T, H, L) both
    """Fill the score of the best continuation of every state that can be met, and the label it begins with.

    steps and triples are the transposed transitions and trigrams.
    """
    T, L = scores.shape
    R = triples.shape[0]
    top, label = np.empty(L), np.empty(L, np.int64)
    best[T - 1] = 0.0
    for t in range(T - 2, -1, -1):
        step = min(t, transitions.shape[0] - 1)
        if R == 0 or t == 0:  # one history: none, or the begin of the sentence, behind which there is no trigram
            top[:] = -np.inf
            label[:] = 0
            if R == 0:
                for c in range(L):
                    keep_best(scores[t + 1, c], steps, step, c, best[t + 1, 0, c], top, label)
                best[t, 0], choice[t, 0] = top, label
            else:
                for b in range(L):
                    for c in range(L):
                        value = (scores[1, c] + transitions[step, b, c]) + best[1, b, c]
                        if value > top[b]:
                            top[b], label[b] = value, c
                best[0, L], choice[0, L] = top, label
            continue
        for b in range(L):
            top[:] = -np.inf
            label[:] = 0
            for c in range(L):
                first = scores[t + 1, c] + transitions[step, b, c]
                keep_best(first, triples, b, c, best[t + 1, b, c], top, label)
            for a in range(L):
                best[t, a, b], choice[t, a, b] = top[a], label[a]


@kernel(inline=True)
def following(trigrams, b, L):
    """The history that label b leaves behind; the begin of the sentence, b = L, leaves the last one."""
    return (b if trigrams.shape[0] else 0) if b < L else trigrams.shape[0]


@kernel
def add_rank(scores, transitions, trigrams, t, h, b, best, ranks, s):
    """One more continuation of state (h, b) at t, number s of the states that have ranks; t = −1 is the begin."""
    slot, value, used, r, L = ranks.slot, ranks.value, ranks.used, ranks.known[s], scores.shape[1]
    n, step = following(trigrams, b, L), min(t, transitions.shape[0] - 1)
    winner, top = -1, -np.inf
    for c in range(L):
        one = scores[t + 1, c]
        if t >= 0:
            one += transitions[step, b, c]
            if h < trigrams.shape[0]:
                one += trigrams[h, b, c]
        q = used[s, c]
        if q == 0:
            one += best[t + 1, n, c]
        else:
            behind = slot[t + 2, n, c]
            one += value[behind, q] if behind >= 0 and q < ranks.known[behind] else -np.inf
        if one > top:
            winner, top = c, one
    value[s, r] = top
    ranks.label[s, r] = winner
    if winner >= 0:
        ranks.behind[s, r] = used[s, winner]
        used[s, winner] += 1
    ranks.known[s] = r + 1


@kernel
def new_ranks(T, H, L, k):
    slot = np.full((T + 2, H, L + 1), -1, np.int32)
    n = (T + 1) * k
    labels, behind = np.zeros((n, k), np.int64), np.zeros((n, k), np.int64)
    return Ranks(slot, np.zeros(n, np.int64), np.empty((n, k)), labels, behind, np.zeros((n, L), np.int64))


@kernel
def numbered(t, h, b, best, choice, ranks, n_slots):
    """The number of state (h, b) at t ≥ 0 among those with ranks, given one if it has none, and how many have one."""
    s = np.int64(ranks.slot[t + 1, h, b])
    if s < 0:
        s = n_slots
        ranks.slot[t + 1, h, b] = s
        ranks.known[s] = 1
        ranks.value[s, 0] = best[t, h, b]
        ranks.label[s, 0] = choice[t, h, b] if best[t, h, b] > -np.inf else -1
        ranks.used[s, choice[t, h, b]] = 1
        n_slots += 1
    return s, n_slots


# Down along the path that came last, to the first state that knows the rank asked for, or to the end; then up again,
# one rank more for every state on the way.
@kernel
def next_best(scores, transitions, trigrams, best, choice, ranks, n_slots, path):  # path (T, 3)
    """Find one more continuation of the begin of the sentence, state 0; return how many states have ranks now."""
    T, L = scores.shape
    t, h, b, s, depth = -1, trigrams.shape[0], L, 0, 0
    while True:
        if t >= 0:
            s, n_slots = numbered(t, h, b, best, choice, ranks, n_slots)
        path[depth, 0], path[depth, 1], path[depth, 2] = h, b, s
        depth += 1
        c, r = ranks.label[s, ranks.known[s] - 1], ranks.behind[s, ranks.known[s] - 1]
        t, h, b = t + 1, following(trigrams, b, L), c
        if c < 0 or t == T - 1:  # nothing is left, or behind the last label there is nothing to choose
            break
        known = ranks.slot[t + 1, h, b]
        if known >= 0 and ranks.known[known] > r + 1:
            break
    for d in range(depth - 1, -1, -1):
        add_rank(scores, transitions, trigrams, d - 1, path[d, 0], path[d, 1], best, ranks, path[d, 2])
    return n_slots


@kernel
def follow_labels(trigrams, r, choice, ranks, out):
    """out = the labels of the r-th best sequence."""
    T, L = out.shape[0], choice.shape[2]
    h, b = trigrams.shape[0], L
    for t in range(-1, T - 1):
        s = ranks.slot[t + 1, h, b]
        if s >= 0:
            c, rank = ranks.label[s, r], ranks.behind[s, r]
        else:
            c, rank = choice[t, h, b], 0
        h, b, r = following(trigrams, b, L), c, rank
        out[t + 1] = c


@kernel
def best_paths(scores, transitions, trigrams, steps, triples, labels, totals):  # labels (k, T), totals (k,)
    """Fill the k best sequences in order; return how many of finite score there are, at most k."""
    T, L = scores.shape
    H, k = trigrams.shape[0] + 1, totals.shape[0]
    totals[:] = -np.inf
    if T == 0 or k == 0:
        totals[:1] = 0.0
        return min(k, 1)
    best, choice = np.empty((T, H, L)), np.empty((T, H, L), np.int64)
    best_continuations(scores, transitions, steps, triples, best, choice)
    ranks = new_ranks(T, H, L, k)
    path, n_slots = np.empty((T, 3), np.int64), 1
    ranks.slot[0, H - 1, L] = 0
    add_rank(scores, transitions, trigrams, -1, H - 1, L, best, ranks, 0)
    for r in range(k):
        if r > 0:
            n_slots = next_best(scores, transitions, trigrams, best, choice, ranks, n_slots, path)
        totals[r] = ranks.value[0, r]
        if totals[r] == -np.inf:
            return r
        follow_labels(trigrams, r, choice, ranks, labels[r])
    return k


@kernel
def best_path_of(scores, transitions, trigrams, steps, triples, labels):  # labels (T,)
    """Fill the best sequence, of equals the lexicographically first; return its score, -inf if none."""
    T, L = scores.shape
    H = trigrams.shape[0] + 1
    if T == 0:
        return 0.0
    best, choice = np.empty((T, H, L)), np.empty((T, H, L), np.int64)
    best_continuations(scores, transitions, steps, triples, best, choice)
    h, b, total = H - 1, 0, -np.inf
    for c in range(L):
        value = scores[0, c] + best[0, h, c]
        if value > total:
            b, total = c, value
    for t in range(T):
        labels[t] = b
        if t < T - 1:
            c = choice[t, h, b]
            h, b = following(trigrams, b, L), c
    return total


@kernel("f8[,] const f8[,,] f8[,,] i8[]")
def best_path(scores, transitions, trigrams, labels):
    """``best_path_of`` one sentence."""
    steps, triples = transposed(transitions, trigrams)
    return best_path_of(scores, transitions, trigrams, steps, triples, labels)


@kernel("int int i8[] f8[,] const f8[,,] f8[,,] i8[,] f8[,] i8[]")
def rank_sentences(begin, end, offsets, scores, transitions, trigrams, labels, totals, counts):
    """Fill the best sequences of the sentences begin … end − 1, whose steps are alike, and their numbers.

    scores (tokens, L), labels (k, tokens), totals (sentences, k), counts (sentences,).
    """
    steps, triples = transposed(transitions, trigrams)
    for s in range(begin, end):
        first, last = offsets[s], offsets[s + 1]
        if totals.shape[1] == 1:
            totals[s, 0] = best_path_of(
                scores[first:last], transitions, trigrams, steps, triples, labels[0, first:last]
            )
            counts[s] = totals[s, 0] > -np.inf
        else:
            room = labels[:, first:last]
            counts[s] = best_paths(scores[first:last], transitions, trigrams, steps, triples, room, totals[s])
