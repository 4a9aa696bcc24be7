"""Lists of attributes for criteria that look at one label at a time, its neighbors being given.

With the label before known, an observed bigram feature (attribute, before → label) is an attribute of the
token like any other, named by (attribute, before): its features are a run of neighbors in the index.
"""

from __future__ import annotations

import numpy as np

from loglin.kernels.chain import exponentiate, new_scratch, score_tokens, step_matrices
from loglin.kernels.compile import kernel

u8 = np.uint64


@kernel("i8[] i8[] i8[] i4[] i8[] i8[] i8[] i4[]")
def neighbor_runs(tokens, neighbors, list_ptr, list_ids, run_ptr, run_neighbors, out_ptr, out_ids):
    """Instance i is token tokens[i] beside label neighbors[i] (negative: none): list its runs.

    run_ptr (attributes + 1,): runs of each attribute; run_neighbors (runs,): the neighbor's label of each.
    With an empty ``out_ids`` only out_ptr is filled.
    """
    fill = out_ids.shape[0] > 0
    n = 0
    out_ptr[0] = 0
    for i in range(tokens.shape[0]):
        t, y = tokens[i], neighbors[i]
        if y >= 0:
            for q in range(u8(list_ptr[t]), u8(list_ptr[t + 1])):
                a = u8(list_ids[q])
                for r in range(run_ptr[a], run_ptr[a + u8(1)]):
                    if run_neighbors[r] == y:
                        if fill:
                            out_ids[n] = r
                        n += 1
                        break
        out_ptr[i + 1] = n


# p_t[j] = e_t[j]·Σ_i p_{t−1}[i]·M_t[i, j] / Z_t[i],   Z_t[i] = Σ_j M_t[i, j]·e_t[j]
@kernel("int int Sentences Parameters Exponentials f8[,]", T="f8")
def step_marginals(begin, end, text, parameters, exponentials, out):
    """out[t] = p(y_t) in a chain of first order whose steps are each normalized; NaN where numbers overflow."""
    width, n_labels = parameters.table.shape[1], text.n_labels
    per_token = text.steps.ptr.shape[0] > 0
    scratch = new_scratch(text, parameters.table)
    e, p, S = scratch.e, scratch.a, scratch.S if per_token else exponentials.M
    for s in range(begin, end):
        first, n = text.offsets[s], text.offsets[s + 1] - text.offsets[s]
        if n == 0:
            continue
        score_tokens(first, n, text.tokens, parameters, e)
        exponentiate(first, n, text, e)
        if per_token:
            step_matrices(first, n, text, parameters, exponentials.M, scratch)
        for t in range(n):
            for j in range(width):
                p[t, j] = e[0, j] if t == 0 else 0.0
            for i in range(n_labels if t > 0 else 0):
                row = t * width + i if per_token else i
                z = 0.0
                for j in range(width):
                    z += S[row, j] * e[t, j]
                share = p[t - 1, i] / z
                for j in range(width):
                    p[t, j] += share * S[row, j]
            z = 0.0
            for j in range(n_labels):
                p[t, j] *= e[t, j] if t > 0 else 1.0
                z += p[t, j]
            for j in range(n_labels):
                p[t, j] /= z
                out[first + t, j] = p[t, j]
