"""Features of (reading, label): those that the attributes of a reading have for the labels it may have."""

from __future__ import annotations

import numpy as np

from loglin.kernels.compile import kernel


@kernel("i8[] i8[] i4[] i8[] i4[] i8[] u2[] i8[] i8[] i8[]")
def entry_features(kinds, site_ptr, site_labels, ptr, ids, index_ptr, index_labels, rows, features, places):
    """CSR of the features of every entry of sites: rows (entries + 1,), features, and places in ``ids``.

    The attributes of kind k are ids[ptr[k] : ptr[k + 1]], −1 where there is none; the features of attribute a are
    index_ptr[a] … index_ptr[a + 1] − 1 with their labels rising. Without room in ``features`` only rows are written.
    """
    filled = 0
    for site in range(kinds.shape[0]):
        k = kinds[site]
        for entry in range(site_ptr[site], site_ptr[site + 1]):
            for q in range(ptr[k], ptr[k + 1]):
                if ids[q] < 0:
                    continue
                first, last = index_ptr[ids[q]], index_ptr[ids[q] + 1]
                f = first + np.searchsorted(index_labels[first:last], site_labels[entry])
                if f < last and index_labels[f] == site_labels[entry]:
                    if features.shape[0]:
                        features[filled], places[filled] = f, q
                    filled += 1
            rows[entry + 1] = filled
