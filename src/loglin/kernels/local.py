"""Lists of attributes for criteria that look at one label at a time, its neighbors being given.

With the label before known, an observed bigram feature (attribute, before → label) is an attribute of the
token like any other, named by (attribute, before): its features are a run of neighbors in the index.
"""

from __future__ import annotations

import numpy as np

from loglin.kernels.compile import kernel

u8 = np.uint64


@kernel
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
