"""SparseSums over the label sequences of eight sentences at a time, where most label pairs have no weight.

    e  (n·L, 8)  exp(score − shift) of every token and label, and sentence: 0 behind its end
    a  (n·L, 8)  α, whose sum over labels is z; c = 1 / z
    b  (2·L, 8)  e·β of two neighboring tokens
    X  (P, 8)    expected label pairs without their factor

What these are is said in kernels/chain.py. A step costs labels + observed pairs, not labels² (kernels/lanes.py). Where
that cancels, as most of the sum comes from observed pairs with small factors, it is made anew without a difference.
Residuals are summed by feature as soon as a sentence is done, so that no array holds tokens × labels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loglin.kernels import logspace
from loglin.kernels.chain import add_costs, exponentiate, label_mask
from loglin.kernels.compile import REORDER, kernel, record
from loglin.kernels.lanes import WEAK, add_pairs, pull_pairs, scale_lanes
from loglin.kernels.rows import LANES, add_row, sum_rows, weigh_rows
from loglin.kernels.sentences import weight_of

u8 = np.uint64
FLUSH = 2000  # tokens whose label pairs are summed in the precision of the scores


@record("i8[] i4[] F[] i8[] u2[] i4[]")
class AttributeLists(NamedTuple):
    """Attributes of tokens, and where their weights are."""

    ptr: np.ndarray  # (T + 1,) int64: token t has the attributes ids[ptr[t]] … ids[ptr[t + 1] − 1]
    ids: np.ndarray  # int32
    values: np.ndarray  # as long as ids, or empty: 1
    features: np.ndarray  # (attributes + 1,) int64: attribute a has the weights features[a] … features[a + 1] − 1
    labels: np.ndarray  # (features,) uint16
    row_of: np.ndarray  # (attributes,) int32: row of the table, for attributes of many labels; else −1


@record("i8[] u2[] F[] F[]")
class PairLinks(NamedTuple):
    """Observed label pairs by one of their labels."""

    ptr: np.ndarray  # (L + 1,) int64
    ids: np.ndarray  # (P,) uint16: the other label, rising
    factor: np.ndarray  # (P,) exp(weight)
    excess: np.ndarray  # (P,) exp(weight) − 1


@record("PairLinks PairLinks i4[] f8[]")
class LabelPairs(NamedTuple):
    """Observed label pairs, numbered as their weights are: by the label before, then by the label."""

    into: PairLinks  # of every label, those before it
    behind: PairLinks  # of every label, those after it
    gold: np.ndarray  # (T,) number of the pair that leads into each token, −1: none; empty unless labels are certain
    logs: np.ndarray  # (P,) log of the factors


@record("F[,] F[] f8[] f8[] b1[]")
class SparseSums(NamedTuple):
    """What a pass adds to, and the losses."""

    table: np.ndarray  # (rows, W) gradient of the attributes that have rows
    weights: np.ndarray  # (features,) of the others
    pairs: np.ndarray  # (P,) float64
    losses: np.ndarray  # (sentences,) float64
    unsafe: np.ndarray  # (sentences,) bool: left out, as the sums need the log domain


class Room(NamedTuple):
    """For eight sentences: n tokens in the longest, N in all."""

    scores: np.ndarray  # (N, W) exp(score − shift)
    r: np.ndarray  # (N, W)
    e: np.ndarray  # (n·L, 8)
    a: np.ndarray  # (n·L, 8)
    b: np.ndarray  # (2·L, 8)
    v: np.ndarray  # (L, 8)
    p: np.ndarray  # (L, 8)
    c: np.ndarray  # (n, 8)
    row: np.ndarray  # (3, 8): a scale, and totals of rows
    X: np.ndarray  # (P, 8)
    totals: np.ndarray  # (8,) float64: log Z
    weak: np.ndarray  # (L + 1,) int32
    masks: np.ndarray  # (n, L) bool
    chosen: np.ndarray  # uint32: rows of a token
    values: np.ndarray


class Lanes(NamedTuple):
    """The sentences side by side; those not safe are passed over."""

    sentences: np.ndarray  # (8,) numbers, the longest first
    first: np.ndarray  # (8,) their first tokens
    length: np.ndarray  # (8,)
    place: np.ndarray  # (8,) their first rows in Room.scores
    safe: np.ndarray  # (8,) bool


@kernel
def new_room(begin, end, order, text, lists, table, n_pairs):
    """Room for any of the batches begin … end − 1 of eight sentences."""
    longest, most, widest, L = 1, 1, 1, text.n_labels
    for batch in range(begin, end):
        together = 0
        for s in order[batch * LANES : (batch + 1) * LANES]:
            n = text.offsets[s + 1] - text.offsets[s]
            longest, together = max(longest, n), together + n
            for t in range(text.offsets[s], text.offsets[s + 1]):
                widest = max(widest, lists.ptr[t + 1] - lists.ptr[t])
        most = max(most, together)
    dtype, width = table.dtype, table.shape[1]
    return Room(
        np.zeros((most, width), dtype),
        np.zeros((most, width), dtype),
        np.zeros((longest * L, LANES), dtype),
        np.zeros((longest * L, LANES), dtype),
        np.zeros((2 * L, LANES), dtype),
        np.zeros((L, LANES), dtype),
        np.zeros((L, LANES), dtype),
        np.zeros((longest, LANES), dtype),
        np.zeros((3, LANES), dtype),
        np.zeros((n_pairs, LANES), dtype),
        np.zeros(LANES),
        np.zeros(L + 1, np.int32),
        np.zeros((longest, L), np.bool_),
        np.zeros(widest, np.uint32),
        np.zeros(widest, dtype),
    )


@kernel
def new_lanes():
    place = np.zeros((4, LANES), np.int64)
    return Lanes(place[0], place[1], place[2], place[3], np.zeros(LANES, np.bool_))


@kernel(fastmath=REORDER, allocates=False)
def score_lists(first, n, lists, table, weights, e, place, chosen, values):
    """e[place + t] = Σ of the weights of the attributes of token first + t, by label."""
    weighted = lists.values.shape[0] > 0
    for t in range(n):
        begin, end = u8(lists.ptr[first + t]), u8(lists.ptr[first + t + 1])
        n_rows = 0
        for q in range(begin, end):
            row = lists.row_of[u8(lists.ids[q])]
            if row >= 0:
                chosen[n_rows] = row
                if weighted:
                    values[n_rows] = lists.values[q]
                n_rows += 1
        if weighted:
            weigh_rows(e, place + t, table, chosen, values, 0, n_rows)
        else:
            sum_rows(e, place + t, table, chosen, 0, n_rows)
        at = u8(place + t)
        for q in range(begin, end):
            a = u8(lists.ids[q])
            if lists.row_of[a] < 0:
                for f in range(u8(lists.features[a]), u8(lists.features[a + u8(1)])):
                    one = weights[f] * lists.values[q] if weighted else weights[f]
                    e[at, u8(lists.labels[f])] += one


@kernel(fastmath=REORDER, allocates=False)
def add_to_gradient(first, n, lists, squared, r, place, out):
    """Add r[place + t], times the values of its attributes, or their squares, to the gradient of token first + t."""
    weighted, one = lists.values.shape[0] > 0, r.dtype.type(1)
    for t in range(n):
        at = u8(place + t)
        for q in range(u8(lists.ptr[first + t]), u8(lists.ptr[first + t + 1])):
            a, value = u8(lists.ids[q]), one
            if weighted:
                value = lists.values[q] * lists.values[q] if squared else lists.values[q]
            if lists.row_of[a] >= 0:
                add_row(out.table, lists.row_of[a], value, r, place + t)
            else:
                for f in range(u8(lists.features[a]), u8(lists.features[a + u8(1)])):
                    out.weights[f] += value * r[at, u8(lists.labels[f])]


@kernel(allocates=False)
def make_anew(links, a, first, total, v, weak):
    """v of the rows that are listed in ``weak``, wherever it is below WEAK·total: a sum without a difference."""
    L = links.ptr.shape[0] - 1
    for m in range(weak[0]):
        j = weak[m + 1]
        for k in range(LANES):
            if v[j, k] >= WEAK * total[0, k]:
                continue
            q, end, exact = links.ptr[j], links.ptr[j + 1], 0.0
            for i in range(L):
                if q < end and links.ids[q] == i:
                    exact += np.float64(a[first + i, k]) * links.factor[q]
                    q += 1
                else:
                    exact += a[first + i, k]
            v[j, k] = exact


@kernel(allocates=False)
def to_lanes(lanes, text, masked, observed, room):
    """e = the scores of the batch side by side; with ``masked``, of the labels in play, or of the observed ones."""
    L, n = text.n_labels, lanes.length[0]
    for k in range(LANES):
        length = lanes.length[k] if lanes.safe[k] else 0
        if masked and length:
            label_mask(lanes.first[k], length, text, observed, room.masks)
        for t in range(length):
            row, at = u8(t * L), u8(lanes.place[k] + t)
            for j in range(u8(L)):
                room.e[row + j, u8(k)] = room.scores[at, j]
            if masked:
                for j in range(u8(L)):
                    if not room.masks[u8(t), j]:
                        room.e[row + j, u8(k)] = 0
        for rest in range(u8(length * L), u8(n * L)):
            room.e[rest, u8(k)] = 0


@kernel(allocates=False)
def forward_lanes(lanes, L, pairs, room):
    """a, c and log Z of every lane; lanes whose sums leave the range of numbers are no longer safe, and emptied."""
    e, a, c, v, totals = room.e, room.a, room.c, room.v, room.totals
    scale, z, n = room.row[0:1], room.row[1:2], lanes.length[0]
    totals[:], scale[:], v[:] = 0.0, 1, 1
    for t in range(n):
        if t > 0:
            pull_pairs(v, a, (t - 1) * L, z, pairs.into.ptr, pairs.into.ids, pairs.into.excess, room.weak)
            make_anew(pairs.into, a, (t - 1) * L, z, v, room.weak)
        scale_lanes(a, t * L, e, t * L, v, scale, z, L)
        for k in range(LANES):
            inside = lanes.safe[k] and t < lanes.length[k]
            c[t, k] = scale[0, k] = 1 / z[0, k] if inside else 0.0
            if inside:
                totals[k] += np.log(np.float64(z[0, k]))
    for k in range(LANES):
        if lanes.safe[k] and not abs(totals[k]) < np.inf:
            lanes.safe[k] = False
            c[:n, k] = 0
            a[: n * L, k] = 0
            e[: n * L, k] = 0


@kernel(allocates=False)
def backward_lanes(lanes, text, sign, pairs, room):
    """r of every token += sign·p(y_t), X += sign·weight·(expected pairs without their factors)."""
    e, a, b, v, p, c, r, L = room.e, room.a, room.b, room.v, room.p, room.c, room.r, text.n_labels
    scale, z, other = room.row[0:1], room.row[1:2], room.row[2:3]
    now, behind = 0, L
    for t in range(lanes.length[0] - 1, -1, -1):
        if t == lanes.length[0] - 1:
            v[:] = 0
        else:
            pull_pairs(v, b, behind, z, pairs.behind.ptr, pairs.behind.ids, pairs.behind.excess, room.weak)
            make_anew(pairs.behind, b, behind, z, v, room.weak)
            for k in range(LANES):
                scale[0, k] = c[t, k] * sign * weight_of(lanes.sentences[k], text)
            add_pairs(room.X, a, t * L, b, behind, pairs.behind.ptr, pairs.behind.ids, scale)
        for k in range(LANES):
            scale[0, k] = c[t, k]
            if t == lanes.length[k] - 1:
                v[:, k] = 1
        scale_lanes(p, 0, a, t * L, v, scale, other, L)
        scale_lanes(b, now, e, t * L, v, scale, z, L)
        for k in range(LANES):
            if lanes.safe[k] and t < lanes.length[k]:
                at = u8(lanes.place[k] + t)
                for j in range(u8(L)):
                    r[at, j] += sign * p[j, u8(k)]
        now, behind = behind, now


@kernel(allocates=False)
def clear_rows(r, begin, end):
    for t in range(begin, end):
        for j in range(r.shape[1]):
            r[t, j] = 0


@kernel(allocates=False)
def flush(pairs, room, out):
    """out.pairs += X·factor in double precision, and X = 0."""
    for q in range(room.X.shape[0]):
        total = 0.0
        for k in range(LANES):
            total += np.float64(room.X[q, k])
            room.X[q, k] = 0
        out.pairs[q] += total * pairs.behind.factor[q]


@kernel
def fill_lanes(batch, order, text, lists, table, weights, lanes, room):
    """The next eight sentences, scored; returns the number of their tokens."""
    place = 0
    for k in range(LANES):
        number = batch * LANES + k
        lanes.length[k], lanes.safe[k] = 0, False
        if number >= order.shape[0]:
            continue
        s = order[number]
        first, n = text.offsets[s], text.offsets[s + 1] - text.offsets[s]
        lanes.sentences[k], lanes.first[k], lanes.length[k], lanes.place[k] = s, first, n, place
        score_lists(first, n, lists, table, weights, room.scores, place, room.chosen, room.values)
        e = room.scores[place : place + n]
        add_costs(first, n, text, e)
        lanes.safe[k] = exponentiate(first, n, text, e)
        place += n
    clear_rows(room.r, 0, place)
    return place


@kernel
def sum_batch(batch, order, text, lists, table, weights, pairs, lanes, room, losses):
    """r = weight·(p − observed) of the batch's tokens, X its label pairs, and losses; returns the number of tokens.

    Where every label is certain, what was observed of pairs is left to the caller.
    """
    met, L = fill_lanes(batch, order, text, lists, table, weights, lanes, room), text.n_labels
    certain = pairs.gold.shape[0] > 0
    observed = np.zeros(LANES)
    if not certain:
        to_lanes(lanes, text, True, True, room)
        forward_lanes(lanes, L, pairs, room)
        observed[:] = room.totals
    to_lanes(lanes, text, not certain, False, room)
    forward_lanes(lanes, L, pairs, room)
    totals = room.totals - observed
    backward_lanes(lanes, text, 1.0, pairs, room)
    if not certain:
        to_lanes(lanes, text, True, True, room)
        forward_lanes(lanes, L, pairs, room)
        backward_lanes(lanes, text, -1.0, pairs, room)
    for k in range(LANES):
        if not lanes.safe[k]:
            continue
        first, n, place, weight = lanes.first[k], lanes.length[k], lanes.place[k], weight_of(lanes.sentences[k], text)
        loss = totals[k]
        for t in range(n if certain else 0):
            room.r[place + t, text.labels.gold[first + t]] -= 1
            if t > 0 and pairs.gold[first + t] >= 0:
                loss -= pairs.logs[pairs.gold[first + t]]
        losses[lanes.sentences[k]] = weight * loss
        if weight != 1:
            for t in range(place, place + n):
                for j in range(L):
                    room.r[t, j] *= weight
    return met


@kernel(allocates=False)
def to_variance(n, place, weight, r):
    """weight·(p − y) to weight·p·(1 − p), as in kernels/gradient.py."""
    for t in range(place, place + n):
        for j in range(r.shape[1]):
            p = abs(r[t, j])
            r[t, j] = p * max(weight - p, 0) / weight if weight > 0 else 0


@kernel("int int i8[] Sentences AttributeLists F[,] F[] LabelPairs bool SparseSums")
def sparse_posteriors(begin, end, order, text, lists, table, weights, pairs, curved, out):
    """Add the gradient of the batches begin … end − 1 of eight sentences of ``order``, the longest first in each.

    With ``curved``, weight·p·(1 − p) of tokens in place of residuals. Sentences that need the log domain are marked.
    """
    room = new_room(begin, end, order, text, lists, table, pairs.logs.shape[0])
    lanes, met = new_lanes(), 0
    for batch in range(begin, end):
        met += sum_batch(batch, order, text, lists, table, weights, pairs, lanes, room, out.losses)
        for k in range(LANES):
            n, s = lanes.length[k], lanes.sentences[k]
            if n == 0:
                continue
            out.unsafe[s] = not lanes.safe[k]
            if lanes.safe[k]:
                if curved:
                    to_variance(n, lanes.place[k], weight_of(s, text), room.r)
                add_to_gradient(lanes.first[k], n, lists, curved, room.r, lanes.place[k], out)
        if met > FLUSH:
            flush(pairs, room, out)
            met = 0
    flush(pairs, room, out)


@kernel("i8[] Sentences AttributeLists F[,] F[] LabelPairs f8[,,] bool SparseSums")
def sparse_carefully(numbers, text, lists, table, weights, pairs, steps, curved, out):
    """The same for the numbered sentences in the log domain; steps (1, L, L) weights of label pairs.

    Both sides of the label pairs are counted, whatever the labels are.
    """
    L, links = text.n_labels, pairs.behind
    for s in numbers:
        first, n, weight = text.offsets[s], text.offsets[s + 1] - text.offsets[s], weight_of(s, text)
        widest = 1
        for t in range(first, first + n):
            widest = max(widest, lists.ptr[t + 1] - lists.ptr[t])
        e, r = np.zeros((n, table.shape[1]), table.dtype), np.zeros((n, table.shape[1]), table.dtype)
        score_lists(first, n, lists, table, weights, e, 0, np.zeros(widest, np.uint32), np.zeros(widest, table.dtype))
        add_costs(first, n, text, e)
        out.losses[s] = 0.0
        masks, scores, nodes = np.zeros((n, L), np.bool_), np.zeros((n, L)), np.zeros((n, L))
        for side in range(2):
            sign = -weight if side else weight
            label_mask(first, n, text, side == 1, masks)
            for t in range(n):
                for j in range(L):
                    scores[t, j] = e[t, j] if masks[t, j] else -np.inf
            alpha = logspace.forward(scores, steps, np.zeros((0, L, L)))
            beta = logspace.backward(scores, steps, np.zeros((0, L, L)))
            total = logspace.log_partition(alpha)
            out.losses[s] += sign * total
            logspace.node_marginals(alpha, beta, total, nodes)
            for t in range(n):
                for j in range(L):
                    r[t, j] += sign * nodes[t, j]
            for t in range(1, n):
                for i in range(L):
                    for q in range(links.ptr[i], links.ptr[i + 1]):
                        j = links.ids[q]
                        one = alpha[t - 1, 0, i] + steps[0, i, j] + scores[t, j] + beta[t, 0, j]
                        out.pairs[q] += sign * np.exp(one - total)
        if curved:
            to_variance(n, 0, weight, r)
        add_to_gradient(first, n, lists, curved, r, 0, out)
