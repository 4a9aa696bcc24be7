"""From residuals of tokens to the gradient: every attribute sums the residuals of its own tokens.

    g[a, j] = Σ_{t has a} R[t, j]

Each output is one sum in a fixed order, so attributes can be shared out among threads in any way and
the result is the same to the last bit.
"""

from __future__ import annotations

import numpy as np

from loglin.kernels.compile import kernel
from loglin.kernels.rows import sum_rows, weigh_rows

u8 = np.uint64


@kernel("int int i8[] u2[] i4[] K[] K[,]", K="b1 f4 f8")
def fill_table(begin, end, ptr, labels, row_of, weights, table):
    """table[row of attribute] = its weights by label, for the attributes begin … end − 1 that have a row."""
    for a in range(u8(begin), u8(end)):
        if row_of[a] >= 0:
            row = u8(row_of[a])
            for f in range(u8(ptr[a]), u8(ptr[a + u8(1)])):
                table[row, u8(labels[f])] = weights[f]


@kernel
def never_falls(ptr):
    for i in range(ptr.shape[0] - 1):
        if ptr[i + 1] < ptr[i]:
            return False
    return True


@kernel("int int i8[] u4[] int F[,]")
def sum_lists(begin, end, ptr, ids, first, table):
    """table[first + i] = Σ of the rows in list i, for the lists begin … end − 1."""
    for i in range(begin, end):
        sum_rows(table, first + i, table, ids, ptr[i], ptr[i + 1])


@kernel("int int i8[] i8[] u2[] i8[] u4[] F[] F[,] F[]")
def attribute_gradient(begin, end, order, ptr, labels, posting_ptr, postings, values, R, gradient):
    """gradient[f] = Σ over the tokens of f's attribute of R[token, f's label].

    Attributes order[begin] … order[end − 1]; the order is that of their first tokens, so that the
    residuals of a stretch of text are read together while they are near.
    """
    total = np.zeros((1, R.shape[1]), R.dtype)
    weighted = values.shape[0] > 0
    for i in range(begin, end):
        a = order[i]
        first, last = ptr[a], ptr[a + 1]
        if last - first > 2:
            if weighted:
                weigh_rows(total, 0, R, postings, values, posting_ptr[a], posting_ptr[a + 1])
            else:
                sum_rows(total, 0, R, postings, posting_ptr[a], posting_ptr[a + 1])
            for f in range(u8(first), u8(last)):
                gradient[f] = total[0, u8(labels[f])]
        else:
            for f in range(u8(first), u8(last)):
                j, one = u8(labels[f]), 0.0
                for q in range(u8(posting_ptr[a]), u8(posting_ptr[a + 1])):
                    if weighted:
                        one += R[u8(postings[q]), j] * values[q]
                    else:
                        one += R[u8(postings[q]), j]
                gradient[f] = one


@kernel("i8[] u4[] i8[] i8[]")
def order_by_first(posting_ptr, postings, starts, order):
    """Attributes in order of their first posting; starts (largest posting + 2,) is zero at first."""
    n = posting_ptr.shape[0] - 1
    for a in range(n):
        if posting_ptr[a] < posting_ptr[a + 1]:
            starts[postings[posting_ptr[a]] + 1] += 1
    for t in range(starts.shape[0] - 1):
        starts[t + 1] += starts[t]
    k = starts[starts.shape[0] - 1]
    for a in range(n):
        if posting_ptr[a] < posting_ptr[a + 1]:
            t = postings[posting_ptr[a]]
            order[starts[t]] = a
            starts[t] += 1
        else:  # attributes without a token have no gradient but their place
            order[k] = a
            k += 1


@kernel("i8[] F[] F[,]")
def curvature(offsets, instance, R):
    """Residuals weight·(p − y) to weight·p·(1 − p): |p − y|·(1 − |p − y|) is the same for y = 0 and y = 1."""
    for s in range(offsets.shape[0] - 1):
        weight = 1.0
        if instance.shape[0]:
            weight = instance[s]
        for t in range(offsets[s], offsets[s + 1]):
            for j in range(R.shape[1]):
                p = abs(R[t, j])
                R[t, j] = p * max(weight - p, 0) / weight if weight > 0 else 0
