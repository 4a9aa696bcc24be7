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
from typing import NamedTuple

import numpy as np

from loglin.kernels.compile import kernel, record

u8 = np.uint64
LARGE = 30.0  # an amount by which attributes move a rule, and
SMALL = 0.01  # a share of its symbol's normalizer that an instance's is, beyond which it is summed as it stands


@record("i4[] i8[] f8[]")
class Instances(NamedTuple):
    """Choices of a rule, sorted by symbol."""

    symbols: np.ndarray  # (instances,)
    rules: np.ndarray  # (instances,) counted from the symbol's first, -1 for none of the above
    counts: np.ndarray  # (instances,) float64


@record("i8[] i8[] i8[]")
class Runs(NamedTuple):
    """The weights that attributes of an instance have for its symbol's rules: begins[q] … ends[q] − 1, for each q."""

    ptr: np.ndarray  # (instances + 1,) int64: instance i has the runs ptr[i] … ptr[i + 1] − 1
    begins: np.ndarray
    ends: np.ndarray


@record("i8[] i8[] i4[]")
class BySymbol(NamedTuple):
    """How weights are laid out."""

    first: np.ndarray  # (symbols + 1,) int64: where a symbol's weights begin
    sizes: np.ndarray  # (symbols,) the number of its rules
    local: np.ndarray  # (weights,) int32: the rule that a weight is for, counted from the symbol's first


@kernel("i4[] i4[,] i8[] i4[] i8[] i8[,] i8[,]")
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


# With b_r = w_r, z = c + Σ_r e^{b_r} once per symbol and d_r = Σ_a w_{a,r}, of which few are not 0,
#
#     Z = z + Σ_touched e^{b_r}·(e^{d_r} − 1)        Σ_instances count·p_r = e^{b_r}·Σ count/Z + what is touched
#
# so that only touched rules are exponentiated; where Z is small beside z, or a d large, digits would be lost and the
# instance is summed as it stands.
@kernel("int int Instances Runs BySymbol f8[] bool bool int f8[]")
def losses_and_slopes(begin, end, instances, runs, layout, weights, nota, second, origin, out):
    """Σ losses of the instances begin … end − 1; ∂loss/∂w (or, if ``second``, ∂²loss/∂w²) is added to ``out``.

    out[f − origin] is of weight f.
    """
    symbols, rules, counts = instances
    first, sizes, local = layout
    most = max(1, sizes.max() if sizes.shape[0] else 1)
    own, change, touched, stamp = np.empty(most), np.empty(most), np.empty(most, np.int64), np.full(most, -1)
    total, shares, squares, peak, z = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(begin, end):
        A = symbols[i]
        start = first[A]
        if i == begin or A != symbols[i - 1]:
            peak, z = _exponentiate(weights[start : start + sizes[A]], nota, own)
            shares = squares = 0.0
        n, largest = _touch(i, runs, local, weights, change, touched, stamp)
        Z = z
        for t in range(n if largest <= LARGE else 0):
            Z += own[touched[t]] * math.expm1(change[touched[t]])
        if largest > LARGE or not Z > SMALL * z:
            total += _careful(i, instances, runs, layout, weights, nota, second, origin, change, out)
        else:
            c, rule = counts[i], rules[i]
            chosen = 0.0
            if rule >= 0:
                chosen = weights[start + rule] + (change[rule] if stamp[rule] == i else 0.0)
            total += c * (peak + math.log(Z) - chosen) if chosen > -np.inf else np.inf
            shares += c / Z
            squares += c / (Z * Z)
            _add_touched(i, instances, runs, layout, second, origin, 1 / Z, own, change, touched[:n], out)
        if i == end - 1 or A != symbols[i + 1]:
            for r in range(sizes[A]):
                out[start - origin + r] += own[r] * shares - (own[r] * own[r] * squares if second else 0.0)
    return total


@kernel
def _exponentiate(scores, nota, out):
    """out = exp(scores − peak); the peak and Σ out, that of none of the above included."""
    peak = 0.0 if nota else -np.inf
    for r in range(scores.shape[0]):
        peak = max(peak, scores[r])
    total = math.exp(-peak) if nota else 0.0
    for r in range(scores.shape[0]):
        out[r] = math.exp(scores[r] - peak) if peak > -np.inf else 0.0
        total += out[r]
    return peak, total


@kernel
def _touch(i, runs, local, weights, change, touched, stamp):
    """What attributes add to rules: how many of these there are, and the largest amount. stamp[r] = i marks them."""
    run_ptr, run_begins, run_ends = runs
    n, largest = 0, 0.0
    for q in range(u8(run_ptr[i]), u8(run_ptr[i + 1])):
        for f in range(u8(run_begins[q]), u8(run_ends[q])):
            r = local[f]
            if stamp[r] != i:
                stamp[r] = i
                change[r] = 0.0
                touched[n] = r
                n += 1
            change[r] += weights[f]
    for t in range(n):
        largest = max(largest, abs(change[touched[t]]))
    return n, largest


@kernel
def _add_touched(i, instances, runs, layout, second, origin, share, own, change, touched, out):
    """Slopes of the touched rules, beyond count·own·share, and of their pairs; and of the rule that was used."""
    symbols, rules, counts = instances
    run_ptr, run_begins, run_ends = runs
    first, _, local = layout
    start, rule, c = first[symbols[i]] - origin, rules[i], counts[i]
    if rule >= 0 and not second:
        out[start + rule] -= c
    for r in touched:
        plain, p = share * own[r], share * own[r] * math.exp(change[r])
        if second:
            out[start + r] += c * (p - p * p - plain + plain * plain)
            change[r] = c * (p - p * p)
        else:
            out[start + r] += c * (p - plain)
            change[r] = c * (p - (1.0 if r == rule else 0.0))
    for q in range(u8(run_ptr[i]), u8(run_ptr[i + 1])):
        for f in range(u8(run_begins[q]), u8(run_ends[q])):
            out[f - u8(origin)] += change[local[f]]


@kernel
def _careful(i, instances, runs, layout, weights, nota, second, origin, scores, out):
    """The loss of one instance, summed as it stands; its slopes are added."""
    symbols, rules, counts = instances
    run_ptr, run_begins, run_ends = runs
    first, sizes, local = layout
    K, start = sizes[symbols[i]], first[symbols[i]]
    for r in range(K):
        scores[r] = weights[start + r]
    for q in range(u8(run_ptr[i]), u8(run_ptr[i + 1])):
        for f in range(u8(run_begins[q]), u8(run_ends[q])):
            scores[local[f]] += weights[f]
    chosen = scores[rules[i]] if rules[i] >= 0 else 0.0
    if chosen == -np.inf:
        return np.inf  # what is impossible happened
    peak, Z = _exponentiate(scores[:K], nota, scores)
    for r in range(K):
        p = scores[r] / Z
        scores[r] = counts[i] * (p * (1 - p) if second else p - (1.0 if r == rules[i] else 0.0))
        out[start - origin + r] += scores[r]
    for q in range(u8(run_ptr[i]), u8(run_ptr[i + 1])):
        for f in range(u8(run_begins[q]), u8(run_ends[q])):
            out[f - u8(origin)] += scores[local[f]]
    return counts[i] * (peak + math.log(Z) - chosen) if peak > -np.inf else 0.0


@kernel("f8[,] int i8[] i8[] float i8[] i8[]")
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
