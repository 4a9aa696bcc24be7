"""The distinct words among the last words of a document: caches and triggers."""

from __future__ import annotations

import numpy as np

from loglin.kernels.compile import kernel


@kernel("i4[] i8[] b1[] int int int i8[] i4[] i4[] i4[]")
def recent_words(words, starts, wanted, size, begin, end, ptr, found, counts, ages):
    """For the tokens begin … end − 1 the wanted words among the last ``size`` known ones of the same document.

    ``starts`` (documents + 1,) are first tokens; words not below len(wanted) are not known and not counted. Without
    room in ``found`` only ptr (end − begin + 1,) is written, else also the words, how often each occurs, and how many
    known words back it does last.
    """
    n = wanted.shape[0]
    times, place, last = np.zeros(n, np.int32), np.empty(n, np.int32), np.zeros(n, np.int64)
    ring, distinct = np.empty(size, np.int32), np.empty(size, np.int32)
    known, n_distinct, filled = 0, 0, 0
    document = np.searchsorted(starts, begin, side="right") - 1
    for t in range(starts[max(document, 0)] if begin < end else end, end):
        if document + 1 < starts.shape[0] and t == starts[document + 1]:
            for k in range(n_distinct):
                times[distinct[k]] = 0
            known, n_distinct = 0, 0
            document += 1
        if t >= begin:
            if found.shape[0]:
                for k in range(n_distinct):
                    found[filled + k] = distinct[k]
                    counts[filled + k] = times[distinct[k]]
                    ages[filled + k] = known - last[distinct[k]]
            filled += n_distinct
            ptr[t - begin + 1] = filled
        w = words[t]
        if w >= n:
            continue
        if known >= size:
            old = ring[known % size]
            if wanted[old]:
                times[old] -= 1
                if times[old] == 0:
                    n_distinct -= 1
                    distinct[place[old]] = distinct[n_distinct]
                    place[distinct[n_distinct]] = place[old]
        ring[known % size] = w
        if wanted[w]:
            if times[w] == 0:
                place[w] = n_distinct
                distinct[n_distinct] = w
                n_distinct += 1
            times[w] += 1
            last[w] = known
        known += 1


@kernel("i4[] i8[] i4[] i4[] i4[,] i8[]")
def count_pairs(words, ptr, found, number, together, present):
    """together[a, b] += 1 where b is the token and a among its recent words; present[a] += 1 where a is among them.

    ``number`` maps codes to rows and columns, −1 for words that do not take part; all of ``found`` do.
    """
    for t in range(words.shape[0]):
        b = number[words[t]] if words[t] < number.shape[0] else -1
        for j in range(ptr[t], ptr[t + 1]):
            a = number[found[j]]
            present[a] += 1
            if b >= 0:
                together[a, b] += 1


@kernel("i8[] i8[] f8[] i4[] i4[] f8[,] i8[]")
def cached_mass(ptr, feature, log_p, words, found, mass, hit):
    """mass[t, f] += p of the cached words with feature f; hit[t] = the feature of the word that came, −1 if none."""
    for t in range(words.shape[0]):
        hit[t] = -1
        for j in range(ptr[t], ptr[t + 1]):
            mass[t, feature[j]] += np.exp(log_p[j])
            if found[j] == words[t]:
                hit[t] = feature[j]


@kernel("i8[] i4[] i8[] f8[] f8[] i8[] i4[]|i8[] f8[]")
def reweigh(ptr, found, feature, log_p, theta, target_ptr, targets, log_q):
    """log q(w) = log p(w) + θ of w if it is cached − log Z,  Z = 1 + Σ_cached p(c)·(e^θ − 1); log_q holds log p."""
    extra = np.zeros(targets.max() + 1 if targets.shape[0] else 0)
    for t in range(ptr.shape[0] - 1):
        Z = 1.0
        for j in range(ptr[t], ptr[t + 1]):
            Z += np.exp(log_p[j]) * np.expm1(theta[feature[j]])
            if found[j] < extra.shape[0]:
                extra[found[j]] = theta[feature[j]]
        for k in range(target_ptr[t], target_ptr[t + 1]):
            log_q[k] += extra[targets[k]] - np.log(Z)
        for j in range(ptr[t], ptr[t + 1]):
            if found[j] < extra.shape[0]:
                extra[found[j]] = 0.0
