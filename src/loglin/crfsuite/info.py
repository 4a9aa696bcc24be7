"""A model's weights by their names, and as the text that CRFsuite's ``dump`` writes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from loglin.models.chain import Model


@dataclass
class ParsedDump:
    """The weights of a model that are not zero, by their names."""

    header: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)  # name → number, as text
    attributes: dict[str, str] = field(default_factory=dict)  # name → number, as text
    transitions: dict[tuple[str, str], float] = field(default_factory=dict)  # (label before, label) → weight
    state_features: dict[tuple[str, str], float] = field(default_factory=dict)  # (attribute, label) → weight


def info_of(model: Model, size: int) -> ParsedDump:
    """The weights of a model whose file has so many bytes."""
    model = model.prune()
    index, labels = model.index, model.labels
    names = [model.extractor.attribute_name(a) for a in range(model.extractor.n_attributes)]
    states, _, pairs, _ = index.split(model.weights.astype(np.float64))
    attribute = np.repeat(np.arange(len(names)), np.diff(index.ptr))
    triples = zip(attribute.tolist(), index.labels.tolist(), states.tolist(), strict=True)
    before, after = np.divmod(index.pairs, len(labels))
    steps = zip(before.tolist(), after.tolist(), pairs.tolist(), strict=True)
    header = {
        "size": size,
        "num_features": len(model.weights),
        "num_labels": len(labels),
        "num_attrs": len(names),
    }
    return ParsedDump(
        {"magic": "loglin", "type": "FOMC"} | {key: str(value) for key, value in header.items()},
        _numbered(labels),
        _numbered(names),
        {(labels[a], labels[b]): w for a, b, w in steps},
        {(names[a], labels[b]): w for a, b, w in triples},
    )


def _numbered(names: Iterable[str]) -> dict[str, str]:
    return {name: str(number) for number, name in enumerate(names)}


def dumped(info: ParsedDump) -> str:
    """The text of ``crfsuite dump``."""
    parts = {
        "FILEHEADER": [f"{key}: {value}" for key, value in info.header.items()],
        "LABELS": [f"{int(number):5}: {name}" for name, number in info.labels.items()],
        "ATTRIBUTES": [f"{int(number):5}: {name}" for name, number in info.attributes.items()],
        "TRANSITIONS": [f"(1) {a} --> {b}: {w:f}" for (a, b), w in info.transitions.items()],
        "STATE_FEATURES": [f"(0) {a} --> {b}: {w:f}" for (a, b), w in info.state_features.items()],
    }
    return "\n".join(
        "\n".join([f"{name} = {{", *(f"  {line}" for line in lines), "}\n"]) for name, lines in parts.items()
    )
