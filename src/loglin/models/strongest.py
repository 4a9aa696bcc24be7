"""The strongest weights of a tagger or classifier, with the names of what they are about."""

from __future__ import annotations

from typing import Any

import numpy as np

from loglin.models.chain import Model


def top_weights(model: Model, top: int, label: str | None = None) -> dict[str, dict[str, list]]:
    """For every label its largest positive and negative weights, [attribute, weight] each."""
    index = model.index
    weights = index.split(model.weights)[0]
    attribute = np.repeat(np.arange(len(index.ptr) - 1), np.diff(index.ptr))
    by_label = np.argsort(index.labels, kind="stable")
    cuts = np.searchsorted(index.labels[by_label], np.arange(index.n_labels + 1))
    found = {}
    for i, name in enumerate(map(str, model.outcomes)):
        if label is not None and name != label:
            continue
        features = by_label[cuts[i] : cuts[i + 1]]
        ranked = features[np.argsort(-weights[features], kind="stable")]
        positive = [f for f in ranked[:top] if weights[f] > 0]
        negative = [f for f in ranked[::-1][:top] if weights[f] < 0]
        found[name] = {
            side: [[model.attribute_name(int(attribute[f])), float(weights[f])] for f in chosen]
            for side, chosen in (("positive", positive), ("negative", negative))
        }
    return found


def top_transitions(model: Model, top: int, label: str | None = None) -> list[dict[str, Any]]:
    """The label sequences of largest weight, by magnitude; some only count where an attribute is seen."""
    index, names, L = model.index, [str(y) for y in model.outcomes], model.index.n_labels
    _, observed, pairs, triples = index.split(model.weights)
    attribute = np.repeat(np.arange(len(index.bigram_ptr) - 1), np.diff(index.bigram_ptr))
    chosen = names.index(label) if label is not None else None
    found: list[dict[str, Any]] = []
    for codes, weights, length in (
        (index.pairs, pairs, 2),
        (index.bigram_pairs, observed, 2),
        (index.triples, triples, 3),
    ):
        sequences = np.stack([codes // L**p % L for p in range(length - 1, -1, -1)], axis=1)  # (n, length)
        wanted = weights != 0
        if chosen is not None:
            wanted &= (sequences == chosen).any(axis=1)
        kept = np.flatnonzero(wanted)
        for f in kept[np.argsort(-np.abs(weights[kept]), kind="stable")][:top]:
            value: dict[str, Any] = {"labels": [names[i] for i in sequences[f]], "weight": float(weights[f])}
            if codes is index.bigram_pairs:
                value["attribute"] = model.extractor.attribute_name(int(attribute[f]), "bigram")
            found.append(value)
    return sorted(found, key=lambda t: -abs(t["weight"]))[:top]
