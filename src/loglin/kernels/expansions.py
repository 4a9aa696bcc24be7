"""Choices among the rules of a symbol, and wrong edges of a chart.

An instance is a symbol A at a span. Its rules are scored by their own weights and by those of the span's attributes:

    s_r = w_r + Σ_{attributes a} w_{a,r}        Z = c + Σ_{r of A} e^{s_r}        loss = count · (log Z − s_{rule})

where c is 1 if none of the above is one more outcome, of score 0, and 0 otherwise; an instance whose outcome that is
has no rule and the loss count · log Z. Weights are laid out by symbol, the rules of A first:

    first[A] … first[A] + K_A − 1      its rules        … first[A + 1] − 1      its pairs, by attribute, then rule

so that what an attribute adds to the rules of A is a run of neighbors.
"""

from __future__ import annotations

import math

import numpy as np

from loglin.kernels.compile import kernel

u8 = np.uint64


@kernel
def find_runs(symbols, attributes, ptr, targets, expansions, begins, ends):
    """begins, ends (n, templates): where the pairs of an attribute with the rules of a symbol stand in ``targets``.

    targets rise within an attribute, and the rules of a symbol are neighbors. Without any, both are 0.
    """
    for i in range(symbols.shape[0]):
        low, high = expansions[symbols[i]], expansions[symbols[i] + 1]
        for t in range(attributes.shape[1]):
            a = attributes[i, t]
            begins[i, t] = ends[i, t] = 0
            if a < 0 or low == high:
                continue
            found = np.searchsorted(targets[ptr[a] : ptr[a + 1]], low) + ptr[a]
            after = found
            while after < ptr[a + 1] and targets[after] < high:
                after += 1
            if after > found:
                begins[i, t], ends[i, t] = found, after


@kernel
def losses_and_slopes(begin, end, instances, runs, layout, weights, nota, second, origin, out):
    """Σ losses of the instances begin … end − 1; ∂loss/∂w (or, if ``second``, ∂²loss/∂w²) is added to ``out``.

    out[f − origin] is of weight f. instances = (symbols, rules, counts), rules counted from a symbol's first, -1 for
    none of the above; runs = (ptr, begins, ends) of every instance; layout = (first, sizes, local): where a symbol's
    weights begin, how many rules it has, and which of them a pair is of.
    """
    symbols, rules, counts = instances
    run_ptr, run_begins, run_ends = runs
    first, sizes, local = layout
    scores = np.empty(max(1, sizes.max() if sizes.shape[0] else 1))
    total = 0.0
    for i in range(begin, end):
        A = symbols[i]
        K, start = u8(sizes[A]), u8(first[A])
        for r in range(K):
            scores[r] = weights[start + r]
        for q in range(u8(run_ptr[i]), u8(run_ptr[i + 1])):
            for f in range(u8(run_begins[q]), u8(run_ends[q])):
                scores[u8(local[f])] += weights[f]
        peak = 0.0 if nota else -np.inf
        for r in range(K):
            peak = max(peak, scores[r])
        chosen = 0.0 if rules[i] < 0 else scores[rules[i]]
        if chosen == -np.inf:
            total = np.inf  # what is impossible happened; with other weights it would not
            continue
        Z = math.exp(-peak) if nota else 0.0
        for r in range(K):
            scores[r] = math.exp(scores[r] - peak)
            Z += scores[r]
        total += counts[i] * (peak + math.log(Z) - chosen) if K or nota else 0.0
        for r in range(K):
            p = scores[r] / Z
            slope = p * (1 - p) if second else p - (1.0 if r == u8(rules[i]) and rules[i] >= 0 else 0.0)
            scores[r] = counts[i] * slope
            out[start + r - u8(origin)] += scores[r]
        for q in range(u8(run_ptr[i]), u8(run_ptr[i + 1])):
            for f in range(u8(run_begins[q]), u8(run_ends[q])):
                out[f - u8(origin)] += scores[u8(local[f])]
    return total


@kernel
def wrong_edges(chart, n, gold_cells, gold_symbols, delta, cells, symbols):
    """List the edges of two words and more, not gold ones, that score at least the best of their length − delta.

    chart (cells, symbols): the best log score of each edge, -inf for none; cell (i, j) is row j(j − 1)/2 + i. Returns
    how many there are; with empty ``cells`` they are only counted.
    """
    gold = np.zeros(chart.shape, np.bool_)
    for g in range(gold_cells.shape[0]):
        gold[gold_cells[g], gold_symbols[g]] = True
    best = np.full(n + 1, -np.inf)
    for j in range(2, n + 1):
        for i in range(j - 1):
            cell = j * (j - 1) // 2 + i
            for A in range(chart.shape[1]):
                best[j - i] = max(best[j - i], chart[cell, A])
    found = 0
    for j in range(2, n + 1):
        for i in range(j - 1):
            cell = j * (j - 1) // 2 + i
            for A in range(chart.shape[1]):
                score = chart[cell, A]
                if score > -np.inf and score >= best[j - i] - delta and not gold[cell, A]:
                    if cells.shape[0]:
                        cells[found], symbols[found] = cell, A
                    found += 1
    return found
