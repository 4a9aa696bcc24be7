"""Bounds from a coarse grammar: the highest score among merged rules, and which items a good tree can have.

With Î the score of the best coarse tree below an item and Ô that of the best around it,

    Ô(B, i, k) = max Ô(A, i, j) + s(A→BC, i, j) + split(A→BC, k) + Î(C, k, j)

and no fine tree through the item scores more than Î + Ô.
"""

from __future__ import annotations

import numpy as np

from loglin.kernels.compile import kernel
from loglin.kernels.forest_scores import cell, log_row, split_row


@kernel("int Tables Scores i8[] f8[,]")
def merged_rows(first, tables, scores, coarse_of, rows):
    """rows (cells, coarse rules): the highest score of the merged rules at cells first, first + 1, …"""
    row = np.empty(len(scores.rules))
    for c in range(len(rows)):
        log_row(first + c, tables, scores, row)
        rows[c] = -np.inf
        for r in range(len(row)):
            rows[c, coarse_of[r]] = max(rows[c, coarse_of[r]], row[r])


@kernel("int Tables Scores i8[] f8[,]")
def merged_splits(first, tables, scores, coarse_of, splits):
    """splits (states, coarse binary rules): the same of split scores, at states first, first + 1, …"""
    row = np.empty(len(tables.binary))
    for k in range(len(splits)):
        row[:] = 0.0
        split_row(first + k, scores, row)
        splits[k] = -np.inf
        for r in range(len(row)):
            splits[k, coarse_of[r]] = max(splits[k, coarse_of[r]], row[r])


@kernel("int Layout Tables Scores f8[,] f8[,] float b1[,]")
def kept_items(f, layout, tables, scores, chart, splits, least, kept):
    """Mark the items (cells, N) through which a tree scores ``least`` or more; chart is that of the best trees.

    Only such items are followed further down, as all items of such a tree are such.
    """
    S, n_binary = layout.states[f + 1] - layout.states[f], len(tables.binary)
    outer, row = np.full(chart.shape, -np.inf), np.empty(len(scores.rules))
    kept[:] = False
    for j in range(1, S):
        if layout.final[layout.states[f] + j] > 0:
            outer[cell(0, j)] = scores.roots
    for j in range(S - 1, 0, -1):
        for i in range(j):
            c = cell(i, j)
            found = False
            for A in range(chart.shape[1]):
                found = found or (outer[c, A] > -np.inf and chart[c, A] + outer[c, A] >= least)
            if not found:
                continue
            log_row(layout.cells[f] + c, tables, scores, row)
            for u in range(len(tables.unary) - 1, -1, -1):
                parent, child = tables.unary[u, 0], tables.unary[u, 1]
                outer[c, child] = max(outer[c, child], outer[c, parent] + row[n_binary + u])
            for A in range(chart.shape[1]):
                through = chart[c, A] + outer[c, A]
                kept[c, A] = through > -np.inf and through >= least
                if not kept[c, A]:
                    continue
                for r in range(tables.expansions[A], tables.expansions[A + 1]):
                    here, B, C = outer[c, A] + row[r], tables.binary[r, 1], tables.binary[r, 2]
                    for k in range(i + 1, j):
                        left, right = cell(i, k), cell(k, j)
                        whole = here + (splits[k, r] if splits.shape[0] > 0 else 0.0)
                        if whole + chart[left, B] + chart[right, C] >= least:
                            outer[left, B] = max(outer[left, B], whole + chart[right, C])
                            outer[right, C] = max(outer[right, C], whole + chart[left, B])
