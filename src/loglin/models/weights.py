"""All weights of a tagger or classifier by the names of what they are about, as a table or as mappings."""

from __future__ import annotations

from typing import Any

import numpy as np

from loglin.models.chain import Model


def attribute_names(model: Model) -> list[str]:
    """The names of the attributes that weights are about, in their order."""
    return [model.attribute_name(a) for a in range(len(model.index.ptr) - 1)]


def state_weights(model: Model) -> dict[tuple[str, Any], float]:
    """(attribute, label) → weight, without those that are zero."""
    index, names = model.index, attribute_names(model)
    weights = index.split(model.weights)[0]
    attribute = np.repeat(np.arange(len(index.ptr) - 1), np.diff(index.ptr))
    kept = np.flatnonzero(weights)
    pairs = zip(attribute[kept].tolist(), index.labels[kept].tolist(), weights[kept].tolist(), strict=True)
    return {(names[a], model.outcomes[y]): w for a, y, w in pairs}


def transition_weights(model: Model) -> dict[tuple, float]:
    """(label, following label), or three labels, → weight, without zeros and without label pairs of attributes."""
    index, L = model.index, model.index.n_labels
    _, _, pairs, triples = index.split(model.weights)
    found = {}
    for codes, weights, length in ((index.pairs, pairs, 2), (index.triples, triples, 3)):
        for f in np.flatnonzero(weights).tolist():
            labels = tuple(model.outcomes[int(codes[f]) // L**p % L] for p in range(length - 1, -1, -1))
            found[labels] = float(weights[f])
    return found


def weights_table(model: Model) -> dict[str, list]:
    """Every weight that is not zero as columns, the largest first: attribute, labels before, label, weight.

    Of label pairs and triples alone the attribute is None; ``before`` are the labels before, joined by blanks, or None.
    """
    index, L = model.index, model.index.n_labels
    rows: list[tuple] = [(name, None, label, w) for (name, label), w in state_weights(model).items()]
    rows += [(None, " ".join(map(str, labels[:-1])), labels[-1], w) for labels, w in transition_weights(model).items()]
    observed = index.split(model.weights)[1]
    attribute = np.repeat(np.arange(len(index.bigram_ptr) - 1), np.diff(index.bigram_ptr))
    for f in np.flatnonzero(observed).tolist():
        before, label = divmod(int(index.bigram_pairs[f]), L)
        name = model.extractor.attribute_name(int(attribute[f]), "bigram")
        rows.append((name, str(model.outcomes[before]), model.outcomes[label], float(observed[f])))
    rows.sort(key=lambda row: -abs(row[3]))
    columns = zip(*rows, strict=True) if rows else ((), (), (), ())
    return dict(zip(("attribute", "before", "label", "weight"), map(list, columns), strict=True))
